// Work that goes on after an answer: a stop waits for it.

/** Collects promises until they settle. */
export class Background {
  readonly #running = new Set<Promise<unknown>>();

  /** Takes a promise; its rejection is its maker's to tell. */
  readonly add = (work: Promise<unknown>): void => {
    const kept = work.catch(() => {}).finally(() => this.#running.delete(kept));
    this.#running.add(kept);
  };

  /** Resolves when everything taken so far has settled. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
