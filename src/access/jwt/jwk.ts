// One JSON Web Key (RFC 7517, RFC 7518 part 6) as a key that tokens are verified with: public, strong, well formed.
import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { type Algorithm, isAlgorithm, takes } from './algorithms.ts';

/** The public members that are kept. */
export interface PublicJwk {
  readonly kty: 'RSA' | 'EC' | 'OKP';
  readonly kid?: string;
  readonly alg?: string;
  readonly use?: string;
  readonly crv?: string;
  readonly n?: string;
  readonly e?: string;
  readonly x?: string;
  readonly y?: string;
}

/** A key ready to verify with. */
export interface VerificationKey {
  readonly jwk: PublicJwk;
  readonly key: KeyObject;
  /** The same for the same key material, whatever the key is called. */
  readonly thumbprint: string;
}

/** Why a key is not taken. */
export interface JwkFault {
  /** The member at fault; empty for the key as a whole. */
  readonly member: string;
  readonly message: string;
}

type Members = Readonly<Record<string, unknown>>;

const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];
const BASE64URL = /^[A-Za-z0-9_-]+$/;
const LONGEST_KID = 256;
const RSA_BITS = { least: 2048, most: 8192 };
/** Verification costs more with every bit of the exponent; 65537 is the largest in use. */
const LONGEST_EXPONENT_BYTES = 4;

/** Whether a key's use is something other than signatures; key sets list such keys too. */
export function isForOtherUse(jwk: unknown): boolean {
  if (!isObject(jwk)) return false;
  const { use, key_ops: operations } = jwk;
  return (
    (use !== undefined && use !== 'sig') || (Array.isArray(operations) && !operations.includes('verify'))
  );
}

/** Reads one key. A fault never repeats a value: it may be a secret that was pasted by mistake. */
export function readJwk(jwk: unknown): VerificationKey | JwkFault {
  if (!isObject(jwk)) return { member: '', message: 'must be an object' };
  const fault = privateFault(jwk) ?? namesFault(jwk) ?? materialFault(jwk);
  if (fault) return fault;
  const kept = publicPart(jwk);
  const { kty, crv, n, e, x, y } = kept;
  try {
    const key = createPublicKey({ key: { kty, crv, n, e, x, y }, format: 'jwk' });
    return { jwk: kept, key, thumbprint: hash('sha256', [kty, crv, n, e, x, y].join('|'), 'base64url') };
  } catch {
    return { member: '', message: 'is not a valid public key' };
  }
}

/** The private member, which only the key's owner may know. */
export function privateFault(jwk: unknown): JwkFault | undefined {
  const member = isObject(jwk) ? PRIVATE.find((name) => Object.hasOwn(jwk, name)) : undefined;
  return member === undefined
    ? undefined
    : { member, message: 'is a private part: give the public key only' };
}

/** Whether a token under this algorithm may be verified with the key. */
export function serves({ jwk }: VerificationKey, algorithm: Algorithm): boolean {
  if (!takes(algorithm, jwk)) return false;
  // EdDSA and Ed25519 are two names of one algorithm for these keys.
  return jwk.alg === undefined || jwk.alg === algorithm || jwk.kty === 'OKP';
}

function namesFault(jwk: Members): JwkFault | undefined {
  const { kid, alg, use, kty } = jwk;
  if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > LONGEST_KID))
    return { member: 'kid', message: `must be a text of 1 to ${LONGEST_KID} characters` };
  if (kty !== 'RSA' && kty !== 'EC' && kty !== 'OKP')
    return { member: 'kty', message: 'must be RSA, EC or OKP' };
  if (use !== undefined && use !== 'sig') return { member: 'use', message: 'must be sig' };
  if (alg === undefined) return undefined;
  if (!isAlgorithm(alg))
    return { member: 'alg', message: 'is not an algorithm that tokens may be signed with' };
  const crv = typeof jwk.crv === 'string' ? { crv: jwk.crv } : {};
  return takes(alg, { kty, ...crv })
    ? undefined
    : { member: 'alg', message: 'does not fit the type of the key' };
}

function materialFault(jwk: Members): JwkFault | undefined {
  if (jwk.kty === 'RSA') return rsaFault(jwk);
  const curves = jwk.kty === 'EC' ? ['P-256', 'P-384', 'P-521'] : ['Ed25519'];
  if (typeof jwk.crv !== 'string' || !curves.includes(jwk.crv))
    return { member: 'crv', message: `must be ${curves.join(', ')}` };
  return coordinateFault(jwk, 'x') ?? (jwk.kty === 'EC' ? coordinateFault(jwk, 'y') : undefined);
}

function rsaFault(jwk: Members): JwkFault | undefined {
  const modulus = bytesOf(jwk.n);
  if (modulus === undefined) return { member: 'n', message: 'must be base64url' };
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  if (bits < RSA_BITS.least) return { member: 'n', message: `must have ${RSA_BITS.least} bits at least` };
  if (bits > RSA_BITS.most) return { member: 'n', message: `must have ${RSA_BITS.most} bits at the most` };
  const exponent = bytesOf(jwk.e);
  if (exponent === undefined || exponent.length > LONGEST_EXPONENT_BYTES)
    return { member: 'e', message: `must be base64url of at most ${LONGEST_EXPONENT_BYTES} bytes` };
  // With the exponent 1 every signature is its own message; even ones belong to no RSA key.
  const value = exponent.readUIntBE(0, exponent.length);
  return value >= 3 && value % 2 === 1 ? undefined : { member: 'e', message: 'must be odd, and 3 at least' };
}

function coordinateFault(jwk: Members, member: 'x' | 'y'): JwkFault | undefined {
  const bytes = bytesOf(jwk[member]);
  return bytes !== undefined && bytes.length <= 66 ? undefined : { member, message: 'must be base64url' };
}

/** Without leading zero bytes; undefined when it is no base64url or nothing is left. */
function bytesOf(value: unknown): Buffer | undefined {
  if (typeof value !== 'string' || value.length > 4096 || !BASE64URL.test(value)) return undefined;
  const bytes = Buffer.from(value, 'base64url');
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? undefined : bytes.subarray(first);
}

function publicPart(jwk: Members): PublicJwk {
  const kept = ['kty', 'kid', 'alg', 'use', 'crv', 'n', 'e', 'x', 'y'].flatMap((member) => {
    const value = Object.hasOwn(jwk, member) ? jwk[member] : undefined;
    return typeof value === 'string' ? [[member, value] as const] : [];
  });
  return Object.fromEntries(kept) as unknown as PublicJwk;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
