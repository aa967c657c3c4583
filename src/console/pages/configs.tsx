// Configs: saved routing, one to a page with its versions.
import { ConfigsService } from '../../../gen/gateway/admin/v2/configs_pb.ts';
import { client, may } from '../api.ts';
import { ConfigPage } from '../config/page.tsx';
import { moment } from '../figures.ts';
import type { PageProps } from '../page-props.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';
import { href } from '../router.ts';

export default function Configs({ rest }: PageProps) {
  return rest === '' ? <List /> : <ConfigPage key={rest} slug={rest === 'new' ? undefined : rest} />;
}

function List() {
  const { value, error } = useLoaded('configs', (signal) =>
    client(ConfigsService).listConfigs({ pageSize: 1000 }, { signal }),
  );
  return (
    <>
      <Head title="Configs">
        {may('configs.create') && (
          <a class="button" href={href('/configs/new')}>
            New config
          </a>
        )}
      </Head>
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <Table
          label="Configs"
          columns={['Name', 'Slug', 'Status', 'Changed']}
          rows={value.data.map((config) => [
            <a key="name" href={href(`/configs/${encodeURIComponent(config.slug)}`)}>
              <bdi>{config.name}</bdi>
            </a>,
            config.slug,
            config.isDefault === 1 ? 'default' : config.status,
            moment(config.lastUpdatedAt),
          ])}
          empty={
            <>
              A config says where calls go: a provider, one after another, by weight or by condition.{' '}
              <a href={href('/configs/new')}>Write the first one.</a>
            </>
          }
        />
      )}
    </>
  );
}
