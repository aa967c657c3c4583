// Long waits for a sign of life: all are looked at once a second, because a timer for each costs more than the wait.
import { type Placed, Places } from '../places.ts';

/** One that waits. */
export interface LongWait extends Placed {
  /** `now` of its waits when the last sign of life came. */
  seenAt: number;
  /** How long it waits for the next one, in milliseconds. */
  readonly patienceMs: number;
  /** There was none for so long. */
  silence(): void;
}

const LOOK_MS = 1000;

/** Waits that end up to one look late. */
export class LongWaits {
  readonly #lookMs: number;
  readonly #waits = new Places<LongWait>();
  #timer: NodeJS.Timeout | undefined;
  /** Milliseconds, moved on by each look. */
  now = 0;

  constructor(lookMs: number = LOOK_MS) {
    this.#lookMs = lookMs;
  }

  add(wait: LongWait): void {
    wait.seenAt = this.now;
    this.#waits.add(wait);
    if (this.#timer === undefined) this.#timer = setInterval(() => this.#look(), this.#lookMs);
    else if (this.#waits.size === 1) this.#timer.ref();
  }

  delete(wait: LongWait): void {
    // The looks go on for one more, for the next wait, and keep no process open meanwhile.
    if (this.#waits.delete(wait) && this.#waits.size === 0) this.#timer?.unref();
  }

  #look(): void {
    this.now += this.#lookMs;
    if (this.#waits.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    // Never early: the sign of life may have come right before the look that followed it.
    for (const wait of [...this.#waits]) if (this.now - wait.seenAt > wait.patienceMs) wait.silence();
  }
}

/** Those of the exchanges with providers. */
export const longWaits = new LongWaits();
