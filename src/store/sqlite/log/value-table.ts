// The distinct values of a dimension over all segments of a question, each with a small number.
import type { LogDimension } from '../../log/aggregation.ts';
import type { TextHash } from './hash.ts';
import type { Hashes, Segment } from './segment.ts';
import type { TextHead } from './text-column.ts';

/** A value as it was first met. */
type Origin = string | { readonly segment: Segment; readonly column: TextHead; readonly id: number };

/** Texts held in memory. */
const MOST_TEXTS = 400_000;
/** Texts of one column from which on all of them are read at once. */
const MANY = 16;

/** Places and eighths of values that a table has in memory, and all tables together. */
const MOST_WEIGHT = 8_000_000;
const MOST_TOGETHER = 4 * MOST_WEIGHT;

/** The numbers of values, and how often there is each. */
export interface ValueCounts {
  readonly numbers: Int32Array;
  readonly counts: Uint32Array;
}

/** A place whose number was not looked up yet. */
export const UNKNOWN = -2;

/** Numbers values from 0 by their hashes; a value's text is looked up when it is asked for. */
export class ValueTable {
  /** Per slot: both halves of a hash, and its number plus one; 0: free. Side by side, so a lookup reads one place in memory. */
  #slots = new Uint32Array(1024 * 3);
  /** The upper bits choose the slot: texts of a column come in the order of their hashes, so lookups move on in order. */
  #shift = 22;
  readonly #origins: Origin[] = [];
  readonly #texts = new Map<number, string>();
  /** Segments do not change: what was looked up for one question serves the next. */
  readonly #known = new WeakMap<TextHead, Int32Array>();
  readonly #counts = new WeakMap<TextHead, ValueCounts>();
  #remembered = 0;

  get size(): number {
    return this.#origins.length;
  }

  /** The number of a text. */
  ofText(text: string, hash: TextHash): number {
    hash.of(text);
    const found = this.#find(hash.lo, hash.hi);
    return found >= 0 ? found : this.#add(hash.lo, hash.hi, text);
  }

  /** The number of a column's text; `at` is its place there, from 0. */
  ofHashes(segment: Segment, column: TextHead, { lo, hi }: Hashes, at: number): number {
    const [low, high] = [lo[at] as number, hi[at] as number];
    const found = this.#find(low, high);
    if (found >= 0) return found;
    const id = at + 1;
    return this.#add(low, high, segment.isPassing ? segment.textOf(column, id) : { segment, column, id });
  }

  /** What is known of a column's values by place, at 0 that of having none; the caller fills in UNKNOWN. */
  known(column: TextHead, none: number): Int32Array {
    let numbers = this.#known.get(column);
    if (numbers === undefined) {
      numbers = new Int32Array(column.size + 1).fill(UNKNOWN);
      numbers[0] = none;
      this.#known.set(column, numbers);
      this.#remembered += numbers.length;
    }
    return numbers;
  }

  /** How often a column has each value over all rows of its segment, once that was counted. */
  countsOf(column: TextHead): ValueCounts | undefined {
    return this.#counts.get(column);
  }

  keepCounts(column: TextHead, counts: ValueCounts): void {
    this.#counts.set(column, counts);
    this.#remembered += 2 * counts.numbers.length;
  }

  /** What it has in memory: values, and places of columns. */
  get weight(): number {
    return this.#remembered + 8 * this.size;
  }

  /** Whether it has grown beyond what is worth its memory (some 64 MB). */
  get isFull(): boolean {
    return this.weight > MOST_WEIGHT;
  }

  textOf(number: number): string {
    const origin = this.#origins[number] ?? '';
    if (typeof origin === 'string') return origin;
    if (this.#texts.size > MOST_TEXTS) this.#texts.clear();
    let text = this.#texts.get(number);
    if (text === undefined) {
      text = origin.segment.textOf(origin.column, origin.id);
      this.#texts.set(number, text);
    }
    return text;
  }

  /** Reads the texts of many numbers, segment by segment. */
  prepare(numbers: Iterable<number>): void {
    const wanted = new Map<TextHead, { readonly segment: Segment; readonly numbers: number[] }>();
    for (const number of numbers) {
      const origin = this.#origins[number];
      if (origin === undefined || typeof origin === 'string' || this.#texts.has(number)) continue;
      const found = wanted.get(origin.column);
      if (found) found.numbers.push(number);
      else wanted.set(origin.column, { segment: origin.segment, numbers: [number] });
    }
    for (const [column, { segment, numbers: own }] of wanted) {
      if (own.length < MANY) continue;
      const texts = segment.allTexts(column);
      for (const number of own) {
        const { id } = this.#origins[number] as Exclude<Origin, string>;
        this.#texts.set(number, texts[id - 1] ?? '');
      }
    }
  }

  #find(lo: number, hi: number): number {
    const slots = this.#slots;
    for (let at = (lo >>> this.#shift) * 3; ; at = at + 3 === slots.length ? 0 : at + 3) {
      const number = slots[at + 2] as number;
      if (number === 0 || (slots[at] === lo && slots[at + 1] === hi)) return number - 1;
    }
  }

  #add(lo: number, hi: number, origin: Origin): number {
    const number = this.#origins.push(origin) - 1;
    if (number * 6 >= this.#slots.length) this.#grow();
    this.#place(lo, hi, number + 1);
    return number;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    this.#shift--;
    for (let at = 0; at < old.length; at += 3) {
      const number = old[at + 2] as number;
      if (number > 0) this.#place(old[at] as number, old[at + 1] as number, number);
    }
  }

  #place(lo: number, hi: number, number: number): void {
    const slots = this.#slots;
    let at = (lo >>> this.#shift) * 3;
    while (slots[at + 2] !== 0) at = at + 3 === slots.length ? 0 : at + 3;
    slots[at] = lo;
    slots[at + 1] = hi;
    slots[at + 2] = number;
  }
}

/** The tables of dimensions, kept from question to question. */
export class ValueTables {
  readonly #tables = new Map<string, ValueTable>();

  of(dimension: LogDimension): ValueTable {
    const name = typeof dimension === 'object' ? `m:${dimension.metadata}` : dimension;
    let table = this.#tables.get(name);
    if (table === undefined || table.isFull) {
      this.#tables.delete(name);
      this.#makeRoom();
      table = new ValueTable();
      this.#tables.set(name, table);
    }
    return table;
  }

  /** Forgets the oldest where there are many, or large ones. */
  #makeRoom(): void {
    let weight = 0;
    for (const table of this.#tables.values()) weight += table.weight;
    for (const [name, table] of this.#tables) {
      if (this.#tables.size < MOST_TABLES && weight <= MOST_TOGETHER) return;
      this.#tables.delete(name);
      weight -= table.weight;
    }
  }

  forget(): void {
    this.#tables.clear();
  }
}

/** As many as there are dimensions, and some keys of metadata. */
const MOST_TABLES = 24;
