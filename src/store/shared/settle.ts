// settle: what an admission really cost, once per id; the hold goes, the journal's entry comes, in one step.
import { invalidField } from '../../lib/errors.ts';
import { type BudgetPool, checkPool } from './admit.ts';
import { BOUNDS, checkAmount, checkBatch, checkId, checkTime, checkWhole } from './bounds.ts';
import { checkEntry, type JournalEntry, type OwnEntry } from './journal.ts';

export interface Charge {
  readonly key: string;
  readonly amount: bigint;
  /** As of the budget's limit; for one that is not there. */
  readonly keepUntil?: number;
  readonly pool?: BudgetPool;
}

export interface WindowCost {
  readonly key: string;
  readonly cost: number;
}

/**
 * A window's cost that turns out lower is given back in the slice where it was counted, and not at all when that
 * slice has left the window: given back now it would free room that was never taken from this span. One that
 * turns out higher is counted now: a call longer than its window would else pay nothing. So the true cost in
 * any span is above the limit by no more than what the calls in flight exceeded their estimates.
 */
export interface SettleRequest {
  readonly id: string;
  /** By budget. A held budget that is not named is charged what was held; one that was not held is charged too. */
  readonly charges?: readonly Charge[];
  /** By window of the admission. One that is not named keeps its cost. */
  readonly costs?: readonly WindowCost[];
  /** What to do without a hold: nothing, or charge all the same (a call that was let through without a store). */
  readonly orphan?: 'ignore' | 'charge';
  /** Appended when, and only when, this call settles. Never refused for the journal's length. */
  readonly entry?: OwnEntry;
}

/** Releases a hold: budgets are charged nothing. */
export interface ReleaseRequest {
  readonly id: string;
  /** Give back the windows' costs as well. */
  readonly refund: boolean;
  readonly entry?: JournalEntry;
}

/** The form that both adapters run. */
export interface SettleOrder extends SettleRequest {
  /** What held budgets and counted windows cost that are not named. */
  readonly unnamed: 'as_held' | 'uncharged' | 'refunded';
}

export interface ChargedBudget {
  readonly key: string;
  readonly charged: bigint;
  /** After the step. */
  readonly spent: bigint;
  readonly held: bigint;
}

export interface Settlement {
  /** `repeated`: settled before, nothing changed. `unknown`: no such hold. `orphan`: none, charged all the same. */
  readonly outcome: 'settled' | 'repeated' | 'unknown' | 'orphan';
  readonly budgets: readonly ChargedBudget[];
  /** Names the entry that was appended in an acknowledgement; absent: none was. */
  readonly seq?: string;
}

export function checkSettle(request: SettleRequest): void {
  checkId('id', request.id);
  const { charges = [], costs = [], entry } = request;
  checkBatch('charges', charges, BOUNDS.limits);
  checkBatch('costs', costs, BOUNDS.limits);
  for (const { key, amount, keepUntil, pool } of charges) {
    checkId('charges.key', key);
    checkAmount('charges.amount', amount);
    if (keepUntil !== undefined) checkTime('charges.keepUntil', keepUntil);
    if (pool !== undefined) checkPool('charges.pool', pool);
  }
  for (const { key, cost } of costs) {
    checkId('costs.key', key);
    checkWhole('costs.cost', cost, 0, BOUNDS.count);
  }
  for (const list of [charges, costs]) {
    if (new Set(list.map(({ key }) => key)).size < list.length) {
      throw invalidField('charges', 'names a budget or a window twice', 'unique');
    }
  }
  if (entry !== undefined) checkEntry(entry);
}
