// Builds roll-ups: those of some segments by hour and by some dimensions, as a segment.
import { Accumulator, AT, MONEY } from './accumulator.ts';
import { Blobs } from './blobs.ts';
import { HOUR_MS } from './buckets.ts';
import type { FirstTokenTotals, PackedFirstTokens } from './first-token-totals.ts';
import type { TextHash } from './hash.ts';
import type { Histograms, PackedHistograms } from './histograms.ts';
import { MoneyColumn } from './money-column.ts';
import { bytesOf, encodeNumbers, type NumberHead } from './number-column.ts';
import { NumberTable } from './number-table.ts';
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

/** A column of texts: each row's number in it, and the numbers of these over all segments; -1: none. */
interface Column {
  readonly ids: Uint8Array | Uint16Array | undefined;
  readonly constant: number;
  readonly numbers: Int32Array;
}

/** Adds up segments of entries. */
export class RollupBuilder {
  readonly #hash: TextHash;
  readonly #scratch = new Scratch();
  readonly #totals = new Accumulator(true, true);
  readonly #keys: readonly TextName[];
  readonly #values: readonly ValueTable[];
  /** For each column: what came before it and its value make a number. */
  readonly #folds: readonly NumberTable[];
  readonly #hours = new NumberTable();
  /** Of each row: its hour, and the number of its value in each column; -1: none. */
  #hourOf = new Float64Array(1024);
  #valueOf: Int32Array[];
  #count = 0;

  /** @param by the dimensions of the roll-up. */
  constructor(hash: TextHash, by: readonly TextName[]) {
    this.#hash = hash;
    this.#keys = ['organisation', ...by];
    this.#values = this.#keys.map(() => new ValueTable());
    this.#folds = this.#keys.map(() => new NumberTable());
    this.#valueOf = this.#keys.map(() => new Int32Array(1024));
  }

  add(segment: Segment): void {
    const { count } = segment;
    const hours = this.#hoursOf(segment);
    const groups = new Int32Array(count);
    for (let row = 0; row < count; row++) groups[row] = this.#hours.of(hours[row] as number);
    const columns = this.#keys.map((name, i) => this.#column(name, i, segment));
    for (const [i, { ids, constant, numbers }] of columns.entries()) {
      const fold = this.#folds[i] as NumberTable;
      for (let row = 0; row < count; row++) {
        const value = numbers[ids === undefined ? constant : (ids[row] as number)] as number;
        groups[row] = fold.of((groups[row] as number) * SHIFT + value + 1);
      }
    }
    for (let row = 0; row < count; row++) {
      if (groups[row] === this.#count) this.#addRow(hours[row] as number, row, columns);
    }
    this.#totals.grow(this.#count);
    const rows = new Uint16Array(count);
    for (let row = 0; row < count; row++) rows[row] = row;
    this.#totals.add(segment, { rows, count, groups, runs: undefined }, this.#scratch);
  }

  #addRow(hour: number, row: number, columns: readonly Column[]): void {
    const at = this.#count++;
    if (at === this.#hourOf.length) {
      const more = new Float64Array(at * 2);
      more.set(this.#hourOf);
      this.#hourOf = more;
      this.#valueOf = this.#valueOf.map((values) => {
        const longer = new Int32Array(at * 2);
        longer.set(values);
        return longer;
      });
    }
    this.#hourOf[at] = hour;
    for (const [i, { ids, constant, numbers }] of columns.entries()) {
      (this.#valueOf[i] as Int32Array)[at] = numbers[ids?.[row] ?? constant] as number;
    }
  }

  #hoursOf(segment: Segment): Float64Array {
    const times = segment.numbers('time', this.#scratch);
    return times.slice(0, segment.count).map((time) => Math.floor(time / HOUR_MS) * HOUR_MS);
  }

