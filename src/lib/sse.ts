// Server-sent events, read from bytes as they come off a socket (WHATWG HTML,
// "9.2.6 Interpreting an event stream") and written as text.
import { fail, type GatewayError } from './errors.ts';
import { isHeavyJson, LIGHT_EVENT_BYTES, tooHeavyEvent } from './heavy-event.ts';
import { Pieces } from './incoming/pieces.ts';

/** One server-sent event. `event` is "message" when the stream names none. */
export interface SseEvent {
  readonly event: string;
  readonly data: string;
}

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const D = 100;
const E = 101;
/** Most lines of data in one event: each line costs an object in addition to its bytes. */
const MAX_DATA_LINES = 65_536;
const DEFAULT_MAX_EVENT_BYTES = 16 * 1024 * 1024;

/**
 * Reads one stream. Lines may end in CR, LF or CRLF and may be cut anywhere, within a
 * UTF-8 sequence too; the events are the same however the bytes are cut. `id` and
 * `retry` are of no use here and are skipped like comments.
 */
export class SseParser {
  readonly #maxEventBytes: number;
  /** Pieces of an unfinished line; copies, because the socket's buffer is reused. */
  readonly #pieces = new Pieces(true);
  /** Data of the event so far; undefined before its first data line. */
  #data: string | undefined;
  #dataBytes = 0;
  #dataLines = 0;
  #event = '';
  #first = true;
  #skipLf = false;
  #failed: GatewayError | undefined;

  /** @param maxEventBytes most bytes that the data of one event (or one line) may have; default 16 MiB. */
  constructor(maxEventBytes: number = DEFAULT_MAX_EVENT_BYTES) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Whether the bytes so far end with a whole event. */
  get idle(): boolean {
    return (
      this.#pieces.bytes === 0 &&
      this.#data === undefined &&
      this.#event === '' &&
      !this.#first &&
      !this.#skipLf &&
      this.#failed === undefined
    );
  }

  /**
   * The events that the bytes complete.
   * @throws GatewayError `upstream_garbage` for an event over the bound or too heavy to be read, after the events before it
   * were given.
   */
  push(chunk: Uint8Array): SseEvent[] {
    if (this.#failed) throw this.#failed;
    const bytes = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const events: SseEvent[] = [];
    if (bytes.length > 0) this.#read(bytes, events);
    return this.#given(events);
  }

  /** Ends the stream: a last event without its blank line still counts when it has data. */
  end(): SseEvent[] {
    if (this.#failed) throw this.#failed;
    const events: SseEvent[] = [];
    if (this.#pieces.bytes > 0) this.#endLine(Buffer.alloc(0), 0, 0, events);
    this.#dispatch(events);
    return this.#given(events);
  }

  #given(events: SseEvent[]): SseEvent[] {
    if (this.#failed && events.length === 0) throw this.#failed;
    return events;
  }

  #read(bytes: Buffer, events: SseEvent[]): void {
    let from = 0;
    if (this.#skipLf) {
      this.#skipLf = false;
      if (bytes[0] === LF) from = 1;
    }
    // CR is rare: it is looked for again only once the last one found has been passed.
    let cr = bytes.indexOf(CR, from);
    while (from < bytes.length) {
      let end = bytes.indexOf(LF, from);
      if (cr !== -1 && cr < from) cr = bytes.indexOf(CR, from);
      let next = end + 1;
      if (cr !== -1 && (end === -1 || cr < end)) {
        end = cr;
        next = cr + 1;
        if (next === bytes.length) this.#skipLf = true;
        else if (bytes[next] === LF) next += 1;
      }
      if (end === -1) {
        this.#keep(bytes.subarray(from));
        return;
      }
      this.#endLine(bytes, from, end, events);
      if (this.#failed) return;
      from = next;
    }
  }

  #keep(piece: Buffer): void {
    if (!this.#tooLong(this.#pieces.bytes + piece.length)) this.#pieces.push(piece);
  }

  #endLine(bytes: Buffer, from: number, end: number, events: SseEvent[]): void {
    if (this.#tooLong(this.#pieces.bytes + end - from)) return;
    if (this.#pieces.bytes === 0) {
      this.#line(bytes, from, end, events);
      return;
    }
    this.#pieces.push(bytes.subarray(from, end));
    const line = this.#pieces.take();
    this.#line(line, 0, line.length, events);
  }

  #tooLong(lineBytes: number): boolean {
    if (this.#dataBytes + lineBytes <= this.#maxEventBytes) return false;
    this.#fail(`is over ${this.#maxEventBytes} bytes`);
    return true;
  }

  #fail(what: string): void {
    this.#pieces.take();
    this.#data = undefined;
    this.#failed = fail('upstream_garbage', `an event of the stream ${what}`);
  }

  /** Before the event is dispatched: what reads its data need not be careful. */
  #isHeavy(bytes: Uint8Array): boolean {
    if (!isHeavyJson(bytes)) return false;
    this.#pieces.take();
    this.#data = undefined;
    this.#failed = tooHeavyEvent();
    return true;
  }

  /** A single line was weighed when it came. */
  #isHeavyInLines(data: string): boolean {
    return this.#dataLines > 1 && this.#dataBytes > LIGHT_EVENT_BYTES && this.#isHeavy(Buffer.from(data));
  }

  #line(bytes: Buffer, start: number, end: number, events: SseEvent[]): void {
    let from = start;
    if (this.#first) {
      this.#first = false;
      if (end - from >= 3 && bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf) {
        from += 3;
      }
    }
    if (from === end) this.#dispatch(events);
    else if (bytes[from] === D && isField(bytes, from, end, 'data')) {
      if (end - from > LIGHT_EVENT_BYTES && this.#isHeavy(bytes.subarray(from, end))) return;
      const value = valueAt(bytes, from + 4, end);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
      this.#dataBytes += end - from;
      if (++this.#dataLines > MAX_DATA_LINES) this.#fail(`has more than ${MAX_DATA_LINES} lines`);
    } else if (bytes[from] === E && isField(bytes, from, end, 'event')) {
      this.#event = valueAt(bytes, from + 5, end);
    }
  }

  #dispatch(events: SseEvent[]): void {
    if (this.#data !== undefined && !this.#isHeavyInLines(this.#data))
      events.push({ event: this.#event || 'message', data: this.#data });
    this.#data = undefined;
    this.#dataBytes = 0;
    this.#dataLines = 0;
    this.#event = '';
  }
}

/** Whether the line's field has this name: the name and then a colon or the line's end. */
function isField(bytes: Buffer, from: number, end: number, name: 'data' | 'event'): boolean {
  const after = from + name.length;
  if (after > end || (after < end && bytes[after] !== COLON)) return false;
  for (let i = 1; i < name.length; i += 1) {
    if (bytes[from + i] !== name.charCodeAt(i)) return false;
  }
  return true;
}

/** The field's value: what follows the colon, without one leading space. */
function valueAt(bytes: Buffer, colon: number, end: number): string {
  const from = bytes[colon + 1] === SPACE && colon + 1 < end ? colon + 2 : colon + 1;
  return from >= end ? '' : bytes.toString('utf8', from, end);
}

/** One event as text: data of several lines becomes several data lines. */
export function formatSse(data: string, event?: string): string {
  const head = event === undefined ? '' : `event: ${event}\n`;
  if (!data.includes('\n') && !data.includes('\r')) return `${head}data: ${data}\n\n`;
  return `${head}data: ${data.split(/\r\n|\n|\r/).join('\ndata: ')}\n\n`;
}
