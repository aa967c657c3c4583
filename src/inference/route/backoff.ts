// How long to wait before a target is called again.
import type { GatewayError } from '../../lib/errors.ts';
import type { RetryPlan } from '../plan/plan.ts';

const FIRST_MS = 500;
const LAST_MS = 16_000;
/** Longest time that providers' retry-after may make a call wait, in all. */
export const MOST_RETRY_AFTER_MS = 60_000;

/** A wait, or why there is none. */
export type Wait = { readonly ms: number; readonly why: 'backoff' | 'retry_after' | 'at_once' } | undefined;

/**
 * The wait before the next try; undefined when the provider asks for more than a call may wait.
 * @param tries calls so far
 * @param waitedMs what providers have made this call wait so far
 */
export function waitBefore(
  retry: RetryPlan,
  failure: GatewayError | undefined,
  tries: number,
  waitedMs: number,
  random: number,
): Wait {
  // A guardrail found fault with the answer: the provider is well.
  if (failure === undefined || failure.reason === 'guardrail_denied') return { ms: 0, why: 'at_once' };
  const asked = retry.useRetryAfter ? failure.details.retryAfterMs : undefined;
  if (asked !== undefined)
    return waitedMs + asked > MOST_RETRY_AFTER_MS ? undefined : { ms: asked, why: 'retry_after' };
  const full = Math.min(LAST_MS, FIRST_MS * 2 ** (tries - 1));
  // Between half of it and all of it, so that callers do not come back as one.
  return { ms: Math.round(full * (0.5 + random / 2)), why: 'backoff' };
}
