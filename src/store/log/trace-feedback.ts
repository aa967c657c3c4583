// Which feedback of traces is asked for.
import { invalidField } from '../../lib/errors.ts';
import { checkInteger } from '../document-checks.ts';
import { checkOwner } from '../log-filter.ts';
import type { FeedbackGrouping } from '../log-store.ts';
import type { FeedbackOwner, FeedbackRange } from '../request-log.ts';

/** Most traces in one request. */
const TRACES = 1000;
/** Precision: totals of parts do not depend on their order beyond it. */
const EPSILON = 1e-9;

/** Each trace once. @throws GatewayError validation_failed */
export function checkTraces(traceIds: readonly string[]): readonly string[] {
  if (traceIds.length > TRACES) throw invalidField('traceIds', `has more than ${TRACES} values`, 'max_items');
  return [...new Set(traceIds)];
}

/** The owner whose feedback counts, checked; null: all feedback counts. @throws GatewayError validation_failed */
export function checkOwn(own: FeedbackOwner | undefined): FeedbackOwner | null {
  return own === undefined ? null : checkOwner(own);
}

/** @throws GatewayError validation_failed */
export function checkGrouping(by: FeedbackGrouping): FeedbackGrouping {
  if (by === 'value' || by === 'model') return by;
  if ('bucketMs' in by) return { bucketMs: checkInteger('bucketMs', by.bucketMs, 1) };
  if (typeof by.metadata === 'string') return { metadata: by.metadata };
  throw invalidField('by', 'is nothing that feedback is grouped by', 'in');
}

/** The message when a filter matches more feedback than is added up. */
export const TOO_MUCH = 'is too far: there is too much feedback to add up';

/** The least and the greatest mean that a range holds. */
export function boundsOf({ min = -10, max = 10 }: FeedbackRange): readonly [least: number, most: number] {
  return [min - EPSILON, max + EPSILON];
}
