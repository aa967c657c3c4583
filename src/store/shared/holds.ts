// renew, sweep, readBudget and correctBudget: holds that are renewed, holds whose owner is gone, a budget's amounts.
import { invalidField } from '../../lib/errors.ts';
import { type BudgetPool, checkPool } from './admit.ts';
import { BOUNDS, checkAmount, checkBatch, checkId, checkSpan, checkWhole } from './bounds.ts';

/** Holds of one owner, each renewed by itself. */
export interface RenewRequest {
  readonly ids: readonly string[];
  readonly owner: string;
  readonly leaseMs: number;
}

/** `lost`: another owner has it (it was swept). `settled`: also by a release. */
export type RenewOutcome = 'renewed' | 'lost' | 'settled' | 'unknown';

/**
 * Takes expired holds over. They stay held until the sweeper settles or releases them; a sweeper that dies in
 * between loses nothing, because after `leaseMs` the next one gets them again.
 */
export interface SweepRequest {
  readonly owner: string;
  readonly leaseMs: number;
  readonly max: number;
}

export interface SweptHold {
  readonly id: string;
  /** The owner that let it expire. */
  readonly owner: string;
  /** Unix milliseconds of the store. */
  readonly expiredAt: number;
  readonly note: string;
  readonly budgets: readonly { readonly key: string; readonly amount: bigint }[];
  readonly windows: readonly { readonly key: string; readonly cost: number }[];
}

export interface BudgetRequest {
  readonly key: string;
  /** To be told what is free. */
  readonly cap?: bigint;
  /** As of its limit: where the budget is not one of the pool, that of all others is read. */
  readonly pool?: BudgetPool;
}

export interface BudgetState {
  readonly spent: bigint;
  readonly held: bigint;
  /** The amounts are of all budgets together for which the pool has no room. */
  readonly together?: true;
}

/** `free`: the cap less what is spent and held, 0 at the least; absent without a cap. */
export interface BudgetReading extends BudgetState {
  readonly free?: bigint;
}

/** Sets what was spent, if it still is what the caller counted from: a budget rebuilt from the entries. */
export interface BudgetCorrection {
  readonly key: string;
  readonly from: bigint;
  readonly to: bigint;
  /**
   * Another budget that is set in the same step, or neither: by it a correction that may have been made is known from
   * one that was not. It is forgotten after MARK_MS.
   */
  readonly mark?: { readonly key: string; readonly from: bigint; readonly to: bigint };
}

/** How long the mark of a correction is kept. */
export const MARK_MS = 30 * 86_400_000;

/** The amounts now, and whether this call wrote them. */
export interface BudgetCorrected extends BudgetState {
  readonly corrected: boolean;
}

export function checkRenew(request: RenewRequest): void {
  checkBatch('ids', request.ids);
  for (const id of request.ids) checkId('ids', id);
  checkId('owner', request.owner);
  checkSpan('leaseMs', request.leaseMs);
}

export function checkSweep(request: SweepRequest): void {
  checkId('owner', request.owner);
  checkSpan('leaseMs', request.leaseMs);
  checkWhole('max', request.max, 1, BOUNDS.batch);
}

export function checkBudget(request: BudgetRequest): void {
  checkId('key', request.key);
  if (request.cap !== undefined) checkAmount('cap', request.cap);
  if (request.pool !== undefined) checkPool('pool', request.pool);
}

/** The reading of a request. */
export function withFree({ cap }: BudgetRequest, state: BudgetState): BudgetReading {
  if (cap === undefined) return state;
  const free = cap - state.spent - state.held;
  return { ...state, free: free < 0n ? 0n : free };
}

export function checkCorrection(request: BudgetCorrection): void {
  checkId('key', request.key);
  if (typeof request.from !== 'bigint' || request.from < 0n)
    throw invalidField('from', 'must be what was read', 'type');
  checkAmount('to', request.to);
  const { mark } = request;
  if (mark === undefined) return;
  checkId('mark.key', mark.key);
  if (mark.key === request.key) throw invalidField('mark.key', 'must be another budget', 'unique');
  checkAmount('mark.from', mark.from);
  checkAmount('mark.to', mark.to);
}
