// Parts of a form for several attempts: kept to be sent again as long as they are few bytes, where a plan asks for that.
import type { FormPart } from './form-parts.ts';

/** Longest form that is kept to be sent again, in bytes. */
export const MAX_REPLAYED = 25 * 1024 * 1024;

/** One form. Without `keeps` it can be read once and is not buffered. */
export class Replay {
  readonly #source: AsyncIterator<FormPart>;
  #parts: FormPart[] = [];
  #keeps: boolean;
  #bytes = 0;
  #over = false;
  #begun = false;
  #reading: Promise<void> | undefined;

  constructor(source: AsyncIterable<FormPart>, keeps: boolean) {
    this.#source = source[Symbol.asyncIterator]();
    this.#keeps = keeps;
  }

  /** Whether it can be read from its beginning. */
  get whole(): boolean {
    return this.#keeps || !this.#begun;
  }

  /** Whether there is no file; known once `first` is over. */
  get isEmpty(): boolean {
    return this.#over && !this.#begun && this.#parts.length === 0;
  }

  /** Reads as far as the first file, so that a form without one reaches no provider. @throws what the form throws */
  async first(): Promise<void> {
    if (this.#parts.length === 0 && !this.#over) await this.#read();
  }

  /** Reads to the end. @returns whether all of it is kept @throws what the form throws */
  async all(): Promise<boolean> {
    while (!this.#over && this.#keeps) await this.#read();
    return this.#keeps;
  }

  /** From the beginning. A reader that leaves does not end the form. */
  async *parts(): AsyncGenerator<FormPart> {
    this.#begun = true;
    for (let at = 0; ; ) {
      while (at >= this.#parts.length) {
        if (this.#over) return;
        await this.#read();
      }
      const part = this.#parts[at]!;
      if (this.#keeps) at += 1;
      else {
        this.#parts.splice(0, at + 1);
        at = 0;
      }
      yield part;
    }
  }

  /** What one reader was waiting for when it left is there for the next one. */
  #read(): Promise<void> {
    this.#reading ??= this.#next().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #next(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done) {
      this.#over = true;
      return;
    }
    this.#parts.push(value);
    if ('bytes' in value) this.#bytes += value.bytes.length;
    if (this.#bytes > MAX_REPLAYED) this.#keeps = false;
  }
}
