// admit: all limits that apply to a call, checked and taken in one step or not at all.
import { invalidField } from '../../lib/errors.ts';
import {
  BOUNDS,
  checkAmount,
  checkBatch,
  checkId,
  checkLength,
  checkSpan,
  checkTime,
  checkWhole,
  SLICES,
} from './bounds.ts';
import type { JournalEntry } from './journal.ts';

/**
 * N in any span of `windowMs`. Time is cut in slices of ceil(windowMs / slices) and a slice counts whole as long
 * as any of it may be inside: the current one and the `slices` before it. So the sum over any span of
 * `windowMs` (both ends included) is never above `limit`, and under saturation slices / (slices + 1) of it are
 * admitted (99.17 % with 120), less the rounding of a slice to whole microseconds (under 0.1 % from 100 ms on).
 * A window with another length or number of slices is another window and starts empty.
 */
export interface WindowLimit {
  readonly kind: 'window';
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
  /** 1 to 1,000; 120 by default. Fewer than 99 are below 99 % under saturation. */
  readonly slices?: number;
  readonly cost: number;
  readonly pool?: WindowPool;
}

/**
 * Windows whose number callers decide, e.g. by their metadata. Of a pool at most `most` are kept at once; what would be
 * one more is counted in one window for all others, under the same limit. A window that becomes one of the pool while
 * that of the others counts something begins with its sum: so no group ever passes more than the limit.
 */
export interface WindowPool {
  readonly key: string;
  readonly most: number;
}

/** spent + held + amount <= cap. Without a cap it is only accounted. Amounts are whole, to 10^21. */
export interface BudgetLimit {
  readonly kind: 'budget';
  readonly key: string;
  readonly cap?: bigint;
  readonly amount: bigint;
  /** When the budget expires, in Unix milliseconds of the store; undefined: never. The newest value counts. */
  readonly keepUntil?: number;
  readonly pool?: BudgetPool;
}

/**
 * Budgets whose number callers decide, e.g. by their metadata. Of a pool at most `most` are kept; what would be one more
 * is counted in `others`, one budget for all of them, under the same cap. How many there are is kept as what is spent of a
 * budget of the pool's own key, so it expires with them. Budgets of a pool are never removed one by one: what is counted
 * in `others` stays there, and no group passes more than the cap.
 */
export interface BudgetPool {
  readonly key: string;
  readonly most: number;
  readonly others: string;
}

/** `limit` live holds at once. */
export interface SlotLimit {
  readonly kind: 'slots';
  readonly key: string;
  readonly limit: number;
}

export type Limit = WindowLimit | BudgetLimit | SlotLimit;

/** The lease under which an admission is held until it is settled. */
export interface HoldOrder {
  /** The attempt's id: admitting the same id again takes nothing. */
  readonly id: string;
  readonly owner: string;
  readonly leaseMs: number;
  /** For the sweeper. */
  readonly note?: string;
}

export interface AdmitRequest {
  readonly limits: readonly Limit[];
  /** Absent: windows only, and nothing to settle. */
  readonly hold?: HoldOrder;
  /** Checks and takes nothing. */
  readonly dryRun?: boolean;
  /** Refuses when the journal holds `maxLength` entries; the entry is appended in the same step. */
  readonly journal?: { readonly maxLength: number; readonly entry?: JournalEntry };
}

/** One limit after the step, in the request's order. */
export interface LimitState {
  readonly denied: boolean;
  /** After the admission when it was admitted. Undefined: a budget without a cap. */
  readonly remaining: bigint | undefined;
  /** When the same request may pass this limit, in ms; undefined: not known, or never. */
  readonly retryAfterMs: number | undefined;
  /** The budget in which it is counted instead: that of all others of its pool. */
  readonly countedIn?: string;
}

export interface Admission {
  /**
   * `fits`: a dry run would be admitted. `repeated`: the hold is there already, nothing was taken.
   * `settled`: it was settled already. `journal_full`: no limit denied, the journal did.
   */
  readonly outcome: 'admitted' | 'fits' | 'denied' | 'repeated' | 'settled' | 'journal_full';
  readonly limits: readonly LimitState[];
  /** Of the hold, Unix milliseconds of the store. */
  readonly expiresAt: number | undefined;
  /** When all limits that denied may pass; undefined when one of them does not know. */
  readonly retryAfterMs: number | undefined;
}

/** Microseconds of one slice. */
export function sliceLength(limit: WindowLimit): number {
  return Math.ceil((limit.windowMs * 1000) / (limit.slices ?? SLICES));
}

/** The longest of the waits of those that denied. */
export function longestWait(limits: readonly LimitState[]): number | undefined {
  const waits = limits.filter((limit) => limit.denied).map((limit) => limit.retryAfterMs);
  if (waits.length === 0 || waits.includes(undefined)) return undefined;
  return Math.max(...(waits as number[]));
}

export function checkAdmit(request: AdmitRequest): void {
  const { limits, hold, journal } = request;
  checkBatch('limits', limits, BOUNDS.limits);
  const names = new Set<string>();
  for (const limit of limits) {
    checkLimit(limit);
    const name = limit.kind + limit.key;
    // Two checks of one counter would each pass where both together do not.
    if (names.has(name)) throw invalidField('limits', `names the ${limit.kind} ${limit.key} twice`, 'unique');
    names.add(name);
  }
  if (hold === undefined && limits.some((limit) => limit.kind !== 'window')) {
    throw invalidField('hold', 'is needed for budgets and slots', 'required');
  }
  if (hold !== undefined) {
    checkId('hold.id', hold.id);
    checkId('hold.owner', hold.owner);
    checkSpan('hold.leaseMs', hold.leaseMs);
    if (hold.note !== undefined) checkLength('hold.note', hold.note, BOUNDS.note);
  }
  if (journal === undefined) return;
  checkWhole('journal.maxLength', journal.maxLength, 0, BOUNDS.count);
  if (journal.entry === undefined) return;
  if (hold === undefined) throw invalidField('hold', 'is needed for a journal entry', 'required');
  checkId('journal.entry.id', journal.entry.id);
  checkLength('journal.entry.data', journal.entry.data, BOUNDS.entry);
}

export function checkPool(name: string, { key, most, others }: BudgetPool): void {
  checkId(`${name}.key`, key);
  checkWhole(`${name}.most`, most, 1, BOUNDS.count);
  checkId(`${name}.others`, others);
}

function checkLimit(limit: Limit): void {
  checkId('limits.key', limit.key);
  switch (limit.kind) {
    case 'window':
      checkWhole('limits.limit', limit.limit, 0, BOUNDS.count);
      checkSpan('limits.windowMs', limit.windowMs);
      checkWhole('limits.slices', limit.slices ?? SLICES, 1, BOUNDS.slices);
      checkWhole('limits.cost', limit.cost, 0, BOUNDS.count);
      if (limit.pool !== undefined) {
        checkId('limits.pool.key', limit.pool.key);
        checkWhole('limits.pool.most', limit.pool.most, 1, BOUNDS.count);
      }
      return;
    case 'budget':
      if (limit.cap !== undefined) checkAmount('limits.cap', limit.cap);
      checkAmount('limits.amount', limit.amount);
      if (limit.keepUntil !== undefined) checkTime('limits.keepUntil', limit.keepUntil);
      if (limit.pool !== undefined) checkPool('limits.pool', limit.pool);
      return;
    case 'slots':
      checkWhole('limits.limit', limit.limit, 0, BOUNDS.count);
  }
}
