// The port of shared state: named atomic scripts, each one call with a deadline, on the store's own clock.
import type { Admission, AdmitRequest } from './shared/admit.ts';
import type { CacheHit, CacheRead, CacheRemoval, CacheWrite, CacheWritten } from './shared/cache.ts';
import type { Circuit, CircuitAnswer, CircuitCall, CircuitReport, CircuitRules } from './shared/circuit.ts';
import type {
  BudgetCorrected,
  BudgetCorrection,
  BudgetReading,
  BudgetRequest,
  RenewOutcome,
  RenewRequest,
  SweepRequest,
  SweptHold,
} from './shared/holds.ts';
import type {
  AcknowledgeRequest,
  Appended,
  AppendRequest,
  ClaimedEntry,
  ClaimRequest,
  JournalState,
} from './shared/journal.ts';
import type { Lease, LeaseRelease, LeaseRequest } from './shared/lease.ts';
import type { Notice, NoticeListener } from './shared/notices.ts';
import type { ReleaseRequest, Settlement, SettleRequest } from './shared/settle.ts';
import type { Value, ValueRequest, ValueWrite, ValueWritten } from './shared/value.ts';
import type { NearVectors, VectorAdd, VectorAdded, VectorNear, VectorRemoval } from './shared/vectors.ts';

export type * from './shared/admit.ts';
export type * from './shared/cache.ts';
export type * from './shared/circuit.ts';
export type * from './shared/holds.ts';
export type * from './shared/journal.ts';
export type * from './shared/lease.ts';
export type * from './shared/notices.ts';
export type * from './shared/settle.ts';
export type * from './shared/value.ts';
export type * from './shared/vectors.ts';

export interface CallOptions {
  /** Milliseconds; the store's own by default, and never more than it. */
  readonly deadlineMs?: number;
}

/**
 * State that instances share, by organisation. Every promise settles within its deadline: with the result, with
 * `validation_failed` for what the caller got wrong, or with `store_unavailable` (503) when the store is slow,
 * paused, refusing or gone; the step may then have been made or not, so what must not be made twice carries an id.
 * An admission that was made unknown to its caller is a hold that expires and is swept.
 */
export interface SharedState {
  /** Checks and takes all limits in one step, or none. A denial and a dry run take nothing. */
  admit(organisationId: string, request: AdmitRequest, options?: CallOptions): Promise<Admission>;
  /** Charges what a call really cost. A second settlement of an id changes nothing and says so. */
  settle(organisationId: string, request: SettleRequest, options?: CallOptions): Promise<Settlement>;
  /** Settles at no cost: the call was never made. */
  release(organisationId: string, request: ReleaseRequest, options?: CallOptions): Promise<Settlement>;
  /** Prolongs holds, also expired ones that were not swept yet. Outcomes in the order of the ids. */
  renew(
    organisationId: string,
    request: RenewRequest,
    options?: CallOptions,
  ): Promise<readonly RenewOutcome[]>;
  /** Takes over expired holds, the longest expired first, for the ledger to settle. */
  sweep(organisationId: string, request: SweepRequest, options?: CallOptions): Promise<readonly SweptHold[]>;
  readBudget(organisationId: string, request: BudgetRequest, options?: CallOptions): Promise<BudgetReading>;
  /** Compare-and-set of what a budget spent. */
  correctBudget(
    organisationId: string,
    request: BudgetCorrection,
    options?: CallOptions,
  ): Promise<BudgetCorrected>;

  appendJournal(organisationId: string, request: AppendRequest, options?: CallOptions): Promise<Appended>;
  claimJournal(
    organisationId: string,
    request: ClaimRequest,
    options?: CallOptions,
  ): Promise<readonly ClaimedEntry[]>;
  /** Removes entries that this consumer still has; answers how many. */
  acknowledgeJournal(
    organisationId: string,
    request: AcknowledgeRequest,
    options?: CallOptions,
  ): Promise<number>;
  readJournal(organisationId: string, options?: CallOptions): Promise<JournalState>;

  acquireLease(organisationId: string, request: LeaseRequest, options?: CallOptions): Promise<Lease>;
  /** True when the owner still had it. */
  renewLease(organisationId: string, request: LeaseRequest, options?: CallOptions): Promise<boolean>;
  releaseLease(organisationId: string, request: LeaseRelease, options?: CallOptions): Promise<boolean>;

  readValue(organisationId: string, request: ValueRequest, options?: CallOptions): Promise<Value>;
  writeValue(organisationId: string, request: ValueWrite, options?: CallOptions): Promise<ValueWritten>;

  /** May this caller go through? Half open, one at a time may. */
  allowCircuit(organisationId: string, request: CircuitCall, options?: CallOptions): Promise<CircuitAnswer>;
  /** How it went. While open or half open only the probe's report counts. */
  reportCircuit(organisationId: string, request: CircuitReport, options?: CallOptions): Promise<Circuit>;
  readCircuit(organisationId: string, request: CircuitRules, options?: CallOptions): Promise<Circuit>;

  readCache(organisationId: string, request: CacheRead, options?: CallOptions): Promise<CacheHit | undefined>;
  writeCache(organisationId: string, request: CacheWrite, options?: CallOptions): Promise<CacheWritten>;
  removeCache(organisationId: string, request: CacheRemoval, options?: CallOptions): Promise<boolean>;

  /** Vectors of cached answers; a store that cannot compare them says `supported: false` and keeps none. */
  addVector(organisationId: string, request: VectorAdd, options?: CallOptions): Promise<VectorAdded>;
  nearVectors(organisationId: string, request: VectorNear, options?: CallOptions): Promise<NearVectors>;
  removeVector(organisationId: string, request: VectorRemoval, options?: CallOptions): Promise<boolean>;

  /** Tells every subscriber of every instance. Resolves when the store has it, not when they have. */
  publish(notice: Notice, options?: CallOptions): Promise<void>;
  /** Calls the listener for every notice from now on; answers how to stop. */
  subscribe(listener: NoticeListener): () => void;

  /** Resolves when the store answers within its deadline; rejects with `store_unavailable` otherwise. */
  ready(): Promise<void>;
  /** Calls after it are refused. */
  close(): Promise<void>;
}
