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
import { percentilesOf } from './latencies.ts';
import { costPerRequest, hitsOf, latencyPerRequest, mean, percent } from './ratios.ts';
import type { Series, SeriesOptions, Slot } from './series.ts';
import { timedGraph } from './timed-graph.ts';

/** Of a graph of latencies. */
const SHARES = [0.5, 0.9, 0.99];

/** The methods of AnalyticsGraphsService. */
export function analyticsGraphsService(deps: AnalyticsDeps) {
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
    ...errorGraphs(deps),
    ...feedbackGraphs(deps),

    getRequestsGraph(request: AnalyticsRequest, call: Call): Promise<CountGraph> {
      return counted(request, call, ({ sums }) => sums.requests);
    },

    getErrorsGraph(request: AnalyticsRequest, call: Call): Promise<CountGraph> {
      return counted(request, call, ({ sums }) => sums.errors);
    },

    getUsersGraph(request: AnalyticsRequest, call: Call): Promise<CountGraph> {
      return counted(request, call, ({ unique }) => unique, { unique: 'user' });
    },

    async getUserRequestsGraph(request: AnalyticsRequest, call: Call): Promise<UserRequestsGraph> {
      const { series, points, head } = await timedGraph(deps, request, call, { unique: 'user' });
      const { sums, unique } = series;
      return create(UserRequestsGraphSchema, {
        ...head,
        summary: {
          total: BigInt(sums.requests),
          unique: BigInt(unique),
          avg: mean(sums.requests, unique),
        },
        dataPoints: points((slot) => ({ avg: mean(slot.sums.requests, slot.unique) })),
      });
    },

    async getCostGraph(request: AnalyticsRequest, call: Call): Promise<CostGraph> {
      const { series, points, head } = await timedGraph(deps, request, call);
      const costs = ({ sums }: Slot | Series) => ({
        total: inCents(sums.cost),
        avg: costPerRequest(sums),
        totalExact: String(sums.cost),
      });
      return create(CostGraphSchema, { ...head, summary: costs(series), dataPoints: points(costs) });
    },

    async getLatencyGraph(request: AnalyticsRequest, call: Call): Promise<LatencyGraph> {
      const { series, points: pointsBy, head } = await timedGraph(deps, request, call, { latencies: true });
      const found = await percentilesOf(series.slots, ({ sums }) => sums.histogram ?? sums.latencies, SHARES);
      const told = ({ sums }: Slot | Series, [p50 = 0, p90 = 0, p99 = 0]: readonly number[]) => ({
        avg: latencyPerRequest(sums),
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
      const tokens = ({ sums }: Slot | Series) => ({
        total: BigInt(sums.totalTokens),
        avg: mean(sums.totalTokens, sums.requests),
      });
      return create(TokensGraphSchema, { ...head, summary: tokens(series), dataPoints: points(tokens) });
    },

    async getCacheHitRateGraph(request: AnalyticsRequest, call: Call): Promise<CacheHitRateGraph> {
      const { series, points, head } = await timedGraph(deps, request, call);
      const savings = cumulated(series.slots);
      return create(CacheHitRateGraphSchema, {
        ...head,
        summary: { total: BigInt(hitsOf(series.sums)), rate: hitRate(series.sums) },
        dataPoints: points((slot) => ({
          simpleHits: BigInt(slot.sums.cacheHits),
          semanticHits: BigInt(slot.sums.semanticHits),
          rate: hitRate(slot.sums),
          ...savings.get(slot),
        })),
      });
    },

    async getCacheLatencyGraph(request: AnalyticsRequest, call: Call): Promise<CacheLatencyGraph> {
      const { points, head } = await timedGraph(deps, request, call);
      return create(CacheLatencyGraphSchema, {
        ...head,
        summary: {},
        dataPoints: points(({ sums }) => ({ avg: mean(sums.cacheLatencyUs / 1000, hitsOf(sums)) })),
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
      simple += slot.sums.saved;
      semantic += slot.sums.semanticSaved;
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

function hitRate(sums: LogRollups): number {
  return percent(hitsOf(sums), sums.requests);
}
