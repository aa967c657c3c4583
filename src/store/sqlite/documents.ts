// The document port over the two workers: checks on this side, SQL on theirs.

import type { TenantScope } from '../../call/scope.ts';
import { fail } from '../../lib/errors.ts';
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
import {
  type Document,
  type DocumentPage,
  type DocumentStore,
  LIMITS,
  type WriteOperation,
} from '../documents.ts';
import { checkPageQuery, encodeCursor } from '../page-query.ts';
import { upgraded } from '../upgrades.ts';
import { afterUpdate, documentOf, documentsOf } from './document-rows.ts';
import type {
  DocumentRow,
  GlobalRow,
  ReaderCall,
  RowPage,
  RowWrite,
  RowWritten,
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

  function prepare(scope: TenantScope, operation: WriteOperation): Prepared {
    const { organisationId: org, workspaceId } = checkScope(scope);
    const { collection } = operation;
    const c = placeOf(collection);
    if (operation.kind === 'insert') {
      const { document } = operation;
      const workspace = narrowed(workspaceId, document.workspaceId);
      const body = bodyText(document.body);
      const createdAt = checkInteger('createdAt', document.createdAt, 0);
      const slug = document.slug === undefined ? null : checkName('slug', document.slug);
      const id = checkName('id', document.id);
      const row: DocumentRow = [
        id,
        workspace ?? '',
        slug,
        1,
        0,
        createdAt,
        createdAt,
        collection.schemaVersion,
        body,
      ];
      const fields = indexedValues(collection, document.body);
      return {
        write: { kind: 'insert', c, org, row, fields },
        length: body.length,
        written: () => documentOf(org, row, JSON.parse(body)),
      };
    }
    const workspace = narrowed(workspaceId, operation.workspaceId);
    const id = checkName('id', operation.id);
    if (operation.kind === 'update') {
      const { change } = operation;
      const body = bodyText(change.body);
      const { schemaVersion } = collection;
      const updatedAt = checkInteger('updatedAt', change.updatedAt, 0);
      const slug = typeof change.slug === 'string' ? checkName('slug', change.slug) : change.slug;
      const version = checkInteger('version', operation.version, 1);
      const fields = indexedValues(collection, change.body);
      return {
        write: {
          kind: 'update',
          c,
          org,
          workspace,
          id,
          version,
          slug,
          updatedAt,
          schemaVersion,
          body,
          fields,
        },
        length: body.length,
        written: (answer) =>
          afterUpdate(org, id, updatedAt, schemaVersion, answer as UpdatedParts, JSON.parse(body)),
      };
    }
    const { order } = operation;
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

  async function commit(
    scope: TenantScope,
    operations: readonly WriteOperation[],
  ): Promise<readonly Document<object>[]> {
    if (operations.length === 0) return [];
    if (operations.length > LIMITS.operations) {
      throw fail('validation_failed', `a commit has ${LIMITS.operations} operations at the most`);
    }
    const prepared = operations.map((operation) => prepare(scope, operation));
    const length = prepared.reduce((sum, one) => sum + one.length, 0);
    const writes = prepared.map((one) => one.write);
    const answers = await writer.call<RowWritten[]>({ kind: 'commit', writes }, length);
    return prepared.map((one, index) => one.written(answers[index] as RowWritten));
  }

  async function one<B extends object>(scope: TenantScope, operation: WriteOperation): Promise<Document<B>> {
    const [document] = await commit(scope, [operation]);
    return document as Document<B>;
  }

  return {
    insert: (scope, collection, document) => one(scope, { kind: 'insert', collection, document }),
    update: (scope, collection, id, version, change) =>
      one(scope, { kind: 'update', collection, id, version, change }),
    archive: (scope, collection, id, order) => one(scope, { kind: 'archive', collection, id, order }),
    commit,

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
      const { rows, last, total } = await reader.call<RowPage>({
        ...checked,
        kind: 'page',
        c,
        org,
        workspace,
      });
      const documents = await documentsOf<B>(collection, org, rows);
      const lastId = documents.at(-1)?.id;
      return {
        documents,
        total: Math.min(total, LIMITS.total),
        totalCapped: total > LIMITS.total,
        ...(last === undefined || lastId === undefined
          ? {}
          : { nextCursor: encodeCursor(checked, { value: last, id: lastId }) }),
      };
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
