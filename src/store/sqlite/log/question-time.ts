// How long questions about many entries may take. A figure over millions of entries takes a second; on a machine that is
// several times slower, or busy, an answer after some seconds is worth more than a refusal.
import { monotonicNow } from '../protocol.ts';
import { FailureError } from '../worker-loop.ts';

/** Milliseconds that the caller of an aggregation waits, the questions before it included. */
export const SUMS_MS = 30_000;
/** The same of facets, and what of it is left for the answer: then that is what was counted until then. */
export const FACETS_MS = 10_000;
const FACETS_LEFT_MS = 2000;
/** Before its caller leaves a question is given up: the worker is free for others, and the caller is told what to do. */
const LEFT_MS = 500;

export const TOO_LATE = 'the log did not answer in time: ask for a shorter time, or try again';

/** Whether facets are answered as far as they are counted. @param expiresAt when the caller leaves, by `monotonicNow` */
export function facetsAreOver(expiresAt: number): boolean {
  return monotonicNow() > expiresAt - FACETS_LEFT_MS;
}

/** @throws FailureError store_unavailable when the caller of a question is about to leave */
export function checkTime(expiresAt: number): void {
  if (monotonicNow() <= expiresAt - LEFT_MS) return;
  throw new FailureError({ reason: 'store_unavailable', message: TOO_LATE, retryAfterMs: 1000 });
}
