// An organisation always keeps a key that may make organisation keys: it cannot be locked out.
import { type ApiKeyBody, apiKeys } from '../../access/identity-collections.ts';
import { fail } from '../../lib/errors.ts';
import {
  type Document,
  type DocumentStore,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { everyDocument } from '../../store/every-document.ts';
import { keyScope } from './access.ts';
import { isExpired } from './record.ts';

const SCOPE = keyScope('organisation-service', 'create');

/**
 * Operations that belong into the commit which changes a key (`after` undefined: deletes it). When the key is one
 * that may make organisation keys loses that right, or gets an end, another such key is written unchanged in the same
 * commit: a concurrent removal of that one loses the race, so that two keys cannot count as each other's reserve.
 * @throws GatewayError conflict when there is no other.
 */
export async function keepOne(
  documents: DocumentStore,
  before: Document<ApiKeyBody>,
  after: ApiKeyBody | undefined,
  now: number,
): Promise<readonly WriteOperation[]> {
  if (!canKeepReach(before.body, now)) return [];
  const forEver = before.body.expiresAt === undefined;
  const stays =
    after !== undefined && canKeepReach(after, now) && (!forEver || after.expiresAt === undefined);
  if (stays) return [];
  const scope = { organisationId: before.organisationId, workspaceId: undefined };
  const filter = [{ field: 'kind', op: 'eq', value: 'organisation-service' } as const];
  const others = everyDocument(documents, scope, apiKeys, { filter });
  for await (const { id, version, body, updatedAt } of others)
    if (id !== before.id && canKeepReach(body, now) && (!forEver || body.expiresAt === undefined))
      return [updateOperation(apiKeys, id, version, { body, updatedAt })];
  throw fail('conflict', `this is the last organisation key with ${SCOPE}: make another one first`);
}

function canKeepReach(body: ApiKeyBody, now: number): boolean {
  return body.kind === 'organisation-service' && body.scopes.includes(SCOPE) && !isExpired(body, now);
}
