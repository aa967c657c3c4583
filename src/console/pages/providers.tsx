// Providers: credentials that are stored here, for callers that have none of their own.
import { ProvidersService } from '../../../gen/gateway/admin/v2/providers_pb.ts';
import { client, homeWorkspace, session } from '../api.ts';
import { moment } from '../figures.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';
import { href } from '../router.ts';

export default function Providers() {
  const { value, error } = useLoaded('providers', (signal) =>
    client(ProvidersService).listProviders(
      { pageSize: 100, ...(session.value?.workspaceId === '' && { workspaceId: homeWorkspace() }) },
      { signal },
    ),
  );
  return (
    <>
      <Head title="Providers" />
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && (
        <Table
          label="Providers"
          columns={['Name', 'Slug', 'Service', 'Status', 'Changed', '']}
          rows={value.data.map((provider) => [
            <bdi key="name">{provider.name}</bdi>,
            `@${provider.slug}`,
            provider.aiProviderName,
            provider.status,
            moment(provider.lastUpdatedAt),
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
