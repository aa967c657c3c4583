// One total of each group. Money is exact: what a number cannot hold exactly is kept separately.
import { addNumbers, eachRow, type GroupedRows, totalOf } from './grouped-rows.ts';
import { amountOf, MONEY_EXACT } from './money-column.ts';
import type { Scratch, Segment } from './segment.ts';
import type { LargeMoney, NumberName } from './segment-head.ts';

/** Below this, totals of money stay within what a number holds exactly, whatever one segment adds. */
const ROOM = MONEY_EXACT / 2;

export class SumColumn {
  values = new Float64Array(64);
  readonly #initial: number;
  readonly #large = new Map<number, bigint>();
  /** What no sum is above, of money. */
  #bound = 0;

  constructor(initial = 0) {
    this.#initial = initial;
    this.values.fill(initial);
  }

  /** Makes room for so many groups. */
  grow(groups: number): void {
    const { length } = this.values;
    if (groups <= length) return;
    const more = new Float64Array(Math.max(groups, 2 * length));
    if (this.#initial !== 0) more.fill(this.#initial, length);
    more.set(this.values);
    this.values = more;
  }

  /** Adds a segment's column of whole numbers that stay exact. */
  add(segment: Segment, name: NumberName, grouped: GroupedRows, scratch: Scratch): void {
    addNumbers(this.values, grouped, segment.packed(name, scratch));
  }

  /** Adds a segment's column of money, and the amounts that are kept apart from it. */
  addMoney(
    segment: Segment,
    name: NumberName,
    large: LargeMoney | undefined,
    grouped: GroupedRows,
    scratch: Scratch,
  ): void {
    if (this.hasRoom(segment, name, grouped.count, scratch)) {
      this.add(segment, name, grouped, scratch);
    } else {
      const amounts = segment.numbers(name, scratch);
      eachRow(grouped, (row, group) => this.addExact(group, amounts[row] as number));
    }
    this.addLargeAmounts(large, grouped);
  }

  /** Adds the amounts that are kept apart from a column. */
  addLargeAmounts(large: LargeMoney | undefined, grouped: GroupedRows): void {
    if (!large) return;
    const amounts = new Map(large);
    eachRow(grouped, (row, group) => {
      const amount = amounts.get(row);
      if (amount !== undefined) this.addLarge(group, amountOf(amount));
    });
  }

  /** Adds money that a number holds exactly. */
  addExact(group: number, amount: number): void {
    this.#bound = MONEY_EXACT;
    const sum = (this.values[group] as number) + amount;
    if (sum <= MONEY_EXACT) {
      this.values[group] = sum;
      return;
    }
    this.addLarge(group, BigInt(sum));
    this.values[group] = 0;
  }

  addLarge(group: number, amount: bigint): void {
    this.#large.set(group, (this.#large.get(group) ?? 0n) + amount);
  }

  /** What of a group's money its number does not hold. */
  largeOf(group: number): bigint | undefined {
    return this.#large.get(group);
  }

  /** A group's money: a number where that holds all of it. */
  money(group: number): number | bigint {
    const value = this.values[group] as number;
    const large = this.#large.get(group);
    return large === undefined ? value : large + BigInt(value);
  }

  /** Whether all totals stay exact when some of a segment's rows are added; moves their values where that helps. */
  hasRoom(segment: Segment, name: NumberName, count: number, scratch: Scratch): boolean {
    const { greatest = 0 } = segment.head.numbers[name] ?? {};
    let more = greatest * count;
    if (more > ROOM) return false;
    // All rows together are mostly far less than as many of the greatest.
    if (this.#bound + more > MONEY_EXACT) more = totalOf(segment.packed(name, scratch), segment.count);
    if (this.#bound + more > MONEY_EXACT) this.#settle();
    this.#bound += more;
    return true;
  }

  /** Moves large totals to where they cannot overflow. */
  #settle(): void {
    let greatest = 0;
    for (let group = 0; group < this.values.length; group++) {
      const sum = this.values[group] as number;
      if (sum > ROOM) {
        this.addLarge(group, BigInt(sum));
        this.values[group] = 0;
      } else if (sum > greatest) greatest = sum;
    }
    this.#bound = greatest;
  }
}
