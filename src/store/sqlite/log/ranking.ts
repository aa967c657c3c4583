// What groups are put in order by, and nothing else of them: there may be hundreds of thousands.
import type { LogMeasure } from '../../log/aggregation.ts';
import { classesOf, ERROR, groupsByRow } from './accumulator.ts';
import { amountOf, MONEY_EXACT } from './money-column.ts';
import type { Scratch, Segment } from './segment.ts';

export type Measure = Exclude<LogMeasure, 'group'>;

export class Ranking {
  readonly #measure: Measure;
  readonly #large = new Map<number, bigint>();
  readonly #initial: number;
  #values = new Float64Array(0);

  constructor(measure: Measure) {
    this.#measure = measure;
    this.#initial = measure === 'firstSeen' ? Number.MAX_SAFE_INTEGER : 0;
  }

  /** Adds rows; `size`: groups that there are by now. */
  add(
    segment: Segment,
    rows: Uint16Array,
    count: number,
    groups: Int32Array,
    size: number,
    scratch: Scratch,
  ): void {
    this.#grow(size);
    const column = columnOf(this.#measure, segment, scratch);
    const values = this.#values;
    for (let i = 0; i < count; i++) {
      const group = groups[i] as number;
      if (group < 0) continue;
      const value = column === undefined ? 1 : (column[rows[i] as number] as number);
      const before = values[group] as number;
      if (this.#measure === 'firstSeen') values[group] = Math.min(before, value);
      else if (this.#measure === 'lastSeen') values[group] = Math.max(before, value);
      else {
        const sum = before + value;
        if (sum > MONEY_EXACT && this.#measure === 'cost') {
          this.#addLarge(group, BigInt(sum));
          values[group] = 0;
        } else values[group] = sum;
      }
    }
    if (this.#measure !== 'cost' || !segment.head.largeCost) return;
    const groupOf = groupsByRow(segment, rows, count, groups);
    for (const [row, amount] of segment.head.largeCost) {
      const group = groupOf[row] as number;
      if (group >= 0) this.#addLarge(group, amountOf(amount));
    }
  }

  of(group: number): number | bigint {
    const value = this.#values[group] as number;
    const large = this.#large.get(group);
    return large === undefined ? value : large + BigInt(value);
  }

  #addLarge(group: number, amount: bigint): void {
    this.#large.set(group, (this.#large.get(group) ?? 0n) + amount);
  }

  #grow(size: number): void {
    const length = this.#values.length;
    if (size <= length) return;
    const more = new Float64Array(Math.max(size, 2 * length)).fill(this.#initial, length);
    more.set(this.#values);
    this.#values = more;
  }
}

/** Row by row; undefined: each row counts as one. */
function columnOf(measure: Measure, segment: Segment, scratch: Scratch): Float64Array | undefined {
  if (segment.head.histograms) return segment.numbers(measure, scratch);
  switch (measure) {
    case 'requests':
      return undefined;
    case 'firstSeen':
    case 'lastSeen':
      return segment.numbers('time', scratch);
    case 'errors':
      return Float64Array.from(classesOf(segment, scratch).status, (code) => (code === ERROR ? 1 : 0));
    default:
      return segment.numbers(measure, scratch);
  }
}
