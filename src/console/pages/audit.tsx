// Audit: who changed what, chained by hashes so that a missing or changed entry shows.
import { useSignal } from '@preact/signals';
import { AuditLogsService } from '../../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { client, wordsOf } from '../api.ts';
import { moment, whole } from '../figures.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';
import { ask, query } from '../router.ts';

const PAGE = 100;

export default function Audit() {
  const page = Number(query.value.get('page') ?? 0) || 0;
  const { value, error } = useLoaded(`audit ${page}`, (signal) =>
    client(AuditLogsService).listAuditLogs({ currentPage: page, pageSize: PAGE }, { signal }),
  );
  const proof = useSignal('');
  const broken = useSignal('');
  const verify = async (): Promise<void> => {
    proof.value = 'checking…';
    broken.value = '';
    try {
      const { valid, entries, sequence } = await client(AuditLogsService).verifyAuditLogs({});
      proof.value = valid ? `intact, ${whole(entries)} entries` : '';
      if (!valid) broken.value = `not intact after entry ${whole(sequence)}`;
    } catch (thrown) {
      proof.value = '';
      broken.value = wordsOf(thrown);
    }
  };
  return (
    <>
      <Head title="Audit">
        <span role="status">{proof.value}</span>
        <button type="button" onClick={() => void verify()}>
          Verify
        </button>
        <a href="/v1/audit-logs/export" download="audit-log.jsonl">
          Export
        </a>
      </Head>
      {broken.value !== '' && <Alert>{broken.value}</Alert>}
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <>
          <Table
            label="Audit log"
            columns={['Time', 'Who', 'Action', 'What', 'Outcome', 'From', 'Changes']}
            rows={value.records.map((record) => [
              moment(record.timestamp),
              <bdi key="who">{record.userName || record.userType}</bdi>,
              `${record.action} ${record.resourceType}`.trim(),
              <bdi key="what">{(record.target?.name || record.target?.id || record.uri).slice(0, 120)}</bdi>,
              record.outcome === 'allowed' ? 'allowed' : `${record.outcome}: ${record.reason}`,
              record.clientIp,
              record.changes.length === 0 ? '' : `${record.changes.length} fields`,
            ])}
            empty="The audit log keeps who changed what, each entry chained to the one before. It begins with the first change, e.g. a new key."
          />
          <p class="actions">
            <button
              type="button"
              disabled={page === 0}
              onClick={() => ask({ page: page > 1 ? String(page - 1) : '' })}
            >
              Newer
            </button>
            <button
              type="button"
              disabled={value.records.length < PAGE}
              onClick={() => ask({ page: String(page + 1) })}
            >
              Older
            </button>
          </p>
        </>
      )}
    </>
  );
}
