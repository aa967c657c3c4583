// What all stored resources of the control plane do alike: they are found, listed, made, changed and archived, and each
// change is one commit together with its audit entry.
import { randomUUID } from 'node:crypto';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { AuditTarget } from '../../access/audit/changes.ts';
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { nextSlice } from '../../lib/time-slices.ts';
import { codec } from '../../rest/codec.ts';
import type { Collection, JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Document,
  type DocumentPage,
  insertOperation,
  type PageQuery,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { archiveFound, type Wanted } from './archive-found.ts';
import { found } from './caller.ts';
import type { IdentityDeps } from './deps.ts';
import { newestFirst, type PageRequest } from './lists.ts';

/** A resource as data. */
export interface ResourceDescription<B extends object> {
  readonly collection: Collection<B>;
  /** In words, as refusals name it. */
  readonly noun: string;
  /** What the audit log shows of one, without secrets; absent: every change brings what is shown. */
  readonly shown?: (document: Document<B>) => JsonObject;
  /** What the audit log says a change is about; absent: the document, by its body's name. */
  readonly targetOf?: (document: Document<B>) => AuditTarget;
  /** What is written with it may be outside of its workspace. */
  readonly writesElsewhere?: boolean;
}

/** What a change is made with. */
export interface ChangeOptions {
  /** Operations of the same commit, before the resource's own and after it. */
  readonly first?: readonly WriteOperation[];
  readonly also?: readonly WriteOperation[];
  /** What the audit log shows, where it is not the description's. */
  readonly before?: JsonObject;
  readonly after?: JsonObject;
  /** What the audit log says the change is about, where it is not the description's. */
  readonly target?: AuditTarget;
}

export interface ArchiveOptions extends Omit<ChangeOptions, 'after'> {
  /** What is archived with it, however much it is. */
  readonly dependents?: readonly Wanted[];
  /** Where the dependents are found; absent: where the resource is. */
  readonly dependentsScope?: TenantScope;
}

/** What a new one is made of besides its body. */
export interface NewOptions {
  /** A UUID when absent. */
  readonly id?: string;
  readonly slug?: string;
  /** Unix milliseconds. */
  readonly at?: number;
}

/** A resource in one store. The changes throw what `Changes.commit` throws. */
export interface Resource<B extends object> {
  /** By id or slug. @throws GatewayError not_found */
  find(scope: TenantScope, idOrSlug: string): Promise<Document<B>>;
  /** A page, newest first. */
  page(
    scope: TenantScope,
    request: PageRequest,
    query?: Pick<PageQuery, 'filter' | 'status'>,
  ): Promise<DocumentPage<B>>;
  /** A new one as it will be stored. */
  draft(scope: TenantScope, body: B, options?: NewOptions): Document<B>;
  /** One with another body, as it will be stored. */
  changed(before: Document<B>, body: B, slug?: string): Document<B>;
  /** What the audit log shows of one. */
  shown(document: Document<B>): JsonObject;
  /** Stores a draft. */
  create(call: Call, made: Document<B>, options?: ChangeOptions): Promise<Document<B>>;
  /** Writes body and slug. */
  update(call: Call, before: Document<B>, after: Document<B>, options?: ChangeOptions): Promise<Document<B>>;
  archive(call: Call, before: Document<B>, options?: ArchiveOptions): Promise<void>;
  /**
   * Archives any number of one organisation, in whatever version, with an audit entry per 500 of them and one where
   * there are none. Answers with the documents as written.
   */
  archiveAll(
    call: Call,
    scope: TenantScope,
    all: readonly Document<B>[],
    target: AuditTarget,
  ): Promise<readonly Document<B>[]>;
}

/** Archived with one commit. */
const BATCH = 500;

/** The operations of a resource. */
export function resource<B extends object>(
  { documents, changes, now }: Pick<IdentityDeps, 'documents' | 'changes' | 'now'>,
  {
    collection,
    noun,
    shown = () => ({}),
    targetOf = targetByName,
    writesElsewhere = false,
  }: ResourceDescription<B>,
): Resource<B> {
  const scopeOf = ({ organisationId, workspaceId }: Document<B>): TenantScope => ({
    organisationId,
    workspaceId: writesElsewhere ? undefined : workspaceId,
  });
  const commit = async (
    call: Call,
    document: Document<B>,
    own: WriteOperation,
    { first = [], also = [], target = targetOf(document) }: ChangeOptions,
    told: Pick<AuditTarget, 'before' | 'after'>,
  ): Promise<void> => {
    await changes.commit(call, scopeOf(document), [...first, own, ...also], { ...target, ...told });
  };
  return {
    find: async (scope, idOrSlug) => found(await documents.get(scope, collection, idOrSlug), noun),
    page: (scope, request, query = {}) =>
      documents.page(scope, collection, { ...newestFirst(request), ...query }),
    shown,
    draft: (scope, body, options = {}) => newDocument(collection, scope, body, now(), options),
    changed: (before, body, slug) => ({
      ...before,
      body,
      updatedAt: now(),
      ...(slug === undefined ? {} : { slug }),
    }),

    async create(call, made, options = {}) {
      const { before, after = await inSlice(() => shown(made)) } = options;
      const told = before === undefined ? { after } : { before, after };
      await commit(call, made, insertOf(collection, made), options, told);
      return made;
    },

    async update(call, previous, changed, options = {}) {
      const before = options.before ?? (await inSlice(() => shown(previous)));
      const after = options.after ?? (await inSlice(() => shown(changed)));
      const { body, updatedAt, slug } = changed;
      const change = { body, updatedAt, ...(slug === previous.slug ? {} : { slug: slug ?? null }) };
      const own = updateOperation(collection, previous.id, previous.version, change);
      await commit(call, changed, own, options, { before, after });
      return changed;
    },

    async archive(call, previous, options = {}) {
      const { before = shown(previous), target = targetOf(previous), dependents = [], first = [] } = options;
      const { id, version } = previous;
      const updatedAt = now();
      const scope = options.dependentsScope ?? scopeOf(previous);
      const batch = (operations: readonly WriteOperation[]) =>
        changes.commit(call, scopeOf(previous), operations, { ...target, before });
      const rest = await archiveFound({ documents, scope, updatedAt, commit: batch }, dependents);
      const own = archiveOperation(collection, id, { version, updatedAt });
      await commit(call, previous, own, { ...options, first: [...first, ...rest] }, { before });
    },

    async archiveAll(call, scope, all, target) {
      const [only, ...others] = all;
      const before = only === undefined || others.length > 0 ? {} : { before: shown(only) };
      const written: Document<object>[] = [];
      for (let i = 0; i < all.length || i === 0; i += BATCH) {
        const operations = all
          .slice(i, i + BATCH)
          .map(({ id }) => archiveOperation(collection, id, { updatedAt: now() }));
        written.push(...(await changes.commit(call, scope, operations, { ...target, ...before })));
      }
      return written as Document<B>[];
    },
  };
}

/** Long records are worked on in several turns of the event loop. */
async function inSlice<T>(work: () => T | Promise<T>): Promise<T> {
  await nextSlice();
  return work();
}

/** A document as it is after its insert. @param now Unix milliseconds */
export function newDocument<B extends object>(
  { schemaVersion }: Collection<B>,
  { organisationId, workspaceId }: TenantScope,
  body: B,
  now: number,
  { id = randomUUID(), slug, at = now }: NewOptions = {},
): Document<B> {
  return {
    id,
    organisationId,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    ...(slug === undefined ? {} : { slug }),
    version: 1,
    status: 'active',
    schemaVersion,
    createdAt: at,
    updatedAt: at,
    body,
  };
}

/** The insert of a new document. */
export function insertOf<B extends object>(
  collection: Collection<B>,
  { id, slug, workspaceId, createdAt, body }: Document<B>,
): WriteOperation {
  return insertOperation(collection, {
    id,
    createdAt,
    body,
    ...(slug === undefined ? {} : { slug }),
    ...(workspaceId === undefined ? {} : { workspaceId }),
  });
}

/** The scope of a document: its workspace, or the organisation. */
export function tenantOf({ organisationId, workspaceId }: Document<object>): TenantScope {
  return { organisationId, workspaceId };
}

/** What the audit log shows of a document whose record holds no secrets. */
export function shownAs<B extends object, D extends DescMessage>(
  schema: D,
  record: (document: Document<B>) => MessageShape<D>,
): (document: Document<B>) => JsonObject {
  return (document) => codec.encode(schema, record(document)) as JsonObject;
}

/** A document by its body's name. */
function targetByName({ id, workspaceId, body }: Document<object>): AuditTarget {
  return { id, name: (body as { readonly name?: string }).name ?? '', workspaceId };
}
