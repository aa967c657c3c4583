// A segment as readers see it. Columns are read into the caller's scratch, which the next segment takes over.
import { zstdDecompressSync } from 'node:zlib';
import type { ByteSource, Place } from './blobs.ts';
import { mayHold } from './byte-set.ts';
import type { TextHash } from './hash.ts';
import { type PackedNumbers, readPacked, widen } from './number-column.ts';
import { reasonColumn } from './reason-column.ts';
import { MOST_ROWS } from './segment-build.ts';
import { CHUNK, type NumberName, type SegmentHead, type TextName } from './segment-head.ts';
import { decodeIds, type TextHead } from './text-column.ts';

/**
 * A page may be spread over as many chunks as it has entries: what each would allocate counts as memory of the thread, and
 * a few pages would bring a whole collection of garbage.
 */
let compressed = Buffer.allocUnsafeSlow(16_384);
/** Bytes that nearly all chunks are smaller than. */
const CHUNK_BYTES = 65_536;

/** Room for columns, by what asks: a name is used for one column at a time, and remembers which one it has. */
export class Scratch {
  readonly #held = new Map<string, Held>();
  readonly #numbers = new Map<string, Float64Array>();
  readonly #ids = new Map<string, Uint16Array>();
  readonly #bytes = new Map<string, ArrayBuffer>();

