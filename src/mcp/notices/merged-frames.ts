// A stream of events that others may add to while it is read.
import type { Frame } from '../wire/sse-frames.ts';

type Next = IteratorResult<Frame, void>;

/** For one reader. What is added comes before what the stream has next. */
export class MergedFrames {
  readonly #frames: AsyncIterator<Frame, void>;
  readonly #added: Frame[] = [];
  #next: Promise<Next> | undefined;
  #wake: (() => void) | undefined;
  #failure: { readonly thrown: unknown } | undefined;

  constructor(frames: AsyncIterable<Frame>) {
    this.#frames = frames[Symbol.asyncIterator]() as AsyncIterator<Frame, void>;
  }

  add(frame: Frame): void {
    this.#added.push(frame);
    this.#wake?.();
  }

  /** Ends the reading with an error, also where the stream itself waits for something. */
  fail(thrown: unknown): void {
    this.#failure = { thrown };
    this.#wake?.();
  }

  async next(): Promise<Next> {
    for (;;) {
      const value = this.#added.shift();
      if (value !== undefined) return { done: false, value };
      if (this.#failure !== undefined) throw this.#failure.thrown;
      this.#next ??= this.#frames.next();
      const woken = new Promise<undefined>((resolve) => {
        this.#wake = () => resolve(undefined);
      });
      const got = await Promise.race([this.#next, woken]);
      if (got === undefined) continue;
      this.#next = undefined;
      return got;
    }
  }

  async return(): Promise<void> {
    // A stream that is being read ends by its signal.
    if (this.#next !== undefined) this.#next.catch(() => {});
    else await this.#frames.return?.();
  }

  [Symbol.asyncIterator](): AsyncIterator<Frame, void> {
    return {
      next: () => this.next(),
      return: async () => {
        await this.return();
        return { done: true, value: undefined };
      },
    };
  }
}
