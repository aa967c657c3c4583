// Feedback that requests got, summed up.
import type { FeedbackGrouping, FeedbackTotals } from '../../store/log-store.ts';
import type { AnalyticsDeps } from './deps.ts';
import { mean } from './ratios.ts';
import { asked, type Selection } from './selection.ts';

/** The feedback of the selected entries, by group. @throws GatewayError validation_failed when it is too much. */
export function feedbackOf(
  { store }: AnalyticsDeps,
  { scope, filter }: Selection,
  by: FeedbackGrouping,
): Promise<readonly FeedbackTotals[]> {
  return asked(store.sumFeedback(scope, filter, by));
}

/** Groups together; their traces are not added up. */
export function together(groups: readonly FeedbackTotals[]): Pick<FeedbackTotals, 'count' | 'sum'> {
  return {
    count: groups.reduce((all, { count }) => all + count, 0),
    sum: groups.reduce((all, { sum }) => all + sum, 0),
  };
}

/** The mean of value times weight; 0 for none. */
export function weightedMean({ sum, count }: Pick<FeedbackTotals, 'count' | 'sum'>): number {
  return mean(sum, count);
}
