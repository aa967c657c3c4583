// Sums kept beside entries: those of some segments by hour and by some dimensions, as a segment.
import { Accumulator, AT, MONEY } from './accumulator.ts';
import { Blobs } from './blobs.ts';
import { HOUR_MS } from './buckets.ts';
import type { TextHash } from './hash.ts';
import type { Histograms, PackedHistograms } from './histograms.ts';
import { MoneyColumn } from './money-column.ts';
import { bytesOf, encodeNumbers, type NumberHead } from './number-column.ts';
import { Scratch, type Segment } from './segment.ts';
import { type BuiltSegment, MOST_ROWS } from './segment-build.ts';
import type { NumberName, SegmentHead, TextName } from './segment-head.ts';
import { TextColumn, type TextHead } from './text-column.ts';
import { ValueTable } from './value-table.ts';

const PLAIN = [
  ...(['requests', 'successes', 'errors', 'promptTokens', 'completionTokens', 'totalTokens'] as const),
  ...(['latencyUs', 'cacheHits', 'semanticHits', 'cacheLatencyUs', 'retried', 'rescued'] as const),
  ...(['firstSeen', 'lastSeen'] as const),
];
const SHIFT = 2 ** 26;

/** Adds up segments of entries. */
export class SumsBuilder {
  readonly #hash: TextHash;
  readonly #scratch = new Scratch();
  readonly #sums = new Accumulator();
  readonly #keys: readonly TextName[];
  readonly #values: readonly ValueTable[];
  /** For each column: what came before it and its value make a number. */
  readonly #folds: readonly Map<number, number>[];
  readonly #hours = new Map<number, number>();
  /** Of each row: its hour, and the number of its value in each column; -1: none. */
  readonly #rows: { readonly hour: number; readonly values: readonly number[] }[] = [];

  /** @param cube what the sums are kept by. */
  constructor(hash: TextHash, cube: readonly TextName[]) {
    this.#hash = hash;
    this.#keys = ['organisation', ...cube];
    this.#values = this.#keys.map(() => new ValueTable());
    this.#folds = this.#keys.map(() => new Map());
  }

