// The document port: what the services need of a document store, and no more. Ids, times and defaults are
// made by the caller; the store writes what it is given and keeps the version.

import type { TenantScope } from '../call/scope.ts';
import type { Collection, JsonObject } from './collection.ts';

/** Bounds that both adapters hold. */
export const LIMITS = {
  /** Of a body as JSON, in UTF-8. */
  documentBytes: 4 * 1024 * 1024,
  pageSize: 1000,
  skip: 100_000,
  /** Totals are counted so far and no further. */
  total: 10_000,
  /** Values of an `in` condition. */
  inValues: 1000,
  conditions: 32,
  /** Of an id or a slug, in UTF-16 units. */
  name: 256,
  /** Of an indexed text field, in UTF-16 units: an index entry is copied into every index page. */
  indexedText: 1024,
  /** Operations of one commit. */
  operations: 4000,
} as const;

export type DocumentStatus = 'active' | 'archived';

export interface Document<B extends object = JsonObject> {
  readonly id: string;
  readonly organisationId: string;
  /** Absent: it belongs to the organisation itself. */
  readonly workspaceId?: string;
  readonly slug?: string;
  /** From 1, one more with each write. */
  readonly version: number;
  readonly status: DocumentStatus;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Of the body's shape: on reads the collection's, also for a document that was written at an older one. */
  readonly schemaVersion: number;
  readonly body: B;
}

/** A document to be: version 1, active. Under a workspace's scope it belongs to that workspace. */
export interface NewDocument<B extends object = JsonObject> {
  readonly id: string;
  readonly workspaceId?: string;
  readonly slug?: string;
  /** Unix milliseconds; also its first `updatedAt`. */
  readonly createdAt: number;
  readonly body: B;
}

/** What an update writes. The body is replaced as a whole. */
export interface DocumentChange<B extends object = JsonObject> {
  readonly body: B;
  /** Undefined keeps it, null removes it. */
  readonly slug?: string | null;
  readonly updatedAt: number;
}

export interface ArchiveOrder {
  /** Undefined: whichever version it has. */
  readonly version?: number;
  readonly updatedAt: number;
}

/** One write of a commit. `workspaceId` narrows the commit's scope for this operation alone. */
export type WriteOperation =
  | {
      readonly kind: 'insert';
      readonly collection: Collection<object>;
      readonly document: NewDocument<object>;
    }
  | {
      readonly kind: 'update';
      readonly collection: Collection<object>;
      readonly id: string;
      readonly version: number;
      readonly change: DocumentChange<object>;
      readonly workspaceId?: string;
    }
  | {
      readonly kind: 'archive';
      readonly collection: Collection<object>;
      readonly id: string;
      readonly order: ArchiveOrder;
      readonly workspaceId?: string;
    };

export type FilterValue = string | number | boolean | null;

/**
 * One condition; all of a query's conditions hold. The value is data whatever it looks like. `eq` null finds
 * documents without the field; `contains` is an exact substring of a text field and reads all of the tenant's
 * index entries of that field, so it is for lists that people search.
 */
export type Condition =
  | { readonly field: string; readonly op: 'eq'; readonly value: FilterValue }
  | { readonly field: string; readonly op: 'in'; readonly value: readonly FilterValue[] }
  | { readonly field: string; readonly op: 'lt' | 'lte' | 'gt' | 'gte'; readonly value: FilterValue }
  | { readonly field: string; readonly op: 'contains'; readonly value: string };

export interface PageQuery {
  /** Over declared fields, `id`, `slug`, `workspaceId`, `createdAt`, `updatedAt`. */
  readonly filter?: readonly Condition[];
  /** `active` by default. */
  readonly status?: DocumentStatus | 'all';
  /** By `createdAt` ascending by default; ties by id, nulls before all values. */
  readonly sort?: { readonly field: string; readonly order: 'asc' | 'desc' };
  /** 1 to 1000. */
  readonly pageSize: number;
  /** From 0; with a skip (`page` times `pageSize`) of 100,000 at the most. Not together with `cursor`. */
  readonly page?: number;
  /** Where the page before ended: exact while others write, and as fast at any depth. Same sort as then. */
  readonly cursor?: string;
}

