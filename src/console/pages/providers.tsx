// Providers: credentials that are stored here, for callers that have none of their own.

import { useSignal } from '@preact/signals';
import { type Provider, ProvidersService } from '../../../gen/gateway/admin/v2/providers_pb.ts';
import { VirtualKeysService } from '../../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { TestsService } from '../../../gen/gateway/inference/v2/tests_pb.ts';
import { client, homeWorkspace, may, session, wordsOf } from '../api.ts';
import { FormDialog } from '../dialog.tsx';
import { moment } from '../figures.ts';
import { Alert, Choice, Field, Head, Table, useLoaded } from '../parts.tsx';
import { AllCircuits } from '../providers/circuits.tsx';
import { NewProvider } from '../providers/new-provider.tsx';
import { ask, href, query } from '../router.ts';

const isOrganisation = (): boolean => session.value?.workspaceId === '';

/** Another workspace is shown anew: no row of one is under the name of another. */
export default function Providers() {
  const workspaceId = query.value.get('workspace') ?? homeWorkspace();
  return <ProvidersOf key={workspaceId} workspaceId={workspaceId} />;
}

function ProvidersOf({ workspaceId }: { readonly workspaceId: string }) {
  const spaces = session.value?.workspaces ?? [];
  const of = isOrganisation() ? { workspaceId } : {};
  const { value, error, reload } = useLoaded(`providers ${workspaceId}`, (signal) =>
    client(ProvidersService).listProviders({ pageSize: 100, ...of }, { signal }),
  );
  const providers = value?.data ?? [];
  return (
    <>
      <Head title="Providers">
        {may('virtual_keys.create') && <NewProvider workspaceId={workspaceId} onMade={reload} />}
      </Head>
      {isOrganisation() && spaces.length > 1 && (
        <div class="filters">
          <Choice
            label="Workspace"
            value={workspaceId}
            options={spaces.map(({ id, name }) => [id, name] as const)}
            onChange={(workspace) => ask({ workspace })}
          />
        </div>
      )}
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <Table
          label="Providers"
          columns={['Name', 'Slug', 'Service', 'Status', 'Changed', 'Test', '']}
          keys={providers.map(({ id }) => id)}
          rows={providers.map((provider) => [
            <bdi key="name">{provider.name}</bdi>,
            `@${provider.slug}`,
            provider.aiProviderName,
            provider.status,
            moment(provider.lastUpdatedAt),
            <Test key="test" provider={provider} of={of} />,
            <ProviderActions key="actions" provider={provider} of={of} onChanged={reload} />,
          ])}
          empty={
            <>
              A stored provider keeps a credential: callers name @slug and need no key of their own. New
              provider stores the first one; or <a href={href('/playground')}>try a key of your own</a> before
              that.
            </>
          }
        />
      )}
      {may('configs.list') && may('completions.write', 'configs.read') && (
        <AllCircuits workspaceId={workspaceId} />
      )}
    </>
  );
}

interface OfProvider {
  readonly provider: Provider;
  /** The workspace, where the session has none of its own. */
  readonly of: { readonly workspaceId?: string };
}

/** Asks the provider for its models: whether its address and credential work. */
function Test({ provider: { slug, name }, of }: OfProvider) {
  const said = useSignal('');
  const test = async (): Promise<void> => {
    said.value = 'asking …';
    try {
      const { success, models, latencyMs, message } = await client(TestsService).testProvider({
        slug,
        ...of,
      });
      said.value =
        success === true ? `works: ${models} models in ${latencyMs} ms` : (message ?? 'cannot be tried');
    } catch (error) {
      said.value = wordsOf(error);
    }
  };
  return (
    <>
      <button type="button" aria-label={`Test ${name}`} onClick={() => void test()}>
        Test
      </button>{' '}
      <span role="status">{said.value}</span>
    </>
  );
}

function ProviderActions({ provider, of, onChanged }: OfProvider & { readonly onChanged: () => void }) {
  const { slug, name, integrationId } = provider;
  const replace = async ({ key = '' }: Readonly<Record<string, string>>): Promise<void> => {
    await client(VirtualKeysService).updateVirtualKey({ slug, key, ...of });
    onChanged();
  };
  const remove = async (): Promise<void> => {
    await client(ProvidersService).deleteProvider({ slug, ...of });
    onChanged();
  };
  return (
    <span class="actions">
      <a href={href('/playground', { provider: `@${slug}` })} aria-label={`Try ${name}`}>
        Try
      </a>
      {integrationId === undefined && may('virtual_keys.update') && (
        <FormDialog
          name="New credential"
          label={`New credential of ${name}`}
          submit="Save"
          onSubmit={replace}
        >
          <Field label="Provider API key" name="key" class="masked" required maxLength={8192} />
        </FormDialog>
      )}
      {may('providers.delete', 'virtual_keys.delete') && (
        <FormDialog name="Delete" label={`Delete ${name}`} submit="Delete" onSubmit={remove}>
          <p>Calls that name @{slug} are refused at once.</p>
        </FormDialog>
      )}
    </span>
  );
}
