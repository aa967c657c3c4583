// Values of secrets, kept for a while: read once however many ask, anew behind the callers' backs before they end,
// and the last good one while their manager does not answer. What a manager refuses or has no more is forgotten.
import type { GatewayError } from '../lib/errors.ts';
import { faultOf } from './failure.ts';

export interface CacheFacts {
  readonly lifetimeMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Told of readings that failed while a value is kept. */
  readonly onTrouble: (error: unknown) => void;
}

interface Entry {
  value: string | undefined;
  readAt: number;
  /** No reading begins before. */
  quietUntil: number;
  failures: number;
  error: unknown;
  flight: Promise<string> | undefined;
}

/** Part of the lifetime after which a value that is asked for is read anew. */
const EARLY = 0.8;
/** So long the last good value counts when its manager does not answer. */
export const LAST_GOOD_MS = 24 * 3_600_000;
const QUIET_FIRST_MS = 1000;
const QUIET_LAST_MS = 30_000;
const MOST = 10_000;

export class SecretCache {
  readonly #facts: CacheFacts;
  /** The one asked for last stands last. */
  readonly #entries = new Map<string, Entry>();

  constructor(facts: CacheFacts) {
    this.#facts = facts;
  }

  /** The value under a key, by `read` where it is not at hand. @throws what `read` throws, without a value to fall back on */
  async get(key: string, read: () => Promise<string>): Promise<string> {
    const entry = this.#entry(key);
    const { lifetimeMs, now } = this.#facts;
    const at = now();
    const age = at - entry.readAt;
    if (entry.value !== undefined && age < lifetimeMs) {
      // Whoever comes late in the lifetime has the next value read, and waits for nothing.
      if (age >= lifetimeMs * EARLY && at >= entry.quietUntil) this.#read(entry, read).catch(() => {});
      return entry.value;
    }
    if (entry.flight === undefined && at < entry.quietUntil) {
      if (entry.value !== undefined && age < LAST_GOOD_MS) return entry.value;
      throw entry.error;
    }
    return this.#read(entry, read);
  }

  /** Reads past the cache, and keeps what was read. @throws what `read` throws */
  fresh(key: string, read: () => Promise<string>): Promise<string> {
    const entry = this.#entry(key);
    return entry.flight ?? this.#begin(entry, read);
  }

  /** Forgets a value. */
  drop(key: string): void {
    this.#entries.delete(key);
  }

  #entry(key: string): Entry {
    const entry: Entry = this.#entries.get(key) ?? {
      value: undefined,
      readAt: Number.NEGATIVE_INFINITY,
      quietUntil: 0,
      failures: 0,
      error: undefined,
      flight: undefined,
    };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > MOST) this.#entries.delete(this.#entries.keys().next().value!);
    return entry;
  }

  async #read(entry: Entry, read: () => Promise<string>): Promise<string> {
    try {
      return await (entry.flight ?? this.#begin(entry, read));
    } catch (error) {
      const { value, readAt } = entry;
      if (value === undefined || this.#facts.now() - readAt >= LAST_GOOD_MS) throw error;
      return value;
    }
  }

  #begin(entry: Entry, read: () => Promise<string>): Promise<string> {
    const { now, onTrouble } = this.#facts;
    const flight = read()
      .then(
        (value) => {
          Object.assign(entry, { value, readAt: now(), quietUntil: 0, failures: 0, error: undefined });
          return value;
        },
        (error: GatewayError) => {
          const quiet = Math.min(QUIET_LAST_MS, QUIET_FIRST_MS * 2 ** Math.min(entry.failures++, 10));
          Object.assign(entry, { error, quietUntil: now() + quiet });
          if (faultOf(error) !== 'outage') entry.value = undefined;
          onTrouble(error);
          throw error;
        },
      )
      .finally(() => {
        entry.flight = undefined;
      });
    entry.flight = flight;
    return flight;
  }
}
