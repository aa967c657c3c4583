// Feedback that requests got.
import type { FeedbackRecord } from '../../store/log-store.ts';
import type { AnalyticsFacts } from './facts.ts';
import { mean } from './ratios.ts';
import { asked, type Selection } from './selection.ts';

/** The feedback of the entries that are meant, oldest first. @throws GatewayError validation_failed when it is too much. */
export function feedbackOf(
  { store }: AnalyticsFacts,
  { scope, filter }: Selection,
): Promise<readonly FeedbackRecord[]> {
  return asked(store.findFeedback(scope, filter));
}

/** The mean of value times weight; 0 for none. */
export function weightedMean(feedback: readonly FeedbackRecord[]): number {
  return mean(
    feedback.reduce((sum, { value, weight }) => sum + value * weight, 0),
    feedback.length,
  );
}

/** Feedback by what it has in common, in the order of its first. What has nothing (undefined) is left out. */
export function feedbackBy<K>(
  feedback: readonly FeedbackRecord[],
  keyOf: (one: FeedbackRecord) => K | undefined,
): ReadonlyMap<K, readonly FeedbackRecord[]> {
  const groups = new Map<K, FeedbackRecord[]>();
  for (const one of feedback) {
    const key = keyOf(one);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return groups;
}
