// How many distinct values of a dimension each group has, exactly: pairs are noted, then counted group by group. Of one
// group alone values are marked.
import type { LogDimension } from '../../log/aggregation.ts';
import { type DimensionColumn, dimensionColumn, numberAt } from './dimension-column.ts';
import type { GroupedRows, Run } from './grouped-rows.ts';
import type { Segment } from './segment.ts';
import type { Selection } from './selection.ts';
import { UNKNOWN, type ValueTable } from './value-table.ts';

/** Distinct values of each group, and over all of them. */
export interface DistinctValues {
  readonly each: Int32Array;
  readonly all: number;
}

/** Values of a piece of memory. */
const STRETCH = 1 << 18;

export class UniqueCounts {
  readonly #dimension: LogDimension;
  readonly #selection: Selection;
  readonly #values: ValueTable;
  readonly #together: boolean;
  #marks = new Uint8Array(1024);
  #groups = new Int32Array(0);
  #members = new Int32Array(0);
  #size = 0;
  /** Where groups are runs of rows: the values of each, in consecutive stretches of memory. */
  readonly #runs = new Map<number, Int32Array[]>();
  #stretch = new Int32Array(0);
  #used = 0;
  #seen = new Int32Array(0);

  /** @param together all rows are one group's, whichever they are in. */
  constructor(dimension: LogDimension, selection: Selection, together: boolean) {
    this.#dimension = dimension;
    this.#selection = selection;
    this.#values = selection.values.of(dimension);
    this.#together = together;
  }

  /** Notes the values of rows. */
  add(segment: Segment, grouped: GroupedRows): void {
    const column = dimensionColumn(
      ...([this.#dimension, segment, this.#values, this.#selection, 'unique', grouped.count] as const),
    );
    if (this.#together) this.#markAll(segment, grouped, column);
    else this.#note(grouped, column);
  }

  #markAll(segment: Segment, { rows, count }: GroupedRows, column: DimensionColumn): void {
    const { ids, constant, places } = column;
    if (ids === undefined) {
      if (count > 0) this.#mark(column, constant);
      return;
    }
    // Each text of a column is some row's.
    if (count === segment.count) {
      for (let place = 1; place < places; place++) this.#mark(column, place);
      return;
    }
    const seen = this.#freshSeen(places);
    for (let i = 0; i < count; i++) {
      const place = ids[rows[i] as number] as number;
      if (seen[place] === 0) continue;
      seen[place] = 0;
      this.#mark(column, place);
    }
  }

  #mark(column: DimensionColumn, place: number): void {
    const number = numberAt(column, place);
    if (number < 0) return;
    if (number >= this.#marks.length) {
      const more = new Uint8Array(Math.max(this.#values.size, 2 * this.#marks.length));
      more.set(this.#marks);
      this.#marks = more;
    }
    this.#marks[number] = 1;
  }

  #note({ rows, count, groups, runs }: GroupedRows, column: DimensionColumn): void {
    if (runs !== undefined) {
      for (const run of runs) this.#noteRun(run, rows, column);
      return;
    }
    this.#makeRoom(count);
    const seen = this.#freshSeen(column.places);
    for (let i = 0; i < count; i++) this.#notePlace(column, rows[i] as number, groups[i] as number, seen);
  }

  /** Of rows of one group the values as they come. */
  #noteRun({ from, to, group }: Run, rows: Uint16Array, column: DimensionColumn): void {
    const { ids, constant, numbers } = column;
    const count = ids === undefined ? 1 : to - from;
    if (this.#stretch.length - this.#used < count) {
      this.#stretch = new Int32Array(Math.max(STRETCH, count));
      this.#used = 0;
    }
    const stretch = this.#stretch;
    let at = this.#used;
    for (let i = from; i < from + count; i++) {
      const place = ids === undefined ? constant : (ids[rows[i] as number] as number);
      let value = numbers[place] as number;
      if (value === UNKNOWN) value = column.look(place);
      if (value >= 0) stretch[at++] = value;
    }
    const noted = stretch.subarray(this.#used, at);
    this.#used = at;
    const own = this.#runs.get(group);
    if (own) own.push(noted);
    else this.#runs.set(group, [noted]);
  }

  #notePlace(column: DimensionColumn, row: number, group: number, seen: Int32Array): void {
    const { ids, constant } = column;
    const place = ids === undefined ? constant : (ids[row] as number);
    // Rows of one group mostly lie together: a value that was just noted for it need not be again.
    if (seen[place] === group) return;
    seen[place] = group;
    const value = numberAt(column, place);
    if (value < 0) return;
    this.#groups[this.#size] = group;
    this.#members[this.#size++] = value;
  }

  #freshSeen(places: number): Int32Array {
    if (this.#seen.length < places) this.#seen = new Int32Array(places * 2);
    return this.#seen.fill(-1, 0, places);
  }

  /** Of so many groups, and over all of them. The value '' is none. */
  counts(groups: number): DistinctValues {
    const none = this.#values.ofText('', this.#selection.hash);
    if (!this.#together)
      return this.#runs.size > 0 ? this.#countRuns(groups, none) : this.#countPairs(groups, none);
    let all = 0;
    for (let value = 0; value < this.#marks.length; value++)
      if (this.#marks[value] === 1 && value !== none) all++;
    return { each: new Int32Array(groups).fill(all), all };
  }

  #countRuns(groups: number, none: number): DistinctValues {
    const each = new Int32Array(groups);
    const stamps = new Int32Array(this.#values.size);
    let all = 0;
    for (const [group, stretches] of this.#runs) {
      let count = 0;
      for (const stretch of stretches) {
        for (let i = 0; i < stretch.length; i++) {
          const value = stretch[i] as number;
          const stamp = stamps[value] as number;
          if (stamp === group + 1 || value === none) continue;
          if (stamp === 0) all++;
          stamps[value] = group + 1;
          count++;
        }
      }
      each[group] = count;
    }
    return { each, all };
  }

  #countPairs(groups: number, none: number): DistinctValues {
    const starts = new Int32Array(groups + 1);
    for (let i = 0; i < this.#size; i++) {
      const group = (this.#groups[i] as number) + 1;
      starts[group] = (starts[group] as number) + 1;
    }
    for (let group = 0; group < groups; group++) {
      starts[group + 1] = (starts[group + 1] as number) + (starts[group] as number);
    }
    const sorted = new Int32Array(this.#size);
    const next = starts.slice();
    for (let i = 0; i < this.#size; i++) {
      const group = this.#groups[i] as number;
      sorted[next[group] as number] = this.#members[i] as number;
      next[group] = (next[group] as number) + 1;
    }
    const each = new Int32Array(groups);
    const stamps = new Int32Array(this.#values.size);
    let all = 0;
    for (let group = 0; group < groups; group++) {
      for (let i = starts[group] as number; i < (starts[group + 1] as number); i++) {
        const value = sorted[i] as number;
        if (value === none || stamps[value] === group + 1) continue;
        if (stamps[value] === 0) all++;
        stamps[value] = group + 1;
        each[group] = (each[group] as number) + 1;
      }
    }
    return { each, all };
  }

  #makeRoom(count: number): void {
    if (this.#size + count <= this.#groups.length) return;
    const length = Math.max(65_536, this.#groups.length * 2, this.#size + count);
    const [groups, members] = [this.#groups, this.#members];
    this.#groups = new Int32Array(length);
    this.#members = new Int32Array(length);
    this.#groups.set(groups);
    this.#members.set(members);
  }
}
