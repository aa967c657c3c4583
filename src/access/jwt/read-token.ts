// Parses a token without verifying it (RFC 7515, RFC 7519). Whatever can be refused by its form is
// refused here: it costs microseconds, a signature costs up to a millisecond.
import { type Algorithm, isAlgorithm } from './algorithms.ts';
import { refused } from './refused.ts';

/** Longest token, in characters. */
export const LONGEST_TOKEN = 8192;

/** What the header says. `jku`, `jwk`, `x5u` and `x5c` are never looked at: keys come from the settings alone. */
export interface TokenHeader {
  readonly algorithm: Algorithm;
  readonly kid: string | undefined;
}

/** Claims as they are in the token. */
export type Claims = Readonly<Record<string, unknown>>;

/** A token's parts. They are untrusted until its signature is verified. */
export interface UnverifiedToken {
  readonly text: string;
  readonly header: TokenHeader;
  readonly claims: Claims;
}

/** Three parts of base64url; the first is a JSON object, which always begins so. The last may be missing: alg none. */
const SHAPE = /^ey[\w-]*\.[\w-]+\.[\w-]*$/;
/** Access and identity tokens; others (logout, DPoP, security events) have the same signers and admit no caller. */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt']);
const LONGEST_KID = 256;

/** Whether a text has the form of a token. */
export function looksLikeToken(text: string): boolean {
  return text.charCodeAt(0) === 101 && text.charCodeAt(1) === 121 && SHAPE.test(text);
}

/** @throws GatewayError unauthenticated. */
export function readToken(text: string): UnverifiedToken {
  if (text.length > LONGEST_TOKEN)
    throw refused(`the token is too long: at most ${LONGEST_TOKEN} characters`);
  const [head = '', body = '', signature = ''] = text.split('.');
  const header = objectOf(head);
  if (header === undefined) throw refused("the token's header cannot be read");
  const read = readHeader(header);
  if (signature === '') throw refused('the token is not signed');
  const claims = objectOf(body);
  if (claims === undefined) throw refused("the token's claims cannot be read");
  return { text, header: read, claims };
}

/** A token's claims as far as they can be read, to find the organisation it would belong to. */
export function peekClaims(text: string): Claims | undefined {
  return text.length > LONGEST_TOKEN ? undefined : objectOf(text.split('.', 2)[1] ?? '');
}

/** An own member: what a prototype has is no claim. */
export function claim(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

function readHeader(header: Claims): TokenHeader {
  const { alg, kid, typ, crit, b64 } = header;
  // Extensions that must be understood (RFC 7515, part 4.1.11): none is.
  if (crit !== undefined || b64 !== undefined)
    throw refused("the token's header has extensions (crit) that are not understood");
  if (!isAlgorithm(alg)) throw refused("the token's algorithm is not accepted");
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > LONGEST_KID))
    throw refused("the token's kid cannot be read");
  if (typ !== undefined && !isType(typ)) throw refused('the token is of a type (typ) that is not accepted');
  return { algorithm: alg, kid };
}

function isType(typ: unknown): boolean {
  return typeof typ === 'string' && TYPES.has(typ.toLowerCase().replace(/^application\//, ''));
}

function objectOf(part: string): Claims | undefined {
  try {
    const json: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Claims) : undefined;
  } catch {
    return undefined;
  }
}
