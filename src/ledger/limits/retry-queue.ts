// Steps that the store did not take yet: retried until it does.

import { toGatewayError } from '../../lib/errors.ts';

/** A step; it rejects when it was not made. */
export type Step = () => Promise<unknown>;

export interface RetryQueueOptions {
  readonly everyMs: number;
  /** The most steps that wait. */
  readonly most: number;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** Whether the store may take the step another time. */
export function isAway(error: unknown): boolean {
  return toGatewayError(error).reason === 'store_unavailable';
}

/** Keeps steps and repeats them, in order, when the store answers. */
export class RetryQueue {
  readonly #options: RetryQueueOptions;
  readonly #waiting: { readonly step: Step; readonly dropped: () => void }[] = [];
  readonly #timer: NodeJS.Timeout;
  #turn: Promise<void> | undefined;

  constructor(options: RetryQueueOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.turn(), options.everyMs).unref();
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Takes a step; false: too many wait already. @param dropped called when it is given up at the end */
  add(step: Step, dropped: () => void = () => {}): boolean {
    if (this.#waiting.length >= this.#options.most) return false;
    this.#waiting.push({ step, dropped });
    return true;
  }

  /** Repeats waiting steps, until one fails. */
  turn(): Promise<void> {
    this.#turn ??= this.#run().finally(() => {
      this.#turn = undefined;
    });
    return this.#turn;
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const { dropped } of this.#waiting.splice(0)) dropped();
  }

  async #run(): Promise<void> {
    for (let left = this.#waiting.length; left > 0; left--) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      try {
        await first.step();
        this.#waiting.shift();
      } catch (error) {
        if (isAway(error)) {
          this.#options.onTrouble(
            error,
            `${this.#waiting.length} steps of the ledger wait for the shared store`,
          );
          return;
        }
        // The store never takes it: it must not hold up the others.
        this.#waiting.shift();
        first.dropped();
        this.#options.onTrouble(error, 'a step of the ledger is refused by the shared store');
      }
    }
  }
}
