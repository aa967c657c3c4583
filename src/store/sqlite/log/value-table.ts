// The distinct values of a dimension over all segments of a question, each with a small number.
import type { TextHash } from './hash.ts';
import type { Scratch, Segment } from './segment.ts';
import type { TextHead } from './text-column.ts';

/** A value as it was first met. */
type Origin = string | { readonly segment: Segment; readonly column: TextHead; readonly id: number };

/** Texts of one column from which on all of them are read at once. */
const MANY = 16;

/** Numbers values from 0 by their hashes; a value's text is looked up when it is asked for. */
export class ValueTable {
  #slots = new Int32Array(1024).fill(-1);
  #lo = new Uint32Array(512);
  #hi = new Uint32Array(512);
  readonly #origins: Origin[] = [];
  readonly #texts = new Map<number, string>();

  get size(): number {
    return this.#origins.length;
  }

  /** The number of a text. */
  ofText(text: string, hash: TextHash): number {
    hash.of(text);
    const found = this.#find(hash.lo, hash.hi);
    return found >= 0 ? found : this.#add(hash.lo, hash.hi, text);
  }

  /** The numbers of a column's texts, by theirs in the column; that of 0 is left to the caller. */
  ofColumn(segment: Segment, column: TextHead, hash: TextHash, scratch: Scratch, name: string): Int32Array {
    const { lo, hi } = segment.hashes(column, hash, scratch, name);
    const numbers = new Int32Array(column.size + 1);
    for (let at = 0; at < column.size; at++) {
      const [low, high] = [lo[at] as number, hi[at] as number];
      const found = this.#find(low, high);
      numbers[at + 1] = found >= 0 ? found : this.#add(low, high, { segment, column, id: at + 1 });
    }
    return numbers;
  }

  textOf(number: number): string {
    const origin = this.#origins[number] ?? '';
    if (typeof origin === 'string') return origin;
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
    const mask = this.#slots.length - 1;
    for (let at = lo & mask; ; at = (at + 1) & mask) {
      const number = this.#slots[at] as number;
      if (number < 0 || (this.#lo[number] === lo && this.#hi[number] === hi)) return number;
    }
  }

  #add(lo: number, hi: number, origin: Origin): number {
    const number = this.#origins.push(origin) - 1;
    if (number >= this.#lo.length) {
      this.#lo = doubled(this.#lo);
      this.#hi = doubled(this.#hi);
      this.#slots = new Int32Array(this.#lo.length * 2).fill(-1);
      for (let i = 0; i < number; i++) this.#place(this.#lo[i] as number, i);
    }
    this.#lo[number] = lo;
    this.#hi[number] = hi;
    this.#place(lo, number);
    return number;
  }

  #place(lo: number, number: number): void {
    const mask = this.#slots.length - 1;
    let at = lo & mask;
    while ((this.#slots[at] as number) >= 0) at = (at + 1) & mask;
    this.#slots[at] = number;
  }
}

function doubled(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(array.length * 2);
  more.set(array);
  return more;
}
