// Who we are, in the words of a provider's scheme.
import { invalidHeader } from '../../lib/errors.ts';
import type { AuthScheme, Target } from '../dialect.ts';
import { credential as apiKey } from './api-key.ts';
import { credential as bearer } from './bearer.ts';
import { credential as none } from './none.ts';
import { credential as xApiKey } from './x-api-key.ts';

const SCHEMES: Readonly<Record<AuthScheme, (key: string) => readonly string[]>> = Object.freeze({
  bearer,
  'x-api-key': xApiKey,
  'api-key': apiKey,
  none,
});

const NONE: readonly string[] = Object.freeze([]);
// Visible ASCII; no line breaks, so that a key cannot become another header.
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Flat pairs of the headers that carry the target's credential; empty without one.
 * @throws GatewayError `invalid_header` for a key that no header can carry; its text is never repeated.
 */
export function authHeaders({ apiKey: key, provider }: Target): readonly string[] {
  if (key === undefined || key === '') return NONE;
  if (!KEY.test(key)) throw invalidHeader('authorization', "the provider's key must be printable ASCII");
  return SCHEMES[provider.auth](key);
}
