// Lists that go on after an object's id, as lists of the data plane do.

import type { TenantScope } from '../call/scope.ts';
import { invalidField } from '../lib/errors.ts';
import type { Collection } from './collection.ts';
import type { Condition, Document, DocumentStore } from './documents.ts';
import { everyDocument, type ListQuery } from './every-document.ts';

/** A page of documents by the time of making. */
export interface AfterQuery<B extends object> {
  /** The page begins after this document, also when it is archived. */
  readonly after?: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  readonly filter?: readonly Condition[];
  readonly wanted?: (document: Document<B>) => boolean;
}

/** Most documents of one read. */
const MOST = 1000;

/** @throws GatewayError validation_failed when `after` is no document of the scope */
export async function pageAfter<B extends object>(
  store: DocumentStore,
  scope: TenantScope,
  collection: Collection<B>,
  { after, limit, order, filter = [], wanted = () => true }: AfterQuery<B>,
): Promise<{ documents: Document<B>[]; more: boolean }> {
  const last =
    after === undefined ? undefined : await store.get(scope, collection, after, { archived: true });
  if (after !== undefined && last?.id !== after) throw invalidField('after', 'names nothing in this list');
  const from: Condition[] =
    last === undefined
      ? []
      : [{ field: 'createdAt', op: order === 'asc' ? 'gte' : 'lte', value: last.createdAt }];
  const found: Document<B>[] = [];
  // Documents of one time are ordered by their ids.
  const isAfter = ({ id, createdAt }: Document<B>): boolean =>
    last === undefined || createdAt !== last.createdAt || (order === 'asc' ? id > last.id : id < last.id);
  const query: ListQuery = {
    filter: [...filter, ...from],
    sort: { field: 'createdAt', order },
    pageSize: Math.min(MOST, limit + 8),
  };
  for await (const one of everyDocument(store, scope, collection, query)) {
    if (isAfter(one) && wanted(one)) found.push(one);
    if (found.length > limit) break;
  }
  return { documents: found.slice(0, limit), more: found.length > limit };
}
