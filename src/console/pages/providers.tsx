// Providers: credentials that are stored here, for callers that have none of their own.
import { useSignal } from '@preact/signals';
import { type Provider, ProvidersService } from '../../../gen/gateway/admin/v2/providers_pb.ts';
import { TestsService } from '../../../gen/gateway/inference/v2/tests_pb.ts';
import { client, homeWorkspace, session, wordsOf } from '../api.ts';
import { moment } from '../figures.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';
import { href } from '../router.ts';

const workspace = (): { readonly workspaceId?: string } =>
  session.value?.workspaceId === '' ? { workspaceId: homeWorkspace() } : {};

export default function Providers() {
  const { value, error } = useLoaded('providers', (signal) =>
    client(ProvidersService).listProviders({ pageSize: 100, ...workspace() }, { signal }),
  );
  return (
    <>
      <Head title="Providers" />
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && (
        <Table
          label="Providers"
          columns={['Name', 'Slug', 'Service', 'Status', 'Changed', 'Test', '']}
          rows={value.data.map((provider) => [
            <bdi key="name">{provider.name}</bdi>,
            `@${provider.slug}`,
            provider.aiProviderName,
            provider.status,
            moment(provider.lastUpdatedAt),
            <Test key="test" provider={provider} />,
            <a
              key="try"
              href={href('/playground', { provider: `@${provider.slug}` })}
              aria-label={`Try ${provider.name}`}
            >
              Try
            </a>,
          ])}
          empty="No provider is stored. A stored provider keeps a credential, so that callers name @slug and need no key of their own: POST /v1/integrations makes one."
        />
      )}
    </>
  );
}

/** Asks the provider for its models: whether its address and credential work. */
function Test({ provider: { slug, name } }: { readonly provider: Provider }) {
  const said = useSignal('');
  const test = async (): Promise<void> => {
    said.value = 'asking …';
    try {
      const { success, models, latencyMs, message } = await client(TestsService).testProvider({
        slug,
        ...workspace(),
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
