// What crosses between the main thread and the two workers. Tuples and strings: structured cloning of a
// wide object costs more than SQLite's own work on it.
import type { Reason, Violation } from '../../lib/errors.ts';
import type { Collection } from '../collection.ts';
import type { ColumnValue } from '../document-checks.ts';
import type { CheckedQuery } from '../page-query.ts';
import type { FeedbackOwner } from '../request-log.ts';
import type { FeedbackRow, FeedbackUpdate } from './log/feedback-row.ts';
import type { SegmentChange } from './log/manifest.ts';

/** Given to both workers when they start. */
export interface WorkerSetup {
  readonly path: string;
  /** Where the log's buckets are. */
  readonly folder: string;
  /** Without their upgrades: functions do not survive the crossing. */
  readonly collections: readonly Collection<object>[];
}

/** A document as a row; the workspace is '' and the slug null when absent, the body is JSON text. */
export type DocumentRow = [
  id: string,
  workspaceId: string,
  slug: string | null,
  version: number,
  archived: number,
  createdAt: number,
  updatedAt: number,
  schemaVersion: number,
  body: string,
];

/** `c` is the collection's place in the setup's list. A null workspace means any, a null version whichever. */
export type RowWrite =
  | {
      readonly kind: 'insert';
      readonly c: number;
      readonly org: string;
      readonly row: DocumentRow;
      readonly fields: readonly ColumnValue[];
    }
  | {
      readonly kind: 'update';
      readonly c: number;
      readonly org: string;
      readonly workspace: string | null;
      readonly id: string;
      readonly version: number;
      /** Undefined keeps it. */
      readonly slug: string | null | undefined;
      readonly updatedAt: number;
      readonly schemaVersion: number;
      readonly body: string;
      readonly fields: readonly ColumnValue[];
    }
  | {
      readonly kind: 'archive';
      readonly c: number;
      readonly org: string;
      readonly workspace: string | null;
      readonly id: string;
      readonly version: number | null;
      readonly updatedAt: number;
    };

/** What the log begins with: entries of its tail, and whether an earlier version left one to take over. */
export interface LogBegin {
  readonly entries: number;
  readonly legacy: boolean;
}

/** What a write answers: nothing for an insert, the row for an archiving, the kept parts for an update. */
export type RowWritten = null | DocumentRow | UpdatedParts;
export type UpdatedParts = [workspaceId: string, slug: string | null, version: number, createdAt: number];

/** A stored body to be replaced while it is what was read. */
export interface RowRewrite {
  readonly org: string;
  readonly id: string;
  /** The row as it must still be. */
  readonly version: number;
  readonly schemaVersion: number;
  readonly body: string;
  /** The row as it shall be. */
  readonly newSchemaVersion: number;
  readonly newBody: string;
  readonly fields: readonly ColumnValue[];
}

/** A row and its owner. */
export interface PlacedRow {
  readonly org: string;
  readonly row: DocumentRow;
}

/** A row as it is written. */
export interface RowImport extends PlacedRow {
  readonly fields: readonly ColumnValue[];
}

export type WriterCall =
  | { readonly kind: 'commit'; readonly writes: readonly RowWrite[] }
  | { readonly kind: 'rewrite'; readonly c: number; readonly rewrites: readonly RowRewrite[] }
  | { readonly kind: 'import'; readonly c: number; readonly imports: readonly RowImport[] }
  /** All documents of the collection are of the declared schema version. */
  | { readonly kind: 'upgraded'; readonly c: number }
  /** Answers the number of entries of the tail; null: `readKeys` comes first, until it answers true. */
  | { readonly kind: 'append'; readonly lines: readonly string[] }
  | { readonly kind: 'readKeys' }
  /** Answers `LogBegin`. */
  | { readonly kind: 'tail' }
  /** Answers whether the log has anything of a day before. `now`: Unix milliseconds. */
  | { readonly kind: 'earlierDays'; readonly now: number }
  | { readonly kind: 'segments'; readonly change: SegmentChange }
  /** `onlyMissing`: what is there by its id stays as it is. */
  | { readonly kind: 'feedback'; readonly rows: readonly FeedbackRow[]; readonly onlyMissing: boolean }
  | { readonly kind: 'updateFeedback'; readonly update: FeedbackUpdate }
  | { readonly kind: 'keep'; readonly key: string; readonly value: Uint8Array; readonly expiresAt: number }
  /** Answers whether `before` was what is kept. */
  | {
      readonly kind: 'replaceKept';
      readonly key: string;
      readonly before: Uint8Array;
      readonly value: Uint8Array;
      readonly expiresAt: number;
    }
  | { readonly kind: 'dropKept'; readonly key: string }
  | { readonly kind: 'sweepKept'; readonly now: number }
  /** Answers what the reader would (see on-demand-reader.ts). */
  | { readonly kind: 'read'; readonly call: ReaderCall }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close' };

