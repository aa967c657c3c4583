// Reads the caller's key and the provider's credential out of the headers.
// The rules are those of operating.md, part "Keys".
import { fail } from '../lib/errors.ts';
import type { GatewayHeaders } from '../lib/gateway-headers.ts';
import type { KeyRecord, KeyRing } from './key-ring.ts';
import type { Principal } from './principal.ts';

/** Who calls, and what they brought for the provider. */
export interface Authentication {
  readonly principal: Principal;
  /** The gateway key as presented. */
  readonly key: string;
  /** The provider's credential, without its scheme; undefined when none was sent. */
  readonly providerCredential: string | undefined;
}

/**
 * `x-gateway-api-key`; when it is absent, `Authorization: Bearer` or `x-api-key`
 * holding a gateway key. What is left of the two is the provider's credential.
 * @throws GatewayError unauthenticated.
 */
export function authenticate(
  headers: GatewayHeaders,
  keys: KeyRing,
  now: number,
  connection?: object,
): Authentication {
  const bearer = bearerOf(headers.plain('authorization'));
  const xApiKey = bearerOf(headers.plain('x-api-key'));
  const own = headers.get('api-key');
  if (own !== undefined) {
    const record = keys.find(own, connection);
    // A client that sends its gateway key twice must not ship it to a provider.
    const candidates = [bearer, xApiKey].filter((value) => value !== own);
    return accept(
      record,
      own,
      candidates.find((value) => isForeign(value, keys)),
      now,
    );
  }
  for (const [candidate, other] of [
    [bearer, xApiKey],
    [xApiKey, bearer],
  ] as const) {
    if (candidate === undefined) continue;
    const record = keys.find(candidate, connection);
    if (record) return accept(record, candidate, isForeign(other, keys) ? other : undefined, now);
  }
  throw unauthenticated(
    bearer === undefined && xApiKey === undefined
      ? `an API key is needed: ${headers.names.canonical}api-key, or Authorization: Bearer`
      : 'the API key is not known',
  );
}

function accept(
  record: KeyRecord | undefined,
  key: string,
  providerCredential: string | undefined,
  now: number,
): Authentication {
  if (record === undefined) throw unauthenticated('the API key is not known');
  if (record.expiresAt !== undefined && record.expiresAt <= now)
    throw unauthenticated('the API key has expired');
  return { principal: record.principal, key, providerCredential };
}

function isForeign(value: string | undefined, keys: KeyRing): value is string {
  return value !== undefined && value !== '' && keys.find(value) === undefined;
}

function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const match = /^bearer +(.*)$/is.exec(authorization);
  const token = (match ? match[1] : authorization)?.trim();
  return token === '' ? undefined : token;
}

function unauthenticated(message: string) {
  return fail('unauthenticated', message);
}
