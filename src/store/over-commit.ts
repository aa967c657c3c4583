// What both document stores do alike, over their own units of work and reads.
import type { TenantScope } from '../call/scope.ts';
import { fail } from '../lib/errors.ts';
import {
  type Document,
  type DocumentPage,
  type DocumentStore,
  LIMITS,
  type WriteOperation,
} from './documents.ts';
import { type CheckedQuery, encodeCursor } from './page-query.ts';

/** The writes of a store: each is a unit of work. @throws GatewayError validation_failed for a commit that is too long */
export function overCommit(
  write: DocumentStore['commit'],
): Pick<DocumentStore, 'insert' | 'update' | 'archive' | 'commit'> {
  const commit: DocumentStore['commit'] = async (scope, operations) => {
    if (operations.length === 0) return [];
    if (operations.length > LIMITS.operations)
      throw fail('validation_failed', `a commit has ${LIMITS.operations} operations at the most`);
    return write(scope, operations);
  };
  const one = async <B extends object>(
    scope: TenantScope,
    operation: WriteOperation,
  ): Promise<Document<B>> => {
    const [document] = await commit(scope, [operation]);
    return document as Document<B>;
  };
  return {
    insert: (scope, collection, document) => one(scope, { kind: 'insert', collection, document }),
    update: (scope, collection, id, version, change) =>
      one(scope, { kind: 'update', collection, id, version, change }),
    archive: (scope, collection, id, order) => one(scope, { kind: 'archive', collection, id, order }),
    commit,
  };
}

/** A page, with its cursor. @param last the last document's sort value; undefined: there is no further page */
export function pageOf<B extends object>(
  documents: readonly Document<B>[],
  total: number,
  query: CheckedQuery,
  last: Parameters<typeof encodeCursor>[1]['value'] | undefined,
): DocumentPage<B> {
  const id = documents.at(-1)?.id;
  return {
    documents,
    total: Math.min(total, LIMITS.total),
    totalCapped: total > LIMITS.total,
    ...(last === undefined || id === undefined
      ? {}
      : { nextCursor: encodeCursor(query, { value: last, id }) }),
  };
}
