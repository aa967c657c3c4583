// Work that many may ask for and few may do at once.

/** Lets so many jobs run at a time; the others wait in their order. */
export class Semaphore {
  readonly #atOnce: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  async pass<T>(job: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await job();
    } finally {
      // The place goes to the next one without being free in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
