// Work in small steps that never waits long: others run between the steps.

/** Bytes, and steps, between two pauses: a few milliseconds of work at the most. */
const BYTES = 65_536;
const STEPS = 256;

export class Turns {
  #bytes = 0;
  #steps = 0;

  /** Counts one step over so many bytes. Returns a promise when the caller must yield to the event loop first. */
  step(bytes: number): Promise<void> | undefined {
    this.#bytes += bytes;
    this.#steps++;
    if (this.#bytes < BYTES && this.#steps < STEPS) return undefined;
    this.#bytes = 0;
    this.#steps = 0;
    return new Promise((resolve) => setImmediate(resolve));
  }
}
