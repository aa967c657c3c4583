// What a translation leaves out because the other wire has no word for it: named, never lost silently.

/** Collects what one translation leaves out. */
export class Drops {
  /** Members by their paths, with what they were, e.g. "tools[2] (web_search)". */
  readonly all: string[] = [];
  readonly #seen = new Set<string>();

  /** @param what it was; absent where the path says it */
  add(path: string, what?: string): void {
    const name = what === undefined || what === '' ? path : `${path} (${what.slice(0, 128)})`;
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    this.all.push(name);
  }
}
