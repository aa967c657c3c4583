// The named atomic scripts: what each takes and answers. Both adapters run every one of them.
import type { Admission, AdmitRequest } from './admit.ts';
import type { CacheHit, CacheRead, CacheRemoval, CacheWrite, CacheWritten } from './cache.ts';
import type { Circuit, CircuitAnswer, CircuitCall, CircuitReport, CircuitRules } from './circuit.ts';
import type {
  BudgetCorrected,
  BudgetCorrection,
  BudgetRequest,
  BudgetState,
  RenewOutcome,
  RenewRequest,
  SweepRequest,
  SweptHold,
} from './holds.ts';
import type {
  AcknowledgeRequest,
  Appended,
  AppendRequest,
  ClaimedEntry,
  ClaimRequest,
  JournalState,
} from './journal.ts';
import type { Lease, LeaseRelease, LeaseRequest } from './lease.ts';
import type { Settlement, SettleOrder } from './settle.ts';
import type { Value, ValueRequest, ValueWrite, ValueWritten } from './value.ts';
import type { NearVectors, VectorAdd, VectorAdded, VectorNear, VectorRemoval } from './vectors.ts';

/** By name: arguments and result. */
export interface Scripts {
  admit: [AdmitRequest, Admission];
  settle: [SettleOrder, Settlement];
  renew: [RenewRequest, readonly RenewOutcome[]];
  sweep: [SweepRequest, readonly SweptHold[]];
  readBudget: [BudgetRequest, BudgetState];
  correctBudget: [BudgetCorrection, BudgetCorrected];
  appendJournal: [AppendRequest, Appended];
  claimJournal: [ClaimRequest, readonly ClaimedEntry[]];
  acknowledgeJournal: [AcknowledgeRequest, number];
  readJournal: [null, JournalState];
  acquireLease: [LeaseRequest, Lease];
  renewLease: [LeaseRequest, boolean];
  releaseLease: [LeaseRelease, boolean];
  readValue: [ValueRequest, Value];
  writeValue: [ValueWrite, ValueWritten];
  allowCircuit: [CircuitCall, CircuitAnswer];
  reportCircuit: [CircuitReport, Circuit];
  readCircuit: [CircuitRules, Circuit];
  readCache: [CacheRead, CacheHit | undefined];
  writeCache: [CacheWrite, CacheWritten];
  removeCache: [CacheRemoval, boolean];
  addVector: [VectorAdd, VectorAdded];
  nearVectors: [VectorNear, NearVectors];
  removeVector: [VectorRemoval, boolean];
}

export type ScriptName = keyof Scripts;
export type ArgsOf<N extends ScriptName> = Scripts[N][0];
export type ResultOf<N extends ScriptName> = Scripts[N][1];

/** Runs a script by name; settles within the deadline. */
export type RunScript = <N extends ScriptName>(
  name: N,
  organisationId: string,
  args: ArgsOf<N>,
  deadlineMs: number | undefined,
) => Promise<ResultOf<N>>;
