// Whether a key set may be fetched from an address: keys that came over an unencrypted connection could be forged.
import { parseAddress } from '../../lib/egress/address-rules.ts';
import type { AllowList } from '../../lib/egress/allow-list.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { invalidField } from '../../lib/errors.ts';

/** Checks an address under its field's name. @throws GatewayError host_refused, validation_failed. */
export type CheckJwksUri = (field: string, url: string) => void;

/** @param allow hosts that the operator vouches for may be called without TLS */
export function jwksUriCheck(dialer: Pick<Dialer, 'check'>, allow: AllowList): CheckJwksUri {
  return (field, url) => {
    dialer.check(url, field);
    const { protocol, hostname, port } = new URL(url);
    if (protocol === 'https:') return;
    const host = hostname.replace(/^\[|\]$/g, '');
    const number = port === '' ? 80 : Number(port);
    const address = parseAddress(host);
    const open = address === undefined ? allow.name(host, number) : allow.address(address, number);
    if (!open) throw invalidField(field, 'must begin with https://', 'https');
  };
}
