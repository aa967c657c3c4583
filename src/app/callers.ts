// Who calls, asked by those that stand before the interceptors or beside them.
import { authenticate, type Callers } from '../access/authenticate.ts';
import type { Directory } from '../access/directory.ts';
import type { Principal } from '../access/principal.ts';
import type { GatewayHeaders } from '../lib/gateway-headers.ts';

/** Whether the headers carry a valid key or token; why not is the auth interceptor's to say. */
export function isAuthentic(headers: GatewayHeaders, callers: Callers): boolean | Promise<boolean> {
  try {
    const { principal } = authenticate(headers, callers, Date.now());
    if (!(principal instanceof Promise)) return true;
    return principal.then(
      () => true,
      () => false,
    );
  } catch {
    return false;
  }
}

/** The person behind a principal, as the audit log names them. */
export function userOf(directory: Directory, { organisationId, workspaceId, userId }: Principal) {
  const user = userId === undefined ? undefined : directory.user(organisationId, userId);
  if (user === undefined) return undefined;
  const role = workspaceId === undefined ? undefined : directory.roleIn(organisationId, workspaceId, user.id);
  return { name: user.body.email, role: role ?? user.body.role };
}
