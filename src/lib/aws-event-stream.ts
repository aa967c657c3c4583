// AWS's binary event stream ("vnd.amazon.eventstream"): frames of headers and a payload between lengths and checksums.
//   total length 4 | headers' length 4 | CRC-32 of both 4 | headers | payload | CRC-32 of all before 4
// AWS's own codec was tried: its first import holds the event loop for over 40 ms and keeps 13 MB. It writes the frames
// of the tests.
import { crc32 } from 'node:zlib';
import { fail, type GatewayError } from './errors.ts';
import { isHeavyJson, tooHeavyEvent } from './heavy-event.ts';
import { Pieces } from './incoming/pieces.ts';
import type { SseEvent } from './sse.ts';

const PRELUDE = 12;
const CHECKSUM = 4;
const DEFAULT_MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Bytes of header values by their type; of types 6 and 7 two bytes say how many. */
const FIXED: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];
const STRING = 7;

/** Before the name of what an exception's event is of, e.g. "exception:throttlingException". */
export const EXCEPTION = 'exception:';

/**
 * Reads one stream. Frames may be cut anywhere. An event's name is its `:event-type`, its data the payload's text; an
 * exception (`:exception-type`) or error (`:error-code`) is an event whose name begins with "exception:".
 */
export class AwsEventStreamParser {
  readonly #maxFrameBytes: number;
  readonly #pieces = new Pieces(true);
  /** Bytes that the next frame needs before it can be looked at. */
  #needed = PRELUDE;
  #failed: GatewayError | undefined;

  /** @param maxFrameBytes most bytes that one frame may have; default 16 MiB */
  constructor(maxFrameBytes: number = DEFAULT_MAX_FRAME_BYTES) {
    this.#maxFrameBytes = maxFrameBytes;
  }

  /** The events that the bytes complete. @throws GatewayError `upstream_garbage`, after the events before it were given */
  push(chunk: Uint8Array): SseEvent[] {
    if (this.#failed) throw this.#failed;
    if (chunk.length > 0) this.#pieces.push(chunk);
    const events: SseEvent[] = [];
    if (this.#pieces.bytes < this.#needed) return events;
    const bytes = this.#pieces.take();
    let from = 0;
    try {
      for (;;) {
        const length = this.#frameAt(bytes, from);
        if (length === undefined) break;
        const event = readFrame(bytes.subarray(from, from + length));
        if (event !== undefined) events.push(event);
        from += length;
      }
    } catch (error) {
      this.#failed = error as GatewayError;
      if (events.length === 0) throw error;
      return events;
    }
    if (from < bytes.length) this.#pieces.push(bytes.subarray(from));
    return events;
  }

  /** The bytes have ended: a frame that is not whole is none, and what it lacks the answer lacks too. */
  end(): SseEvent[] {
    if (this.#failed) throw this.#failed;
    return [];
  }

  /** The length of the frame that is there whole; undefined: more bytes are needed. */
  #frameAt(bytes: Buffer, from: number): number | undefined {
    const there = bytes.length - from;
    this.#needed = PRELUDE;
    if (there < PRELUDE) return undefined;
    if (crc32(bytes.subarray(from, from + 8)) !== bytes.readUInt32BE(from + 8))
      throw broken('a checksum is wrong');
    const length = bytes.readUInt32BE(from);
    if (length > this.#maxFrameBytes) throw broken(`a frame is over ${this.#maxFrameBytes} bytes`);
    if (length < PRELUDE + CHECKSUM + bytes.readUInt32BE(from + 4)) throw broken('a frame is too short');
    this.#needed = length;
    return there < length ? undefined : length;
  }
}

function readFrame(frame: Buffer): SseEvent | undefined {
  const end = frame.length - CHECKSUM;
  if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) throw broken('a checksum is wrong');
  const payload = PRELUDE + frame.readUInt32BE(4);
  const headers = readHeaders(frame.subarray(PRELUDE, payload));
  if (isHeavyJson(frame.subarray(payload, end))) throw tooHeavyEvent();
  const data = frame.toString('utf8', payload, end);
  switch (headers.get(':message-type')) {
    case 'exception':
      return { event: EXCEPTION + (headers.get(':exception-type') ?? ''), data };
    case 'error': {
      const message = headers.get(':error-message') ?? data;
      return { event: EXCEPTION + (headers.get(':error-code') ?? ''), data: JSON.stringify({ message }) };
    }
    default:
      return { event: headers.get(':event-type') ?? 'message', data };
  }
}

/** Headers that are texts; others are passed by. */
function readHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  const take = (count: number): number => {
    const from = at;
    at += count;
    if (at > bytes.length) throw broken('a header is cut off');
    return from;
  };
  while (at < bytes.length) {
    const nameLength = bytes[take(1)]!;
    const name = take(nameLength);
    const type = bytes[take(1)]!;
    if (type >= FIXED.length) throw broken('a header has an unknown type');
    const length = FIXED[type] ?? bytes.readUInt16BE(take(2));
    const value = take(length);
    if (type === STRING)
      headers.set(
        bytes.toString('utf8', name, name + nameLength),
        bytes.toString('utf8', value, value + length),
      );
  }
  return headers;
}

function broken(why: string): GatewayError {
  return fail('upstream_garbage', `the event stream is broken: ${why}`);
}
