// Money as callers write and read it: US cents, for token rates and for totals.
import { dollarsOf, inDollars } from './dollars.ts';

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

/** An amount in 1e-12 USD as US cents: the nearest number to the exact decimal. */
export function inCents(amount: bigint): number {
  return inDollars(amount * 100n);
}

/** US cents as an amount in 1e-12 USD, rounded to the nearest. @param cents not negative */
export function amountOfCents(cents: number, direction: 'up' | 'down'): bigint {
  const units = dollarsOf(cents);
  return units / FINEST + (direction === 'up' && units % FINEST !== 0n ? 1n : 0n);
}