  add(segment: Segment): void {
    const { count } = segment;
    const hours = this.#hoursOf(segment);
    const groups = Int32Array.from(hours, (hour) => numberOf(this.#hours, hour));
    const columns = this.#keys.map((name, i) => this.#column(name, i, segment));
    for (const [i, { ids, constant, numbers }] of columns.entries()) {
      const fold = this.#folds[i] as Map<number, number>;
      for (let row = 0; row < count; row++) {
        const value = numbers[ids === undefined ? constant : (ids[row] as number)] as number;
        groups[row] = numberOf(fold, (groups[row] as number) * SHIFT + value + 1);
      }
    }
    for (let row = 0; row < count; row++) {
      if (groups[row] !== this.#rows.length) continue;
      const values = columns.map(({ ids, constant, numbers }) => numbers[ids?.[row] ?? constant] as number);
      this.#rows.push({ hour: hours[row] as number, values });
    }
    this.#sums.grow(this.#rows.length);
    const rows = Uint16Array.from({ length: count }, (_, row) => row);
    this.#sums.add(segment, { rows, count, groups, runs: undefined }, this.#scratch);
  }

  #hoursOf(segment: Segment): Float64Array {
    const times = segment.numbers('time', this.#scratch);
    return times.slice(0, segment.count).map((time) => Math.floor(time / HOUR_MS) * HOUR_MS);
  }

  #column(
    name: TextName,
    i: number,
    segment: Segment,
  ): { ids: Uint16Array | undefined; constant: number; numbers: Int32Array } {
    const column = segment.text(name);
    if (column === undefined) return { ids: undefined, constant: 0, numbers: Int32Array.of(-1) };
    const table = this.#values[i] as ValueTable;
    const hashes = segment.hashes(column, this.#hash, this.#scratch, 'hashes');
    const numbers = new Int32Array(column.size + 1).fill(-1);
    for (let at = 0; at < column.size; at++) numbers[at + 1] = table.ofHashes(segment, column, hashes, at);
    if (column.constant !== undefined) return { ids: undefined, constant: column.constant, numbers };
    return { ids: segment.ids(column, new Uint16Array(segment.count)), constant: 0, numbers };
  }

  /** The sums, in as many segments as their rows need. */
  finish(): BuiltSegment[] {
    const order = Array.from(this.#rows.keys()).sort((a, b) => this.#hourOf(a) - this.#hourOf(b));
    const built: BuiltSegment[] = [];
    for (let at = 0; at < order.length; at += MOST_ROWS) {
      built.push(this.#segment(order.slice(at, at + MOST_ROWS)));
    }
    return built;
  }

  #hourOf(row: number): number {
    return this.#rows[row]?.hour ?? 0;
  }

  #segment(order: readonly number[]): BuiltSegment {
    const blobs = new Blobs();
    const count = order.length;
    const places = Uint16Array.from({ length: count }, (_, place) => place);
    const texts: Partial<Record<TextName, TextHead>> = {};
    for (const [i, name] of this.#keys.entries()) {
      const column = new TextColumn(count);
      for (const [place, row] of order.entries()) {
        const value = this.#rows[row]?.values[i] ?? -1;
        if (value >= 0) column.set(place, (this.#values[i] as ValueTable).textOf(value));
      }
      const head = column.encode(places, blobs, this.#hash, false);
      if (head) texts[name] = head;
    }
    const numbers = this.#numbers(order, blobs);
    const money = MONEY.map((name) => this.#money(name, order));
    for (const [i, name] of MONEY.entries()) {
      numbers[name] = encodeNumbers((money[i] as MoneyColumn).values, count, blobs);
    }
    const [largeCost, largeSaved, largeSemanticSaved] = money.map((column) => column.large(places));
    const head: SegmentHead = {
      ...{ count, texts, metadata: [], numbers },
      ...(largeCost?.length ? { largeCost } : {}),
      ...(largeSaved?.length ? { largeSaved } : {}),
      ...(largeSemanticSaved?.length ? { largeSemanticSaved } : {}),
      histograms: blobs.add(histogramBytes((this.#sums.latencies as Histograms).of(order))),
    };
    return {
      ...{ head, entries: [], bytes: blobs.join(), firstSeq: 0, lastSeq: 0 },
      minTime: numbers.time?.least ?? 0,
      maxTime: numbers.time?.greatest ?? 0,
    };
  }

  #money(name: (typeof MONEY)[number], order: readonly number[]): MoneyColumn {
    const column = new MoneyColumn(order.length);
    for (const [place, row] of order.entries()) column.setExact(place, this.#sums.money(row, AT[name]));
    return column;
  }

  #numbers(order: readonly number[], blobs: Blobs): Partial<Record<NumberName, NumberHead>> {
    const hours = Float64Array.from(order, (row) => this.#hourOf(row));
    const heads: Partial<Record<NumberName, NumberHead>> = {
      time: encodeNumbers(hours, order.length, blobs),
    };
    for (const name of PLAIN) {
      const values = Float64Array.from(order, (row) => this.#sums.sum(row, AT[name]));
      heads[name] = encodeNumbers(values, order.length, blobs);
    }
    return heads;
  }
}

function numberOf(numbers: Map<number, number>, key: number): number {
  let number = numbers.get(key);
  if (number === undefined) {
    number = numbers.size;
    numbers.set(key, number);
  }
  return number;
}

function histogramBytes({ starts, buckets, counts }: PackedHistograms): Uint8Array {
  const all = new Uint32Array(starts.length + 2 * buckets.length);
  all.set(starts);
  for (let pair = 0; pair < buckets.length; pair++) {
    all[starts.length + 2 * pair] = buckets[pair] as number;
    all[starts.length + 2 * pair + 1] = counts[pair] as number;
  }
  return bytesOf(all);
}
