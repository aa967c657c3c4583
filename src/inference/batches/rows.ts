// The rows of a batch's input: lines of JSON, read one after the other.
import { isObject } from '../../providers/json-object.ts';
import type { BatchFault } from './collection.ts';

/** A request of a batch. */
export interface BatchRow {
  /** From 1. */
  readonly line: number;
  readonly customId: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A line: a row, or what is wrong with it. */
export type BatchLine =
  | { readonly line: number; readonly row: BatchRow }
  | {
      readonly line: number;
      readonly row?: undefined;
      readonly customId: string | null;
      readonly fault: BatchFault;
    };

/** Of one line, in bytes. */
const MAX_LINE = 25 * 1024 * 1024;
const MAX_ID = 512;

/** A line of text without its end. `undefined`: it is over the bound. */
export interface TextLine {
  /** From 1. */
  readonly line: number;
  readonly text: string | undefined;
}

/** Cuts bytes into lines while they come. Empty lines are passed over and count. */
export class LineSplitter {
  #waiting: Uint8Array[] = [];
  #held = 0;
  #line = 0;

  /** Bytes of the line that has not ended. */
  get held(): number {
    return this.#held;
  }

  /** The beginning of the line that has not ended: at most so many bytes. */
  start(bytes: number): Buffer {
    const pieces: Uint8Array[] = [];
    let left = bytes;
    for (const piece of this.#waiting) {
      if (left <= 0) break;
      pieces.push(piece.subarray(0, left));
      left -= piece.length;
    }
    return Buffer.concat(pieces);
  }

  /** Forgets the line that has not ended. */
  clear(): void {
    this.#waiting = [];
    this.#held = 0;
  }

  /** The lines that end in the piece. */
  push(piece: Uint8Array): TextLine[] {
    const lines: TextLine[] = [];
    let from = 0;
    for (let end = piece.indexOf(10); end !== -1; end = piece.indexOf(10, from)) {
      this.#take(piece.subarray(from, end), lines);
      from = end + 1;
    }
    this.#held += piece.length - from;
    if (this.#held <= MAX_LINE) this.#waiting.push(piece.subarray(from));
    // Too long to be read: nothing of it is kept.
    else this.#waiting = [];
    return lines;
  }

  /** The last line, where nothing ends it. */
  end(): TextLine[] {
    const lines: TextLine[] = [];
    if (this.#held > 0) this.#take(new Uint8Array(), lines);
    return lines;
  }

  #take(last: Uint8Array, lines: TextLine[]): void {
    this.#line++;
    const isOver = this.#held > MAX_LINE;
    const bytes = isOver ? undefined : Buffer.concat([...this.#waiting, last]);
    this.#waiting = [];
    this.#held = 0;
    let text = bytes?.toString('utf8').replace(/\r$/, '');
    if (this.#line === 1) text = text?.replace(/^\uFEFF/, '');
    if (text === undefined || text.trim() !== '') lines.push({ line: this.#line, text });
  }
}

/** The lines of a file. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine> {
  const splitter = new LineSplitter();
  for await (const piece of pieces) yield* splitter.push(piece);
  yield* splitter.end();
}

/** Reads lines as rows for one endpoint. */
export class RowReader {
  readonly #endpoint: string;
  readonly #seen = new Map<string, number>();

  constructor(endpoint: string) {
    this.#endpoint = endpoint;
  }

  read({ line, text }: TextLine): BatchLine {
    let customId: string | null = null;
    const bad = (param: string, message: string): BatchLine => ({
      line,
      customId,
      fault: faultAt(line, param, message),
    });
    if (text === undefined) return bad('', 'is too long');
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      return bad('', 'is no JSON');
    }
    if (!isObject(json)) return bad('', 'must be an object');
    const { custom_id: id, method, url, body } = json;
    if (typeof id !== 'string' || id.length === 0 || id.length > MAX_ID)
      return bad('custom_id', `must be a text of 1 to ${MAX_ID} characters`);
    customId = id;
    const before = this.#seen.get(id);
    if (before !== undefined)
      return bad('custom_id', `is the one of line ${before}, too; each must be its own`);
    this.#seen.set(id, line);
    if (method !== undefined && method !== 'POST') return bad('method', 'must be POST');
    if (url !== this.#endpoint) return bad('url', `must be ${this.#endpoint}, as the batch says`);
    if (!isObject(body)) return bad('body', 'must be an object');
    if (body.stream === true) return bad('body.stream', 'must not be true: answers of a batch are whole');
    if (body.background === true)
      return bad('body.background', 'must not be true: rows of a batch are made in the background already');
    return { line, row: { line, customId: id, body } };
  }
}

/** A fault that names its line and member. */
export function faultAt(line: number, param: string, message: string, code = 'invalid_request'): BatchFault {
  const what = param === '' ? `line ${line}` : `line ${line}: ${param}`;
  const text = param === '' ? `${what}: the line ${message}` : `${what}: ${message}`;
  return { code, message: text, line, ...(param === '' ? {} : { param }) };
}
