// The keys that may call, in memory: authentication makes no round trip.
import { type KeyHasher, keyHint, sameHash } from './key-hash.ts';
import type { Principal } from './principal.ts';

/** A key as it is kept. */
export interface KeyRecord {
  readonly hash: string;
  /** What may be known of the key: see keyHint. */
  readonly hint: string;
  readonly principal: Principal;
  /** Unix milliseconds; undefined: never. */
  readonly expiresAt: number | undefined;
}

/** Tells who presents a key. */
export class KeyRing {
  readonly #hasher: KeyHasher;
  readonly #byHash = new Map<string, KeyRecord>();
  readonly #hints = new Set<string>();

  constructor(hasher: KeyHasher) {
    this.#hasher = hasher;
  }

  /** Makes a key known, or replaces what was known of it. */
  put(record: KeyRecord): void {
    this.#byHash.set(record.hash, record);
    this.#hints.add(record.hint);
  }

  remove(hash: string): void {
    this.#byHash.delete(hash);
  }

  get size(): number {
    return this.#byHash.size;
  }

  /** The key's record, expired ones included; undefined when it is no key of this gateway. */
  find(key: string): KeyRecord | undefined {
    // Most texts that are asked about are providers' keys: they need no hash to be told apart.
    if (!this.#hints.has(keyHint(key))) return undefined;
    const hash = this.#hasher.hash(key);
    const record = this.#byHash.get(hash);
    return record !== undefined && sameHash(record.hash, hash) ? record : undefined;
  }
}
