// GetGroupedGraph: one measure over time, by the values of a dimension, the top ones each and the rest together.
import { create } from '@bufbuild/protobuf';
import {
  type GroupedGraph,
  type GroupedGraphRequest,
  GroupedGraphSchema,
  type MeasuredValue,
  MeasuredValueSchema,
} from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import type { Call } from '../../call/call.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import type { FirstTokens, LogDimension, LogRollups } from '../../store/log/aggregation.ts';
import { addRollup, emptyFirstTokens, emptyRollup, percentile } from '../../store/log/rollups.ts';
import type { AnalyticsDeps } from './deps.ts';
import { DIMENSIONS } from './dimension-groups.ts';
import { latencyPerRequest } from './ratios.ts';
import { asked, selectionOf } from './selection.ts';
import { readSelected, type Slot } from './series.ts';

const DEFAULT_TOP = 5;

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
  return create(GroupedGraphSchema, {
    object: 'analytics-graph',
    source: series.source,
    bucketSeconds: series.bucketSeconds,
    groups,
    dataPoints: series.slots.map((slot) => {
      const { found, rest } = slotOf(slot, groups);
      if (firstToken !== undefined)
        return {
          timestamp: slot.timestamp,
          measured: found.map((rollup) => firstTokenValue(rollup, firstToken)),
          measuredRest: firstTokenValue(rest, firstToken),
        };
      const measured = MEASURES[measure] ?? MEASURES.requests!;
      return {
        timestamp: slot.timestamp,
        values: found.map(measured),
        rest: WITHOUT_REST.has(measure) ? 0 : measured(rest),
      };
    }),
  });
}

/** Roll-ups of the groups, and of all others together: added up before they are rounded to a measure, as the total is. */
function slotOf({ groups: rows }: Slot, groups: readonly string[]) {
  const known = new Map(rows.map(({ group, rollup }) => [group[0] ?? '', rollup]));
  const found = groups.map((name) => known.get(name) ?? emptyRollup());
  for (const name of groups) known.delete(name);
  const rest = emptyRollup();
  for (const rollup of known.values()) addRollup(rest, rollup);
  return { found, rest };
}

function firstTokenValue(
  { firstTokens = emptyFirstTokens() }: LogRollups,
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
