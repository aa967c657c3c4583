// A column of texts: each distinct one once, and its number (from 1; 0 is none) for every row.
import type { Blobs, ByteSource, Place } from './blobs.ts';
import { bytesIn } from './byte-set.ts';
import type { TextHash } from './hash.ts';
import { bytesOf } from './number-column.ts';

/**
 * Few texts are in the head itself. Many are apart, in the order of their hashes, so that one is found by halving:
 * hashes (all low halves, then all high ones), then texts (where each begins, and UTF-8). `lower` are the same in lower
 * case, where that is another text and somebody may search in it. `bytes` are those that the searched texts are made of
 * (see `byte-set.ts`).
 */
export interface TextHead {
  readonly size: number;
  /** All rows have this number. */
  readonly constant?: number;
  readonly ids?: Place;
  readonly values?: readonly string[];
  readonly hashes?: Place;
  readonly texts?: Place;
  readonly lower?: Place;
  readonly bytes?: string;
  /** Each row's number, of a column that is in memory alone. */
  readonly rows?: Uint8Array | Uint16Array;
}

/** Texts in a head. */
const INLINE = 32;
const INLINE_LENGTH = 2048;

/** Takes the texts of rows, in any order of rows. */
export class TextColumn {
  readonly #numbers = new Map<string, number>();
  readonly #ids: Uint16Array;

  constructor(rows: number) {
    this.#ids = new Uint16Array(rows);
  }

  set(row: number, text: string): void {
    let id = this.#numbers.get(text);
    if (id === undefined) {
      id = this.#numbers.size + 1;
      this.#numbers.set(text, id);
    }
    this.#ids[row] = id;
  }

  /** Writes the column with its rows in an order. Undefined: no row has a text. */
  encode(order: Uint16Array, blobs: Blobs, hash: TextHash, searched: boolean): TextHead | undefined {
    const size = this.#numbers.size;
    if (size === 0) return undefined;
    const values = [...this.#numbers.keys()];
    const few = size <= INLINE && values.reduce((sum, { length }) => sum + length, 0) <= INLINE_LENGTH;
    // Half a surrogate is no UTF-8; as JSON it stays what it is.
    const inline = few || !values.every((value) => value.isWellFormed());
    const dictionary = inline ? { values } : this.#encodeMany(values, blobs, hash, searched);
    return { size, ...dictionary, ...this.#encodeIds(order, size, blobs) };
  }

  #encodeIds(order: Uint16Array, size: number, blobs: Blobs): Pick<TextHead, 'constant' | 'ids'> {
    const ids = size < 256 ? new Uint8Array(order.length) : new Uint16Array(order.length);
    let constant = true;
    for (let i = 0; i < order.length; i++) {
      ids[i] = this.#ids[order[i] as number] as number;
      if (ids[i] !== ids[0]) constant = false;
    }
    return constant ? { constant: ids[0] as number } : { ids: blobs.add(bytesOf(ids)) };
  }

  #encodeMany(values: string[], blobs: Blobs, hash: TextHash, searched: boolean): Omit<TextHead, 'size'> {
    const size = values.length;
    const hi = new Uint32Array(size);
    const sorted = new Float64Array(size);
    for (let i = 0; i < size; i++) {
      hash.of(values[i] as string);
      hi[i] = hash.hi;
      // 32 bits of the hash above 16 of the place: sorted as numbers, which is what typed arrays are fast at.
      sorted[i] = hash.lo * 0x10000 + i;
    }
    sorted.sort();
    const hashes = new Uint32Array(size * 2);
    const renumbered = new Uint16Array(size + 1);
    const texts: string[] = new Array(size);
    for (let at = 0; at < size; at++) {
      const packed = sorted[at] as number;
      const i = packed % 0x10000;
      hashes[at] = (packed - i) / 0x10000;
      hashes[size + at] = hi[i] as number;
      renumbered[i + 1] = at + 1;
      texts[at] = values[i] as string;
    }
    for (let row = 0; row < this.#ids.length; row++) {
      this.#ids[row] = renumbered[this.#ids[row] as number] as number;
    }
    const places = { hashes: blobs.add(bytesOf(hashes)), texts: blobs.add(encodeTexts(texts)) };
    if (!searched) return places;
    const lower = texts.map((text) => text.toLowerCase());
    const bytes = bytesIn(lower);
    if (lower.every((text, at) => text === texts[at])) return { ...places, bytes };
    return { ...places, bytes, lower: blobs.add(encodeTexts(lower)) };
  }
}

/** Where each text begins and the last one ends, counted from the end of these numbers; then the texts, well-formed. */
export function encodeTexts(texts: readonly string[]): Uint8Array {
  const joined = Buffer.from(texts.join(''), 'utf8');
  const starts = new Uint32Array(texts.length + 1);
  let at = 0;
  for (let i = 0; i < texts.length; i++) {
    const text = texts[i] as string;
    at += isShort(text) ? text.length : Buffer.byteLength(text);
    starts[i + 1] = at;
  }
  const all = new Uint8Array(starts.byteLength + joined.length);
  all.set(bytesOf(starts));
  all.set(joined, starts.byteLength);
  return all;
}

/** Whether each unit is one byte; looked at for short texts only, for which a call is dearer. */
function isShort(text: string): boolean {
  if (text.length > 64) return false;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

/** Reads the rows' numbers. Only for columns without a `constant`. */
export function decodeIds(head: TextHead, count: number, source: ByteSource, into: Uint16Array): void {
  const [offset, length] = head.ids as Place;
  if (length === count * 2) {
    source.read(offset, new Uint8Array(into.buffer, into.byteOffset, length));
    return;
  }
  // The bytes are read into the second half and widened in place: each is read before its position is overwritten.
  const bytes = new Uint8Array(into.buffer, into.byteOffset + count, count);
  source.read(offset, bytes);
  for (let i = 0; i < count; i++) into[i] = bytes[i] as number;
}
