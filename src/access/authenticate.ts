// Reads the caller's key or token and the provider's credential out of the headers.
// The rules are those of operating.md, part "Keys"; a token (JWT) is presented as a key is.

import type { Principal } from '../call/principal.ts';
import { aliasHint } from '../lib/alias-hint.ts';
import { fail } from '../lib/errors.ts';
import type { GatewayHeaders } from '../lib/gateway-headers.ts';
import { looksLikeToken } from './jwt/read-token.ts';
import type { Tokens } from './jwt/tokens.ts';
import type { KeyRecord } from './key-record.ts';
import type { KeyRing } from './key-ring.ts';
import type { SessionRing } from './sessions/session-ring.ts';

/** The caller, and the credential for the provider. */
export interface Authentication {
  /** A promise for a token that was not seen before; it rejects as Tokens.principalOf says. */
  readonly principal: Principal | Promise<Principal>;
  /** The gateway key or token as presented. */
  readonly key: string;
  /** The provider's credential, without its scheme; undefined when none was sent. */
  readonly providerCredential: string | undefined;
}

/** Finds callers by key and, where there are tokens and sessions, by token and cookie. */
export interface Callers {
  readonly keys: KeyRing;
  readonly tokens?: Pick<Tokens, 'isOurs' | 'principalOf'> | undefined;
  readonly sessions?: Pick<SessionRing, 'callerOf'> | undefined;
}

/**
 * `x-gateway-api-key`; when it is absent, `Authorization: Bearer`, `x-api-key` or `x-goog-api-key` holding a gateway key
 * or, when none does, the cookie of a session or a token. What is left of them is the provider's
 * credential, unless it is a key or token for this gateway.
 * @throws GatewayError unauthenticated.
 */
export function authenticate(
  headers: GatewayHeaders,
  callers: Callers,
  now: number,
  connection?: object,
): Authentication {
  const { keys, tokens } = callers;
  const presented = presentedIn(headers);
  const own = headers.get('api-key');
  if (own !== undefined) {
    const record = keys.find(own, connection);
    // A client that sends its gateway key twice must not ship it to a provider.
    const credential = presented.find((value) => value !== own && isForeign(value, callers));
    if (record === undefined && tokens !== undefined && looksLikeToken(own))
      return { principal: tokens.principalOf(own), key: own, providerCredential: credential };
    return accept(record, own, credential, now, headers);
  }
  const credentialBeside = (key: string): string | undefined =>
    presented.find((value) => value !== key && isForeign(value, callers));
  for (const candidate of presented) {
    const record = keys.find(candidate, connection);
    if (record) return accept(record, candidate, credentialBeside(candidate), now, headers);
  }
  const signedIn = callers.sessions?.callerOf(headers);
  if (signedIn !== undefined && !presented.some((value) => isOurToken(tokens, value))) {
    const { principal, secret } = signedIn;
    return { principal, key: secret, providerCredential: presented[0] };
  }
  const token = tokens && tokenAmong(presented, tokens);
  if (tokens !== undefined && token !== undefined)
    return {
      principal: tokens.principalOf(token),
      key: token,
      providerCredential: credentialBeside(token),
    };
  const needed = `${headers.names.canonical}api-key, or Authorization: Bearer`;
  const [given] = presented;
  throw unauthenticated(
    `${given === undefined ? `an API key is needed: ${needed}` : notKnown(given, headers)}${aliasHint(headers)}`,
  );
}

function accept(
  record: KeyRecord | undefined,
  key: string,
  providerCredential: string | undefined,
  now: number,
  headers: GatewayHeaders,
): Authentication {
  if (record === undefined) throw unauthenticated(`${notKnown(key, headers)}${aliasHint(headers)}`);
  if (record.expiresAt !== undefined && record.expiresAt <= now)
    throw unauthenticated('the API key has expired');
  return { principal: record.principal, key, providerCredential };
}

/** Keys of providers begin in ways of their own. */
const FOREIGN = /^(?:sk-|sk_|gsk_|xai-|pplx-|AIza|AKIA|hf_|r8_|tgp_)/;

function notKnown(key: string, { names }: GatewayHeaders): string {
  const foreign = FOREIGN.test(key)
    ? `: it looks like a provider's. The gateway's own key goes into ${names.canonical}api-key, the provider's into Authorization`
    : '';
  return `the API key is not known${foreign}`;
}

/** The one that is for this gateway, where both could be; a provider's credential may have a token's form too. */
function tokenAmong(presented: readonly string[], tokens: Pick<Tokens, 'isOurs'>): string | undefined {
  const candidates = presented.filter(looksLikeToken);
  if (candidates.length < 2) return candidates[0];
  return candidates.find((candidate) => tokens.isOurs(candidate)) ?? candidates[0];
}

function isOurToken(tokens: Callers['tokens'], text: string): boolean {
  return tokens !== undefined && looksLikeToken(text) && tokens.isOurs(text);
}

function isForeign(value: string, { keys, tokens }: Callers): boolean {
  if (value === '' || keys.find(value) !== undefined) return false;
  return tokens === undefined || !tokens.isOurs(value);
}

const CREDENTIALS = ['authorization', 'x-api-key', 'x-goog-api-key'] as const;

function presentedIn(headers: GatewayHeaders): string[] {
  const presented: string[] = [];
  for (const name of CREDENTIALS) {
    const value = bearerOf(headers.plain(name));
    if (value !== undefined) presented.push(value);
  }
  return presented;
}

function bearerOf(authorization: string | undefined): string | undefined {
  // A signature of AWS is for the address that it was made for: it is no credential to pass on.
  if (authorization === undefined || /^aws4-/i.test(authorization)) return undefined;
  const match = /^bearer +(.*)$/is.exec(authorization);
  const token = (match ? match[1] : authorization)?.trim();
  return token === '' ? undefined : token;
}

function unauthenticated(message: string) {
  return fail('unauthenticated', message);
}
