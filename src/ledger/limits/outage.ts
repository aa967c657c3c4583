// While the store does not answer, one call at a time asks it: the others do not wait for its deadline.

/** Between two calls that ask, in milliseconds. */
const PAUSE_MS = 500;

/** Whether the store answers, as the last calls found. */
export class Outage {
  #down = false;
  #askAt = 0;

  /** Whether this call asks. */
  mayAsk(): boolean {
    if (!this.#down) return true;
    const now = performance.now();
    if (now < this.#askAt) return false;
    this.#askAt = now + PAUSE_MS;
    return true;
  }

  failed(): void {
    this.#down = true;
    this.#askAt = performance.now() + PAUSE_MS;
  }

  /** Whether it did not before. */
  answered(): boolean {
    const back = this.#down;
    this.#down = false;
    return back;
  }

  isDown(): boolean {
    return this.#down;
  }
}
