// Steps that the store did not take yet: made again until it does.

import { toGatewayError } from '../../lib/errors.ts';

/** A step; it rejects when it was not made. */
export type Step = () => Promise<unknown>;

export interface RetryQueueOptions {
  readonly everyMs: number;
  /** Steps that wait at the most. */
  readonly most: number;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** Whether the store may take the step another time. */
export function isAway(error: unknown): boolean {
  return toGatewayError(error).reason === 'store_unavailable';
}

/** Keeps steps and makes them again, in order, when the store answers. */
export class RetryQueue {
  readonly #facts: RetryQueueOptions;
  readonly #waiting: { readonly step: Step; readonly dropped: () => void }[] = [];
  readonly #timer: NodeJS.Timeout;
  #turn: Promise<void> | undefined;

  constructor(facts: RetryQueueOptions) {
    this.#facts = facts;
    this.#timer = setInterval(() => void this.turn(), facts.everyMs).unref();
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Takes a step; false: too many wait already. @param dropped told when it is given up at the end */
  add(step: Step, dropped: () => void = () => {}): boolean {
    if (this.#waiting.length >= this.#facts.most) return false;
    this.#waiting.push({ step, dropped });
    return true;
  }

  /** Makes what waits, until one step fails. */
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
          this.#facts.onTrouble(
            error,
            `${this.#waiting.length} steps of the ledger wait for the shared store`,
          );
          return;
        }
        // It will never be taken: it holds up no other.
        this.#waiting.shift();
        first.dropped();
        this.#facts.onTrouble(error, 'a step of the ledger is refused by the shared store');
      }
    }
  }
}
