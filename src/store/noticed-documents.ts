// The document port that reports its writes: the one place that announces changes, after the store has them.

import type { TenantScope } from '../call/scope.ts';
import { GatewayError } from '../lib/errors.ts';
import type { OpenFeed } from './change-feed.ts';
import type { Collection } from './collection.ts';
import type { Document, DocumentStore, WriteOperation } from './documents.ts';

/** Collections that are not declared `noticed` pass through; reads do anyway. */
export function noticedDocuments(
  documents: DocumentStore,
  feed: Pick<OpenFeed, 'wrote' | 'unsure'>,
): DocumentStore {
  /** This instance's followers know of the write when its caller does. */
  async function telling<T>(
    collections: readonly Collection<object>[],
    write: Promise<T>,
    written: (result: T) => readonly Document<object>[],
  ): Promise<T> {
    if (!collections.some(({ noticed }) => noticed)) return write;
    try {
      const result = await write;
      const told = written(result).flatMap((document, index) => {
        const collection = collections[index];
        return collection?.noticed ? [{ collection, document }] : [];
      });
      feed.wrote(told);
      return result;
    } catch (error) {
      if (error instanceof GatewayError && error.reason === 'store_unavailable') feed.unsure();
      throw error;
    }
  }

  const one = <B extends object>(collection: Collection<B>, write: Promise<Document<B>>) =>
    telling([collection], write, (document) => [document]);

  return {
    get: documents.get,
    page: documents.page,
    findByUnique: documents.findByUnique,
    insert: (scope, collection, document) => one(collection, documents.insert(scope, collection, document)),
    update: (scope, collection, id, version, change) =>
      one(collection, documents.update(scope, collection, id, version, change)),
    archive: (scope, collection, id, order) =>
      one(collection, documents.archive(scope, collection, id, order)),
    commit: (scope: TenantScope, operations: readonly WriteOperation[]) =>
      telling(
        operations.map(({ collection }) => collection),
        documents.commit(scope, operations),
        (all) => all,
      ),
  };
}
