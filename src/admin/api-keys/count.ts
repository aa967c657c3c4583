// How many keys a user may hold in a workspace.
import { apiKeys, users } from '../../access/identity-collections.ts';
import { fail } from '../../lib/errors.ts';
import { type DocumentStore, updateOperation, type WriteOperation } from '../../store/documents.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';

/** Whose keys are counted. */
export interface KeyHolder {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly userId: string;
}

/**
 * Commits a key of a user who may hold `most`. The user's document is written as it is together with the key: of
 * two keys made at the same time, one counts the other.
 * @throws GatewayError conflict when the user holds as many.
 */
export async function commitCounted<T>(
  documents: DocumentStore,
  { organisationId, workspaceId, userId }: KeyHolder,
  most: number,
  commit: (operations: readonly WriteOperation[]) => Promise<T>,
): Promise<T> {
  return retryOnConflict(async () => {
    const user = await documents.get({ organisationId, workspaceId: undefined }, users, userId);
    const held = await documents.page({ organisationId, workspaceId }, apiKeys, {
      filter: [{ field: 'userId', op: 'eq', value: userId }],
      pageSize: 1,
    });
    if (user === undefined || held.total >= most)
      throw fail('conflict', `the user holds as many API keys as the workspace allows: ${most}`);
    const { body, version, updatedAt } = user;
    return commit([updateOperation(users, userId, version, { body, updatedAt })]);
  });
}
