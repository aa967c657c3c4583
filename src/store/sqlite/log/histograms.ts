// How often each bucket of latencies was met in each group: counted in place while the groups are few; of more of them
// it is noted what was met, and put together group by group at the end.
import { eachRow, type GroupedRows } from './grouped-rows.ts';
import type { PackedNumbers, PackedValues } from './number-column.ts';

/** Buckets of a group, by `latencyBucket`. */
const BUCKETS = 1201;
/** Groups counted in place: 40 MB at the most. */
const FEW = 8192;
/** The number of notes from which on they are merged early: 40 MB of them. */
const MANY = 4_000_000;

/** Histograms of groups, one after another: where each begins and the last one ends, then buckets and counts. */
export interface PackedHistograms {
  readonly starts: Uint32Array;
  readonly buckets: Uint16Array;
  readonly counts: Uint32Array;
}

export class Histograms {
  #size = 0;
  #few = new Uint32Array(BUCKETS * 16);
  #noted = 0;
  #most = MANY;
  #groups = new Uint32Array(0);
  #buckets = new Uint16Array(0);
  #counts = new Uint32Array(0);

  /** Makes room for so many groups. */
  grow(groups: number): void {
    this.#size = groups;
    const wanted = Math.min(FEW, groups) * BUCKETS;
    if (wanted <= this.#few.length) return;
    const more = new Uint32Array(Math.min(FEW * BUCKETS, Math.max(wanted, this.#few.length * 8)));
    more.set(this.#few);
    this.#few = more;
  }

  /** Counts rows, each in its bucket; of groups that there is room for. */
  addRows(grouped: GroupedRows, { values, least }: PackedNumbers): void {
    const few = this.#few;
    if (values === undefined) {
      eachRow(grouped, (_, group) => this.add(group, least, 1));
      return;
    }
    if (this.#size > FEW) {
      this.#noteRows(grouped, values, least);
      return;
    }
    const { rows, count, groups, runs } = grouped;
    for (let i = 0; runs === undefined && i < count; i++) {
      const at = (groups[i] as number) * BUCKETS + (values[rows[i] as number] as number) + least;
      few[at] = (few[at] as number) + 1;
    }
    for (const { from, to, group } of runs ?? []) {
      for (let i = from; i < to; i++) {
        const at = group * BUCKETS + (values[rows[i] as number] as number) + least;
        few[at] = (few[at] as number) + 1;
      }
    }
  }

  /** The same where there are more groups than are counted in place. */
  #noteRows({ rows, count, groups, runs }: GroupedRows, values: PackedValues, least: number): void {
    for (let i = 0; runs === undefined && i < count; i++) {
      this.add(groups[i] as number, (values[rows[i] as number] as number) + least, 1);
    }
    for (const { from, to, group } of runs ?? []) {
      for (let i = from; i < to; i++) this.add(group, (values[rows[i] as number] as number) + least, 1);
    }
  }

  /** Adds a histogram's stretch of pairs of bucket and count. */
  addPairs(group: number, pairs: Uint32Array, from: number, to: number): void {
    for (let pair = from; pair < to; pair++) {
      this.add(group, pairs[pair * 2] as number, pairs[pair * 2 + 1] as number);
    }
  }

  /** Counts in a bucket of a group. */
  add(group: number, bucket: number, count: number): void {
    if (group >= FEW) {
      this.#note(group, bucket, count);
      return;
    }
    const at = group * BUCKETS + bucket;
    this.#few[at] = (this.#few[at] as number) + count;
  }

  /** Those of some groups, in the order given. */
  of(groups: readonly number[] | Int32Array): PackedHistograms {
    const noted = this.#byGroup();
    let size = 0;
    for (const group of groups) size += group < FEW ? this.#fewOf(group) : noted.sizeOf(group);
    const starts = new Uint32Array(groups.length + 1);
    const packed = { starts, buckets: new Uint16Array(size), counts: new Uint32Array(size) };
    let at = 0;
    for (let row = 0; row < groups.length; row++) {
      const group = groups[row] as number;
      at = group < FEW ? this.#writeFew(group, packed, at) : noted.write(group, packed, at);
      starts[row + 1] = at;
    }
    return packed;
  }

  #fewOf(group: number): number {
    let size = 0;
    const end = Math.min((group + 1) * BUCKETS, this.#few.length);
    for (let at = group * BUCKETS; at < end; at++) if ((this.#few[at] as number) > 0) size++;
    return size;
  }

  #writeFew(group: number, { buckets, counts }: PackedHistograms, from: number): number {
    const begin = group * BUCKETS;
    const end = Math.min(begin + BUCKETS, this.#few.length);
    let to = from;
    for (let at = begin; at < end; at++) {
      const count = this.#few[at] as number;
      if (count === 0) continue;
      buckets[to] = at - begin;
      counts[to++] = count;
    }
    return to;
  }

  #note(group: number, bucket: number, count: number): void {
    if (this.#noted === this.#groups.length) this.#makeRoom();
    const at = this.#noted++;
    this.#groups[at] = group;
    this.#buckets[at] = bucket;
    this.#counts[at] = count;
  }

  #makeRoom(): void {
    if (this.#noted >= this.#most) {
      this.#byGroup();
      this.#most = Math.max(MANY, this.#noted * 2);
      if (this.#noted < this.#groups.length) return;
    }
    const length = Math.max(65_536, this.#groups.length * 2);
    const [groups, buckets, counts] = [this.#groups, this.#buckets, this.#counts];
    this.#groups = new Uint32Array(length);
    this.#buckets = new Uint16Array(length);
    this.#counts = new Uint32Array(length);
    this.#groups.set(groups);
    this.#buckets.set(buckets);
    this.#counts.set(counts);
  }

  /** Puts what was noted together: in order of groups, each bucket of one once. */
  #byGroup(): NotedHistograms {
    const [groups, size] = [this.#groups, this.#noted];
    let most = -1;
    for (let i = 0; i < size; i++) if ((groups[i] as number) > most) most = groups[i] as number;
    const starts = new Uint32Array(most + 2);
    for (let i = 0; i < size; i++) {
      const group = (groups[i] as number) + 1;
      starts[group] = (starts[group] as number) + 1;
    }
    for (let group = 0; group <= most; group++) {
      starts[group + 1] = (starts[group + 1] as number) + (starts[group] as number);
    }
    const order = new Uint32Array(size);
    const next = starts.slice();
    for (let i = 0; i < size; i++) {
      const group = groups[i] as number;
      order[next[group] as number] = i;
      next[group] = (next[group] as number) + 1;
    }
    return this.#merge(order, starts, most);
  }

  #merge(order: Uint32Array, starts: Uint32Array, most: number): NotedHistograms {
    const [buckets, counts] = [this.#buckets, this.#counts];
    const merged = {
      starts: new Uint32Array(most + 2),
      buckets: new Uint16Array(order.length),
      counts: new Uint32Array(order.length),
    };
    const totals = new Float64Array(BUCKETS);
    let to = 0;
    for (let group = 0; group <= most; group++) {
      const begin = to;
      for (let i = starts[group] as number; i < (starts[group + 1] as number); i++) {
        const at = order[i] as number;
        const bucket = buckets[at] as number;
        if (totals[bucket] === 0) merged.buckets[to++] = bucket;
        totals[bucket] = (totals[bucket] as number) + (counts[at] as number);
      }
      for (let at = begin; at < to; at++) {
        const bucket = merged.buckets[at] as number;
        merged.counts[at] = totals[bucket] as number;
        totals[bucket] = 0;
        this.#groups[at] = group;
      }
      merged.starts[group + 1] = to;
    }
    this.#noted = to;
    this.#buckets.set(merged.buckets.subarray(0, to));
    this.#counts.set(merged.counts.subarray(0, to));
    return new NotedHistograms(merged);
  }
}

/** What was noted, in order of groups. */
class NotedHistograms {
  readonly #all: PackedHistograms;

  constructor(all: PackedHistograms) {
    this.#all = all;
  }

  sizeOf(group: number): number {
    const { starts } = this.#all;
    return group + 1 < starts.length ? (starts[group + 1] as number) - (starts[group] as number) : 0;
  }

  write(group: number, into: PackedHistograms, at: number): number {
    const size = this.sizeOf(group);
    if (size === 0) return at;
    const from = this.#all.starts[group] as number;
    into.buckets.set(this.#all.buckets.subarray(from, from + size), at);
    into.counts.set(this.#all.counts.subarray(from, from + size), at);
    return at + size;
  }
}
