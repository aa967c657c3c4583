// Giving up on work in progress, without the weight of an EventTarget: every call makes
// one of these, and most are never used.

/** A listener for an abort: a function, or an object with `handleEvent`. */
export type AbortListener = (() => void) | { handleEvent(): void };

/** The part of AbortSignal that waiting code needs; a real one fits. */
export interface AbortLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: AbortListener): void;
  removeEventListener(type: 'abort', listener: AbortListener): void;
}

/** One abort: made once, told to each listener once. */
export class Aborter implements AbortLike {
  aborted = false;
  reason: Error | undefined;
  #listeners: AbortListener[] = [];

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) {
      if (typeof listener === 'function') listener();
      else listener.handleEvent();
    }
  }

  addEventListener(_type: 'abort', listener: AbortListener): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: AbortListener): void {
    const at = this.#listeners.indexOf(listener);
    if (at !== -1) this.#listeners.splice(at, 1);
  }
}
