// Whether the caller of an open stream may still have it: its key or token, its workspace and its rights, as they are now.
import type { Access } from '../../gen/gateway/options/v2/options_pb.ts';
import type { Call } from '../call/call.ts';
import type { Principal } from '../call/principal.ts';
import { fail } from '../lib/errors.ts';
import { authenticate, type Callers } from './authenticate.ts';
import { accessCheck } from './authorize.ts';
import type { Directory } from './directory.ts';
import { checkRole } from './roles.ts';

/** The check of an access annotation over a principal, its workspace and its role. @throws GatewayError forbidden */
export function admission(access: Access, directory: Directory): (principal: Principal) => void {
  const check = accessCheck(access);
  return (principal) => {
    const { organisationId, workspaceId, userId } = principal;
    if (workspaceId !== undefined && directory.workspace(organisationId, workspaceId) === undefined)
      throw fail('forbidden', 'the workspace of this key is archived');
    check(principal);
    if (userId !== undefined && !access.authenticated) checkRole(directory, principal, access.scopes);
  };
}

/** Asks again, for a call whose stream stays open. @param admit of its method */
export async function isStillValid(
  call: Call,
  callers: Callers,
  admit: (principal: Principal) => void,
): Promise<boolean> {
  try {
    const now = authenticate(call.headers, callers, Date.now());
    const principal = await now.principal;
    admit(principal);
    return principal.keyId === call.identity?.principal.keyId;
  } catch {
    return false;
  }
}
