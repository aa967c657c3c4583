// The groups of one dimension in order, numbered as its values are: there may be hundreds of thousands.
import type { LogDimension, LogMeasure } from '../../log/aggregation.ts';
import { dimensionColumn } from './dimension-column.ts';
import type { GroupList } from './group-order.ts';
import { addCounts, type GroupedRows } from './grouped-rows.ts';
import { Ranking } from './ranking.ts';
import type { Segment } from './segment.ts';
import type { SelectedRows, Selection } from './selection.ts';
import { SumColumn } from './sum-column.ts';
import { UNKNOWN, type ValueTable } from './value-table.ts';

export class ValueRanking implements GroupList {
  readonly #dimension: LogDimension;
  readonly #selection: Selection;
  readonly table: ValueTable;
  readonly #ranking: Ranking | undefined;
  /** Requests of each value. */
  readonly #requests = new SumColumn();
  #seen: Int32Array | undefined;
  #groups = new Int32Array(1024);
  readonly #byRequests: boolean;

  constructor(dimension: LogDimension, measure: LogMeasure, selection: Selection) {
    this.#dimension = dimension;
    this.#selection = selection;
    this.table = selection.values.of(dimension);
    this.#byRequests = measure === 'requests';
    this.#ranking = measure === 'group' || this.#byRequests ? undefined : new Ranking(measure);
  }

  /** Takes rows in. */
  add(segment: Segment, selected: SelectedRows): void {
    const grouped = this.assign(segment, selected);
    this.#requests.grow(this.table.size);
    const { scratch } = this.#selection;
    if (segment.head.histograms) this.#requests.add(segment, 'requests', grouped, scratch);
    else addCounts(this.#requests.values, grouped, 1);
    this.#ranking?.add(segment, grouped, this.table.size, scratch);
  }

  /** The rows that are in a group, which is the value's number. What is answered is good until the next call. */
  assign(segment: Segment, { rows, count }: SelectedRows): GroupedRows {
    const column = dimensionColumn(
      ...([this.#dimension, segment, this.table, this.#selection, 'by0', count] as const),
    );
    const { ids, constant, numbers } = column;
    if (this.#groups.length < count) this.#groups = new Int32Array(count * 2);
    const groups = this.#groups;
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const row = rows[i] as number;
      const place = ids === undefined ? constant : (ids[row] as number);
      let number = numbers[place] as number;
      if (number === UNKNOWN) number = column.look(place);
      if (number < 0) continue;
      groups[kept] = number;
      rows[kept++] = row;
    }
    return { rows, count: kept, groups, runs: undefined };
  }

  /** The numbers of the values that there are. */
  get #values(): Int32Array {
    this.#seen ??= seenOf(this.#requests.values);
    return this.#seen;
  }

  get size(): number {
    return this.#values.length;
  }

  /** What a group is put in order by. */
  measure(group: number): number | bigint {
    const number = this.pairOf(group);
    return this.#ranking ? this.#ranking.of(number) : (this.#requests.values[number] as number);
  }

  bucketOf(): number {
    return 0;
  }

  pairOf(group: number): number {
    return this.#values[group] as number;
  }

  textsOf(number: number): string[] {
    return [this.table.textOf(number)];
  }

  prepare(numbers: Iterable<number>): void {
    this.table.prepare(numbers);
  }
}

function seenOf(requests: Float64Array): Int32Array {
  const seen = new Int32Array(requests.length);
  let size = 0;
  for (let number = 0; number < requests.length; number++)
    if ((requests[number] as number) > 0) seen[size++] = number;
  return seen.subarray(0, size);
}
