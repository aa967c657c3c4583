// Frames of AWS's event stream, written by AWS's own codec.
import { EventStreamCodec } from '@smithy/core/event-streams';

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (text) => Buffer.from(text, 'utf8'),
);

/** The bytes of `[event, payload]` or `[exception, payload, "exception"]`, one after the other. */
export function framed(frames: unknown): Buffer {
  const all = frames as readonly (readonly [string, unknown, string?])[];
  return Buffer.concat(
    all.map(([name, payload, kind = 'event']) => frame(name, JSON.stringify(payload), kind)),
  );
}

/** The frames of a stream: their types and JSON payloads. @throws Error for a wrong checksum */
export function unframed(bytes: Buffer): { name: string; json: Record<string, never> }[] {
  const frames = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const { headers, body } = codec.decode(bytes.subarray(at, at + length));
    const name = String((headers[':event-type'] ?? headers[':exception-type'])?.value);
    frames.push({ name, json: JSON.parse(Buffer.from(body).toString('utf8')) as Record<string, never> });
    at += length;
  }
  return frames;
}

/** One frame. */
export function frame(name: string, payload: string, kind = 'event'): Uint8Array {
  return codec.encode({
    headers: {
      ':content-type': { type: 'string', value: 'application/json' },
      [`:${kind}-type`]: { type: 'string', value: name },
      ':message-type': { type: 'string', value: kind },
      sent: { type: 'timestamp', value: new Date(1_700_000_000_000) },
      last: { type: 'boolean', value: false },
    },
    body: Buffer.from(payload, 'utf8'),
  });
}
