// Messages of an upstream's stream for one reader, as the bytes of an event stream of its own.
import { fail } from '../../lib/errors.ts';
import { frameText } from '../wire/sse-frames.ts';

interface Waiter {
  readonly resolve: (next: IteratorResult<Uint8Array, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE = { done: true, value: undefined } as const;

/** A queue with a bound: read once, in order. */
export class Inbox implements AsyncIterable<Uint8Array> {
  readonly #most: number;
  readonly #left: () => void;
  readonly #held: Uint8Array[] = [];
  #bytes = 0;
  #waiter: Waiter | undefined;
  #isOver = false;
  #error: unknown;

  /**
   * @param most bytes that wait for the reader
   * @param left called once, when the reader has the end or leaves before it
   */
  constructor(most: number, left: () => void) {
    this.#most = most;
    this.#left = left;
  }

  /** A message as JSON text. A reader that is too slow loses the stream. */
  push(data: string): void {
    if (this.#isOver) return;
    const bytes = Buffer.from(frameText({ event: 'message', data }));
    if (this.#waiter !== undefined) {
      this.#waiter.resolve({ done: false, value: bytes });
      this.#waiter = undefined;
      return;
    }
    this.#held.push(bytes);
    this.#bytes += bytes.length;
    // One message may be as large as the bound; a second one must wait for its reader.
    if (this.#held.length > 1 && this.#bytes > this.#most)
      this.fail(fail('upstream_interrupted', 'the MCP server sent more than its client reads'));
  }

  /** After what was pushed. @param error what the reader gets; undefined: the end */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    this.#left();
    if (error === undefined) waiter?.resolve(DONE);
    else waiter?.reject(error);
  }

  end(): void {
    this.fail(undefined);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return {
      next: () => this.#next(),
      return: () => {
        this.#held.length = 0;
        this.end();
        return Promise.resolve(DONE);
      },
    };
  }

  #next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const value = this.#held.shift();
    if (value !== undefined) {
      this.#bytes -= value.length;
      return Promise.resolve({ done: false, value });
    }
    if (this.#isOver) {
      const error = this.#error;
      this.#error = undefined;
      return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }
}
