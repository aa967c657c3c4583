// GetGroupedGraph: one measure over time, by the values of a dimension, the top ones each and the rest together.
import { setImmediate } from 'node:timers/promises';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type GroupedGraph,
  type GroupedGraphRequest,
  GroupedGraphSchema,
  type GroupedPointSchema,
  type MeasuredValue,
  MeasuredValueSchema,
} from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import type { Call } from '../../call/call.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import type { FirstTokens, LogAggregateRow, LogDimension, LogRollups } from '../../store/log/aggregation.ts';
import {
  addFirstTokens,
  addRollup,
  emptyFirstTokens,
  emptyRollup,
  percentile,
} from '../../store/log/rollups.ts';
import type { AnalyticsDeps } from './deps.ts';
import { DIMENSIONS } from './dimension-groups.ts';
import { latencyPerRequest } from './ratios.ts';
import { asked, selectionOf } from './selection.ts';
import { readSelected } from './series.ts';

const DEFAULT_TOP = 5;
/** Milliseconds of adding up after which others run. */
const TURN_MS = 5;

/** Measures that add up, and those that are taken of all of a stretch's entries. */
const MEASURES: Readonly<Record<string, (rollup: LogRollups) => number>> = {
  requests: ({ requests }) => requests,
  errors: ({ errors }) => errors,
  cost: ({ cost }) => inCents(cost),
  tokens: ({ totalTokens }) => totalTokens,
  input_tokens: ({ promptTokens }) => promptTokens,
  output_tokens: ({ completionTokens }) => completionTokens,
  avg_latency: latencyPerRequest,
  p95_latency: ({ latencies }) => percentile(latencies, 0.95) / 1000,
};
/** Times to first token, in milliseconds, of entries that have one. */
const FIRST_TOKENS: Readonly<Record<string, (firstTokens: FirstTokens) => number>> = {
  avg_time_to_first_token: ({ us, calls }) => us / calls / 1000,
  p50_time_to_first_token: ({ times }) => percentile(times, 0.5) / 1000,
  p95_time_to_first_token: ({ times }) => percentile(times, 0.95) / 1000,
  p99_time_to_first_token: ({ times }) => percentile(times, 0.99) / 1000,
};
const WITHOUT_REST: ReadonlySet<string> = new Set(['avg_latency', 'p95_latency']);

export async function getGroupedGraph(
  deps: AnalyticsDeps,
  request: GroupedGraphRequest,
  call: Call,
): Promise<GroupedGraph> {
  const { measure, groupBy = 'model', top = DEFAULT_TOP } = request;
  const firstToken = FIRST_TOKENS[measure];
  const selection = await selectionOf(deps, request, call);
  const by = dimensionOf(groupBy);
  const [ranked, series] = await Promise.all([
    asked(deps.store.aggregate(selection.scope, selection.filter, { by: [by], take: top, latencies: false })),
    readSelected(deps, selection, {
      by,
      latencies: measure === 'p95_latency',
      firstTokens: firstToken !== undefined,
    }),
  ]);
  const groups = ranked.rows.map(({ group }) => group[0] ?? '');
  const pointOf = firstToken === undefined ? valuesOf(measure) : firstTokensOf(measure, firstToken);
  const dataPoints: Point[] = [];
  let since = performance.now();
  for (const { timestamp, groups: rows } of series.slots) {
    dataPoints.push({ timestamp, ...pointOf(groups, rows) });
    if (performance.now() - since < TURN_MS) continue;
    await setImmediate();
    since = performance.now();
  }
  const { source, bucketSeconds } = series;
  return create(GroupedGraphSchema, { object: 'analytics-graph', source, bucketSeconds, groups, dataPoints });
}

type Point = MessageInitShape<typeof GroupedPointSchema>;
type PointOf = (groups: readonly string[], rows: readonly LogAggregateRow[]) => Point;

/** Values, and the rest of all other groups: added up before it is rounded to a measure, as the point's total is. */
function valuesOf(measure: string): PointOf {
  const measured = MEASURES[measure] ?? MEASURES.requests!;
  return (groups, rows) => {
    const { found, others } = split(groups, rows);
    const values = found.map((rollup) => measured(rollup ?? emptyRollup()));
    if (WITHOUT_REST.has(measure)) return { values, rest: 0 };
    const rest = emptyRollup();
    for (const rollup of others) addRollup(rest, rollup);
    return { values, rest: measured(rest) };
  };
}

function firstTokensOf(measure: string, measured: (firstTokens: FirstTokens) => number): PointOf {
  // A mean needs no histograms, of which there may be thousands.
  const withTimes = !measure.startsWith('avg');
  return (groups, rows) => {
    const { found, others } = split(groups, rows);
    const rest = emptyFirstTokens();
    for (const { firstTokens } of others) if (firstTokens) addFirstTokens(rest, firstTokens, withTimes);
    return {
      measured: found.map((rollup) => firstTokenValue(rollup?.firstTokens ?? emptyFirstTokens(), measured)),
      measuredRest: firstTokenValue(rest, measured),
    };
  };
}

/** Roll-ups of the groups, in their order, and of all others. */
function split(groups: readonly string[], rows: readonly LogAggregateRow[]) {
  const others = new Map(rows.map(({ group, rollup }) => [group[0] ?? '', rollup]));
  const found = groups.map((name) => others.get(name));
  for (const name of groups) others.delete(name);
  return { found, others: others.values() };
}

function firstTokenValue(
  firstTokens: FirstTokens,
  measured: (firstTokens: FirstTokens) => number,
): MeasuredValue {
  const { calls, unknown } = firstTokens;
  return create(MeasuredValueSchema, {
    ...(calls === 0 ? {} : { value: measured(firstTokens) }),
    calls: BigInt(calls),
    unknownCalls: BigInt(unknown),
  });
}

function dimensionOf(groupBy: string): LogDimension {
  const found = Object.entries(DIMENSIONS).find(([name]) => name === groupBy);
  return found === undefined ? { metadata: groupBy.slice('metadata.'.length) } : found[1].dimension;
}
