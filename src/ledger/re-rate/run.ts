// A run of re-rating as it is stored: one document per organisation, so that a run is resumed after a crash.
import { type Collection, defineCollection } from '../../store/collection.ts';
import type { Repriced } from '../../store/log-store.ts';

/** Which entries, by when they were made: Unix milliseconds, `from` inclusive, `until` exclusive. */
export interface ReRateSpan {
  readonly from: number;
  readonly until: number;
  /** Only entries with an attempt of this model. */
  readonly model?: string;
}

/** The correction of a budget's charge; a negative amount takes away. In 1e-12 USD as decimal digits. */
export interface BudgetDelta {
  readonly key: string;
  readonly amount: string;
}

/** Pending corrections: recorded before the first of them is made, so that each is made once. */
export interface PendingBatch {
  /** Greater than the number of every earlier batch of the organisation. */
  readonly number: number;
  readonly corrections: readonly Repriced[];
  readonly deltas: readonly BudgetDelta[];
}

/** Amounts are in 1e-12 USD as decimal digits. */
export interface ReRateTotals {
  readonly changed: number;
  readonly before: string;
  readonly after: string;
}

export interface ReRateBody extends ReRateSpan {
  readonly state: 'running' | 'done';
  readonly startedAt: number;
  /** Of the last batch. */
  readonly number: number;
  readonly pending?: PendingBatch;
  /** Of the batches so far. */
  readonly totals: ReRateTotals;
}

export const reRates: Collection<ReRateBody> = defineCollection<ReRateBody>({
  name: 're_rates',
  schemaVersion: 1,
});

/** The one run of an organisation. */
export const RUN_ID = 'run';

export const NO_TOTALS: ReRateTotals = { changed: 0, before: '0', after: '0' };

/** The progress of the newest run that was requested over the API: one document per organisation. */
export interface ReRateProgressBody extends ReRateSpan, ReRateTotals {
  readonly dryRun: boolean;
  readonly state: 'running' | 'done' | 'failed';
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly endedAt?: number;
  /** Entries that were read, and budgets that were corrected. */
  readonly entries: number;
  readonly budgets: number;
  /** Why it failed, in words for people. */
  readonly error?: string;
}

export const reRateProgress: Collection<ReRateProgressBody> = defineCollection<ReRateProgressBody>({
  name: 're_rate_progress',
  schemaVersion: 1,
});

/** All collections of this room. */
export const reRateCollections: readonly Collection<object>[] = [reRates, reRateProgress];
