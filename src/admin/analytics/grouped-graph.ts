// GetGroupedGraph: one measure over time, by the values of a dimension, the top ones each and the rest together.
import { create } from '@bufbuild/protobuf';
import {
  type GroupedGraph,
  type GroupedGraphRequest,
  GroupedGraphSchema,
} from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import type { Call } from '../../call/call.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import type { LogDimension, LogRollups } from '../../store/log/aggregation.ts';
import { addRollup, emptyRollup, percentile } from '../../store/log/rollups.ts';
import type { AnalyticsDeps } from './deps.ts';
import { DIMENSIONS } from './dimension-groups.ts';
import { latencyPerRequest } from './ratios.ts';
import { asked, selectionOf } from './selection.ts';
import { readSelected } from './series.ts';

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
const WITHOUT_REST: ReadonlySet<string> = new Set(['avg_latency', 'p95_latency']);

export async function getGroupedGraph(
  deps: AnalyticsDeps,
  request: GroupedGraphRequest,
  call: Call,
): Promise<GroupedGraph> {
  const { measure, groupBy = 'model', top = DEFAULT_TOP } = request;
  const measured = MEASURES[measure] ?? MEASURES.requests!;
  const selection = await selectionOf(deps, request, call);
  const by = dimensionOf(groupBy);
  const [ranked, series] = await Promise.all([
    asked(deps.store.aggregate(selection.scope, selection.filter, { by: [by], take: top, latencies: false })),
    readSelected(deps, selection, { by, latencies: measure === 'p95_latency' }),
  ]);
  const groups = ranked.rows.map(({ group }) => group[0] ?? '');
  return create(GroupedGraphSchema, {
    object: 'analytics-graph',
    source: series.source,
    bucketSeconds: series.bucketSeconds,
    groups,
    dataPoints: series.slots.map(({ timestamp, groups: rows }) => {
      const found = new Map(rows.map(({ group, rollup }) => [group[0] ?? '', rollup]));
      const values = groups.map((name) => measured(found.get(name) ?? emptyRollup()));
      // Added up before it is rounded to a measure, as the point's total is.
      const rest = emptyRollup();
      for (const [name, rollup] of found) if (!groups.includes(name)) addRollup(rest, rollup);
      return { timestamp, values, rest: WITHOUT_REST.has(measure) ? 0 : measured(rest) };
    }),
  });
}

function dimensionOf(groupBy: string): LogDimension {
  const found = Object.entries(DIMENSIONS).find(([name]) => name === groupBy);
  return found === undefined ? { metadata: groupBy.slice('metadata.'.length) } : found[1].dimension;
}
