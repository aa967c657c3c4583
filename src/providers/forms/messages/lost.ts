// Members of a request that its wire cannot carry, by their paths.

/** Names that are kept of one request. */
const MOST = 100;

export class Lost {
  readonly #names = new Set<string>();

  /** @param path with `*` in place of an index where there may be many */
  add(path: string): void {
    if (this.#names.size < MOST) this.#names.add(path);
  }

  get names(): readonly string[] {
    return [...this.#names];
  }
}
