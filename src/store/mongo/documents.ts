// The document port over MongoDB: checks first, then one command or one transaction.
import type mongoose from 'mongoose';
import type { TenantScope } from '../../call/scope.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { mapManyInSlices } from '../../lib/time-slices.ts';
import type { Collection } from '../collection.ts';
import { checkName, checkScope, columnValue, globalField } from '../document-checks.ts';
import {
  type Document,
  type DocumentPage,
  type DocumentStore,
  FailedOperation,
  type WriteOperation,
} from '../documents.ts';
import { overCommit, pageOf } from '../over-commit.ts';
import { checkPageQuery } from '../page-query.ts';
import { upgraded } from '../upgrades.ts';
import type { Calls, Deadline } from './calls.ts';
import { readOne, readPage, readUnique } from './document-reads.ts';
import { documentOf, documentsOf } from './document-rows.ts';
import { type DocumentModel, type DocumentRow, modelOf } from './document-schema.ts';
import { makeWrite, prepareWrite } from './document-writes.ts';
import { failureOf } from './failures.ts';
import { inTransaction } from './transaction.ts';

/** Errors of the operation itself: they carry its place. */
const OF_OPERATION = new Set(['conflict', 'version_conflict', 'not_found']);

export function mongoDocuments(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
  calls: Calls,
): DocumentStore {
  const models = new Map(collections.map((collection) => [collection.name, modelOf(connection, collection)]));

  function modelFor(collection: Collection<object>): DocumentModel {
    const model = models.get(collection.name);
    if (model === undefined) throw new Error(`collection ${collection.name} was not given to the store`);
    return model;
  }

  async function commit(
    scope: TenantScope,
    operations: readonly WriteOperation[],
  ): Promise<readonly Document<object>[]> {
    const writes = await mapManyInSlices(operations, (operation) => ({
      model: modelFor(operation.collection),
      write: prepareWrite(scope, operation),
    }));
    const make = async (
      deadline: Deadline,
      session?: mongoose.mongo.ClientSession,
    ): Promise<DocumentRow[]> => {
      const rows: DocumentRow[] = [];
      for (const [index, { model, write }] of writes.entries()) {
        rows.push(await placed(index, makeWrite(model, write, deadline, session)));
      }
      return rows;
    };
    // One document's write is atomic by itself.
    const rows = await calls.run((deadline) =>
      writes.length === 1
        ? make(deadline)
        : inTransaction(connection, deadline, (session) => make(deadline, session)),
    );
    return documentsOf<object>((index) => (operations[index] as WriteOperation).collection, rows);
  }

  return {
    ...overCommit(commit),

    get: async <B extends object>(
      scope: TenantScope,
      collection: Collection<B>,
      idOrSlug: string,
      options?: { readonly archived?: boolean },
    ): Promise<Document<B> | undefined> => {
      const checked = checkScope(scope);
      const ref = checkName('id', idOrSlug);
      const archived = options?.archived ?? false;
      const model = modelFor(collection);
      const row = await calls.run((deadline) => readOne(model, collection, checked, ref, archived, deadline));
      return row === null ? undefined : upgraded<B>(collection, documentOf(row));
    },

    page: async <B extends object>(
      scope: TenantScope,
      collection: Collection<B>,
      query: Parameters<DocumentStore['page']>[2],
    ): Promise<DocumentPage<B>> => {
      const checkedScope = checkScope(scope);
      const checked = checkPageQuery(collection, query);
      const model = modelFor(collection);
      const { rows, total, last } = await calls.run((deadline) =>
        readPage(model, collection, checkedScope, checked, deadline),
      );
      const documents = await documentsOf<B>(() => collection, rows);
      return pageOf(documents, total, checked, last);
    },

    findByUnique: async <B extends object>(
      collection: Collection<B>,
      field: string,
      value: string | number,
    ): Promise<Document<B> | undefined> => {
      const declared = globalField(collection, field);
      const checked = columnValue(declared.name, declared.type, value);
      const model = modelFor(collection);
      const row = await calls.run((deadline) => readUnique(model, declared, checked, deadline));
      return row === null ? undefined : upgraded<B>(collection, documentOf(row));
    },
  };
}

/** An operation's own failure with its place in the commit; the store's trouble stays as it is, to be retried. */
async function placed<T>(index: number, made: Promise<T>): Promise<T> {
  try {
    return await made;
  } catch (error) {
    const failure: GatewayError = failureOf(error);
    if (!OF_OPERATION.has(failure.reason)) throw error;
    throw fail(failure.reason, failure.message, { ...failure.details, cause: new FailedOperation(index) });
  }
}
