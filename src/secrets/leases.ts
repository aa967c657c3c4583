// Logins and their tokens, kept while they are valid: one login at a time for each who logs in.
import { hash } from 'node:crypto';
import { LruCache } from '../lib/lru-cache.ts';

export interface Lease<T> {
  readonly token: T;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** A token is left alone before it ends: what is on its way with it takes time. */
const MARGIN_MS = 60_000;
const MOST = 1000;

export class Leases<T> {
  readonly #now: () => number;
  readonly #held = new LruCache<Lease<T>>(MOST);
  readonly #running = new Map<string, Promise<T>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The token of `who` (any JSON; only its digest is kept), logged in when there is none. @throws what `login` throws */
  async get(who: unknown, login: () => Promise<Lease<T>>): Promise<T> {
    const key = digestOf(who);
    const held = this.#held.get(key);
    const now = this.#now();
    if (held !== undefined && now < held.expiresAt) return held.token;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const flight = login()
      .then(({ token, expiresAt }) => {
        this.#held.set(key, { token, expiresAt: now + spanOf(expiresAt - now) });
        return token;
      })
      .finally(() => this.#running.delete(key));
    this.#running.set(key, flight);
    return flight;
  }

  /** Forgets a token that counts no more. */
  drop(who: unknown): void {
    this.#held.delete(digestOf(who));
  }
}

function spanOf(ms: number): number {
  return Math.max(ms - MARGIN_MS, ms / 2);
}

function digestOf(who: unknown): string {
  return hash('sha256', JSON.stringify(who), 'base64url');
}
