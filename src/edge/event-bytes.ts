// Events on their way out as the bytes that are sent, in memory that is used again: as strings they would be copied four
// times, and be a third of the collector's work.

/** Before the events: an answer's head and the length of a chunk have room there. */
const HEAD_ROOM = 4096;
/** Behind them: the end of a chunk and of an answer. */
const END_ROOM = 16;
/** Bytes of events that wait for one write at the most. */
export const MOST_TOGETHER = 65_536;
const USUAL = HEAD_ROOM + MOST_TOGETHER + 32_768 + END_ROOM;
/** Blocks that are kept: writes are nearly always over when they return. */
const MOST_KEPT = 8;
/** A UTF-16 unit has three bytes at the most. */
const BYTES_OF_UNIT = 3;
/** UTF-16 units. */
const SHORT = 8192;

const kept: Buffer[] = [];

/** Some events. One writer fills it, and `free`s it when nothing reads it any more. */
export class EventBytes {
  readonly #block: Buffer;
  #from = HEAD_ROOM;
  #to = HEAD_ROOM;

  /** @param room bytes that it must have room for */
  constructor(room = 0) {
    const size = HEAD_ROOM + room + END_ROOM;
    this.#block = size > USUAL ? Buffer.allocUnsafeSlow(size) : (kept.pop() ?? Buffer.allocUnsafeSlow(USUAL));
  }

  /** With one text. */
  static of(text: string): EventBytes {
    const bytes = new EventBytes(mostBytes(text));
    bytes.push(text);
    return bytes;
  }

  get length(): number {
    return this.#to - this.#from;
  }

  /** Whether so many bytes more have room. */
  holds(bytes: number): boolean {
    return this.#to + bytes + END_ROOM <= this.#block.length;
  }

  /** Adds a text, for which there is room. */
  push(text: string): void {
    this.#to += this.#block.write(text, this.#to, 'utf8');
  }

  /** Adds what `write` writes, which has room. @param write returns where it ends */
  fill(write: (out: Uint8Array, at: number) => number): void {
    this.#to = write(this.#block, this.#to);
  }

  /** Puts a text of Latin-1 before all. False: it has no room. */
  lead(text: string): boolean {
    if (text.length > this.#from) return false;
    this.#from -= text.length;
    this.#block.write(text, this.#from, 'latin1');
    return true;
  }

  /** Adds the few bytes of ASCII that end all. */
  close(text: string): void {
    this.#to += this.#block.write(text, this.#to, 'latin1');
  }

  /** Its bytes, as long as it is not freed. */
  view(): Buffer {
    return this.#block.subarray(this.#from, this.#to);
  }

  /** Its memory is used again. */
  free(): void {
    if (this.#block.length === USUAL && kept.length < MOST_KEPT) kept.push(this.#block);
  }
}

/** Bytes that a text needs at the most. Short ones are not counted: there is room for more. */
export function mostBytes(text: string): number {
  return text.length < SHORT ? text.length * BYTES_OF_UNIT : Buffer.byteLength(text);
}
