// How much of checks' work may run on the event loop in one turn, over all calls: the rest goes to the workers.

/** Steps of a turn; one is about two nanoseconds, so that a turn takes some 8 ms of them. */
const STEPS_PER_TURN = 4_000_000;

export class TurnBudget {
  readonly #most: number;
  #left: number;
  #renews = false;

  constructor(most = STEPS_PER_TURN) {
    this.#most = most;
    this.#left = most;
  }

  /** Takes so many steps of this turn; false when they are not left. */
  take(steps: number): boolean {
    if (steps > this.#left) return false;
    this.#left -= steps;
    if (!this.#renews) {
      this.#renews = true;
      setImmediate(() => {
        this.#left = this.#most;
        this.#renews = false;
      });
    }
    return true;
  }
}
