// The workers' time that the checks and conditions of one call may take together.
import { CheckFailure } from '../contract/failure.ts';

/** Default processor time of a worker for one call, in milliseconds. */
const MOST_MS = 5000;

export class CallBudget {
  readonly #most: number;
  #used = 0;

  constructor(mostMs = MOST_MS) {
    this.#most = mostMs;
  }

  /** What is left, in milliseconds. @throws CheckFailure TimeoutError when nothing is */
  left(): number {
    if (this.#used >= this.#most)
      throw new CheckFailure(
        'TimeoutError',
        `the checks of this call took more than ${this.#most} ms together`,
      );
    return this.#most - this.#used;
  }

  take(ms: number): void {
    this.#used += ms;
  }
}
