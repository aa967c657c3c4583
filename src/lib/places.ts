// Sets of what comes and goes with each call. A Set or a Map makes a new table when its old one is full of what was deleted,
// and the old one knows the new one: once a dead table is in the old generation, each table after it, and all calls that stood
// in one when it was replaced, live until the next whole collection (measured: a quarter of all memory of streams).

/** What can be in one such set at a time. */
export interface Placed {
  /** Where it is in its set; -1: in none. Only the set writes it. */
  place: number;
}

/** A set in an array: what leaves gives its place to the last one. */
export class Places<T extends Placed> implements Iterable<T> {
  readonly #all: T[] = [];

  get size(): number {
    return this.#all.length;
  }

  /** Does nothing when it is in a set. */
  add(item: T): void {
    if (item.place !== -1) return;
    item.place = this.#all.length;
    this.#all.push(item);
  }

  /** Whether it was in the set. */
  delete(item: T): boolean {
    const all = this.#all;
    const { place } = item;
    if (all[place] !== item) return false;
    const last = all.pop() as T;
    if (last !== item) {
      all[place] = last;
      last.place = place;
    }
    item.place = -1;
    return true;
  }

  /** In no order. Nothing is added or deleted meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return this.#all[Symbol.iterator]();
  }
}
