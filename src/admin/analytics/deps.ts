// What analytics are read with.
import { AnalyticsSource } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import type { LogAggregate } from '../../store/log/aggregation.ts';
import type { LogStore } from '../../store/log-store.ts';
import type { LogFilterDeps } from '../logs/filter.ts';

/** What the services need. */
export interface AnalyticsDeps extends LogFilterDeps {
  readonly store: Pick<LogStore, 'aggregate' | 'sumFeedback'>;
  /** Makes everything recorded so far readable. */
  readonly flush: () => Promise<void>;
}

/** The sources of the totals, as the answer shows them. */
export function sourceOf(...answers: readonly Pick<LogAggregate, 'source'>[]): AnalyticsSource {
  return answers.every(({ source }) => source === 'rollups')
    ? AnalyticsSource.ROLLUPS
    : AnalyticsSource.ENTRIES;
}
