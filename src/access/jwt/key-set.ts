// A JSON Web Key Set (RFC 7517, part 5): which of its keys a token is verified with.
import { invalidField } from '../../lib/errors.ts';
import type { Algorithm } from './algorithms.ts';
import { isForOtherUse, type PublicJwk, privateFault, readJwk, serves, type VerificationKey } from './jwk.ts';
import { refused } from './refused.ts';

/** The most keys of a set. Each is imported, and that costs. */
export const MOST_KEYS = 64;

/** The keys of one issuer. */
export class KeySet {
  readonly #keys: readonly VerificationKey[];
  readonly #thumbprints: ReadonlySet<string>;

  constructor(keys: readonly VerificationKey[]) {
    this.#keys = keys;
    this.#thumbprints = new Set(keys.map((key) => key.thumbprint));
  }

  /** The public keys, as they are kept. */
  get jwks(): readonly PublicJwk[] {
    return this.#keys.map((key) => key.jwk);
  }

  /** Whether the key material is in the set. */
  holds(thumbprint: string): boolean {
    return this.#thumbprints.has(thumbprint);
  }

  /**
   * The key that a token's header names; undefined when the set has none of that name.
   * @throws GatewayError unauthenticated when no key is named though there are several, or when it does not fit.
   */
  find(algorithm: Algorithm, kid: string | undefined): VerificationKey | undefined {
    if (kid === undefined && this.#keys.length > 1)
      throw refused('the token names no signing key (kid), and there are several');
    const named = kid === undefined ? this.#keys : this.#keys.filter(({ jwk }) => jwk.kid === kid);
    if (named.length === 0) return undefined;
    const fitting = named.filter((key) => serves(key, algorithm));
    if (fitting.length === 0) throw refused("the token's algorithm does not fit its signing key");
    if (fitting.length > 1) throw refused('the token names a signing key (kid) that is there more than once');
    return fitting[0];
  }
}

/**
 * Reads a configured set: every key must be right, those for other uses are left out.
 * @throws GatewayError validation_failed naming the member under `field`.
 */
export function readInlineSet(field: string, json: unknown): KeySet {
  const list = listOf(json);
  if (list === undefined) throw invalidField(`${field}.keys`, 'must be a list of JSON Web Keys');
  if (list.length > MOST_KEYS) throw invalidField(`${field}.keys`, `must hold at most ${MOST_KEYS} keys`);
  const keys: VerificationKey[] = [];
  for (const [i, jwk] of list.entries()) {
    // A private part is refused in whichever key it is, those for encryption included.
    if (isForOtherUse(jwk) && privateFault(jwk) === undefined) continue;
    const read = readJwk(jwk);
    if ('key' in read) keys.push(read);
    else throw invalidField([`${field}.keys[${i}]`, read.member].filter(Boolean).join('.'), read.message);
  }
  if (keys.length === 0) throw invalidField(`${field}.keys`, 'must hold a key for signatures');
  return new KeySet(keys);
}

/**
 * Reads a fetched set. Keys that cannot be used are left out, because providers publish keys of many kinds; a key
 * that was published with its private part is not secret any more and is left out too.
 * @throws Error with a text for the log when it is no set at all.
 */
export function readFetchedSet(json: unknown): KeySet {
  const list = listOf(json);
  if (list === undefined) throw new Error('the answer is not a JSON Web Key Set');
  if (list.length > MOST_KEYS) throw new Error(`the key set has more than ${MOST_KEYS} keys`);
  const keys = list.filter((jwk) => !isForOtherUse(jwk)).map(readJwk);
  return new KeySet(keys.filter((read) => 'key' in read));
}

function listOf(json: unknown): readonly unknown[] | undefined {
  if (typeof json !== 'object' || json === null || !Object.hasOwn(json, 'keys')) return undefined;
  const { keys } = json as { keys: unknown };
  return Array.isArray(keys) ? keys : undefined;
}
