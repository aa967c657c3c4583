// The principal of a caller whose work goes on after its request.
import type { KeyRing } from '../access/key-ring.ts';
import type { KeptCaller } from '../call/kept-caller.ts';
import type { Principal } from '../call/principal.ts';
import { fail } from '../lib/errors.ts';

/** @throws GatewayError unauthenticated when its key was removed or has expired */
export function principalOf(keys: KeyRing, organisationId: string, { keyId, token }: KeptCaller): Principal {
  if (token !== undefined) {
    const { scopes, ...rest } = token as Omit<Principal, 'scopes'> & { scopes: string[] };
    return { ...rest, scopes: new Set(scopes) };
  }
  const record = keys.replica.get(organisationId, keyId);
  if (record === undefined || (record.expiresAt !== undefined && record.expiresAt <= Date.now()))
    throw fail('unauthenticated', 'the API key that asked for this was removed or has expired');
  return record.principal;
}
