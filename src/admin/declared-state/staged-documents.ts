// Documents with changes that are not stored yet: services read what they wrote, and the store sees nothing of it. What
// has changed in the end is asked for at once, each document with one write.
import { isDeepStrictEqual } from 'node:util';
import type { TenantScope } from '../../call/scope.ts';
import { fail } from '../../lib/errors.ts';
import { mapInSlices } from '../../lib/time-slices.ts';
import type { Collection } from '../../store/collection.ts';
import { bodyText } from '../../store/document-checks.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  type DocumentPage,
  type DocumentStore,
  FailedOperation,
  insertOperation,
  LIMITS,
  type PageQuery,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { matches, sortValue } from './staged-query.ts';

/** A document that was written. */
interface Staged {
  readonly collection: Collection<object>;
  /** As it is stored; undefined: it is new. */
  readonly base: Document<object> | undefined;
  now: Document<object>;
  /** Who wrote it first. */
  readonly owner: number;
}

/** A write of the whole, and who made it first. */
export interface StagedWrite {
  readonly owner: number;
  readonly operation: WriteOperation;
}

/** Documents of one collection that are read to answer a page with changes in it. */
const MOST_READ = 50_000;
/** Members that change with every write, or with the time, and say nothing of what is declared. */
const VOLATILE = new Set([
  ...['updatedBy', 'setAbove', 'updatedAt', 'createdAt', 'countedSince', 'counted_since', 'uniqueName'],
]);

/** One organisation's documents with changes over them. */
export class StagedDocuments implements DocumentStore {
  readonly #base: DocumentStore;
  readonly #organisationId: string;
  readonly #written: (collection: Collection<object>, document: Document<object>) => void;
  readonly #staged = new Map<string, Map<string, Staged>>();
  readonly #order: Staged[] = [];
  readonly #byOwner = new Map<number, Staged[]>();
  /** Who writes now. */
  owner = 0;

  /** @param written told of each document as it is written */
  constructor(
    base: DocumentStore,
    organisationId: string,
    written: (collection: Collection<object>, document: Document<object>) => void,
  ) {
    this.#base = base;
    this.#organisationId = organisationId;
    this.#written = written;
  }

  async get<B extends object>(
    scope: TenantScope,
    collection: Collection<B>,
    idOrSlug: string,
    options: { readonly archived?: boolean } = {},
  ): Promise<Document<B> | undefined> {
    const staged = this.#of(collection);
    const byId = staged.get(idOrSlug)?.now;
    const sees = (one: Document<object>): boolean =>
      scope.workspaceId === undefined || one.workspaceId === scope.workspaceId;
    if (byId !== undefined)
      return sees(byId) && (byId.status === 'active' || options.archived) ? (byId as Document<B>) : undefined;
    for (const { now } of staged.values())
      if (now.slug === idOrSlug && now.status === 'active' && sees(now)) return now as Document<B>;
    const found = await this.#base.get(scope, collection, idOrSlug, options);
    return found !== undefined && staged.has(found.id) ? undefined : found;
  }

  async page<B extends object>(
    scope: TenantScope,
    collection: Collection<B>,
    query: PageQuery,
  ): Promise<DocumentPage<B>> {
    const staged = this.#of(collection);
    if (staged.size === 0) return this.#base.page(scope, collection, query);
    const { field, order } = query.sort ?? { field: 'createdAt', order: 'asc' as const };
    const own = [...staged.values()]
      .map(({ now }) => now as Document<B>)
      .filter((one) => matches(scope, collection, query, one));
    const stored = await this.#all(scope, collection, query);
    const all = [...stored.filter(({ id }) => !staged.has(id)), ...own].sort((a, b) => {
      const [x, y] = [sortValue(collection, field, a), sortValue(collection, field, b)];
      const way = x === y ? (a.id < b.id ? -1 : 1) : (x ?? '') < (y ?? '') ? -1 : 1;
      return order === 'asc' ? way : -way;
    });
    const from = query.cursor === undefined ? (query.page ?? 0) * query.pageSize : Number(query.cursor);
    const documents = all.slice(from, from + query.pageSize);
    const next = from + query.pageSize;
    return {
      documents,
      total: Math.min(all.length, LIMITS.total),
      totalCapped: all.length > LIMITS.total,
      ...(next < all.length ? { nextCursor: String(next) } : {}),
    };
  }