export interface DocumentPage<B extends object = JsonObject> {
  readonly documents: readonly Document<B>[];
  /** Counted to 10,000 at the most. */
  readonly total: number;
  readonly totalCapped: boolean;
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * Where documents live. Every promise settles within the store's deadline. Errors are GatewayErrors:
 * `validation_failed` for what the caller got wrong, naming the field; `conflict` for a unique value that is
 * taken, its violations naming the fields; `version_conflict`; `not_found`; `store_unavailable` for trouble
 * of the store (a write may then have been made or not), and for a document of a newer schema version than the
 * collection's (see `isNewerSchema` in upgrades.ts), which this program does not understand.
 */
export interface DocumentStore {
  insert<B extends object>(
    scope: TenantScope,
    collection: Collection<B>,
    document: NewDocument<B>,
  ): Promise<Document<B>>;

  /**
   * By id, or else by the slug of an active document. Undefined when the scope has none. A slug that names
   * documents of several workspaces is `validation_failed`. An archived one is found by id only, and when asked for.
   */
  get<B extends object>(
    scope: TenantScope,
    collection: Collection<B>,
    idOrSlug: string,
    options?: { readonly archived?: boolean },
  ): Promise<Document<B> | undefined>;

  page<B extends object>(
    scope: TenantScope,
    collection: Collection<B>,
    query: PageQuery,
  ): Promise<DocumentPage<B>>;

  /** Writes if the document still has this version, else `version_conflict`; archived ones are `not_found`. */
  update<B extends object>(
    scope: TenantScope,
    collection: Collection<B>,
    id: string,
    version: number,
    change: DocumentChange<B>,
  ): Promise<Document<B>>;

  /** Takes a document out of lists and unique constraints; it stays readable by id when asked for. */
  archive<B extends object>(
    scope: TenantScope,
    collection: Collection<B>,
    id: string,
    order: ArchiveOrder,
  ): Promise<Document<B>>;

  /**
   * A unit of work: all operations in their order, or none. Answers the documents as written. When one fails,
   * its error is thrown and `failedOperation` tells its place.
   */
  commit(scope: TenantScope, operations: readonly WriteOperation[]): Promise<readonly Document<object>[]>;

  /** Over all tenants, among active documents; only for fields declared `global`. */
  findByUnique<B extends object>(
    collection: Collection<B>,
    field: string,
    value: string | number,
  ): Promise<Document<B> | undefined>;
}

/** The cause of an error that one operation of a commit made. */
export class FailedOperation extends Error {
  readonly index: number;

  constructor(index: number) {
    super(`operation ${index} of the commit`);
    this.name = 'FailedOperation';
    this.index = index;
  }
}

/** Which operation of a commit failed, from 0: a lost race for an audit chain's head is retried, the caller's own is not. */
export function failedOperation(error: unknown): number | undefined {
  return error instanceof Error && error.cause instanceof FailedOperation ? error.cause.index : undefined;
}

/** An insert as an operation of a commit. */
export function insertOperation<B extends object>(
  collection: Collection<B>,
  document: NewDocument<B>,
): WriteOperation {
  return { kind: 'insert', collection, document };
}

/** An update as an operation of a commit. */
export function updateOperation<B extends object>(
  collection: Collection<B>,
  id: string,
  version: number,
  change: DocumentChange<B>,
  workspaceId?: string,
): WriteOperation {
  return {
    kind: 'update',
    collection,
    id,
    version,
    change,
    ...(workspaceId === undefined ? {} : { workspaceId }),
  };
}

/** An archiving as an operation of a commit. */
export function archiveOperation<B extends object>(
  collection: Collection<B>,
  id: string,
  order: ArchiveOrder,
  workspaceId?: string,
): WriteOperation {
  return { kind: 'archive', collection, id, order, ...(workspaceId === undefined ? {} : { workspaceId }) };
}
