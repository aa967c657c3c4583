// Lines of a file of rows, cut while they come, in turns of the event loop: a file may be a million lines of nothing, or one
// line that is expensive to read.

import { Pieces } from '../../lib/incoming/pieces.ts';
import { nextTurn } from '../../lib/time-slices.ts';
import { Turns } from '../../lib/turns.ts';
import { isTooHeavy, LIGHT_BYTES } from '../../rest/json-weight.ts';

/** Of one line, in bytes. */
const MAX_LINE = 25 * 1024 * 1024;
const LINE_FEED = 10;
const RETURN = 13;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** A line without its end. */
export interface TextLine {
  /** From 1. */
  readonly line: number;
  /** Undefined: the line is over the bound of bytes, or has too many members and items to be read. */
  readonly text: string | undefined;
  readonly bytes: number;
}

/** Cuts bytes into lines while they come. Empty lines are passed over and count. */
export class LineSplitter {
  readonly #turns = new Turns();
  #waiting = new Pieces();
  /** Of the line that waits, also where it is over the bound and not kept. */
  #held = 0;
  #line = 0;

  /** Bytes of the line that has not ended. */
  get held(): number {
    return this.#held;
  }

  /** The beginning of the line that has not ended: at most so many bytes. Empty where it is too long to be kept. */
  start(bytes: number): Buffer {
    return this.#waiting.start(bytes);
  }

  /** Forgets the line that has not ended. */
  clear(): void {
    this.#waiting = new Pieces();
    this.#held = 0;
  }

  /** The lines that end in the piece. It is cut while they are taken. */
  async *push(piece: Uint8Array): AsyncGenerator<TextLine, void, undefined> {
    let from = 0;
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, from)) {
      const pause = this.#turns.step(end - from);
      if (pause !== undefined) await pause;
      this.#keep(piece.subarray(from, end));
      from = end + 1;
      const line = await this.#taken();
      if (line !== undefined) yield line;
    }
    if (from < piece.length) this.#keep(piece.subarray(from));
  }

  /** The last line, where nothing ends it. */
  async *end(): AsyncGenerator<TextLine, void, undefined> {
    const line = this.#held > 0 ? await this.#taken() : undefined;
    if (line !== undefined) yield line;
  }

  #keep(piece: Uint8Array): void {
    this.#held += piece.length;
    if (this.#held <= MAX_LINE) {
      if (piece.length > 0) this.#waiting.push(piece);
    } else this.#waiting = new Pieces();
  }

  /** The line that waits; undefined: it is empty. */
  async #taken(): Promise<TextLine | undefined> {
    const line = ++this.#line;
    const bytes = this.#held;
    this.#held = 0;
    if (bytes === 0) return undefined;
    if (bytes > MAX_LINE) return { line, text: undefined, bytes };
    const whole = await this.#waiting.takeInTurns();
    if (bytes > LIGHT_BYTES) {
      if (await isTooHeavy(whole)) return { line, text: undefined, bytes };
      await nextTurn();
    }
    const from = line === 1 && whole.subarray(0, 3).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
    const text = whole.toString('utf8', from, whole.at(-1) === RETURN ? bytes - 1 : bytes);
    if (bytes > LIGHT_BYTES) await nextTurn();
    return text.trim() === '' ? undefined : { line, text, bytes };
  }
}

/** The lines of a file. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine> {
  const splitter = new LineSplitter();
  for await (const piece of pieces) yield* splitter.push(piece);
  yield* splitter.end();
}
