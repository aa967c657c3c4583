// The gateway's own identity in a cloud: never shown to an address that a caller may choose.
import { optionError } from '../../providers/options/named.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { CredentialDeps, OwnIdentity } from './identity.ts';

/**
 * For stored providers only, at the cloud's own addresses, where the operator opened it.
 * @param option the one that asks for it @throws GatewayError `invalid_header`
 */
export function checkOwnIdentity(
  { ownIdentity }: CredentialDeps,
  { stored, target }: Pick<BoundTarget, 'stored' | 'target'>,
  cloud: OwnIdentity,
  option: string,
): void {
  const refuse = (why: string) =>
    optionError(target.provider, option, `needs the gateway's own identity, ${why}`);
  if (!ownIdentity.includes(cloud))
    throw refuse(`which the operator has not opened (GATEWAY_SECRET_OWN_IDENTITY=${cloud})`);
  if (stored === undefined) throw refuse('which is for stored providers only');
  if (target.customHost !== undefined) throw refuse('which goes to no custom host');
}
