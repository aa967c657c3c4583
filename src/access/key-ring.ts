// The keys that may call, in memory: authentication makes no round trip.

import type { Principal } from '../call/principal.ts';
import { Replica } from '../store/replica.ts';
import { type ApiKeyBody, apiKeys } from './identity-collections.ts';
import { type KeyHasher, keyHint, newApiKey, sameHash } from './key-hash.ts';
import { type KeyRecord, type KeySettings, keyRecord } from './key-record.ts';

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
  readonly #hints = new Set<string>();
  readonly #presented = new WeakMap<object, Presented>();
  readonly #lent = new Set<string>();
  /** By id: called when the key is presented for the first time. */
  readonly #awaited = new Map<string, () => void>();
  readonly replica: Replica<ApiKeyBody, KeyRecord> = new Replica(apiKeys, {
    row: keyRecord,
    changed: (now, before) => this.#change(now, before),
  });

  constructor(hasher: KeyHasher) {
    this.#hasher = hasher;
  }

  #change(now: KeyRecord | undefined, before: KeyRecord | undefined): void {
    if (before !== undefined) {
      this.#byHash.delete(before.hash);
      if (before.previous) this.#byHash.delete(before.previous.hash);
    }
    if (now === undefined) return;
    const { previous } = now;
    // The previous secret is the same key with its own expiry, which readers of `expiresAt` check.
    if (previous) this.#add({ ...now, ...previous, expiresAt: earlier(now.expiresAt, previous.until) });
    this.#add(now);
  }

  #add(record: KeyRecord): void {
    this.#byHash.set(record.hash, record);
    this.#hints.add(record.hint);
  }

  /** A key that is stored nowhere and counts until it is taken back. */
  lend(principal: Principal): { readonly key: string; readonly takeBack: () => void } {
    const key = newApiKey();
    const hash = this.#hasher.hash(key);
    this.#add({ hash, hint: keyHint(key), principal, expiresAt: undefined });
    this.#lent.add(principal.keyId);
    const takeBack = (): void => {
      this.#byHash.delete(hash);
      this.#lent.delete(principal.keyId);
    };
    return { key, takeBack };
  }

  /** Whether a key is lent: it counts here and is not stored. */
  isLent(keyId: string): boolean {
    return this.#lent.has(keyId);
  }

  /** How many keys there are. */
  get size(): number {
    return this.replica.size;
  }

  /** Tells, once, when the key is presented to this process. */
  whenUsed(keyId: string, told: () => void): void {
    this.#awaited.set(keyId, told);
  }

  /** What a key brings to its calls; undefined for unknown keys and those that bring nothing. */
  settings(organisationId: string, keyId: string): KeySettings | undefined {
    return this.replica.get(organisationId, keyId)?.settings;
  }

  /**
   * The key's record, expired ones included; undefined when it is no key of this gateway. For the secret
   * before a rotation, `expiresAt` is the end of the transition.
   * @param connection what the key came over: a client sends the same key with every
   * request, and its hash is made once a connection. Only the client's own text is kept, and
   * no longer than its connection; whether the key still counts is looked up every time.
   */
  find(key: string, connection?: object): KeyRecord | undefined {
    const known = connection === undefined ? undefined : this.#presented.get(connection);
    const isSame = known?.key === key;
    // Most other texts are providers' keys: they are told apart without a hash.
    if (!isSame && !this.#hints.has(keyHint(key))) return undefined;
    const hash = isSame ? known.hash : this.#hasher.hash(key);
    const record = this.#byHash.get(hash);
    if (isSame && known.record === record) return record;
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
