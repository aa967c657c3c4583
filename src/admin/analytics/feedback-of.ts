// Feedback that requests got, summed up.
import type { FeedbackGrouping, FeedbackSums } from '../../store/log-store.ts';
import type { AnalyticsFacts } from './facts.ts';
import { mean } from './ratios.ts';
import { asked, type Selection } from './selection.ts';

/** The feedback of the entries that are meant, by group. @throws GatewayError validation_failed when it is too much. */
export function feedbackOf(
  { store }: AnalyticsFacts,
  { scope, filter }: Selection,
  by: FeedbackGrouping,
): Promise<readonly FeedbackSums[]> {
  return asked(store.sumFeedback(scope, filter, by));
}

/** Groups together; their traces are not added up. */
export function together(groups: readonly FeedbackSums[]): Pick<FeedbackSums, 'count' | 'sum'> {
  return {
    count: groups.reduce((all, { count }) => all + count, 0),
    sum: groups.reduce((all, { sum }) => all + sum, 0),
  };
}

/** The mean of value times weight; 0 for none. */
export function weightedMean({ sum, count }: Pick<FeedbackSums, 'count' | 'sum'>): number {
  return mean(sum, count);
}