  async commit(
    scope: TenantScope,
    operations: readonly WriteOperation[],
  ): Promise<readonly Document<object>[]> {
    const documents: Document<object>[] = [];
    for (const [index, operation] of operations.entries())
      documents.push(await this.#write(scope, operation, new FailedOperation(index)));
    return documents;
  }

  insert: DocumentStore['insert'] = async (scope, collection, document) =>
    (await this.#write(scope, insertOperation(collection, document), new FailedOperation(0))) as never;

  update: DocumentStore['update'] = async (scope, collection, id, version, change) =>
    (await this.#write(
      scope,
      updateOperation(collection, id, version, change),
      new FailedOperation(0),
    )) as never;

  archive: DocumentStore['archive'] = async (scope, collection, id, order) =>
    (await this.#write(scope, archiveOperation(collection, id, order), new FailedOperation(0))) as never;

  findByUnique: DocumentStore['findByUnique'] = (collection, field, value) =>
    this.#base.findByUnique(collection, field, value);

  /** The document as it is stored; undefined: it is new, or was not written. */
  baseOf(collection: Collection<object>, id: string): Document<object> | undefined {
    return this.#of(collection).get(id)?.base;
  }

  /** Whether a document was written and is not as it is stored. */
  isChanged(collection: Collection<object>, id: string): boolean {
    const staged = this.#of(collection).get(id);
    return staged !== undefined && writeOf(staged) !== undefined;
  }

  /** The writes that are left in the end, in the order of first writes. Gives way to other work in between. */
  async writes(): Promise<StagedWrite[]> {
    const all = await mapInSlices(this.#order, (staged) => writesOf([staged]));
    return all.flat();
  }

  /** The same of what one owner wrote first. */
  writesOf(owner: number): StagedWrite[] {
    return writesOf(this.#byOwner.get(owner) ?? []);
  }

  #of(collection: Collection<object>): Map<string, Staged> {
    const known = this.#staged.get(collection.name);
    if (known !== undefined) return known;
    const made = new Map<string, Staged>();
    this.#staged.set(collection.name, made);
    return made;
  }

  async #all<B extends object>(
    scope: TenantScope,
    collection: Collection<B>,
    { filter, status, sort }: PageQuery,
  ): Promise<Document<B>[]> {
    const all: Document<B>[] = [];
    let cursor: string | undefined;
    do {
      const page: DocumentPage<B> = await this.#base.page(scope, collection, {
        pageSize: LIMITS.pageSize,
        ...(filter === undefined ? {} : { filter }),
        ...(status === undefined ? {} : { status }),
        ...(sort === undefined ? {} : { sort }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      all.push(...page.documents);
      cursor = page.nextCursor;
    } while (cursor !== undefined && all.length < MOST_READ);
    return all;
  }

  async #write(
    scope: TenantScope,
    operation: WriteOperation,
    cause: FailedOperation,
  ): Promise<Document<object>> {
    const { collection } = operation;
    const staged = this.#of(collection);
    if (operation.kind === 'insert') {
      const { workspaceId = scope.workspaceId, ...given } = operation.document;
      const now: Document<object> = {
        ...given,
        body: JSON.parse(bodyText(given.body)) as object,
        organisationId: this.#organisationId,
        ...(workspaceId === undefined ? {} : { workspaceId }),
        version: 1,
        status: 'active',
        updatedAt: given.createdAt,
        schemaVersion: collection.schemaVersion,
      };
      await this.#checkUnique(collection, now, cause);
      return this.#keep(collection, now, undefined);
    }
    const known = staged.get(operation.id);
    const before =
      known?.now ??
      (await this.#base.get(
        { organisationId: this.#organisationId, workspaceId: undefined },
        collection,
        operation.id,
      ));
    if (before === undefined || before.status !== 'active')
      throw fail('not_found', `there is no such document in ${collection.name}`, { cause });
    const asked = operation.kind === 'update' ? operation.version : operation.order.version;
    if (asked !== undefined && asked !== before.version)
      throw fail('version_conflict', 'the document was changed meanwhile', { cause });
    const base = known === undefined ? before : known.base;
    if (operation.kind === 'archive') {
      const { updatedAt } = operation.order;
      const now = { ...before, status: 'archived' as const, version: before.version + 1, updatedAt };
      return this.#keep(collection, now, base);
    }
    const { slug: given, updatedAt, body } = operation.change;
    const { slug: was, ...rest } = before;
    const slug = given === undefined ? was : (given ?? undefined);
    const now: Document<object> = {
      ...rest,
      ...(slug === undefined ? {} : { slug }),
      body: JSON.parse(bodyText(body)) as object,
      version: before.version + 1,
      updatedAt,
    };
    await this.#checkUnique(collection, now, cause);
    return this.#keep(collection, now, base);
  }

  #keep(
    collection: Collection<object>,
    now: Document<object>,
    base: Document<object> | undefined,
  ): Document<object> {
    const staged = this.#of(collection);
    const known = staged.get(now.id);
    if (known !== undefined) known.now = now;
    else {
      const made: Staged = { collection, base, now, owner: this.owner };
      staged.set(now.id, made);
      this.#order.push(made);
      const own = this.#byOwner.get(this.owner);
      if (own === undefined) this.#byOwner.set(this.owner, [made]);
      else own.push(made);
    }
    this.#written(collection, now);
    return now;
  }

  /** @throws GatewayError conflict, as the stores do */
  async #checkUnique(
    collection: Collection<object>,
    now: Document<object>,
    cause: FailedOperation,
  ): Promise<void> {
    for (const { fields, per } of collection.unique) {
      const values = fields.map((field) => sortValue(collection, field, now));
      if (values.some((value) => value === null)) continue;
      const filter = fields.map((field, i): Condition => ({ field, op: 'eq', value: values[i] as string }));
      const scope = {
        organisationId: this.#organisationId,
        workspaceId: per === 'workspace' ? now.workspaceId : undefined,
      };
      const { documents } = await this.page(scope, collection, { filter, pageSize: 2 });
      if (documents.every(({ id }) => id === now.id)) continue;
      const violations = fields.map((field) => ({ field, rule: 'unique', message: 'is taken' }));
      throw fail('conflict', `${fields.join(', ')}: is taken`, { param: fields[0] ?? '', violations, cause });
    }
  }
}

