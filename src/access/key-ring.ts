// The keys that may call, in memory: authentication makes no round trip.

import type { Principal } from '../call/principal.ts';
import type { JsonObject } from '../store/collection.ts';
import { type KeyHasher, keyHint, sameHash } from './key-hash.ts';

/** Limits and settings of a key's calls, as callers wrote them. */
export interface KeySettings {
  readonly defaults: JsonObject | undefined;
  readonly rateLimits: readonly JsonObject[];
  readonly usageLimits: JsonObject | undefined;
  /** When usage was last reset by hand, in Unix milliseconds. */
  readonly usageResetAt: number | undefined;
}

/** A key as it is kept. */
export interface KeyRecord {
  readonly hash: string;
  /** What may be known of the key: see keyHint. */
  readonly hint: string;
  /** The previous secret, from before the last rotation, and until when it works (Unix milliseconds). */
  readonly previous?: { readonly hash: string; readonly hint: string; readonly until: number } | undefined;
  readonly principal: Principal;
  /** The document's version: an older one never replaces a newer. */
  readonly version: number;
  /** Unix milliseconds; undefined: never. */
  readonly expiresAt: number | undefined;
  readonly settings?: KeySettings | undefined;
}

/** The key that a connection presented last, and the result of its lookup. */
interface Presented {
  readonly key: string;
  readonly hash: string;
  readonly record: KeyRecord | undefined;
}

/** Finds the caller of a key. */
export class KeyRing {
  readonly #hasher: KeyHasher;
  readonly #byHash = new Map<string, KeyRecord>();
  readonly #byId = new Map<string, KeyRecord>();
  /** Also of deleted keys. */
  readonly #versions = new Map<string, number>();
  readonly #hints = new Set<string>();
  readonly #presented = new WeakMap<object, Presented>();
  /** By id: called when the key is presented for the first time. */
  readonly #awaited = new Map<string, () => void>();

  constructor(hasher: KeyHasher) {
    this.#hasher = hasher;
  }

  /** Makes a key known, or replaces an older version of it. */
  put(record: KeyRecord): void {
    const { keyId } = record.principal;
    if ((this.#versions.get(keyId) ?? 0) >= record.version) return;
    this.#forget(keyId, record.version);
    this.#byId.set(keyId, record);
    const { previous } = record;
    // The previous secret is the same key with its own expiry, which readers of `expiresAt` check.
    if (previous) this.#add({ ...record, ...previous, expiresAt: earlier(record.expiresAt, previous.until) });
    this.#add(record);
  }

  #add(record: KeyRecord): void {
    this.#byHash.set(record.hash, record);
    this.#hints.add(record.hint);
  }

  /** Removes a key; versions up to the given one cannot restore it. */
  remove(keyId: string, version: number): void {
    if ((this.#versions.get(keyId) ?? 0) <= version) this.#forget(keyId, version);
  }

  #forget(keyId: string, version: number): void {
    const known = this.#byId.get(keyId);
    if (known) this.#byHash.delete(known.hash);
    if (known?.previous) this.#byHash.delete(known.previous.hash);
    this.#byId.delete(keyId);
    this.#versions.set(keyId, version);
  }

  /** How many keys there are. */
  get size(): number {
    return this.#byId.size;
  }

  /** Tells, once, when the key is presented to this process. */
  whenUsed(keyId: string, told: () => void): void {
    this.#awaited.set(keyId, told);
  }

  /** What a key brings to its calls; undefined for unknown keys and those that bring nothing. */
  settings(keyId: string): KeySettings | undefined {
    return this.#byId.get(keyId)?.settings;
  }

  /**
   * The key's record, expired ones included; undefined when it is no key of this gateway. For the secret
   * before a rotation, `expiresAt` is the end of the transition.
   * @param connection what the key came over: a client sends the same key with every
   * request, and its hash is made once a connection. Only the client's own text is kept, and
   * no longer than its connection; whether the key still counts is looked up every time.
   */
  find(key: string, connection?: object): KeyRecord | undefined {
    // Most texts are providers' keys: they are told apart without a hash.
    if (!this.#hints.has(keyHint(key))) return undefined;
    const known = connection === undefined ? undefined : this.#presented.get(connection);
    const hash = known?.key === key ? known.hash : this.#hasher.hash(key);
    const record = this.#byHash.get(hash);
    if (known?.key === key && known.record === record) return record;
    const found = record !== undefined && sameHash(record.hash, hash) ? record : undefined;
    if (connection !== undefined) this.#presented.set(connection, { key, hash, record: found });
    if (found !== undefined && this.#awaited.size > 0) this.#tellUse(found.principal.keyId);
    return found;
  }

  #tellUse(keyId: string | undefined): void {
    const told = keyId === undefined ? undefined : this.#awaited.get(keyId);
    if (keyId === undefined || told === undefined) return;
    this.#awaited.delete(keyId);
    told();
  }
}

function earlier(a: number | undefined, b: number): number {
  return a === undefined ? b : Math.min(a, b);
}
