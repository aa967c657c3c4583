// Rates as callers write and read them: US cents for a token.
import { dollarsOf, inDollars } from './price-list.ts';

/** The finest rate in cents: 1e-12 US dollars. */
const FINEST = 100n;
const PER_CENT = 10_000_000_000;

/** US cents as a rate in 1e-12 USD; undefined for what is finer than that. @param cents not negative */
export function rateOfCents(cents: number): number | undefined {
  const units = dollarsOf(cents);
  if (units % FINEST !== 0n || inDollars(units) !== cents) return undefined;
  return Number(units / FINEST);
}

/** A rate in 1e-12 USD as US cents. */
export function centsOfRate(rate: number): number {
  return rate / PER_CENT;
}
