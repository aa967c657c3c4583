// Values of secrets in memory. Concurrent callers share one read. Before a value ends it is read again in the
// background. While its manager is ill the last good value is answered at once, for LAST_GOOD_MS at the most; only a
// clear refusal of the manager (see `isRefusal`) forgets it.
import type { GatewayError } from '../lib/errors.ts';
import { LruCache } from '../lib/lru-cache.ts';
import { isRefusal } from './failure.ts';

export interface CacheDeps {
  readonly lifetimeMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Called for each read that failed. */
  readonly onTrouble: (error: unknown) => void;
}

/** One part of a secret: a member, or the whole text. */
interface Part {
  readonly value: string;
  readonly readAt: number;
}

interface Entry {
  text: string | undefined;
  readAt: number;
  /** No read begins before. */
  quietUntil: number;
  failures: number;
  error: unknown;
  flight: Promise<string> | undefined;
  /** The last good value of each part that was asked for: a secret that lost a member does not lose it here. */
  readonly parts: Map<string, Part>;
}

/** The part of the lifetime after which a value that is asked for is read again. */
const EARLY = 0.8;
/** How long the last good value is answered while its manager gives neither a secret nor a refusal. */
export const LAST_GOOD_MS = 24 * 3_600_000;
/** How long the first caller after the lifetime waits for a newer value before it takes the last good one. */
export const GRACE_MS = 250;
const QUIET_FIRST_MS = 1000;
const QUIET_LAST_MS = 30_000;
/** The longest pause between reads while there is no value to answer with. */
const QUIET_EMPTY_MS = 5000;
/** Reads in the background at one time. */
export const MOST_REFRESHES = 64;
const MOST = 10_000;
const MOST_PARTS = 100;

export class SecretCache {
  readonly #deps: CacheDeps;
  readonly #entries = new LruCache<Entry>(MOST);
  #refreshes = 0;

  constructor(deps: CacheDeps) {
    this.#deps = deps;
  }

  /**
   * A part of the secret under a key, by `read` where no value is at hand.
   * @param part names what `take` takes of the text
   * @throws what `read` and `take` throw, without a value to fall back on
   */
  async get(
    key: string,
    read: () => Promise<string>,
    part = '',
    take: (text: string) => string = whole,
  ): Promise<string> {
    const entry = this.#entry(key);
    await this.#ready(entry, read);
    return this.#part(entry, part, take);
  }

  /** Reads past the cache and keeps what was read. @throws what `read` throws */
  fresh(key: string, read: () => Promise<string>): Promise<string> {
    const entry = this.#entry(key);
    return entry.flight ?? this.#begin(entry, read);
  }

  /** Forgets a value. */
  drop(key: string): void {
    this.#entries.delete(key);
  }

  /** Returns when the entry has a text that may be answered. */
  async #ready(entry: Entry, read: () => Promise<string>): Promise<void> {
    const { lifetimeMs, now } = this.#deps;
    const at = now();
    const age = at - entry.readAt;
    if (entry.text === undefined || age >= LAST_GOOD_MS) {
      if (entry.flight === undefined && at < entry.quietUntil) throw entry.error;
      await (entry.flight ?? this.#begin(entry, read));
      return;
    }
    if (age < lifetimeMs * EARLY) return;
    const flight = this.#refresh(entry, read, at);
    // A manager that answers gives its newest value, also after a time without calls. One that failed is asked in the background.
    if (age < lifetimeMs || flight === undefined || entry.failures > 0) return;
    await within(flight, GRACE_MS);
    if (entry.text === undefined) throw entry.error;
  }

  /** Begins a read in the background; undefined: none began, because one runs or it is too early. */
  #refresh(entry: Entry, read: () => Promise<string>, at: number): Promise<unknown> | undefined {
    if (entry.flight !== undefined || at < entry.quietUntil || this.#refreshes >= MOST_REFRESHES)
      return undefined;
    this.#refreshes++;
    return this.#begin(entry, read)
      .catch(() => {})
      .finally(() => {
        this.#refreshes--;
      });
  }

  #part(entry: Entry, part: string, take: (text: string) => string): string {
    const { text, readAt, parts } = entry;
    const last = parts.get(part);
    if (text === undefined) throw entry.error;
    if (last !== undefined && last.readAt === readAt) return last.value;
    try {
      const value = take(text);
      if (parts.size >= MOST_PARTS) parts.clear();
      parts.set(part, { value, readAt });
      return value;
    } catch (error) {
      if (last === undefined || this.#deps.now() - last.readAt >= LAST_GOOD_MS) throw error;
      return last.value;
    }
  }

  #entry(key: string): Entry {
    const entry: Entry = this.#entries.get(key) ?? {
      text: undefined,
      readAt: Number.NEGATIVE_INFINITY,
      quietUntil: 0,
      failures: 0,
      error: undefined,
      flight: undefined,
      parts: new Map(),
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #begin(entry: Entry, read: () => Promise<string>): Promise<string> {
    const { now, onTrouble } = this.#deps;
    const flight = read()
      .then(
        (text) => {
          Object.assign(entry, { text, readAt: now(), quietUntil: 0, failures: 0, error: undefined });
          return text;
        },
        (error: GatewayError) => {
          if (isRefusal(error)) {
            entry.text = undefined;
            entry.parts.clear();
          }
          const most = entry.text === undefined ? QUIET_EMPTY_MS : QUIET_LAST_MS;
          const quiet = Math.min(most, QUIET_FIRST_MS * 2 ** Math.min(entry.failures++, 10));
          Object.assign(entry, { error, quietUntil: now() + quiet });
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

const whole = (text: string): string => text;

function within(flight: Promise<unknown>, ms: number): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return Promise.race([flight, promise]).finally(() => clearTimeout(timer));
}
