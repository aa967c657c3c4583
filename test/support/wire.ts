// Protobuf's wire format by hand: messages that no encoder writes, and requests with any bytes as their body.
import http2 from 'node:http2';
import type { DescMessage } from '@bufbuild/protobuf';

/** A varint. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}

/** A field with a length, by its name or number. */
export function field(of: DescMessage, name: string | number, value: string | Uint8Array = ''): Buffer {
  const number = typeof name === 'number' ? name : of.field[name]!.number;
  const bytes = Buffer.from(value);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

/** One piece again and again, up to so many bytes. */
export function repeated(piece: Buffer, bytes: number): Buffer {
  return Buffer.alloc(Math.floor(bytes / piece.length) * piece.length, piece);
}

/** A message of gRPC with its prefix. */
export function enveloped(message: Uint8Array, isCompressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = isCompressed ? 1 : 0;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The gRPC status and message that a body is answered with. */
export function grpcStatus(
  origin: string,
  path: string,
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: string; readonly message: string }> {
  return new Promise((resolve, reject) => {
    // A client that holds much to send refuses the answer's head otherwise.
    const session = http2.connect(origin, { maxSessionMemory: 100 });
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    const told: Record<string, unknown> = {};
    stream.on('response', (head) => Object.assign(told, head));
    stream.on('trailers', (trailers) => Object.assign(told, trailers));
    stream.on('error', reject);
    // A refused body may never be read to its end, so the answer's end is waited for.
    stream.on('end', () => {
      session.destroy();
      resolve({
        status: String(told['grpc-status']),
        message: decodeURIComponent(String(told['grpc-message'])),
      });
    });
    stream.resume();
    stream.end(body);
  });
}
