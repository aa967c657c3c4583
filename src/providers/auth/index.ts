// The gateway's credentials, in a provider's authentication scheme.
import { urlText } from '../../lib/url-text.ts';
import type { ProviderEntry, ProviderOptions, Target } from '../dialect.ts';
import { isAnthropicFoundry } from '../options/azure.ts';
import { keyError } from '../options/named.ts';
import { credential as apiKey } from './api-key.ts';
import { credential as bearer } from './bearer.ts';
import { credential as none } from './none.ts';
import { credential as xApiKey } from './x-api-key.ts';

const SCHEMES = Object.freeze({
  aws: bearer,
  google: bearer,
  azure: apiKey,
  'azure-foundry': foundryKey,
  oracle: none,
  bearer,
  'x-api-key': xApiKey,
  'api-key': apiKey,
  none,
});

/** Schemes whose credential may be made of options. */
const IDENTITIES: ReadonlySet<string> = new Set(['aws', 'google', 'azure', 'azure-foundry', 'oracle']);

const NONE: readonly string[] = Object.freeze([]);
// Visible ASCII; no line breaks, so that a key cannot become another header.
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Flat pairs of the headers that carry the target's credential; empty without one, or where the query carries it.
 * @throws GatewayError `invalid_header` for a key that no header can carry; its text is never repeated.
 */
export function authHeaders({ apiKey: key, options, provider: { auth } }: Target): readonly string[] {
  if (key === undefined || key === '') return NONE;
  if (!KEY.test(key)) throw keyError("the provider's key must be printable ASCII");
  if (typeof auth === 'string') return SCHEMES[auth](key, options);
  return auth.header === undefined ? NONE : [auth.header, (auth.prefix ?? '') + key];
}

/** Whether options of the target bring its credential, so that no key is needed. */
export function bringsCredential(
  { auth, options: specs = [] }: ProviderEntry,
  options: ProviderOptions,
): boolean {
  if (typeof auth !== 'string' || !IDENTITIES.has(auth)) return false;
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
  return `${auth.query}=${urlText(key)}`;
}

/** Azure AI Foundry: a bearer token, but for Anthropic's API there, which has a header of its own. */
function foundryKey(key: string, { azure_foundry_url: url }: ProviderOptions): readonly string[] {
  return isAnthropicFoundry(url) ? xApiKey(key) : bearer(key);
}
