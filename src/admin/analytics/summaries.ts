// Summaries of analytics.
import { create } from '@bufbuild/protobuf';
import type { AnalyticsRequest } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import {
  type CacheSummary,
  CacheSummarySchema,
} from '../../../gen/gateway/admin/v2/analytics_summaries_pb.ts';
import type { Call } from '../../access/call.ts';
import type { LogSums } from '../../store/log/aggregation.ts';
import { emptySums } from '../../store/log/sums.ts';
import { type AnalyticsFacts, sourceOf } from './facts.ts';
import { hitsOf, mean, percent } from './ratios.ts';
import { asked, selectionOf } from './selection.ts';

/** The methods of AnalyticsSummariesService. */
export function analyticsSummariesService(facts: AnalyticsFacts) {
  return {
    async getCacheSummary(request: AnalyticsRequest, call: Call): Promise<CacheSummary> {
      const { scope, filter } = await selectionOf(facts, request, call);
      const answer = await asked(facts.store.aggregate(scope, filter, { latencies: false }));
      return create(CacheSummarySchema, {
        object: 'analytics-summary',
        summary: figures(answer.rows[0]?.sums ?? emptySums()),
        source: sourceOf(answer),
      });
    },
  };
}

function figures(sums: LogSums) {
  const hits = hitsOf(sums);
  const others = sums.requests - hits;
  const hitUs = mean(sums.cacheLatencyUs, hits);
  const otherUs = mean(sums.latencyUs - sums.cacheLatencyUs, others);
  return {
    hits: BigInt(hits),
    avgLatency: hitUs / 1000,
    totalRequests: BigInt(sums.requests),
    cacheSpeedup: hits === 0 || others === 0 ? 0 : percent(otherUs - hitUs, otherUs),
  };
}
