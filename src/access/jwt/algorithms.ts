// The signature algorithms that tokens may carry, and the one kind of key that each takes (RFC 7518, part 3.1;
// RFC 8037; RFC 9864). All are asymmetric: with a shared secret, who can verify could also sign.

interface KeyDemand {
  readonly kty: 'RSA' | 'EC' | 'OKP';
  readonly crv?: string;
}

const RSA: KeyDemand = { kty: 'RSA' };
const ED25519: KeyDemand = { kty: 'OKP', crv: 'Ed25519' };

const TABLE = {
  RS256: RSA,
  RS384: RSA,
  RS512: RSA,
  PS256: RSA,
  PS384: RSA,
  PS512: RSA,
  ES256: { kty: 'EC', crv: 'P-256' },
  ES384: { kty: 'EC', crv: 'P-384' },
  ES512: { kty: 'EC', crv: 'P-521' },
  EdDSA: ED25519,
  Ed25519: ED25519,
} as const satisfies Record<string, KeyDemand>;

/** A signature algorithm by its JOSE name. */
export type Algorithm = keyof typeof TABLE;

/** All of them. */
export const ALGORITHMS = Object.keys(TABLE) as readonly Algorithm[];

/** Whether a text names one of them. */
export function isAlgorithm(text: unknown): text is Algorithm {
  return typeof text === 'string' && Object.hasOwn(TABLE, text);
}

/** Whether a key of this type and curve is the one that the algorithm takes. */
export function takes(algorithm: Algorithm, key: { readonly kty: string; readonly crv?: string }): boolean {
  const demand: KeyDemand = TABLE[algorithm];
  return demand.kty === key.kty && (demand.crv === undefined || demand.crv === key.crv);
}
