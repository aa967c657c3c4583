// The person that a call is made for.
import type { Directory } from '../access/directory.ts';
import type { Principal } from '../call/principal.ts';

/** The person a principal acts for, as the audit log names them. */
export function userOf(directory: Directory, { organisationId, workspaceId, userId }: Principal) {
  const user = userId === undefined ? undefined : directory.user(organisationId, userId);
  if (user === undefined) return undefined;
  const role = workspaceId === undefined ? undefined : directory.roleIn(organisationId, workspaceId, user.id);
  return { name: user.body.email, role: role ?? user.body.role };
}
