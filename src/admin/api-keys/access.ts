// Who may do what with which API keys (admin-api facts, parts 3.2 to 3.5): the scope of the key's kind, the role
// of the caller's person, and no key that can do more than its maker.
import type { Directory } from '../../access/directory.ts';
import { kindHolds } from '../../access/keys.ts';
import { checkRole, outranks, roleAllows, roleOf } from '../../access/roles.ts';
import { PEOPLE_SCOPES } from '../../access/scopes.ts';
import type { SecuritySetting } from '../../access/security-settings.ts';
import type { KeyKind, Principal } from '../../call/principal.ts';
import { fail, invalidField } from '../../lib/errors.ts';

export type KeyVerb = 'create' | 'list' | 'read' | 'update' | 'delete' | 'rotate';

export const KEY_KINDS: readonly KeyKind[] = ['organisation-service', 'workspace-service', 'workspace-user'];

/** The scope that a verb on a kind of key takes. */
export function keyScope(kind: KeyKind, verb: KeyVerb): string {
  return `${kind.replace('-', '_')}_api_keys.${verb}`;
}

/** One of the verbs will do. @throws GatewayError forbidden. */
export function requireVerb(
  directory: Directory,
  caller: Principal,
  kind: KeyKind,
  ...verbs: readonly KeyVerb[]
): void {
  const scopes = verbs.map((verb) => keyScope(kind, verb));
  if (!scopes.some((scope) => caller.scopes.has(scope)))
    throw fail('forbidden', `the key lacks the scope ${scopes.join(' or ')}`);
  checkRole(directory, caller, scopes);
}

/** The kinds of keys that the caller may list. */
export function listedKinds(directory: Directory, caller: Principal): readonly KeyKind[] {
  return KEY_KINDS.filter((kind) => {
    const scope = keyScope(kind, 'list');
    if (!caller.scopes.has(scope) || (caller.workspaceId !== undefined && kind === 'organisation-service'))
      return false;
    return roleHolds(directory, caller, scope);
  });
}

/**
 * The user whose keys are all that the caller sees and writes: a member's own. For a person known only to a token
 * it matches no user: no user's id is empty.
 */
export function ownUser(directory: Directory, caller: Principal): string | undefined {
  return roleOf(directory, caller) === 'member' ? (caller.userId ?? '') : undefined;
}

/**
 * The owner of a new user key: the user that is named, or the caller's own; undefined when there is neither.
 * @throws GatewayError validation_failed for users without a place in the workspace, forbidden for those above
 * the caller's role, and for all others when the caller is a member.
 */
export function keyOwner(
  directory: Directory,
  caller: Principal,
  workspaceId: string,
  given: string | undefined,
): string | undefined {
  const userId = given || caller.userId;
  if (userId === undefined) {
    // The specification lets a user key be made without a user: then no role narrows it, as it narrows its maker.
    if (roleOf(directory, caller) !== undefined)
      throw invalidField('user_id', 'is needed: the directory does not know who calls', 'required');
    return undefined;
  }
  if (directory.roleIn(caller.organisationId, workspaceId, userId) === undefined)
    throw invalidField('user_id', 'names no user with a place in the workspace');
  checkOwner(directory, caller, workspaceId, userId);
  return userId;
}

/** Whether the caller may hold a key for another user. @throws GatewayError forbidden. */
export function checkOwner(
  directory: Directory,
  caller: Principal,
  workspaceId: string,
  userId: string,
): void {
  const role = roleOf(directory, caller);
  if (role === undefined || caller.userId === userId) return;
  if (role === 'member')
    throw fail('forbidden', 'user_id: members have keys for themselves alone', { param: 'user_id' });
  const theirs = directory.roleIn(caller.organisationId, workspaceId, userId);
  if (theirs !== undefined && outranks(theirs, role))
    throw fail('forbidden', `user_id: the user is above the role ${role}`, { param: 'user_id' });
}

/**
 * Whether the caller may grant these scopes: those that its own kind could hold, it must hold; what no key of its kind
 * holds (model calls, for organisation keys) only organisation keys give.
 * @param kind of the key that gets them
 * @throws GatewayError forbidden naming the scopes.
 */
export function checkMaker(
  directory: Directory,
  caller: Principal,
  scopes: readonly string[],
  kind: KeyKind,
): void {
  const beyond = scopes.filter((scope) => {
    const own = caller.scopes.has(scope);
    const given = caller.kind === 'organisation-service' && !kindHolds(caller.kind, scope);
    // A service would hold the secret of a person's key.
    const beside =
      caller.kind === 'workspace-service' && kind === 'workspace-user' && PEOPLE_SCOPES.has(scope);
    return !(own || given) || beside || !roleHolds(directory, caller, scope);
  });
  if (beyond.length === 0) return;
  const message = `scopes: the caller may not give ${beyond.join(', ')}, which it does not have itself`;
  throw fail('forbidden', message, { param: 'scopes' });
}

/** Whether the role of the caller's person has the scope; a token's role is in its scopes already. */
function roleHolds(directory: Directory, caller: Principal, scope: string): boolean {
  const { organisationId, workspaceId, userId } = caller;
  const role = roleOf(directory, caller);
  if (userId === undefined || role === undefined) return true;
  const user = directory.user(organisationId, userId);
  if (user !== undefined && user.body.role !== 'member') return true;
  const setting = (name: SecuritySetting): boolean => directory.setting(name, organisationId, workspaceId);
  return roleAllows(role, scope, setting);
}
