// How often each bucket of latencies was met in each group: counted in place while the groups are few, else what there is.
import { CountTable } from './count-table.ts';

/** Buckets of a group, by `latencyBucket`. */
const BUCKETS = 1201;
/** Groups counted in place: 20 MB at the most. */
const FEW = 4096;

export class Histograms {
  #few = new Uint32Array(BUCKETS * 16);
  readonly #many = new CountTable();

  add(group: number, bucket: number, count: number): void {
    const at = group * BUCKETS + bucket;
    if (group < FEW) {
      if (at >= this.#few.length) this.#grow(at);
      this.#few[at] = (this.#few[at] as number) + count;
    } else {
      this.#many.add(at, count);
    }
  }

  /** Groups in any order. */
  forEach(each: (group: number, bucket: number, count: number) => void): void {
    for (let at = 0; at < this.#few.length; at++) {
      const count = this.#few[at] as number;
      if (count > 0) each(Math.floor(at / BUCKETS), at % BUCKETS, count);
    }
    this.#many.forEach((key, count) => {
      each(Math.floor(key / BUCKETS), key % BUCKETS, count);
    });
  }

  #grow(at: number): void {
    const more = new Uint32Array(Math.min(FEW * BUCKETS, Math.max(at + BUCKETS, this.#few.length * 2)));
    more.set(this.#few);
    this.#few = more;
  }
}
