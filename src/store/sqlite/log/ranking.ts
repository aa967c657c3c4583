// What groups are put in order by, and nothing else of them: there may be hundreds of thousands.
import type { LogMeasure } from '../../log/aggregation.ts';
import { addBounds, addCounts, addFlagged, type GroupedRows } from './grouped-rows.ts';
import { ERROR, rowFlags, STATUS_CLASSES } from './row-classes.ts';
import type { Scratch, Segment } from './segment.ts';
import { SumColumn } from './sum-column.ts';

export type Measure = Exclude<LogMeasure, 'group'>;

/** A measure of groups that others number. */
export class Ranking {
  readonly #measure: Measure;
  readonly #column: SumColumn;
  /** The time of groups (first or last seen) that the order does not need. */
  readonly #other: SumColumn;

  constructor(measure: Measure) {
    this.#measure = measure;
    this.#column = new SumColumn(measure === 'firstSeen' ? Number.MAX_SAFE_INTEGER : 0);
    this.#other = new SumColumn();
  }

  /** Adds rows; `size`: groups that there are by now. */
  add(segment: Segment, grouped: GroupedRows, size: number, scratch: Scratch): void {
    this.#column.grow(size);
    const { head } = segment;
    const isSums = head.histograms !== undefined;
    switch (this.#measure) {
      case 'cost':
        this.#column.addMoney(segment, 'cost', head.largeCost, grouped, scratch);
        return;
      case 'firstSeen':
      case 'lastSeen':
        this.#addTimes(segment, isSums ? this.#measure : 'time', grouped, size, scratch);
        return;
      case 'requests':
        if (isSums) this.#column.add(segment, 'requests', grouped, scratch);
        else addCounts(this.#column.values, grouped, 1);
        return;
      case 'errors':
        if (isSums) this.#column.add(segment, 'errors', grouped, scratch);
        else this.#addErrors(segment, grouped, scratch);
        return;
      default:
        this.#column.add(segment, this.#measure, grouped, scratch);
    }
  }

  of(group: number): number | bigint {
    return this.#column.money(group);
  }

  #addTimes(
    segment: Segment,
    name: 'time' | 'firstSeen' | 'lastSeen',
    grouped: GroupedRows,
    size: number,
    scratch: Scratch,
  ): void {
    this.#other.grow(size);
    const [own, other] = [this.#column.values, this.#other.values];
    const times = segment.numbers(name, scratch);
    const isFirst = this.#measure === 'firstSeen';
    addBounds(isFirst ? own : other, isFirst ? other : own, grouped, times, times);
  }

  #addErrors(segment: Segment, grouped: GroupedRows, scratch: Scratch): void {
    const flags = rowFlags(segment, 'statusCode', STATUS_CLASSES, ERROR, scratch);
    if (flags === 'all') addCounts(this.#column.values, grouped, 1);
    else if (flags !== 'none') addFlagged(this.#column.values, grouped, flags);
  }
}
