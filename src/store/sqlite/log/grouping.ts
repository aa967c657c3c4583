// Which group of an aggregation each row is in.
import type { LogAggregation } from '../../log/aggregation.ts';
import { type DimensionColumn, dimensionColumn, numberAt } from './dimension-column.ts';
import type { GroupedRows, Run } from './grouped-rows.ts';
import type { Segment } from './segment.ts';
import type { SelectedRows, Selection } from './selection.ts';
import type { ValueTable } from './value-table.ts';

/** Places of a table of two dimensions in one segment; beyond it a map is asked. */
const TABLE = 1 << 20;
const SHIFT = 2 ** 26;
/** Marks a place whose group is not looked up yet. */
const NOT_YET = -2;

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
  readonly #pairOf: number[] = [];
  /** Of each pair. */
  readonly #valuesOf: (readonly [first: number, second: number])[] = [];
  #groups = new Int32Array(1024);
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

  /** How many different groups there are, buckets apart: pairs of values. */
  get pairs(): number {
    return this.#pairCount;
  }

  bucketOf(group: number): number {
    return this.#buckets[group] ?? 0;
  }

  pairOf(group: number): number {
    return this.#pairOf[group] ?? 0;
  }

  textsOf(pair: number): string[] {
    const values = this.#valuesOf[pair] ?? [0, 0];
    return this.#values.map((table, i) => table.textOf(values[i] as number));
  }

  /** Reads the texts of many pairs at once. */
  prepare(pairs: Iterable<number>): void {
    const list = [...pairs];
    for (const [i, table] of this.#values.entries()) {
      table.prepare(list.map((pair) => this.#valuesOf[pair]?.[i] ?? 0));
    }
  }

  /** The rows that are in a group, each with its own. What is answered is good until the next call. */
  assign(segment: Segment, { rows, count }: SelectedRows): GroupedRows {
    const { bucketMs, by = [] } = this.#aggregation;
    if (this.#groups.length < count) this.#groups = new Int32Array(Math.max(count, 2 * this.#groups.length));
    const groups = this.#groups;
    if (by.length === 0) return { rows, count, groups, runs: this.#runs(segment, rows, count) };
    const columns = by.map((dimension, i) =>
      dimensionColumn(dimension, segment, this.#values[i] as ValueTable, this.#selection, `by${i}`, count),
    );
    if (bucketMs === undefined && by.length === 1 && count === segment.count) {
      this.#assignAll(columns[0] as DimensionColumn, groups);
    } else if (bucketMs === undefined) this.#assignRun(columns, 0, rows, 0, count, groups);
    else {
      this.#eachBucket(segment, rows, count, (bucket, from, to) =>
        this.#assignRun(columns, bucket, rows, from, to, groups),
      );
    }
    return { rows, count: keepGrouped(rows, groups, count), groups, runs: undefined };
  }

  /** Without dimensions rows of a bucket are a group. */
  #runs(segment: Segment, rows: Uint16Array, count: number): Run[] {
    if (this.#aggregation.bucketMs === undefined)
      return [{ from: 0, to: count, group: this.#group(0, 0, 0) }];
    const runs: Run[] = [];
    this.#eachBucket(segment, rows, count, (bucket, from, to) => {
      runs.push({ from, to, group: this.#group(bucket, 0, 0) });
    });
    return runs;
  }

  #eachBucket(
    segment: Segment,
    rows: Uint16Array,
    count: number,
    each: (bucket: number, from: number, to: number) => void,
  ): void {
    const { bucketMs = 1 } = this.#aggregation;
    const times = segment.numbers('time', this.#selection.scratch);
    for (let at = 0; at < count; ) {
      const bucket = Math.floor((times[rows[at] as number] as number) / bucketMs) * bucketMs;
      const next = endOfBucket(times, rows, at, count, bucket + bucketMs);
      each(bucket, at, next);
      at = next;
    }
  }

  /** All rows of a segment: each text of a column is some row's. */
  #assignAll(column: DimensionColumn, into: Int32Array): void {
    const { ids, constant, places } = column;
    if (ids === undefined) {
      into.fill(this.#group(0, numberAt(column, constant), 0));
      return;
    }
    const groupOf = new Int32Array(places).fill(NOT_YET);
    for (let place = 1; place < places; place++) groupOf[place] = this.#group(0, numberAt(column, place), 0);
    for (let row = 0; row < ids.length; row++) {
      const place = ids[row] as number;
      if (groupOf[place] === NOT_YET) groupOf[place] = this.#group(0, numberAt(column, place), 0);
      into[row] = groupOf[place] as number;
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
    const [first, second] = columns as [DimensionColumn, DimensionColumn | undefined];
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
        known[place] = this.#group(
          bucket,
          numberAt(first, a),
          second === undefined ? 0 : numberAt(second, b),
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
    const known = new Map<number, number>();
    for (let i = from; i < to; i++) {
      const row = rows[i] as number;
      const a = first.ids?.[row] ?? first.constant;
      const b = second?.ids?.[row] ?? second?.constant ?? 0;
      const place = a * SHIFT + b;
      let group = known.get(place);
      if (group === undefined) {
        group = this.#group(bucket, numberAt(first, a), second === undefined ? 0 : numberAt(second, b));
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
      if (pair === this.#buckets.length) this.#add(bucket, pair);
      return pair;
    }
    let numbers = this.#numbers.get(bucket);
    if (numbers === undefined) {
      numbers = new Map();
      this.#numbers.set(bucket, numbers);
    }
    let group = numbers.get(pair);
    if (group === undefined) {
      group = this.#add(bucket, pair);
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
      return this.#addPair(first, second);
    }
    const key = first * SHIFT + second;
    let pair = this.#pairs.get(key);
    if (pair === undefined) {
      pair = this.#addPair(first, second);
      this.#pairs.set(key, pair);
    }
    return pair;
  }

  #addPair(first: number, second: number): number {
    this.#valuesOf.push([first, second]);
    return this.#pairCount++;
  }

  #add(bucket: number, pair: number): number {
    this.#pairOf.push(pair);
    return this.#buckets.push(bucket) - 1;
  }
}

/** The first of rising rows from `at` on that is not before a time. */
function endOfBucket(
  times: Float64Array,
  rows: Uint16Array,
  at: number,
  count: number,
  time: number,
): number {
  if ((times[rows[count - 1] as number] as number) < time) return count;
  let low = at;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[rows[middle] as number] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Leaves out what is in no group; answers how many rows there are then. */
function keepGrouped(rows: Uint16Array, groups: Int32Array, count: number): number {
  let kept = 0;
  while (kept < count && (groups[kept] as number) >= 0) kept++;
  for (let i = kept; i < count; i++) {
    const group = groups[i] as number;
    if (group < 0) continue;
    groups[kept] = group;
    rows[kept++] = rows[i] as number;
  }
  return kept;
}

function longer(array: Int32Array, least: number): Int32Array<ArrayBuffer> {
  const more = new Int32Array(Math.max(least, array.length * 2)).fill(-1);
  more.set(array);
  return more;
}