  #column(name: TextName, i: number, segment: Segment): Column {
    const column = segment.text(name);
    if (column === undefined) return { ids: undefined, constant: 0, numbers: Int32Array.of(-1) };
    const table = this.#values[i] as ValueTable;
    const hashes = segment.hashes(column, this.#hash, this.#scratch, 'hashes');
    const numbers = new Int32Array(column.size + 1).fill(-1);
    for (let at = 0; at < column.size; at++) numbers[at + 1] = table.ofHashes(segment, column, hashes, at);
    if (column.constant !== undefined) return { ids: undefined, constant: column.constant, numbers };
    return { ids: segment.packedIds(column, this.#scratch, name), constant: 0, numbers };
  }

  /** The roll-ups, in as many segments as their rows need. */
  finish(): BuiltSegment[] {
    const order = this.#order();
    const built: BuiltSegment[] = [];
    for (let at = 0; at < order.length; at += MOST_ROWS) {
      built.push(this.#segment(order.slice(at, at + MOST_ROWS)));
    }
    return built;
  }

  /** Rows in the order of their hours; rows of one hour in the order of arrival. */
  #order(): Int32Array {
    const size = Math.max(1, this.#count);
    const keys = new Float64Array(this.#count);
    for (let row = 0; row < keys.length; row++)
      keys[row] = ((this.#hourOf[row] as number) / HOUR_MS) * size + row;
    return Int32Array.from(keys.sort(), (key) => ((key % size) + size) % size);
  }

  #segment(order: Int32Array): BuiltSegment {
    const blobs = new Blobs();
    const count = order.length;
    const places = Uint16Array.from({ length: count }, (_, place) => place);
    const texts: Partial<Record<TextName, TextHead>> = {};
    for (const [i, name] of this.#keys.entries()) {
      const column = new TextColumn(count);
      const values = this.#valueOf[i] as Int32Array;
      const table = this.#values[i] as ValueTable;
      for (let place = 0; place < count; place++) {
        const value = values[order[place] as number] as number;
        if (value >= 0) column.set(place, table.textOf(value));
      }
      const head = column.encode(places, blobs, this.#hash, false);
      if (head) texts[name] = head;
    }
    const numbers = this.#numbers(order, blobs);
    const money = MONEY.map((name) => this.#money(name, order));
    for (const [i, name] of MONEY.entries()) {
      numbers[name] = encodeNumbers((money[i] as MoneyColumn).values, count, blobs);
    }
    const firstTokens = (this.#totals.firstTokens as FirstTokenTotals).of(order);
    for (const [name, values] of firstTokenColumns(firstTokens))
      numbers[name] = encodeNumbers(values, count, blobs);
    const [largeCost, largeSaved, largeSemanticSaved] = money.map((column) => column.large(places));
    const head: SegmentHead = {
      count,
      texts,
      metadata: [],
      numbers,
      ...(largeCost?.length ? { largeCost } : {}),
      ...(largeSaved?.length ? { largeSaved } : {}),
      ...(largeSemanticSaved?.length ? { largeSemanticSaved } : {}),
      histograms: blobs.add(histogramBytes((this.#totals.latencies as Histograms).of(order))),
      ...(firstTokens.times.buckets.length > 0
        ? { firstTokenTimes: blobs.add(histogramBytes(firstTokens.times)) }
        : {}),
    };
    return {
      head: { ...head, checksums: blobs.checksums },
      entries: [],
      bytes: blobs.join(),
      firstSeq: 0,
      lastSeq: 0,
      minTime: numbers.time?.least ?? 0,
      maxTime: numbers.time?.greatest ?? 0,
    };
  }

  #money(name: (typeof MONEY)[number], order: Int32Array): MoneyColumn {
    const column = new MoneyColumn(order.length);
    for (const [place, row] of order.entries()) column.setExact(place, this.#totals.money(row, AT[name]));
    return column;
  }

  #numbers(order: Int32Array, blobs: Blobs): Partial<Record<NumberName, NumberHead>> {
    const values = new Float64Array(order.length);
    for (let place = 0; place < values.length; place++) {
      values[place] = this.#hourOf[order[place] as number] as number;
    }
    const heads: Partial<Record<NumberName, NumberHead>> = {
      time: encodeNumbers(values, order.length, blobs),
    };
    for (const name of PLAIN) {
      const totals = this.#totals.sumsOf(AT[name]);
      for (let place = 0; place < values.length; place++)
        values[place] = totals[order[place] as number] as number;
      heads[name] = encodeNumbers(values, order.length, blobs);
    }
    return heads;
  }
}

function firstTokenColumns({ calls, us, unknown }: PackedFirstTokens) {
  return [
    ['firstTokens', calls],
    ['firstTokenUs', us],
    ['firstTokenUnknown', unknown],
  ] as const;
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
