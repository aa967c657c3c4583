// The journal: entries wait here until somebody has carried them on and says so. At least once, in order.
import { invalidField } from '../../lib/errors.ts';
import { BOUNDS, checkBatch, checkId, checkLength, checkSpan, checkWhole } from './bounds.ts';

export interface JournalEntry {
  readonly id: string;
  /** JSON text, or whatever the reader understands. */
  readonly data: string;
}

/** An entry that its writer may claim while appending it, so that the writer can process it without reading it. */
export interface OwnEntry extends JournalEntry {
  readonly claim?: { readonly consumer: string; readonly leaseMs: number };
}

/** All of the entries or, when they would not fit, none. */
export interface AppendRequest {
  readonly entries: readonly JournalEntry[];
  readonly maxLength: number;
}

export interface Appended {
  /** False: the journal is full. */
  readonly accepted: boolean;
  /** Entries whose id was appended before, while that is remembered, are skipped. */
  readonly repeated: number;
  /** Entries in the journal now. */
  readonly size: number;
}

/** Takes the oldest unclaimed entries: first those whose lease expired, then new ones. */
export interface ClaimRequest {
  readonly consumer: string;
  readonly leaseMs: number;
  readonly max: number;
}

export interface ClaimedEntry extends JournalEntry {
  /** Names it in an acknowledgement. */
  readonly seq: string;
}

export interface AcknowledgeRequest {
  readonly consumer: string;
  readonly seqs: readonly string[];
}

export interface JournalState {
  /** Entries that are not acknowledged. */
  readonly size: number;
  /** Of them, claimed: a lease that ran out counts until it is claimed again. */
  readonly claimed: number;
  /** Age of the oldest, in ms; 0 when empty. */
  readonly lagMs: number;
}

export function checkEntry({ id, data, claim }: OwnEntry): void {
  checkId('entry.id', id);
  checkLength('entry.data', data, BOUNDS.entry);
  if (claim === undefined) return;
  checkId('entry.claim.consumer', claim.consumer);
  checkSpan('entry.claim.leaseMs', claim.leaseMs);
}

export function checkAppend(request: AppendRequest): void {
  checkWhole('maxLength', request.maxLength, 0, BOUNDS.count);
  for (const { id, data } of checkBatch('entries', request.entries)) {
    checkId('entries.id', id);
    checkLength('entries.data', data, BOUNDS.entry);
  }
}

export function checkClaim(request: ClaimRequest): void {
  checkId('consumer', request.consumer);
  checkSpan('leaseMs', request.leaseMs);
  checkWhole('max', request.max, 1, BOUNDS.batch);
}

export function checkAcknowledge(request: AcknowledgeRequest): void {
  checkId('consumer', request.consumer);
  for (const seq of checkBatch('seqs', request.seqs)) {
    if (!/^\d{1,15}$/.test(seq)) throw invalidField('seqs', 'must be as they were claimed', 'type');
  }
}
