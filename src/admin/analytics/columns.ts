// What can be told of a group.
import { inCents } from '../../ledger/prices/cents.ts';
import { invalidField } from '../../lib/errors.ts';
import type { LogMeasure, LogRollups } from '../../store/log/aggregation.ts';
import { percentile } from '../../store/log/rollups.ts';
import { timeText } from '../kit/time.ts';
import { hitsOf, latencyPerRequest, mean, percent } from './ratios.ts';

/** A column: its value to put groups in order by, and its members in the answer. */
export interface Column {
  readonly value: (rollup: LogRollups) => number | bigint;
  readonly members: (rollup: LogRollups) => ColumnMembers;
  /** By which the store puts groups in order itself. */
  readonly measure?: LogMeasure;
  /** It is read off the histograms of latencies. */
  readonly latencies?: true;
}

/** Members of groups and of their totals. */
export interface ColumnMembers {
  cost?: number;
  costExact?: string;
  totalTokens?: bigint;
  avgTokens?: number;
  avgInputTokens?: number;
  avgOutputTokens?: number;
  avgLatency?: number;
  p95Latency?: number;
  p99Latency?: number;
  successRate?: number;
  errorCount?: bigint;
  cacheHitRate?: number;
  lastSeen?: string;
  firstSeen?: string;
}

/** By name. Requests are always included. */
export const COLUMNS: Readonly<Record<string, Column>> = {
  requests: { value: (rollup) => rollup.requests, members: () => ({}), measure: 'requests' },
  cost: {
    value: (rollup) => rollup.cost,
    members: ({ cost }) => ({ cost: inCents(cost), costExact: String(cost) }),
    measure: 'cost',
  },
  total_tokens: {
    value: (rollup) => rollup.totalTokens,
    members: (rollup) => ({ totalTokens: BigInt(rollup.totalTokens) }),
    measure: 'totalTokens',
  },
  avg_tokens: column('avgTokens', (rollup) => mean(rollup.totalTokens, rollup.requests)),
  avg_input_tokens: column('avgInputTokens', (rollup) => mean(rollup.promptTokens, rollup.requests)),
  avg_output_tokens: column('avgOutputTokens', (rollup) => mean(rollup.completionTokens, rollup.requests)),
  avg_latency: column('avgLatency', latencyPerRequest),
  p95_latency: { ...column('p95Latency', (rollup) => percentileOf(rollup, 0.95)), latencies: true },
  p99_latency: { ...column('p99Latency', (rollup) => percentileOf(rollup, 0.99)), latencies: true },
  success_rate: column('successRate', (rollup) => percent(rollup.successes, rollup.requests)),
  error_count: {
    value: (rollup) => rollup.errors,
    members: (rollup) => ({ errorCount: BigInt(rollup.errors) }),
    measure: 'errors',
  },
  cache_hit_rate: column('cacheHitRate', (rollup) => percent(hitsOf(rollup), rollup.requests)),
  last_seen: {
    value: (rollup) => rollup.lastSeen,
    members: (rollup) => (rollup.requests === 0 ? {} : { lastSeen: timeText(rollup.lastSeen) }),
    measure: 'lastSeen',
  },
  first_seen: {
    value: (rollup) => rollup.firstSeen,
    members: (rollup) => (rollup.requests === 0 ? {} : { firstSeen: timeText(rollup.firstSeen) }),
    measure: 'firstSeen',
  },
};

/** The columns of a list with commas between. @throws GatewayError validation_failed for others. */
export function columnsOf(text: string | undefined): readonly Column[] {
  const names = new Set(text?.split(',').map((name) => name.trim()) ?? []);
  return [...names].map((name) => {
    const found = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
    if (found === undefined)
      throw invalidField('columns', `must be of ${Object.keys(COLUMNS).join(', ')}, with commas between`);
    return found;
  });
}

/** The members of several columns. */
export function membersOf(columns: readonly Column[], rollup: LogRollups): ColumnMembers {
  return Object.assign({}, ...columns.map(({ members }) => members(rollup))) as ColumnMembers;
}

function percentileOf({ latencies }: LogRollups, share: number): number {
  return percentile(latencies, share) / 1000;
}

/** A column of one number that the store cannot put groups in order by. */
function column(member: keyof ColumnMembers, value: (rollup: LogRollups) => number): Column {
  return { value, members: (rollup) => ({ [member]: value(rollup) }) };
}
