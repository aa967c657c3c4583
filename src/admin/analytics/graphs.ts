// Graphs of analytics: the request log summed up over time.
import { create } from '@bufbuild/protobuf';
import {
  type CacheHitRateGraph,
  CacheHitRateGraphSchema,
  type CacheLatencyGraph,
  CacheLatencyGraphSchema,
  type CostGraph,
  CostGraphSchema,
  type CountGraph,
  CountGraphSchema,
  type GroupedGraph,
  type GroupedGraphRequest,
  type LatencyGraph,
  LatencyGraphSchema,
  type TokensGraph,
  TokensGraphSchema,
  type UserRequestsGraph,
  UserRequestsGraphSchema,
} from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import type { AnalyticsRequest } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import type { Call } from '../../call/call.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import type { LogRollups } from '../../store/log/aggregation.ts';
import type { AnalyticsDeps } from './deps.ts';
import { errorGraphs } from './error-graphs.ts';
import { feedbackGraphs } from './feedback-graphs.ts';
import { getGroupedGraph } from './grouped-graph.ts';
import { percentilesOf } from './latencies.ts';
import { costPerRequest, hitsOf, latencyPerRequest, mean, percent } from './ratios.ts';
import type { Series, SeriesOptions, Slot } from './series.ts';
import { timedGraph } from './timed-graph.ts';

/** Of a graph of latencies. */
const SHARES = [0.5, 0.9, 0.99];

/** The methods of AnalyticsGraphsService. */
export function analyticsGraphsService(deps: AnalyticsDeps) {
  return {
    ...errorGraphs(deps),
    ...feedbackGraphs(deps),
    ...cacheGraphs(deps),
    ...countGraphs(deps),

    getGroupedGraph(request: GroupedGraphRequest, call: Call): Promise<GroupedGraph> {
      return getGroupedGraph(deps, request, call);
    },

    async getUserRequestsGraph(request: AnalyticsRequest, call: Call): Promise<UserRequestsGraph> {
      const { series, points, head } = await timedGraph(deps, request, call, { unique: 'user' });
      const { rollup, unique } = series;
      return create(UserRequestsGraphSchema, {
        ...head,
        summary: {
          total: BigInt(rollup.requests),
          unique: BigInt(unique),
          avg: mean(rollup.requests, unique),
        },
        dataPoints: points((slot) => ({ avg: mean(slot.rollup.requests, slot.unique) })),
      });
    },

    async getCostGraph(request: AnalyticsRequest, call: Call): Promise<CostGraph> {
      const { series, points, head } = await timedGraph(deps, request, call);
      const costs = ({ rollup }: Slot | Series) => ({
        total: inCents(rollup.cost),
        avg: costPerRequest(rollup),
        totalExact: String(rollup.cost),
      });
      return create(CostGraphSchema, { ...head, summary: costs(series), dataPoints: points(costs) });
    },

    async getLatencyGraph(request: AnalyticsRequest, call: Call): Promise<LatencyGraph> {
      const { series, points: pointsBy, head } = await timedGraph(deps, request, call, { latencies: true });
      const found = await percentilesOf(
        series.slots,
        ({ rollup }) => rollup.histogram ?? rollup.latencies,
        SHARES,
      );
      const told = ({ rollup }: Slot | Series, [p50 = 0, p90 = 0, p99 = 0]: readonly number[]) => ({
        avg: latencyPerRequest(rollup),
        p50,
        p90,
        p99,
      });
      const points = new Map(series.slots.map((slot, i) => [slot, told(slot, found.each[i] ?? [])]));
      return create(LatencyGraphSchema, {
        ...head,
        summary: told(series, found.all),
        dataPoints: pointsBy((slot) => points.get(slot) ?? {}),
      });
    },

    async getTokensGraph(request: AnalyticsRequest, call: Call): Promise<TokensGraph> {
      const { series, points, head } = await timedGraph(deps, request, call);
      const tokens = ({ rollup }: Slot | Series) => ({
        total: BigInt(rollup.totalTokens),
        avg: mean(rollup.totalTokens, rollup.requests),
      });
      return create(TokensGraphSchema, { ...head, summary: tokens(series), dataPoints: points(tokens) });
    },
  };
}

function countGraphs(deps: AnalyticsDeps) {
  const counted = async (
    request: AnalyticsRequest,
    call: Call,
    total: (of: Slot | Series) => number,
    options?: SeriesOptions,
  ): Promise<CountGraph> => {
    const { series, points, head } = await timedGraph(deps, request, call, options);
    return create(CountGraphSchema, {
      ...head,
      summary: { total: BigInt(total(series)) },
      dataPoints: points((slot) => ({ total: BigInt(total(slot)) })),
    });
  };
  return {
    getRequestsGraph(request: AnalyticsRequest, call: Call): Promise<CountGraph> {
      return counted(request, call, ({ rollup }) => rollup.requests);
    },

    getErrorsGraph(request: AnalyticsRequest, call: Call): Promise<CountGraph> {
      return counted(request, call, ({ rollup }) => rollup.errors);
    },

    getUsersGraph(request: AnalyticsRequest, call: Call): Promise<CountGraph> {
      return counted(request, call, ({ unique }) => unique, { unique: 'user' });
    },
  };
}

function cacheGraphs(deps: AnalyticsDeps) {
  return {
    async getCacheHitRateGraph(request: AnalyticsRequest, call: Call): Promise<CacheHitRateGraph> {
      const { series, points, head } = await timedGraph(deps, request, call);
      const savings = cumulated(series.slots);
      return create(CacheHitRateGraphSchema, {
        ...head,
        summary: { total: BigInt(hitsOf(series.rollup)), rate: hitRate(series.rollup) },
        dataPoints: points((slot) => ({
          simpleHits: BigInt(slot.rollup.cacheHits),
          semanticHits: BigInt(slot.rollup.semanticHits),
          rate: hitRate(slot.rollup),
          ...savings.get(slot),
        })),
      });
    },

    async getCacheLatencyGraph(request: AnalyticsRequest, call: Call): Promise<CacheLatencyGraph> {
      const { points, head } = await timedGraph(deps, request, call);
      return create(CacheLatencyGraphSchema, {
        ...head,
        summary: {},
        dataPoints: points(({ rollup }) => ({ avg: mean(rollup.cacheLatencyUs / 1000, hitsOf(rollup)) })),
      });
    },
  };
}

/** The total saved from the first slot to the end of each. */
function cumulated(slots: readonly Slot[]) {
  let simple = 0n;
  let semantic = 0n;
  return new Map(
    slots.map((slot) => {
      simple += slot.rollup.saved;
      semantic += slot.rollup.semanticSaved;
      const savings = {
        cumulativeSimpleCacheSavings: inCents(simple),
        cumulativeSemanticCacheSavings: inCents(semantic),
        cumulativeSimpleCacheSavingsExact: String(simple),
        cumulativeSemanticCacheSavingsExact: String(semantic),
      };
      return [slot, savings];
    }),
  );
}

function hitRate(rollup: LogRollups): number {
  return percent(hitsOf(rollup), rollup.requests);
}
