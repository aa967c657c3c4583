// Which group of an aggregation each row is in.
import type { LogAggregation } from '../../log/aggregation.ts';
import { type DimensionColumn, dimensionColumn } from './dimension-column.ts';
import type { Segment } from './segment.ts';
import type { Selection } from './selection.ts';
import { ValueTable } from './value-table.ts';

/** Places of a table of two dimensions in one segment; beyond it a map is asked. */
const TABLE = 1 << 20;
const SHIFT = 2 ** 26;

/** Numbers groups from 0: a bucket and a value for each dimension. */
export class Grouping {
  readonly #aggregation: LogAggregation;
  readonly #selection: Selection;
  readonly #values: readonly ValueTable[];
  readonly #numbers = new Map<number, number>();
  readonly #pairs = new Map<number, number>();
  readonly #bucketPlaces = new Map<number, number>();
  /** Of each group: its bucket, and the number of its pair of values. */
  readonly #buckets: number[] = [];
  readonly #valuesOf: [first: number, second: number][] = [];
  #known = new Int32Array(0);
  #stamps = new Int32Array(0);
  #stamp = 0;

  constructor(aggregation: LogAggregation, selection: Selection) {
    this.#aggregation = aggregation;
    this.#selection = selection;
    this.#values = (aggregation.by ?? []).map(() => new ValueTable());
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
    const width = first.numbers.length;
    const size = width * (second?.numbers.length ?? 1);
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
        known[place] = this.#group(
          bucket,
          first.numbers[a] as number,
          second === undefined ? 0 : (second.numbers[b] as number),
        );
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
    for (let i = from; i < to; i++) {
      const row = rows[i] as number;
      const a = first.numbers[first.ids?.[row] ?? first.constant] as number;
      into[i] = this.#group(
        bucket,
        a,
        second ? (second.numbers[second.ids?.[row] ?? second.constant] as number) : 0,
      );
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
    let pair = this.#pairs.get(first * SHIFT + second);
    if (pair === undefined) {
      pair = this.#pairs.size;
      this.#pairs.set(first * SHIFT + second, pair);
    }
    // Without buckets a pair is a group.
    if (this.#aggregation.bucketMs === undefined) {
      if (pair === this.#buckets.length) this.#add(bucket, first, second);
      return pair;
    }
    let place = this.#bucketPlaces.get(bucket);
    if (place === undefined) {
      place = this.#bucketPlaces.size;
      this.#bucketPlaces.set(bucket, place);
    }
    const key = place * SHIFT + pair;
    const found = this.#numbers.get(key);
    if (found !== undefined) return found;
    this.#numbers.set(key, this.#buckets.length);
    return this.#add(bucket, first, second);
  }

  #add(bucket: number, first: number, second: number): number {
    this.#valuesOf.push([first, second]);
    return this.#buckets.push(bucket) - 1;
  }

  /** How many different groups there are, buckets apart. */
  get groups(): number {
    return this.#pairs.size;
  }
}
