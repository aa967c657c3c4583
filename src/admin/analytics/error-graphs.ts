// Graphs of errors, and of rescued requests.
import { create } from '@bufbuild/protobuf';
import {
  type ErrorCodesGraph,
  ErrorCodesGraphSchema,
  type ErrorRateGraph,
  ErrorRateGraphSchema,
  type ErrorStacksGraph,
  ErrorStacksGraphSchema,
  type RescuedRequestsGraph,
  RescuedRequestsGraphSchema,
} from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import type { AnalyticsRequest } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import type { Call } from '../../call/call.ts';
import { arrangementOf } from './arrangement.ts';
import { type AnalyticsDeps, sourceOf } from './deps.ts';
import { percent } from './ratios.ts';
import { asked, selectionOf } from './selection.ts';
import type { Slot } from './series.ts';
import { timedGraph } from './timed-graph.ts';

/** The methods of AnalyticsGraphsService that are about errors. */
export function errorGraphs(deps: AnalyticsDeps) {
  return {
    async getErrorRateGraph(request: AnalyticsRequest, call: Call): Promise<ErrorRateGraph> {
      const { series, points, head } = await timedGraph(deps, request, call);
      const rate = ({ rollup }: Pick<Slot, 'rollup'>) => ({ rate: percent(rollup.errors, rollup.requests) });
      return create(ErrorRateGraphSchema, { ...head, summary: rate(series), dataPoints: points(rate) });
    },

    async getErrorStacksGraph(request: AnalyticsRequest, call: Call): Promise<ErrorStacksGraph> {
      const { series, points, head } = await timedGraph(deps, request, call, { by: 'statusCode' });
      const stats = new Map(series.slots.map((slot) => [slot, errorsIn(slot)]));
      return create(ErrorStacksGraphSchema, {
        ...head,
        summary: { total: sumOf([...stats.values()].flat()) },
        dataPoints: points((slot) => ({ stats: stats.get(slot) ?? [] })),
      });
    },

    async getErrorCodesGraph(request: AnalyticsRequest, call: Call): Promise<ErrorCodesGraph> {
      const arranged = arrangementOf<{ readonly statusCode: number; readonly count: bigint }>(request, {
        status_code: ({ statusCode }) => statusCode,
        count: ({ count }) => Number(count),
      });
      const { scope, filter } = await selectionOf(deps, request, call);
      const answer = await asked(
        deps.store.aggregate(scope, filter, { by: ['statusCode'], latencies: false }),
      );
      const points = answer.rows
        .filter(({ rollup }) => rollup.errors > 0)
        .map(({ group, rollup }) => ({ statusCode: Number(group[0]), count: BigInt(rollup.errors) }));
      return create(ErrorCodesGraphSchema, {
        object: 'analytics-graph',
        summary: {
          totalErrors: sumOf(points),
          uniqueErrorCodes: BigInt(points.length),
        },
        dataPoints: arranged(points),
        source: sourceOf(answer),
      });
    },

    async getRescuedRequestsGraph(request: AnalyticsRequest, call: Call): Promise<RescuedRequestsGraph> {
      const { series, points, head } = await timedGraph(deps, request, call, {
        by: 'retries',
        beside: 'statusCode',
      });
      const all = series.slots.map(rescuedIn);
      const rescued = new Map(series.slots.map((slot, i) => [slot, all[i]]));
      return create(RescuedRequestsGraphSchema, {
        ...head,
        summary: {
          retry: sumOf(all.flatMap(({ retry }) => retry)),
          fallback: all.reduce((sum, { fallback }) => sum + fallback, 0n),
        },
        dataPoints: points((slot) => ({ ...rescued.get(slot) })),
      });
    },
  };
}

function errorsIn({ groups }: Slot) {
  return groups
    .filter(({ rollup }) => rollup.errors > 0)
    .map(({ group, rollup }) => ({ responseStatusCode: Number(group[0]), count: BigInt(rollup.errors) }));
}

function sumOf(counts: readonly { readonly count: bigint }[]): bigint {
  return counts.reduce((sum, { count }) => sum + count, 0n);
}

/** Only a request that was answered in the end was rescued: with a status of 2xx. */
function rescuedIn({ groups, besides }: Slot) {
  const retry = groups
    .filter(({ group, rollup }) => Number(group[0]) > 0 && rollup.successes > 0)
    .map(({ group, rollup }) => ({ retrySuccessCount: Number(group[0]), count: BigInt(rollup.successes) }))
    .sort((a, b) => a.retrySuccessCount - b.retrySuccessCount);
  // All entries of a group by status are successes, or none is.
  const answered = besides.filter(({ rollup }) => rollup.successes > 0);
  return { retry, fallback: answered.reduce((sum, { rollup }) => sum + BigInt(rollup.rescued), 0n) };
}
