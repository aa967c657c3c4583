// Summaries of analytics.
import { create } from '@bufbuild/protobuf';
import type { AnalyticsRequest } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import {
  type CacheSummary,
  CacheSummarySchema,
} from '../../../gen/gateway/admin/v2/analytics_summaries_pb.ts';
import type { Call } from '../../call/call.ts';
import type { LogRollups } from '../../store/log/aggregation.ts';
import { emptyRollup } from '../../store/log/rollups.ts';
import { type AnalyticsDeps, sourceOf } from './deps.ts';
import { hitsOf, mean, percent } from './ratios.ts';
import { asked, selectionOf } from './selection.ts';

/** The methods of AnalyticsSummariesService. */
export function analyticsSummariesService(deps: AnalyticsDeps) {
  return {
    async getCacheSummary(request: AnalyticsRequest, call: Call): Promise<CacheSummary> {
      const { scope, filter } = await selectionOf(deps, request, call);
      const answer = await asked(deps.store.aggregate(scope, filter, { latencies: false }));
      return create(CacheSummarySchema, {
        object: 'analytics-summary',
        summary: figures(answer.rows[0]?.rollup ?? emptyRollup()),
        source: sourceOf(answer),
      });
    },
  };
}

function figures(rollup: LogRollups) {
  const hits = hitsOf(rollup);
  const others = rollup.requests - hits;
  const hitUs = mean(rollup.cacheLatencyUs, hits);
  const otherUs = mean(rollup.latencyUs - rollup.cacheLatencyUs, others);
  return {
    hits: BigInt(hits),
    avgLatency: hitUs / 1000,
    totalRequests: BigInt(rollup.requests),
    cacheSpeedup: hits === 0 || others === 0 ? 0 : percent(otherUs - hitUs, otherUs),
  };
}
