// How long a server's answer may be silent: longer while the server waits for what it has asked the user.
import { LruCache } from '../../lib/lru-cache.ts';

/** How long a server waits for what it has asked the user, in milliseconds. */
export const ASKED_MS = 900_000;
const MOST_KEPT = 20_000;

/** Of one session, or of one request. */
export class Patience {
  #questions = 0;
  /** Of `performance.now`: when the last question was answered. */
  answeredAt = 0;

  asked(): void {
    this.#questions++;
  }

  answered(): void {
    this.#questions = Math.max(0, this.#questions - 1);
    this.answeredAt = performance.now();
  }

  /** @param usual milliseconds */
  boundMs(usual: number): number {
    return this.#questions > 0 ? Math.max(usual, ASKED_MS) : usual;
  }
}

/** By session: questions may come on another stream than the answer that waits for them. */
export class Patiences {
  readonly #kept = new LruCache<Patience>(MOST_KEPT);

  of(key: string): Patience {
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const made = new Patience();
    this.#kept.set(key, made);
    return made;
  }
}
