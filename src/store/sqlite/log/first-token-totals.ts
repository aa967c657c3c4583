// Times to first token of groups: how many entries have one, their sum and their histogram.
import { addCounts, addNumbers, eachRow, type GroupedRows } from './grouped-rows.ts';
import { Histograms, type PackedHistograms } from './histograms.ts';
import type { Scratch, Segment } from './segment.ts';
import { SumColumn } from './sum-column.ts';

/** Those of some groups, in one order. */
export interface PackedFirstTokens {
  readonly calls: Float64Array;
  /** Microseconds. */
  readonly us: Float64Array;
  /** Entries of which it is not known whether they have one. */
  readonly unknown: Float64Array;
  readonly times: PackedHistograms;
}

/** Columns of roll-ups, and what is added up of each. */
const COLUMNS = [
  ['firstTokens', 'calls'],
  ['firstTokenUs', 'us'],
  ['firstTokenUnknown', 'unknown'],
] as const;

export class FirstTokenTotals {
  readonly #calls = new SumColumn();
  readonly #us = new SumColumn();
  readonly #unknown = new SumColumn();
  readonly #times = new Histograms();

  /** Makes room for so many groups. */
  grow(groups: number): void {
    this.#times.grow(groups);
    for (const column of [this.#calls, this.#us, this.#unknown]) column.grow(groups);
  }

  /** Adds rows of entries. Segments of earlier versions do not have the column. */
  addEntries(segment: Segment, grouped: GroupedRows, scratch: Scratch): void {
    const { firstTokenBucket: head } = segment.head.numbers;
    if (head === undefined) {
      addCounts(this.#unknown.values, grouped, 1);
      return;
    }
    if (head.greatest === 0) return;
    const { values: buckets, least } = segment.packed('firstTokenBucket', scratch);
    const { values: times, least: shortest } = segment.packed('firstTokenUs', scratch);
    const [calls, us] = [this.#calls.values, this.#us.values];
    eachRow(grouped, (row, group) => {
      const bucket = (buckets?.[row] ?? 0) + least;
      if (bucket === 0) return;
      calls[group] = (calls[group] as number) + 1;
      us[group] = (us[group] as number) + (times?.[row] ?? 0) + shortest;
      this.#times.add(group, bucket - 1, 1);
    });
  }

  /** Adds rows of roll-ups. Of those of earlier versions nothing is known but how many entries they are of. */
  addRollups(segment: Segment, grouped: GroupedRows, scratch: Scratch): void {
    const { head } = segment;
    if (head.numbers.firstTokens === undefined) {
      addNumbers(this.#unknown.values, grouped, segment.packed('requests', scratch));
      return;
    }
    for (const [name, place] of COLUMNS)
      addNumbers(this.#column(place).values, grouped, segment.packed(name, scratch));
    if (head.firstTokenTimes === undefined) return;
    const { starts, pairs } = segment.histograms(scratch, head.firstTokenTimes);
    eachRow(grouped, (row, group) => {
      this.#times.addPairs(group, pairs, starts[row] as number, starts[row + 1] as number);
    });
  }

  /** Of some groups, in the order given. */
  of(groups: readonly number[] | Int32Array): PackedFirstTokens {
    const taken = (column: SumColumn): Float64Array =>
      Float64Array.from(groups, (group) => column.values[group] as number);
    return {
      calls: taken(this.#calls),
      us: taken(this.#us),
      unknown: taken(this.#unknown),
      times: this.#times.of(groups),
    };
  }

  #column(place: 'calls' | 'us' | 'unknown'): SumColumn {
    return { calls: this.#calls, us: this.#us, unknown: this.#unknown }[place];
  }
}
