// A stream that is read to its end when its client leaves, so that its provider's own usage is in the books: for
// providers that go on, and are paid, when the connection is closed.
import type { Call } from '../../call/call.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { clientLeft, type Drains, HeldSignal } from './drains.ts';

/**
 * Starts an attempt under a signal of its own. When the client leaves, the promise rejects at once and the attempt
 * goes on: it ends as it would have ended, or is cancelled when it takes too long.
 */
export function drained<T>(
  drains: Drains,
  call: Call,
  signal: AbortLike,
  start: (signal: HeldSignal) => Promise<AsyncIterable<T>>,
): Promise<AsyncIterable<T>> {
  const held = new HeldSignal(drains, call, signal);
  return new Promise((resolve, reject) => {
    held.onCut = () => reject(clientLeft());
    start(held).then(
      (answer) => {
        const stream = new Drained(answer[Symbol.asyncIterator](), held);
        if (held.cut) stream.drain();
        else resolve(stream);
      },
      (error: unknown) => {
        held.over();
        reject(error);
      },
    );
  });
}

/** The same for an answer that is there already. */
export function drainedRest<T>(answer: AsyncIterable<T>, held: HeldSignal): AsyncIterable<T> {
  const stream = new Drained(answer[Symbol.asyncIterator](), held);
  held.armed = true;
  return stream;
}

class Drained<T> implements AsyncIterableIterator<T, undefined> {
  readonly #inner: AsyncIterator<T>;
  readonly #held: HeldSignal;
  #reject: ((error: Error) => void) | undefined;
  #reading: Promise<unknown> | undefined;

  constructor(inner: AsyncIterator<T>, held: HeldSignal) {
    this.#inner = inner;
    this.#held = held;
    held.onCut = () => {
      this.drain();
      this.#reject?.(clientLeft());
    };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#held.cut) return Promise.reject(clientLeft());
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      const reading = this.#inner.next().then(
        (result) => {
          if (result.done && !this.#held.cut) this.#held.over();
          resolve(result);
          return result.done === true;
        },
        (error: unknown) => {
          if (!this.#held.cut) this.#held.over();
          reject(error);
          return true;
        },
      );
      this.#reading = reading;
    });
  }

  /** The reader leaves: because its client did, or because it wants no more. */
  async return(): Promise<IteratorResult<T, undefined>> {
    if (!this.#held.cut) {
      this.#held.over();
      await this.#inner.return?.();
    }
    return { done: true, value: undefined };
  }

  /** Reads what is left. What the attempt came to is noted where it is read. */
  drain(): void {
    void this.#rest().finally(() => this.#held.over());
  }

  async #rest(): Promise<void> {
    try {
      if ((await this.#reading) === true) return;
      while (!(await this.#inner.next()).done);
    } catch {
      // The attempt has noted it.
    }
  }
}
