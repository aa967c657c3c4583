// Analytics: what calls came to over a time. Every figure is the sum of the entries that its links lead to.
import { AnalyticsGraphsService } from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { AnalyticsGroupsService } from '../../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { client } from '../api.ts';
import { Figure, type Point } from '../figure.tsx';
import { dollars, duration, timeOf, whole } from '../figures.ts';
import { entriesHref, filtersOf } from '../log-query.ts';
import { Alert, Choice, csvCell, download, Head, Table, useLoaded } from '../parts.tsx';
import { ask, query } from '../router.ts';

const TIMES = [
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['6h', '6 hours'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
] as const;
const GROUPS = [
  ['model', 'Model'],
  ['ai_service', 'Provider'],
  ['api_key', 'Key'],
  ['workspace', 'Workspace'],
  ['config', 'Config'],
  ['status_code', 'Status'],
] as const;
/** The member of the log's address for a group. */
const MEMBERS: Readonly<Record<string, string>> = {
  model: 'model',
  ai_service: 'provider',
  api_key: 'key',
  workspace: 'workspace',
  config: 'config',
  status_code: 'status',
};
const DEFAULT_FROM = '24h';

async function read(asked: string, signal: AbortSignal) {
  const params = new URLSearchParams(asked);
  const by = params.get('by') ?? 'model';
  const now = new Date().toISOString();
  const range = {
    ...filtersOf(params),
    timeOfGenerationMin: timeOf(params.get('from')) ?? timeOf(DEFAULT_FROM) ?? now,
    timeOfGenerationMax: timeOf(params.get('to')) ?? now,
  };
  const graphs = client(AnalyticsGraphsService);
  const [requests, cost, latency, tokens, errors, groups] = await Promise.all([
    graphs.getRequestsGraph(range, { signal }),
    graphs.getCostGraph(range, { signal }),
    graphs.getLatencyGraph(range, { signal }),
    graphs.getTokensGraph(range, { signal }),
    graphs.getErrorsGraph(range, { signal }),
    client(AnalyticsGroupsService).listAnalyticsGroups(
      { ...range, groupBy: by, columns: 'cost,total_tokens,avg_latency,error_count', includeTotal: true },
      { signal },
    ),
  ]);
  const seconds = requests.bucketSeconds;
  return { requests, cost, latency, tokens, errors, groups, by, range, seconds };
}

type Figures = Awaited<ReturnType<typeof read>>;

export default function Analytics() {
  const asked = query.value.toString();
  const { value, error, reload } = useLoaded(asked, (signal) => read(asked, signal));
  return (
    <>
      <Head title="Analytics">
        <button type="button" onClick={reload}>
          Refresh
        </button>
        {value !== undefined && (
          <button type="button" onClick={() => exportCsv(value)}>
            CSV
          </button>
        )}
      </Head>
      <div class="filters">
        <Choice
          label="Time"
          value={query.value.get('from') ?? DEFAULT_FROM}
          options={TIMES}
          onChange={(from) => ask({ from })}
        />
        <Choice
          label="Group by"
          value={query.value.get('by') ?? 'model'}
          options={GROUPS}
          onChange={(by) => ask({ by })}
        />
      </div>
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && <Shown value={value} />}
    </>
  );
}

function Shown({ value }: { readonly value: Figures }) {
  const { requests, cost, latency, tokens, errors, seconds } = value;
  const points = <P extends { readonly timestamp: string }>(
    of: readonly P[],
    read: (point: P) => Omit<Point, 'at'>,
  ) => of.map((point): Point => ({ at: point.timestamp, ...read(point) }));
  const counts = (of: readonly { readonly timestamp: string; readonly total: bigint }[]) =>
    points(of, ({ total }) => ({ value: Number(total), text: whole(total) }));
  const shared = { seconds };
  return (
    <>
      <div class="figures">
        <Figure
          {...shared}
          name="Requests"
          sum={whole(requests.summary?.total)}
          points={counts(requests.dataPoints)}
        />
        <Figure
          {...shared}
          name="Cost"
          sum={dollars(cost.summary?.totalExact ?? '0')}
          points={points(cost.dataPoints, ({ total, totalExact }) => ({
            value: total / 100,
            text: dollars(totalExact),
          }))}
        />
        <Figure
          {...shared}
          name="Latency"
          sum={`${duration(latency.summary?.p50)} p50, ${duration(latency.summary?.p99)} p99`}
          points={points(latency.dataPoints, ({ p50 }) => ({ value: p50, text: duration(p50) }))}
        />
        <Figure
          {...shared}
          name="Tokens"
          sum={whole(tokens.summary?.total)}
          points={counts(tokens.dataPoints)}
        />
        <Figure
          {...shared}
          name="Errors"
          sum={whole(errors.summary?.total)}
          points={counts(errors.dataPoints)}
        />
      </div>
      <Groups value={value} />
    </>
  );
}

function rowsOf({ groups, by, range }: Figures) {
  return groups.data.map((group) => {
    const shown = by === 'workspace' ? group.workspaceName : undefined;
    const name = String(
      group.model ??
        group.aiService ??
        group.apiKey ??
        group.workspace ??
        group.config ??
        group.statusCode ??
        '',
    );
    const link = entriesHref({
      ...(name === '' ? {} : { [MEMBERS[by] ?? 'model']: name }),
      from: range.timeOfGenerationMin,
      to: range.timeOfGenerationMax,
      by: '',
    });
    return { name: shown ?? (name === '' ? '(none)' : name), link, group };
  });
}

const HEADS = ['Requests', 'Cost', 'Tokens', 'Mean latency', 'Errors'];

function Groups({ value }: { readonly value: Figures }) {
  const word = GROUPS.find(([name]) => name === value.by)?.[1] ?? 'Model';
  const rows = rowsOf(value).map(({ name, link, group }) => [
    <a key="link" href={link}>
      <bdi>{name.slice(0, 120)}</bdi>
    </a>,
    whole(group.requests),
    dollars(group.costExact),
    whole(group.totalTokens),
    duration(group.avgLatency),
    whole(group.errorCount),
  ]);
  return (
    <Table
      label={`By ${word.toLowerCase()}`}
      columns={[word, ...HEADS]}
      rows={rows}
      empty="No calls in this time: make one in the playground, or choose a longer time."
    />
  );
}

function exportCsv(value: Figures): void {
  const rows = rowsOf(value).map(({ name, group }) => [
    name,
    String(group.requests),
    dollars(group.costExact).replace('$', ''),
    String(group.totalTokens ?? ''),
    String(group.avgLatency ?? ''),
    String(group.errorCount ?? ''),
  ]);
  const lines = [[value.by, ...HEADS], ...rows].map((cells) => cells.map(csvCell).join(','));
  download(`usage-by-${value.by}.csv`, 'text/csv;charset=utf-8', [`${lines.join('\r\n')}\r\n`]);
}
