// Lists without an end of their own, read page by page.
import type { TenantScope } from '../call/scope.ts';
import { nextSlice } from '../lib/time-slices.ts';
import type { Collection } from './collection.ts';
import type { Document, DocumentStore, PageQuery } from './documents.ts';

/** What is listed. `pageSize` is 500 by default. */
export type ListQuery = Partial<Omit<PageQuery, 'page' | 'cursor'>>;

const PAGE = 500;

/**
 * All documents that a query finds, in its order. A page is read when the one before has been taken, so a caller that has
 * enough may stop. Gives way to other work in between.
 * @throws GatewayError as `DocumentStore.page`
 */
export async function* everyDocument<B extends object>(
  documents: Pick<DocumentStore, 'page'>,
  scope: TenantScope,
  collection: Collection<B>,
  query: ListQuery = {},
): AsyncGenerator<Document<B>, void> {
  let cursor: string | undefined;
  do {
    const page = await documents.page(scope, collection, {
      pageSize: PAGE,
      ...query,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const document of page.documents) {
      const next = nextSlice();
      if (next !== undefined) await next;
      yield document;
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/** The same at once, for lists that are short enough. */
export async function allDocuments<B extends object>(
  ...of: Parameters<typeof everyDocument<B>>
): Promise<Document<B>[]> {
  const all: Document<B>[] = [];
  for await (const document of everyDocument(...of)) all.push(document);
  return all;
}