function writesOf(all: readonly Staged[]): StagedWrite[] {
  return all.flatMap((staged) => {
    const operation = writeOf(staged);
    return operation === undefined ? [] : [{ owner: staged.owner, operation }];
  });
}

function writeOf({ collection, base, now }: Staged): WriteOperation | undefined {
  const { id, workspaceId, slug, createdAt, updatedAt, body, status } = now;
  const place = workspaceId === undefined ? {} : { workspaceId };
  if (base === undefined) {
    if (status === 'archived') return undefined;
    const document = { id, ...place, ...(slug === undefined ? {} : { slug }), createdAt, body };
    return { kind: 'insert', collection, document };
  }
  if (status === 'archived')
    return { kind: 'archive', collection, id, order: { version: base.version, updatedAt }, ...place };
  if (base.slug === slug && isDeepStrictEqual(steady(base.body), steady(body))) return undefined;
  const change = { body, updatedAt, ...(base.slug === slug ? {} : { slug: slug ?? null }) };
  return { kind: 'update', collection, id, version: base.version, change, ...place };
}

/** A body without what changes with every write. A secret that cannot be opened counts as another one. */
function steady(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== 'object' || value === null) return value;
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    if (VOLATILE.has(name)) continue;
    try {
      kept[name] = steady((value as Record<string, unknown>)[name]);
    } catch {
      kept[name] = Symbol('unreadable');
    }
  }
  return kept;
}