  numbers(name: string, count: number): Float64Array {
    return grown(this.#numbers, name, count, (size) => new Float64Array(size));
  }

  ids(name: string, count: number): Uint16Array {
    return grown(this.#ids, name, count, (size) => new Uint16Array(size));
  }

  /** What was made of a column under a name, while it is the last one that was. */
  held<T>(name: string, column: object, make: () => T): T {
    const found = this.#held.get(name);
    if (found?.column === column) return found.made as T;
    // The new content overwrites what was held.
    this.#held.delete(name);
    const made = make();
    this.#held.set(name, { column, made });
    return made;
  }

  bytes(name: string, length: number): ArrayBuffer {
    const found = this.#bytes.get(name);
    if (found && found.byteLength >= length) return found;
    const made = new ArrayBuffer(Math.max(length, 2 * (found?.byteLength ?? 0), 65_536));
    this.#bytes.set(name, made);
    return made;
  }
}

interface Held {
  readonly column: object;
  readonly made: unknown;
}

function grown<T extends { readonly length: number }>(
  kept: Map<string, T>,
  name: string,
  count: number,
  make: (size: number) => T,
): T {
  const found = kept.get(name);
  if (found && found.length >= count) return found;
  const made = make(Math.min(MOST_ROWS, Math.max(count, 2 * (found?.length ?? 0), 1024)));
  kept.set(name, made);
  return made;
}

/** The two halves of the hashes of a column's texts; the text of number n is at n - 1. */
export interface Hashes {
  readonly lo: Uint32Array;
  readonly hi: Uint32Array;
  /** Low halves rise. */
  readonly sorted: boolean;
}

export class Segment {
  readonly head: SegmentHead;
  readonly #source: ByteSource;
  readonly #entries: readonly string[] | undefined;
  /** Made of the entries; null: there are none. */
  #reasons: TextHead | null | undefined;

  /** @param entries texts in the order of rows, where there are no chunks. */
  constructor(head: SegmentHead, source: ByteSource, entries?: readonly string[]) {
    this.head = head;
    this.#source = source;
    this.#entries = entries;
  }

  /** Whether it is part of the tail, and dropped with it. */
  get isPassing(): boolean {
    return this.#entries !== undefined;
  }

  get count(): number {
    return this.head.count;
  }

  text(name: TextName): TextHead | undefined {
    const column = this.head.texts[name];
    if (column !== undefined || name !== 'errorReason') return column;
    // Segments of earlier versions have the errors' messages alone.
    this.#reasons ??= reasonColumn(this) ?? null;
    return this.#reasons ?? undefined;
  }

  metadata(key: string): TextHead | undefined {
    for (const [name, column] of this.head.metadata) if (name === key) return column;
    return undefined;
  }

  /** Pairs of metadata that are in no column. */
  pairs(): readonly (readonly [row: number, key: string, value: string])[] {
    const { pairs } = this.head;
    if (!pairs) return [];
    return JSON.parse(Buffer.from(this.#read(pairs)).toString('utf8')) as [number, string, string][];
  }

  /** Each row's number in a column. Only for columns without a `constant`. */
  ids(column: TextHead, into: Uint16Array): Uint16Array {
    if (column.rows) into.set(column.rows);
    else decodeIds(column, this.count, this.#source, into);
    return into;
  }

  /** The same as they are kept: of few texts a byte each. */
  packedIds(column: TextHead, scratch: Scratch, name: string): Uint8Array | Uint16Array {
    if (column.rows) return column.rows;
    const key = `${name} ids`;
    return scratch.held(key, column, () => {
      const [offset, length] = column.ids as Place;
      const buffer = scratch.bytes(key, length);
      this.#source.read(offset, new Uint8Array(buffer, 0, length));
      if (length === this.count) return new Uint8Array(buffer, 0, length);
      return new Uint16Array(buffer, 0, this.count);
    });
  }

  numbers(name: NumberName, scratch: Scratch): Float64Array {
    return scratch.held(`${name} wide`, this.head, () => {
      const into = scratch.numbers(name, this.count);
      widen(this.packed(name, scratch), this.count, into);
      return into;
    });
  }

  /** The same as they are kept. */
  packed(name: NumberName, scratch: Scratch): PackedNumbers {
    const head = this.head.numbers[name];
    if (head === undefined) return { values: undefined, least: 0 };
    return scratch.held(name, head, () =>
      readPacked(head, this.count, this.#source, scratch.bytes(name, this.count * 8)),
    );
  }

  hashes(column: TextHead, hash: TextHash, scratch: Scratch, name: string): Hashes {
    const { size, hashes, values } = column;
    const buffer = scratch.bytes(name, size * 8);
    const lo = new Uint32Array(buffer, 0, size);
    const hi = new Uint32Array(buffer, size * 4, size);
    if (hashes) {
      this.#source.read(hashes[0], new Uint8Array(buffer, 0, hashes[1]));
      return { lo, hi, sorted: true };
    }
    for (let i = 0; i < size; i++) {
      hash.of(values?.[i] ?? '');
      lo[i] = hash.lo;
      hi[i] = hash.hi;
    }
    return { lo, hi, sorted: false };
  }

  /** The text of a number from 1. */
  textOf(column: TextHead, id: number): string {
    if (column.values) return column.values[id - 1] ?? '';
    const [offset] = column.texts as Place;
    const ends = new Uint32Array(2);
    this.#source.read(offset + (id - 1) * 4, new Uint8Array(ends.buffer));
    const [begin = 0, end = 0] = ends;
    const bytes = Buffer.allocUnsafe(end - begin);
    this.#source.read(offset + (column.size + 1) * 4 + begin, bytes);
    return bytes.toString('utf8');
  }

  /** The texts of all numbers from 1 on. */
  allTexts(column: TextHead): readonly string[] {
    if (column.values) return column.values;
    const bytes = this.#read(column.texts as Place);
    const starts = new Uint32Array(bytes.buffer, bytes.byteOffset, column.size + 1);
    const body = Buffer.from(bytes.buffer, bytes.byteOffset + starts.byteLength);
    return Array.from({ length: column.size }, (_, at) => body.toString('utf8', starts[at], starts[at + 1]));
  }

  /** The texts of all numbers from 1 on in lower case. */
  lowerTexts(column: TextHead, scratch: Scratch): readonly string[] {
    const { values, lower, texts, size } = column;
    if (values) return values.map((value) => value.toLowerCase());
    const [offset, length] = lower ?? (texts as Place);
    const buffer = scratch.bytes('searched', length);
    this.#source.read(offset, new Uint8Array(buffer, 0, length));
    const starts = new Uint32Array(buffer, 0, size + 1);
    const bytes = Buffer.from(buffer, starts.byteLength, length - starts.byteLength);
    const end = starts[size] as number;
    // Of bytes alone all texts are parts of one: cutting it is cheaper than reading each.
    const all = bytes.toString('latin1', 0, end);
    const plain = bytes.toString('utf8', 0, end).length === end;
    return Array.from({ length: size }, (_, at) =>
      plain ? all.slice(starts[at], starts[at + 1]) : bytes.toString('utf8', starts[at], starts[at + 1]),
    );
  }

  /** Marks the numbers whose text in lower case has the needle (in lower case) in it; undefined: none. */
  search(column: TextHead, needle: string, needleBytes: Buffer, scratch: Scratch): Uint8Array | undefined {
    const found = new Uint8Array(column.size + 1);
    let any = false;
    if (column.values) {
      for (const [at, value] of column.values.entries()) {
        if (!value.toLowerCase().includes(needle)) continue;
        found[at + 1] = 1;
        any = true;
      }
      return any ? found : undefined;
    }
    // Ids, of which nearly all texts are, are made of few letters: a word has others, and they are not even read.
    if (column.bytes !== undefined && !mayHold(column.bytes, needleBytes)) return undefined;
    const [offset, length] = column.lower ?? (column.texts as Place);
    const buffer = scratch.bytes('searched', length);
    this.#source.read(offset, new Uint8Array(buffer, 0, length));
    const starts = new Uint32Array(buffer, 0, column.size + 1);
    const texts = Buffer.from(buffer, starts.byteLength, length - starts.byteLength);
    let id = 1;
    for (let at = texts.indexOf(needleBytes); at >= 0; ) {
      id = textAt(starts, at, id);
      const end = starts[id] as number;
      if (at + needleBytes.length <= end) {
        found[id] = 1;
        any = true;
        at = texts.indexOf(needleBytes, end);
      } else {
        at = texts.indexOf(needleBytes, at + 1);
      }
    }
    return any ? found : undefined;
  }

  /** The texts of rows, in the order given. */
  entries(rows: readonly number[]): string[] {
    if (this.#entries) return rows.map((row) => this.#entries?.[row] ?? '');
    const chunks = new Map<number, ChunkLines>();
    return rows.map((row) => {
      const number = Math.floor(row / CHUNK);
      let lines = chunks.get(number);
      if (lines === undefined) {
        lines = new ChunkLines(this.#chunk(number));
        chunks.set(number, lines);
      }
      return lines.at(row % CHUNK);
    });
  }

  #chunk(number: number): Buffer {
    const place = this.head.chunks?.[number];
    if (place === undefined) return Buffer.alloc(0);
    const [offset, length] = place;
    if (compressed.length < length) compressed = Buffer.allocUnsafeSlow(2 * length);
    const bytes = compressed.subarray(0, length);
    this.#source.read(offset, bytes);
    try {
      return zstdDecompressSync(bytes, { chunkSize: CHUNK_BYTES });
    } catch (error) {
      throw this.#source.broken?.('texts cannot be unpacked') ?? error;
    }
  }

  /** For roll-ups: where each row's histogram begins, and pairs of bucket and count. */
  histograms(
    scratch: Scratch,
    [offset, length]: Place = this.head.histograms as Place,
  ): { readonly starts: Uint32Array; readonly pairs: Uint32Array } {
    const buffer = scratch.bytes('histograms', length);
    this.#source.read(offset, new Uint8Array(buffer, 0, length));
    const starts = new Uint32Array(buffer, 0, this.count + 1);
    return { starts, pairs: new Uint32Array(buffer, starts.byteLength, length / 4 - starts.length) };
  }

  #read([offset, length]: Place): Uint8Array {
    const bytes = new Uint8Array(length);
    this.#source.read(offset, bytes);
    return bytes;
  }
}

/** Lines of a chunk: of a page that is spread over many chunks one line of each is wanted, and only that is decoded. */
class ChunkLines {
  readonly #bytes: Buffer;
  readonly #starts: number[] = [0];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  at(line: number): string {
    const starts = this.#starts;
    while (starts.length <= line + 1) {
      const end = this.#bytes.indexOf(10, starts.at(-1));
      starts.push(end < 0 ? this.#bytes.length + 1 : end + 1);
      if (end < 0) break;
    }
    return this.#bytes.toString('utf8', starts[line], (starts[line + 1] ?? 1) - 1);
  }
}

/** The number of the text that a byte is in, which is `from` or a later one. */
function textAt(starts: Uint32Array, at: number, from: number): number {
  let low = from;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] as number) > at) high = middle;
    else low = middle + 1;
  }
  return low;
}
