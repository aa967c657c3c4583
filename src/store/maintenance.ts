// The maintenance port: what upgrades, key rotation and copies need of a document store and services must not
// have. It knows no tenant, applies no upgrade and opens no secret: bodies come and go as they are stored.

import type { RequestRecord } from '../call/record.ts';
import type { Collection } from './collection.ts';
import type { Document } from './documents.ts';
import type { BodiesRecord, FeedbackRecord } from './log-store.ts';

/** Bounds that both adapters hold. */
export const SCAN_LIMITS = {
  /** Documents or log entries of one batch; a batch also ends after so many characters of them. */
  documents: 1000,
  characters: 8 * 1024 * 1024,
} as const;

/** A document as it is stored: the body in the shape of its own `schemaVersion`, secrets sealed. */
export interface StoredDocument {
  readonly document: Document<object>;
  /** Identifies the stored body that was read; callers pass it only to `rewrite`. */
  readonly stamp: string;
}

export interface ScanRequest {
  /** The `next` of the batch before; undefined begins. */
  readonly after?: string | undefined;
  /** 1 to 1000; batches may be smaller, also empty, and only one without `next` is the last. */
  readonly limit: number;
  /** Only documents of an older schema version than this. */
  readonly olderThan?: number;
}

export interface ScanBatch {
  readonly documents: readonly StoredDocument[];
  /** Where to continue, also after a restart of the process. Absent: this batch is the last. */
  readonly next?: string;
}

/** Another form of the same document. */
export interface Rewrite {
  readonly stored: StoredDocument;
  readonly body: object;
  /** The shape of the new body; the stored document's by default. */
  readonly schemaVersion?: number;
}

/**
 * - `changed`: the document was written since it was scanned; nothing was written.
 * - `conflict`: the new body's values break a unique constraint; nothing was written.
 */
export type RewriteOutcome = 'written' | 'changed' | 'conflict';

/**
 * - `present`: it is there already, the same in everything.
 * - `differs`: another document has its organisation and id; nothing was written.
 * - `conflict`: another active document has one of its unique values; nothing was written.
 */
export type ImportOutcome = 'written' | 'present' | 'differs' | 'conflict';

/** The same document in everything, another one, or none. */
export type LookUp = 'present' | 'differs' | 'absent';

/** Errors as of `DocumentStore`. */
export interface DocumentMaintenance {
  /** Documents of all tenants, archived ones too. */
  count(collection: Collection<object>): Promise<number>;

  /**
   * Documents of all tenants, archived ones too: each that existed at the start, once. One that is inserted
   * meanwhile may be included or not: callers that need all of them first switch writers to the new form.
   */
  scan(collection: Collection<object>, request: ScanRequest): Promise<ScanBatch>;

  /**
   * Replaces bodies that mean the same as before (another schema version, another key), each one by itself;
   * outcomes in the order given. `version` and `updatedAt` stay, so that what a caller knows of the document stays
   * true and its compare-and-set still works; indexed values follow the new body. Against lost updates the stored
   * body is compared, which sees other rewrites too: a document is written only while it is as it was scanned.
   */
  rewrite(collection: Collection<object>, rewrites: readonly Rewrite[]): Promise<readonly RewriteOutcome[]>;

  /** What is here under each document's organisation and id; in the order given. Writes nothing. */
  lookUp(collection: Collection<object>, documents: readonly Document<object>[]): Promise<readonly LookUp[]>;

  /**
   * Writes documents as they are, with their versions, times and status, each one by itself; outcomes in the
   * order given. Again with the same documents it writes nothing.
   */
  importDocuments(
    collection: Collection<object>,
    documents: readonly Document<object>[],
  ): Promise<readonly ImportOutcome[]>;
}

export interface LogBatch {
  readonly entries: readonly RequestRecord[];
  /** As of `ScanBatch`. */
  readonly next?: string;
}

/** One part of the log other than entries (bodies, feedback), as a whole. */
export interface LogPartMaintenance<T> {
  /** Records of all tenants: each that existed at the start, once. */
  scan(
    request: Pick<ScanRequest, 'after' | 'limit'>,
  ): Promise<{ readonly records: readonly T[]; readonly next?: string }>;
  /** Stores records that are not stored yet, each by itself. */
  import(records: readonly T[]): Promise<void>;
}

/** The request log as a whole. */
export interface LogMaintenance {
  readonly bodies: LogPartMaintenance<BodiesRecord>;
  readonly feedback: LogPartMaintenance<FeedbackRecord>;

  /** Entries of all tenants in the order in which they were stored. Those appended meanwhile come last. */
  scan(request: Pick<ScanRequest, 'after' | 'limit'>): Promise<LogBatch>;

  /**
   * Stores entries that are not stored yet, each by itself: a unit of work of a writer that is killed would be in the way
   * of the next one until the server gives it up.
   */
  importEntries(entries: readonly RequestRecord[]): Promise<void>;

  /**
   * Remakes the roll-ups of an organisation's entries of a UTC day, where the entries still exist. Until they are made,
   * aggregations read the entries. @param at a time of the day, in Unix milliseconds
   */
  remakeRollups(organisationId: string, at: number): Promise<void>;
}
