// The document port over the two workers: checks on this side, SQL on theirs.

import type { TenantScope } from '../../call/scope.ts';
import { mapManyInSlices } from '../../lib/time-slices.ts';
import type { Collection } from '../collection.ts';
import {
  bodyText,
  checkInteger,
  checkName,
  checkScope,
  columnValue,
  globalField,
  indexedValues,
  narrowed,
} from '../document-checks.ts';
import type { Document, DocumentPage, DocumentStore, WriteOperation } from '../documents.ts';
import { overCommit, pageOf } from '../over-commit.ts';
import { checkPageQuery } from '../page-query.ts';
import { upgraded } from '../upgrades.ts';
import { afterUpdate, documentOf, documentsOf } from './document-rows.ts';
import type {
  DocumentRow,
  GlobalRow,
  PageCall,
  ReaderCall,
  RowPage,
  RowWrite,
  RowWritten,
  SomeRows,
  UpdatedParts,
  WriterCall,
} from './protocol.ts';
import type { WorkerClient } from './worker-client.ts';

/** What a write sends, and how its answer becomes the document as written. */
interface Prepared {
  readonly write: RowWrite;
  readonly length: number;
  readonly written: (answer: RowWritten) => Document<object>;
}

export function sqliteDocuments(
  collections: readonly Collection<object>[],
  writer: WorkerClient<WriterCall>,
  reader: WorkerClient<ReaderCall>,
): DocumentStore {
  const places = new Map(collections.map((collection, place) => [collection.name, place]));

  function placeOf(collection: Collection<object>): number {
    const place = places.get(collection.name);
    if (place === undefined) throw new Error(`collection ${collection.name} was not given to the store`);
    return place;
  }

  async function commit(
    scope: TenantScope,
    operations: readonly WriteOperation[],
  ): Promise<readonly Document<object>[]> {
    const given = mapManyInSlices(operations, (one) => prepare(placeOf(one.collection), scope, one));
    const prepared = given instanceof Promise ? await given : given;
    const length = prepared.reduce((sum, one) => sum + one.length, 0);
    const call: WriterCall = { kind: 'commit', writes: prepared.map((one) => one.write) };
    const answers = await writer.call<RowWritten[]>(call, length);
    return mapManyInSlices(prepared, (one, index) => one.written(answers[index] as RowWritten));
  }

  return {
    ...overCommit(commit),

    get: async <B extends object>(
      scope: TenantScope,
      collection: Collection<B>,
      idOrSlug: string,
      options?: { readonly archived?: boolean },
    ): Promise<Document<B> | undefined> => {
      const { organisationId: org, workspaceId: workspace } = checkScope(scope);
      const ref = checkName('id', idOrSlug);
      const archived = options?.archived ?? false;
      const c = placeOf(collection);
      const row = await reader.call<DocumentRow | null>({ kind: 'get', c, org, workspace, ref, archived });
      if (row === null) return undefined;
      return upgraded<B>(collection, documentOf(org, row, JSON.parse(row[8]) as object));
    },

    page: async <B extends object>(
      scope: TenantScope,
      collection: Collection<B>,
      query: Parameters<DocumentStore['page']>[2],
    ): Promise<DocumentPage<B>> => {
      const { organisationId: org, workspaceId: workspace } = checkScope(scope);
      const checked = checkPageQuery(collection, query);
      const c = placeOf(collection);
      const call: PageCall = { ...checked, kind: 'page', c, org, workspace };
      const page = await reader.call<RowPage>(call);
      return pageOf(await allOf<B>(reader, collection, call, page), page.total, checked, page.last);
    },

    findByUnique: async <B extends object>(
      collection: Collection<B>,
      field: string,
      value: string | number,
    ): Promise<Document<B> | undefined> => {
      const { name, type } = globalField(collection, field);
      const call: ReaderCall = {
        kind: 'unique',
        c: placeOf(collection),
        field: name,
        value: columnValue(name, type, value),
      };
      const found = await reader.call<GlobalRow | null>(call);
      if (found === null) return undefined;
      return upgraded<B>(collection, documentOf(found[0], found[1], JSON.parse(found[1][8]) as object));
    },
  };
}

/** The documents of a page: long ones come in several messages. */
async function allOf<B extends object>(
  reader: WorkerClient<ReaderCall>,
  collection: Collection<B>,
  { c, org }: PageCall,
  { rows, rest }: SomeRows,
): Promise<Document<B>[]> {
  const documents = await documentsOf<B>(collection, org, rows);
  for (let places = rest; places.length > 0; ) {
    const more = await reader.call<SomeRows>({ kind: 'rows', c, places });
    documents.push(...(await documentsOf<B>(collection, org, more.rows)));
    places = more.rest;
  }
  return documents;
}

type Of<K extends WriteOperation['kind']> = Extract<WriteOperation, { readonly kind: K }>;

/** @param c the collection's place @throws GatewayError validation_failed */
function prepare(c: number, scope: TenantScope, operation: WriteOperation): Prepared {
  const { organisationId: org, workspaceId } = checkScope(scope);
  switch (operation.kind) {
    case 'insert':
      return preparedInsert(c, org, narrowed(workspaceId, operation.document.workspaceId), operation);
    case 'update':
      return preparedUpdate(c, org, narrowed(workspaceId, operation.workspaceId), operation);
    case 'archive':
      return preparedArchive(c, org, narrowed(workspaceId, operation.workspaceId), operation);
  }
}

function preparedInsert(
  c: number,
  org: string,
  workspace: string | null,
  { collection, document }: Of<'insert'>,
): Prepared {
  const body = bodyText(document.body);
  const createdAt = checkInteger('createdAt', document.createdAt, 0);
  const slug = document.slug === undefined ? null : checkName('slug', document.slug);
  const id = checkName('id', document.id);
  const { schemaVersion } = collection;
  const row: DocumentRow = [id, workspace ?? '', slug, 1, 0, createdAt, createdAt, schemaVersion, body];
  const fields = indexedValues(collection, document.body);
  return {
    write: { kind: 'insert', c, org, row, fields },
    length: body.length,
    written: () => documentOf(org, row, JSON.parse(body)),
  };
}

function preparedUpdate(
  c: number,
  org: string,
  workspace: string | null,
  { collection, change, ...operation }: Of<'update'>,
): Prepared {
  const id = checkName('id', operation.id);
  const body = bodyText(change.body);
  const { schemaVersion } = collection;
  const updatedAt = checkInteger('updatedAt', change.updatedAt, 0);
  const slug = typeof change.slug === 'string' ? checkName('slug', change.slug) : change.slug;
  const version = checkInteger('version', operation.version, 1);
  const fields = indexedValues(collection, change.body);
  const written = { version, slug, updatedAt, schemaVersion, body, fields };
  return {
    write: { kind: 'update', c, org, workspace, id, ...written },
    length: body.length,
    written: (answer) =>
      afterUpdate(org, id, updatedAt, schemaVersion, answer as UpdatedParts, JSON.parse(body)),
  };
}

function preparedArchive(
  c: number,
  org: string,
  workspace: string | null,
  { collection, order, ...operation }: Of<'archive'>,
): Prepared {
  const id = checkName('id', operation.id);
  const version = order.version === undefined ? null : checkInteger('version', order.version, 1);
  const updatedAt = checkInteger('updatedAt', order.updatedAt, 0);
  return {
    write: { kind: 'archive', c, org, workspace, id, version, updatedAt },
    length: 0,
    written: (answer) => {
      const row = answer as DocumentRow;
      return upgraded(collection, documentOf(org, row, JSON.parse(row[8]) as object));
    },
  };
}
