// Which group of an aggregation each row is in.
import type { LogAggregation } from '../../log/aggregation.ts';
import { type DimensionColumn, dimensionColumn } from './dimension-column.ts';
import type { Segment } from './segment.ts';
import type { Selection } from './selection.ts';
import type { ValueTable } from './value-table.ts';

/** Places of a table of two dimensions in one segment; beyond it a map is asked. */
const TABLE = 1 << 20;
const SHIFT = 2 ** 26;

/** Numbers groups from 0: a bucket and a value for each dimension. */
export class Grouping {
  readonly #aggregation: LogAggregation;
  readonly #selection: Selection;
  readonly #values: readonly ValueTable[];
  /** Groups by bucket and pair. */
  readonly #numbers = new Map<number, Map<number, number>>();
  #singles = new Int32Array(64).fill(-1);
  #pairCount = 0;
  readonly #pairs = new Map<number, number>();
  /** Of each group: its bucket, and the number of its pair of values. */
  readonly #buckets: number[] = [];
  readonly #valuesOf: [first: number, second: number][] = [];
  #known = new Int32Array(0);
  #stamps = new Int32Array(0);
  #stamp = 0;

  constructor(aggregation: LogAggregation, selection: Selection) {
    this.#aggregation = aggregation;
    this.#selection = selection;
    this.#values = (aggregation.by ?? []).map((dimension) => selection.values.of(dimension));
  }

  get size(): number {
    return this.#buckets.length;
  }

  bucketOf(group: number): number {
    return this.#buckets[group] ?? 0;
  }

  textsOf(group: number): string[] {
    const values = this.#valuesOf[group] ?? [0, 0];
    return this.#values.map((table, i) => table.textOf(values[i] as number));
  }

  /** The texts of groups as they are compared. */
  joinedTexts(groups: readonly number[]): Map<number, string> {
    for (const [i, table] of this.#values.entries()) {
      table.prepare(groups.map((group) => this.#valuesOf[group]?.[i] ?? 0));
    }
    return new Map(groups.map((group) => [group, this.textsOf(group).join('\0')]));
  }

  /** Writes each row's group into `into`; -1: none. */
  assign(segment: Segment, rows: Uint16Array, count: number, into: Int32Array): void {
    const { bucketMs, by = [] } = this.#aggregation;
    const columns = by.map((dimension, i) =>
      dimensionColumn(dimension, segment, this.#values[i] as ValueTable, this.#selection, `by${i}`),
    );
    if (bucketMs === undefined) {
      this.#assignRun(columns, 0, rows, 0, count, into);
      return;
    }
    const times = segment.numbers('time', this.#selection.scratch);
    for (let at = 0; at < count; ) {
      const bucket = Math.floor((times[rows[at] as number] as number) / bucketMs) * bucketMs;
      const end = bucket + bucketMs;
      let next = at + 1;
      while (next < count && (times[rows[next] as number] as number) < end) next++;
      this.#assignRun(columns, bucket, rows, at, next, into);
      at = next;
    }
  }

  /** Rows of one bucket. */
  #assignRun(
    columns: readonly DimensionColumn[],
    bucket: number,
    rows: Uint16Array,
    from: number,
    to: number,
    into: Int32Array,
  ): void {
    const [first, second] = columns;
    if (first === undefined) {
      into.fill(this.#group(bucket, 0, 0), from, to);
      return;
    }
    const width = first.places;
    const size = width * (second?.places ?? 1);
    if (size > TABLE) {
      this.#assignEach(first, second, bucket, rows, from, to, into);
      return;
    }
    const stamp = this.#newStamp(size);
    const [known, stamps] = [this.#known, this.#stamps];
    for (let i = from; i < to; i++) {
      const row = rows[i] as number;
      const a: number = first.ids === undefined ? first.constant : (first.ids[row] as number);
      const b =
        second === undefined ? 0 : second.ids === undefined ? second.constant : (second.ids[row] as number);
      const place = a + b * width;
      if (stamps[place] !== stamp) {
        stamps[place] = stamp;
        known[place] = this.#group(bucket, first.numberAt(a), second === undefined ? 0 : second.numberAt(b));
      }
      into[i] = known[place] as number;
    }
  }

  #assignEach(
    first: DimensionColumn,
    second: DimensionColumn | undefined,
    bucket: number,
    rows: Uint16Array,
    from: number,
    to: number,
    into: Int32Array,
  ): void {
    const known = new Map<number, number>();
    for (let i = from; i < to; i++) {
      const row = rows[i] as number;
      const a = first.ids?.[row] ?? first.constant;
      const b = second?.ids?.[row] ?? second?.constant ?? 0;
      const place = a + b * first.places;
      let group = known.get(place);
      if (group === undefined) {
        group = this.#group(bucket, first.numberAt(a), second?.numberAt(b) ?? 0);
        known.set(place, group);
      }
      into[i] = group;
    }
  }

  #newStamp(size: number): number {
    if (this.#known.length < size) {
      this.#known = new Int32Array(size * 2);
      this.#stamps = new Int32Array(size * 2);
      this.#stamp = 0;
    }
    return ++this.#stamp;
  }

  #group(bucket: number, first: number, second: number): number {
    if (first < 0 || second < 0) return -1;
    const pair = this.#pair(first, second);
    // Without buckets a pair is a group.
    if (this.#aggregation.bucketMs === undefined) {
      if (pair === this.#buckets.length) this.#add(bucket, first, second);
      return pair;
    }
    let numbers = this.#numbers.get(bucket);
    if (numbers === undefined) {
      numbers = new Map();
      this.#numbers.set(bucket, numbers);
    }
    let group = numbers.get(pair);
    if (group === undefined) {
      group = this.#add(bucket, first, second);
      numbers.set(pair, group);
    }
    return group;
  }

  /** The number of two values, from 0 as they come. */
  #pair(first: number, second: number): number {
    if (this.#values.length < 2) {
      if (first >= this.#singles.length) this.#singles = longer(this.#singles, first + 1);
      const found = this.#singles[first] as number;
      if (found >= 0) return found;
      this.#singles[first] = this.#pairCount;
      return this.#pairCount++;
    }
    const key = first * SHIFT + second;
    let pair = this.#pairs.get(key);
    if (pair === undefined) {
      pair = this.#pairCount++;
      this.#pairs.set(key, pair);
    }
    return pair;
  }

  #add(bucket: number, first: number, second: number): number {
    this.#valuesOf.push([first, second]);
    return this.#buckets.push(bucket) - 1;
  }

  /** How many different groups there are, buckets apart. */
  get groups(): number {
    return this.#pairCount;
  }
}

function longer(array: Int32Array, least: number): Int32Array<ArrayBuffer> {
  const more = new Int32Array(Math.max(least, array.length * 2)).fill(-1);
  more.set(array);
  return more;
}
