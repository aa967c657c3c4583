// Feedback that requests got.
import type { FeedbackRecord } from '../../store/log-store.ts';
import type { LogRange } from '../../store/request-log.ts';
import type { TenantScope } from '../../store/scope.ts';
import type { AnalyticsFacts } from './facts.ts';
import { mean } from './ratios.ts';
import { asked, type Selection } from './selection.ts';

/** Traces of one read. */
const TRACES = 1000;

/** The feedback of the entries that are meant, oldest first. @throws GatewayError validation_failed when it is too much. */
export async function feedbackOf(
  { store }: AnalyticsFacts,
  { scope, filter }: Selection,
): Promise<readonly FeedbackRecord[]> {
  const found = await asked(store.findFeedback(scope, filter));
  if (filter.feedback === undefined) return found;
  const liked = await tracesWithin(store, scope, filter.feedback, found);
  return found.filter(({ traceId }) => liked.has(traceId));
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

/** Of the traces with the feedback given, those whose whole feedback has its mean in a range. */
async function tracesWithin(
  store: AnalyticsFacts['store'],
  { organisationId }: TenantScope,
  { min = -10, max = 10 }: LogRange<number>,
  found: readonly FeedbackRecord[],
): Promise<ReadonlySet<string>> {
  const traces = [...new Set(found.map(({ traceId }) => traceId))];
  const liked = new Set<string>();
  for (let at = 0; at < traces.length; at += TRACES) {
    const whole = await store.feedbackOf(
      { organisationId, workspaceId: undefined },
      traces.slice(at, at + TRACES),
    );
    for (const [traceId, feedback] of feedbackBy(whole, (one) => one.traceId)) {
      const average = weightedMean(feedback);
      if (average >= min && average <= max) liked.add(traceId);
    }
  }
  return liked;
}
