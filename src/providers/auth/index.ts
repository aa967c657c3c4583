// The gateway's credentials, in a provider's authentication scheme.
import { invalidHeader } from '../../lib/errors.ts';
import type { ProviderEntry, ProviderOptions, Target } from '../dialect.ts';
import { credential as apiKey } from './api-key.ts';
import { credential as bearer } from './bearer.ts';
import { credential as none } from './none.ts';
import { credential as xApiKey } from './x-api-key.ts';

const SCHEMES = Object.freeze({
  aws: bearer,
  google: bearer,
  bearer,
  'x-api-key': xApiKey,
  'api-key': apiKey,
  none,
});

const NONE: readonly string[] = Object.freeze([]);
// Visible ASCII; no line breaks, so that a key cannot become another header.
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Flat pairs of the headers that carry the target's credential; empty without one, or where the query carries it.
 * @throws GatewayError `invalid_header` for a key that no header can carry; its text is never repeated.
 */
export function authHeaders({ apiKey: key, provider: { auth } }: Target): readonly string[] {
  if (key === undefined || key === '') return NONE;
  if (!KEY.test(key)) throw invalidHeader('authorization', "the provider's key must be printable ASCII");
  if (typeof auth === 'string') return SCHEMES[auth](key);
  return auth.header === undefined ? NONE : [auth.header, (auth.prefix ?? '') + key];
}

/** Whether options of the target bring its credential, so that no key is needed. */
export function bringsCredential(
  { auth, options: specs = [] }: ProviderEntry,
  options: ProviderOptions,
): boolean {
  if (auth !== 'aws' && auth !== 'google') return false;
  return specs.some(
    ({ name, secret, effect, keylessWith }) =>
      (secret === true && effect === 'account' && options[name] !== undefined) ||
      keylessWith?.includes(options[name] ?? ''),
  );
}

/** The query that carries the target's credential, without the question mark; undefined where headers do. */
export function authQuery({ apiKey: key, provider: { auth } }: Target): string | undefined {
  if (typeof auth === 'string' || auth.query === undefined || key === undefined || key === '')
    return undefined;
  return `${auth.query}=${encodeURIComponent(key)}`;
}
