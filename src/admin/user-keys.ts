// The API keys of a person go where the person goes.
import { apiKeys } from '../access/collections.ts';
import { archiveOperation, type DocumentStore, type WriteOperation } from '../store/documents.ts';
import type { TenantScope } from '../store/scope.ts';

const PAGE = 500;

/** Operations that archive a user's keys within the scope: of one workspace, or of the organisation. */
export async function archiveKeysOf(
  documents: DocumentStore,
  scope: TenantScope,
  userId: string,
  updatedAt: number,
): Promise<readonly WriteOperation[]> {
  const operations: WriteOperation[] = [];
  let cursor: string | undefined;
  do {
    const page = await documents.page(scope, apiKeys, {
      filter: [{ field: 'userId', op: 'eq', value: userId }],
      pageSize: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const { id } of page.documents) operations.push(archiveOperation(apiKeys, id, { updatedAt }));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return operations;
}
