// What every script's arguments are held to, in both adapters, before a store sees them.
import { invalidField } from '../../lib/errors.ts';
import { checkName } from '../document-checks.ts';

/** Bounds of shared state. */
export const BOUNDS = {
  /** Of an amount of a budget: 10^21 (a thousand million USD in units of 1e-12). */
  amount: 10n ** 21n,
  /** Of a window's limit and cost. */
  count: 1_000_000_000_000,
  /** Of a window or a lease, in milliseconds: 400 days. */
  spanMs: 400 * 86_400_000,
  slices: 1000,
  /** Limits of one admission: as many policies as an organisation may have, and what else applies to a call. */
  limits: 1024,
  /** Ids of one renewal, entries of one claim or acknowledgement, holds of one sweep. */
  batch: 1000,
  /** Of a hold's note, a journal entry's data and a value, in UTF-16 units. */
  note: 4096,
  entry: 1024 * 1024,
  value: 1024 * 1024,
  /** Of one cached value, in bytes. */
  cached: 64 * 1024 * 1024,
} as const;

/** Slices of a window that names none: 120/121 of the limit are reached under saturation. */
export const SLICES = 120;

export function checkId(field: string, value: string): string {
  return checkName(field, value);
}

export function checkWhole(field: string, value: number, min: number, max: number): number {
  if (!Number.isSafeInteger(value)) throw invalidField(field, 'must be a whole number', 'type');
  if (value < min || value > max) throw invalidField(field, `must be from ${min} to ${max}`, 'range');
  return value;
}

export function checkSpan(field: string, value: number): number {
  return checkWhole(field, value, 1, BOUNDS.spanMs);
}

/** Unix milliseconds. */
export function checkTime(field: string, value: number): number {
  return checkWhole(field, value, 0, 8.64e15);
}

export function checkAmount(field: string, value: bigint): bigint {
  if (typeof value !== 'bigint') throw invalidField(field, 'must be a bigint', 'type');
  if (value < 0n || value > BOUNDS.amount) throw invalidField(field, 'must be from 0 to 10^21', 'range');
  return value;
}

export function checkLength(field: string, value: string, max: number): string {
  if (typeof value !== 'string') throw invalidField(field, 'must be a string', 'type');
  if (value.length > max) throw invalidField(field, `is longer than ${max} characters`, 'max_len');
  if (!value.isWellFormed()) throw invalidField(field, 'is not well-formed Unicode', 'unicode');
  return value;
}

export function checkBatch<T>(field: string, list: readonly T[], max: number = BOUNDS.batch): readonly T[] {
  if (list.length > max) throw invalidField(field, `has more than ${max} entries`, 'max_items');
  return list;
}
