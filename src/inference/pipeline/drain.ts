// A stream that is read to its end when its client leaves, so that its provider's own usage is in the books: for
// providers that go on, and are paid, when the connection is closed.
import type { Call } from '../../call/call.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { type Batched, batched, type Run } from '../../lib/runs.ts';
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
    const refuse = (): void => reject(clientLeft());
    held.onCut = refuse;
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

class Drained<T> implements AsyncIterableIterator<T, undefined>, Batched<T> {
  readonly #inner: AsyncIterator<T>;
  readonly #held: HeldSignal;
  readonly #batches: Batched<T>;
  #reject: ((error: Error) => void) | undefined;
  #reading: Promise<unknown> | undefined;

  constructor(inner: AsyncIterator<T>, held: HeldSignal) {
    this.#inner = inner;
    this.#held = held;
    this.#batches = batched(inner);
    const cut = (): void => {
      this.drain();
      this.#reject?.(clientLeft());
    };
    held.onCut = cut;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  take(): T | Run<T> | undefined {
    return this.#held.cut ? undefined : this.#batches.take();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#read(
      () => this.#inner.next(),
      ({ done }) => done === true,
    );
  }

  more(): Promise<boolean> {
    return this.#read(
      () => this.#batches.more(),
      (more) => !more,
    );
  }

  /** @param isOver whether what was read is the end */
  #read<R>(begin: () => Promise<R>, isOver: (result: R) => boolean): Promise<R> {
    if (this.#held.cut) return Promise.reject(clientLeft());
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#reading = begin().then(
        (result) => {
          const over = isOver(result);
          if (over && !this.#held.cut) this.#held.over();
          resolve(result);
          return over;
        },
        (error: unknown) => {
          if (!this.#held.cut) this.#held.over();
          reject(error);
          return true;
        },
      );
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
