// Whose log entries a caller may see.

import type { Directory } from '../../access/directory.ts';
import { workspaces } from '../../access/identity-collections.ts';
import { roleOf } from '../../access/roles.ts';
import type { Principal } from '../../call/principal.ts';
import { invalidField } from '../../lib/errors.ts';
import type { DocumentStore } from '../../store/documents.ts';
import type { FeedbackOwner, LogFilter } from '../../store/request-log.ts';
import { organisationOf } from '../kit/caller.ts';
import { defined } from '../kit/patch.ts';

/** What it takes to know. */
export interface LogReachDeps {
  readonly directory: Directory;
  readonly documents: DocumentStore;
}

/**
 * The workspace whose logs are read: a workspace's key has its own and may name no other; an organisation key may
 * name any of its own by id or slug, an archived one by its id.
 * @throws GatewayError validation_failed for one that is none of the caller's.
 */
export async function workspaceOfLogs(
  { directory, documents }: LogReachDeps,
  principal: Principal,
  given: string | undefined,
  field = 'workspace_slug',
): Promise<string | undefined> {
  const { organisationId, workspaceId } = principal;
  if (given === undefined) return workspaceId;
  const id = directory.workspace(organisationId, given)?.id ?? given;
  if (workspaceId === id) return id;
  const known =
    workspaceId === undefined &&
    given !== '' &&
    !given.includes('\0') &&
    (id !== given ||
      (await documents.get(organisationOf(principal), workspaces, id, { archived: true })) !== undefined);
  if (!known) throw invalidField(field, 'names no workspace of the caller');
  return id;
}

/**
 * Narrows a filter to the caller's own calls; no change when the security settings show its role the calls of others.
 * A person with a token who is not in the directory has the calls of that token.
 */
export function ownCalls(directory: Directory, principal: Principal, filter: LogFilter): LogFilter {
  if (seesAllData(directory, principal)) return {};
  const { userId, keyId } = principal;
  if (userId !== undefined) return { userIds: [userId] };
  const { apiKeyIds = [keyId] } = filter;
  // No call is made with the key ''.
  return { apiKeyIds: [apiKeyIds.includes(keyId) ? keyId : ''] };
}

/** Whether a caller may see everybody's calls in its scope. */
export function seesAllData(directory: Directory, principal: Principal): boolean {
  const role = roleOf(directory, principal);
  if (role !== 'member' && role !== 'manager') return true;
  const name = role === 'member' ? 'membersViewAllData' : 'managersViewAllData';
  return directory.setting(name, principal.organisationId, principal.workspaceId);
}

/** Whose feedback a caller may see: their own and feedback on their own calls; undefined: everybody's. */
export function seenFeedback(directory: Directory, principal: Principal): FeedbackOwner | undefined {
  if (seesAllData(directory, principal)) return undefined;
  const { userId, keyId } = principal;
  return userId === undefined ? { apiKeyId: keyId } : { userId };
}

/** What of a filter's entries is left by `ownCalls`: those means of feedback count that their owner sees. */
export function narrowed(filter: LogFilter, own: Pick<LogFilter, 'userIds' | 'apiKeyIds'>): LogFilter {
  const [userId, apiKeyId] = [own.userIds?.[0], own.apiKeyIds?.[0]];
  const { feedback } = filter;
  const all = { ...filter, ...own };
  if (feedback === undefined || (userId ?? apiKeyId) === undefined) return all;
  return { ...all, feedback: { ...feedback, own: defined({ userId, apiKeyId }) } };
}

/** Whether a filter that was made before means none but calls that the caller may see now, in a scope that it reaches. */
export function isWithinReach(
  directory: Directory,
  principal: Principal,
  filter: Pick<LogFilter, 'userIds' | 'apiKeyIds'>,
): boolean {
  const { userIds, apiKeyIds } = ownCalls(directory, principal, {});
  return within(userIds, filter.userIds) && within(apiKeyIds, filter.apiKeyIds);
}

function within(own: readonly string[] | undefined, asked: readonly string[] | undefined): boolean {
  // No call is made with the key ''.
  return own === undefined || (asked?.every((id) => id === '' || own.includes(id)) ?? false);
}

/** Whether an entry is one that a caller may see, in a scope that it reaches. */
export function isSeen(
  directory: Directory,
  principal: Principal,
  entry: { readonly userId?: string; readonly apiKeyId: string },
): boolean {
  if (seesAllData(directory, principal)) return true;
  return principal.userId === undefined
    ? entry.apiKeyId === principal.keyId
    : entry.userId === principal.userId;
}
