// Keys that an issuer publishes. One fetch at a time, and no two within the cool-down: unauthenticated callers choose
// the key ids (kid) of their tokens, and must not be able to make this gateway flood an issuer.
import { Aborter } from '../../lib/abort.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import type { Algorithm } from './algorithms.ts';
import type { VerificationKey } from './jwk.ts';
import { type KeySet, readFetchedSet } from './key-set.ts';
import { type KeySource, keyNotFound } from './key-source.ts';

/** What fetching needs. */
export interface RemoteDeps {
  readonly dialer: Pick<Dialer, 'whole'>;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Told why a set could not be fetched; callers learn only that it could not. */
  readonly onTrouble: (error: unknown) => void;
}

/** Between the beginnings of two fetches. */
export const COOL_DOWN_MS = 30_000;
/** An older set is fetched anew in the background: keys that were withdrawn stop counting. */
export const REFRESH_MS = 600_000;
/** How long the last set counts while its issuer does not answer. */
export const STALE_MS = 24 * 3_600_000;
const FETCH_MS = 5000;
const LARGEST_SET_BYTES = 256 * 1024;

export class RemoteKeys implements KeySource {
  readonly #url: URL;
  readonly #deps: RemoteDeps;
  #set: KeySet | undefined;
  #fetchedAt = 0;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #failed = false;
  #running: Promise<void> | undefined;

  constructor(url: string, deps: RemoteDeps) {
    this.#url = new URL(url);
    this.#deps = deps;
  }

  async find(algorithm: Algorithm, kid: string | undefined): Promise<VerificationKey> {
    const known = this.#current()?.find(algorithm, kid);
    if (known) return known;
    await this.#fetch();
    const key = this.#current()?.find(algorithm, kid);
    if (key) return key;
    if (!this.#failed) throw keyNotFound();
    const next = this.#attemptedAt + COOL_DOWN_MS - this.#deps.now();
    throw fail('key_set_unavailable', "the key set of the organisation's issuer cannot be fetched", {
      retryAfterMs: Math.max(1000, next),
    });
  }

  holds(thumbprint: string): boolean {
    return this.#current()?.holds(thumbprint) ?? false;
  }

  /** The set at hand, unless it is too old to count. */
  #current(): KeySet | undefined {
    const age = this.#deps.now() - this.#fetchedAt;
    if (this.#set !== undefined && age > REFRESH_MS) void this.#fetch();
    return age > STALE_MS ? undefined : this.#set;
  }

  /** Never rejects. Does nothing in the cool-down; joins the fetch that is running. */
  #fetch(): Promise<void> {
    if (this.#running) return this.#running;
    const now = this.#deps.now();
    if (now - this.#attemptedAt < COOL_DOWN_MS) return Promise.resolve();
    this.#attemptedAt = now;
    this.#running = this.#download()
      .then(
        (set) => {
          this.#set = set;
          this.#fetchedAt = this.#deps.now();
          this.#failed = false;
        },
        (error: unknown) => {
          this.#failed = true;
          this.#deps.onTrouble(error);
        },
      )
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #download(): Promise<KeySet> {
    const { origin, pathname, search } = this.#url;
    const aborter = new Aborter();
    const late = fail('upstream_timeout', `the key set did not arrive within ${FETCH_MS} ms`);
    const timer = setTimeout(() => aborter.abort(late), FETCH_MS);
    try {
      const answer = await this.#deps.dialer.whole(
        {
          origin,
          path: pathname + search,
          method: 'GET',
          headers: ['accept', 'application/jwk-set+json, application/json', 'user-agent', 'sluice-gateway'],
          body: undefined,
          signal: aborter,
        },
        LARGEST_SET_BYTES,
      );
      // A redirect is treated like any other answer that is no key set: it could lead anywhere.
      if (answer.status !== 200) throw new Error(`the issuer answered ${answer.status}`);
      return readFetchedSet(JSON.parse(Buffer.from(answer.body).toString('utf8')));
    } finally {
      clearTimeout(timer);
    }
  }
}
