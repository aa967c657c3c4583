// A request body in pieces, tied to its exchange: when the exchange ends, a pending read ends with it.

/** The body iterable as undici reads it: one piece at a time, the next when the socket took the last. */
export class Upload implements AsyncIterableIterator<Uint8Array> {
  /** What the body itself threw; undefined while it did not. */
  failure: unknown;
  #source: AsyncIterable<Uint8Array>;
  #iterator: AsyncIterator<Uint8Array> | undefined;
  #over = false;
  #breakOff: ((reason: unknown) => void) | undefined;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      if (this.#over) return reject(new Error('the exchange is over'));
      this.#breakOff = reject;
      this.#read().then(
        (result) => {
          if (result.done) this.#over = true;
          resolve(result);
        },
        (error) => {
          if (!this.#over) this.failure = error ?? new Error('the request body failed');
          this.#over = true;
          reject(this.failure ?? error);
        },
      );
    });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.stop();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the reading and releases the source, without waiting for it. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#breakOff?.(new Error('the exchange is over'));
    this.#release().then(undefined, () => {});
  }

  // Async, so that a source which throws instead of rejecting (a locked stream does) is no different.
  async #read(): Promise<IteratorResult<Uint8Array>> {
    this.#iterator ??= this.#source[Symbol.asyncIterator]();
    return this.#iterator.next();
  }

  async #release(): Promise<void> {
    this.#iterator ??= this.#source[Symbol.asyncIterator]();
    await this.#iterator.return?.();
  }
}