export interface ScanCall {
  readonly kind: 'scan';
  readonly c: number;
  readonly after: number;
  readonly limit: number;
  /** Of bodies; the row that goes beyond it is the last. */
  readonly characters: number;
  readonly olderThan: number | null;
}

export interface PageCall extends CheckedQuery {
  readonly kind: 'page';
  readonly c: number;
  readonly org: string;
  readonly workspace: string | null;
}

export type ReaderCall =
  /** Answers `SomeRows`: what follows the rows of a page. */
  | { readonly kind: 'rows'; readonly c: number; readonly places: readonly number[] }
  | {
      readonly kind: 'get';
      readonly c: number;
      readonly org: string;
      readonly workspace: string | null;
      readonly ref: string;
      readonly archived: boolean;
    }
  | { readonly kind: 'unique'; readonly c: number; readonly field: string; readonly value: string | number }
  | PageCall
  | ScanCall
  | { readonly kind: 'count'; readonly c: number }
  | { readonly kind: 'lookUp'; readonly c: number; readonly rows: readonly PlacedRow[] }
  /** Collections whose documents are not known to be of the declared schema version, by their places. */
  | { readonly kind: 'behind' }
  | {
      readonly kind: 'feedback';
      readonly org: string;
      readonly workspace: string | null;
      readonly id: string;
    }
  | {
      readonly kind: 'scanFeedback';
      readonly after: number;
      readonly limit: number;
      readonly characters: number;
    }
  | {
      readonly kind: 'feedbackOf';
      readonly org: string;
      readonly workspace: string | null;
      readonly traceIds: readonly string[];
      readonly own: FeedbackOwner | null;
    }
  | { readonly kind: 'kept'; readonly key: string; readonly now: number }
  | { readonly kind: 'scanKept'; readonly after: string }
  | { readonly kind: 'listKept'; readonly prefix: string; readonly after: string }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close' };

/** Rows in their order, as many as one message has room for. */
export interface SomeRows {
  readonly rows: readonly DocumentRow[];
  /** Places in the table of those that follow. */
  readonly rest: readonly number[];
}

export interface RowPage extends SomeRows {
  /** The sort field's value of the last row, when there are more rows. */
  readonly last: ColumnValue | undefined;
  readonly total: number;
}

/** A row of all tenants, with its place in the table. */
export type ScannedRow = [seq: number, organisationId: string, row: DocumentRow];

/** `findByUnique` answers the organisation too. */
export type GlobalRow = [organisationId: string, row: DocumentRow];

/** A failure as data: classes do not survive the crossing. */
export interface Failure {
  readonly reason: Reason;
  readonly message: string;
  readonly violations?: readonly Violation[];
  /** Which operation of a commit. */
  readonly operation?: number;
  /** After how many milliseconds the caller may try again. */
  readonly retryAfterMs?: number;
  /** For the log only. */
  readonly cause?: string;
}

/** One call: its number, when its caller stops waiting (ms of `monotonicNow`), what is asked. */
export type Envelope<C> = [id: number, expiresAt: number, call: C];

/** One answer: the call's number, and a result or a failure. */
export type Reply = [id: number, result: unknown] | [id: number, result: undefined, failure: Failure];

/** In place of a call's number: a message that no call asked for. */
export const NOTICE = 0;

/** What a worker says first: that it is open, or why not. */
export type Opened = { readonly opened: true } | { readonly opened: false; readonly message: string };

/** A worker's end of what it is asked over. */
export interface WorkerEnd {
  readonly post: (message: unknown) => void;
  readonly onMessage: (take: (message: unknown) => void) => void;
  /** The next message that has arrived; undefined: none, or messages come by `onMessage`. */
  readonly next: () => unknown;
}

/** What `performance.now()` begins with, on the clock that all processes of the machine share. */
const BEGAN_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** Milliseconds that no clock change moves, the same in all threads, and processes, of the machine. */
export function monotonicNow(): number {
  return BEGAN_MS + performance.now();
}
