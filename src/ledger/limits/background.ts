// Work that continues after an answer: a stop waits for it.

/** Collects promises until they settle. */
export class Background {
  readonly #running = new Set<Promise<unknown>>();
  readonly #aside = new Set<Promise<unknown>>();

  /** Takes a promise; its maker handles its rejection. @param aside it may take long: only a stop waits for it */
  readonly add = (work: Promise<unknown>, aside = false): void => {
    const running = aside ? this.#aside : this.#running;
    const kept = work.catch(() => {}).finally(() => running.delete(kept));
    running.add(kept);
  };

  /** Resolves when everything taken before has settled, or after so many milliseconds. */
  async soFar(ms: number): Promise<void> {
    if (this.#running.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([Promise.all([...this.#running]), late]);
    clearTimeout(timer);
  }

  /** Resolves when everything taken so far has settled. */
  async idle(): Promise<void> {
    while (this.#running.size + this.#aside.size > 0) await Promise.all([...this.#running, ...this.#aside]);
  }
}
