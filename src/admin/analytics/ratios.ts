// Means and shares of totals; 0 where the divisor is 0.
import { inCents } from '../../ledger/prices/cents.ts';
import type { LogRollups } from '../../store/log/aggregation.ts';

const CENT_DIGITS = 10;

/** The first over the second. */
export function mean(sum: number, count: number): number {
  return count === 0 ? 0 : sum / count;
}

/** The first of the second, in percent. */
export function percent(part: number, all: number): number {
  return all === 0 ? 0 : (100 * part) / all;
}

/** US cents for a request. */
export function costPerRequest({ cost, requests }: LogRollups): number {
  return mean(inCents(cost), requests);
}

/** Milliseconds for a request. */
export function latencyPerRequest({ latencyUs, requests }: LogRollups): number {
  return mean(latencyUs / 1000, requests);
}

/** Answers from the cache. */
export function hitsOf({ cacheHits, semanticHits }: LogRollups): number {
  return cacheHits + semanticHits;
}

/** 1e-12 US dollars as US cents: the exact decimal. */
export function exactCents(amount: bigint): string {
  const digits = amount.toString().padStart(CENT_DIGITS + 1, '0');
  const part = digits.slice(-CENT_DIGITS).replace(/0+$/, '');
  return digits.slice(0, -CENT_DIGITS) + (part === '' ? '' : `.${part}`);
}
