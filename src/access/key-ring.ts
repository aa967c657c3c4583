// The keys that may call, in memory: authentication makes no round trip.
import { type KeyHasher, sameHash } from './key-hash.ts';
import type { Principal } from './principal.ts';

/** A key as it is kept. */
export interface KeyRecord {
  readonly hash: string;
  readonly principal: Principal;
  /** Unix milliseconds; undefined: never. */
  readonly expiresAt: number | undefined;
}

/** Tells who presents a key. */
export class KeyRing {
  readonly #hasher: KeyHasher;
  readonly #byHash = new Map<string, KeyRecord>();

  constructor(hasher: KeyHasher) {
    this.#hasher = hasher;
  }

  /** Makes a key known, or replaces what was known of it. */
  put(record: KeyRecord): void {
    this.#byHash.set(record.hash, record);
  }

  remove(hash: string): void {
    this.#byHash.delete(hash);
  }

  get size(): number {
    return this.#byHash.size;
  }

  /** The key's record, expired ones included; undefined when it is no key of this gateway. */
  find(key: string): KeyRecord | undefined {
    if (key === '') return undefined;
    const hash = this.#hasher.hash(key);
    const record = this.#byHash.get(hash);
    return record !== undefined && sameHash(record.hash, hash) ? record : undefined;
  }
}
