// How many distinct values of a dimension each group has, exactly: pairs are noted, then counted group by group.
import type { LogDimension } from '../../log/aggregation.ts';
import { dimensionColumn } from './dimension-column.ts';
import type { Segment } from './segment.ts';
import type { Selection } from './selection.ts';
import type { ValueTable } from './value-table.ts';

export class UniqueCounts {
  readonly #dimension: LogDimension;
  readonly #selection: Selection;
  readonly #values: ValueTable;
  #groups = new Int32Array(65_536);
  #members = new Int32Array(65_536);
  #size = 0;
  #seen = new Int32Array(0);

  constructor(dimension: LogDimension, selection: Selection) {
    this.#dimension = dimension;
    this.#selection = selection;
    this.#values = selection.values.of(dimension);
  }

  /** Notes the values of rows; those of group -1 are left out. */
  add(segment: Segment, rows: Uint16Array, count: number, groups: Int32Array): void {
    const { ids, constant, places, numberAt } = dimensionColumn(
      this.#dimension,
      segment,
      this.#values,
      this.#selection,
      'unique',
    );
    const none = this.#values.ofText('', this.#selection.hash);
    if (this.#seen.length < places) this.#seen = new Int32Array(places * 2);
    const seen = this.#seen.fill(-1);
    this.#makeRoom(count);
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      const place = ids === undefined ? constant : (ids[rows[i] as number] as number);
      // Rows of one group mostly lie together: a value that was just noted for it need not be again.
      if (group < 0 || seen[place] === group) continue;
      seen[place] = group;
      const value = numberAt(place);
      if (value < 0 || value === none) continue;
      this.#groups[this.#size] = group;
      this.#members[this.#size++] = value;
    }
  }

  /** Of so many groups, and over all of them. */
  counts(groups: number): { readonly each: Int32Array; readonly all: number } {
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
        if (stamps[value] === 0) all++;
        if (stamps[value] === group + 1) continue;
        stamps[value] = group + 1;
        each[group] = (each[group] as number) + 1;
      }
    }
    return { each, all };
  }

  #makeRoom(count: number): void {
    if (this.#size + count <= this.#groups.length) return;
    const length = Math.max(this.#groups.length * 2, this.#size + count);
    const [groups, members] = [this.#groups, this.#members];
    this.#groups = new Int32Array(length);
    this.#members = new Int32Array(length);
    this.#groups.set(groups);
    this.#members.set(members);
  }
}
