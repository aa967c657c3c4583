// Some values of a dimension as groups, in an order given.
import type { LogDimension } from '../../log/aggregation.ts';
import { dimensionColumn } from './dimension-column.ts';
import type { GroupedRows } from './grouped-rows.ts';
import type { Segment } from './segment.ts';
import type { SelectedRows, Selection } from './selection.ts';
import type { ValueTable } from './value-table.ts';

export class ChosenValues {
  readonly #dimension: LogDimension;
  readonly #selection: Selection;
  readonly #table: ValueTable;
  readonly #numbers: readonly number[];
  readonly #groupOf: ReadonlyMap<number, number>;
  /** Of each value whether it is chosen. */
  readonly #marks: Uint8Array;
  #groups = new Int32Array(1024);

  /** @param numbers of the values in `table`. */
  constructor(dimension: LogDimension, numbers: readonly number[], table: ValueTable, selection: Selection) {
    this.#dimension = dimension;
    this.#selection = selection;
    this.#table = table;
    this.#numbers = numbers;
    this.#groupOf = new Map(numbers.map((number, group) => [number, group]));
    this.#marks = new Uint8Array(table.size);
    for (const number of numbers) this.#marks[number] = 1;
    table.prepare(numbers);
  }

  get size(): number {
    return this.#numbers.length;
  }

  bucketOf(): number {
    return 0;
  }

  pairOf(group: number): number {
    return this.#numbers[group] as number;
  }

  textsOf(number: number): string[] {
    return [this.#table.textOf(number)];
  }

  /** The rows that are in a group. What is answered is good until the next call. */
  assign(segment: Segment, { rows, count }: SelectedRows): GroupedRows {
    const { ids, constant, numbers } = dimensionColumn(
      ...([this.#dimension, segment, this.#table, this.#selection, 'by0'] as const),
    );
    if (this.#groups.length < count) this.#groups = new Int32Array(count * 2);
    const [groups, marks] = [this.#groups, this.#marks];
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const row = rows[i] as number;
      const number = numbers[ids === undefined ? constant : (ids[row] as number)] as number;
      // What was not looked up yet is no value that there was a choice of.
      if (number < 0 || marks[number] !== 1) continue;
      groups[kept] = this.#groupOf.get(number) as number;
      rows[kept++] = row;
    }
    return { rows, count: kept, groups, runs: undefined };
  }
}
