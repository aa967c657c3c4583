// Cuts a stream that is passed through into frames: the bytes of each event, as they came, with the event that they say.
import { fail } from '../../lib/errors.ts';
import { Pieces } from '../../lib/incoming/pieces.ts';
import type { SseEvent } from '../../lib/sse.ts';
import { type FrameParser, type Framing, frameParser } from '../../providers/framing.ts';

/** Bytes that go out together. All frames of a stream, one after the other, are the stream. */
export interface StreamFrame {
  readonly bytes: Uint8Array;
  /** None of comments and of blank lines. */
  readonly events: readonly SseEvent[];
}

/** Longest frame, in bytes. */
const MAX_FRAME = 16 * 1024 * 1024;
const LF = 10;
const CR = 13;
/** Of AWS's frames: the length of the whole frame stands in the first four bytes. */
const LENGTH_BYTES = 4;
/** A blank line whose end may go on. */
const BLANK = -1;

/** Cuts one stream, however its bytes come. */
export class FrameCutter {
  readonly #framing: Framing;
  readonly #parser: FrameParser;
  /** Of a frame that is not whole; copies, because the socket's memory is used again. */
  readonly #pieces = new Pieces(true);
  /** Bytes of the line so far. */
  #line = 0;
  #afterCr = false;

  constructor(framing: Framing) {
    this.#framing = framing;
    this.#parser = frameParser(framing);
  }

  /** The frames that the bytes complete. @throws GatewayError upstream_garbage */
  push(chunk: Uint8Array): StreamFrame[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    return this.#framing === 'sse' ? this.#lines(bytes) : this.#binary(bytes);
  }

  /** What is left when the stream has ended. @throws GatewayError upstream_garbage */
  end(): StreamFrame[] {
    const bytes = this.#pieces.take();
    const events = [...(bytes.length === 0 ? [] : this.#parser.push(bytes)), ...this.#parser.end()];
    return bytes.length === 0 && events.length === 0 ? [] : [{ bytes, events }];
  }

  /** A blank line ends an event (WHATWG HTML, "9.2.6 Interpreting an event stream"); CR LF are one end of it. */
  #lines(chunk: Buffer): StreamFrame[] {
    const frames: StreamFrame[] = [];
    let from = 0;
    let at = 0;
    if (this.#afterCr && chunk.length > 0) {
      if (chunk[0] === LF) at = 1;
      if (this.#line === BLANK) {
        frames.push(this.#whole(chunk.subarray(0, at)));
        from = at;
        this.#line = 0;
      }
    }
    this.#afterCr = false;
    let cr = chunk.indexOf(CR, at);
    while (at < chunk.length) {
      const lf = chunk.indexOf(LF, at);
      if (cr !== -1 && cr < at) cr = chunk.indexOf(CR, at);
      const end = cr !== -1 && (lf === -1 || cr < lf) ? cr : lf;
      if (end === -1) {
        this.#line += chunk.length - at;
        break;
      }
      const isBlank = this.#line + end - at === 0;
      this.#line = 0;
      at = end + 1;
      if (end === cr && at === chunk.length) {
        // Whether a line feed belongs to it is seen with the next bytes.
        this.#afterCr = true;
        if (isBlank) this.#line = BLANK;
        break;
      }
      if (end === cr && chunk[at] === LF) at++;
      if (!isBlank) continue;
      frames.push(this.#whole(chunk.subarray(from, at)));
      from = at;
    }
    this.#keep(chunk.subarray(from));
    return frames;
  }

  #binary(chunk: Buffer): StreamFrame[] {
    this.#keep(chunk);
    const frames: StreamFrame[] = [];
    if (this.#pieces.bytes < Math.max(LENGTH_BYTES, this.#line)) return frames;
    let rest = this.#pieces.take();
    this.#line = 0;
    while (rest.length >= LENGTH_BYTES) {
      const length = rest.readUInt32BE(0);
      if (length < LENGTH_BYTES || length > MAX_FRAME) throw tooLong();
      if (rest.length < length) {
        // Bytes that are needed before the frame can be looked at.
        this.#line = length;
        break;
      }
      const bytes = rest.subarray(0, length);
      frames.push({ bytes, events: this.#parser.push(bytes) });
      rest = rest.subarray(length);
    }
    if (rest.length > 0) this.#pieces.push(rest);
    return frames;
  }

  #whole(last: Buffer): StreamFrame {
    this.#keep(last);
    const bytes = this.#pieces.take();
    return { bytes, events: this.#parser.push(bytes) };
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#pieces.bytes + bytes.length > MAX_FRAME + MAX_FRAME) throw tooLong();
    this.#pieces.push(bytes);
  }
}

function tooLong() {
  return fail('upstream_garbage', `an event of the stream is over ${MAX_FRAME} bytes`);
}
