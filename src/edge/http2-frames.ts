// Frames of HTTP/2 in bytes that are at hand, before the engine reads them: it makes every request of one piece before any
// code here hears of the first. RFC 9113, part 4.1.
import type { Socket } from 'node:net';

const PREFACE_BYTES = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length;
const HEAD_BYTES = 9;
const HEADERS = 1;

/** Requests that begin in the bytes of a new connection that have come already; they stay where they are. */
export function requestsWaiting(stream: Socket): number {
  const bytes: Buffer | null = stream.readableLength > 0 ? stream.read() : null;
  if (bytes === null) return 0;
  stream.unshift(bytes);
  return requestsIn(bytes);
}

function requestsIn(bytes: Uint8Array): number {
  let requests = 0;
  let at = PREFACE_BYTES;
  while (at + HEAD_BYTES <= bytes.length) {
    if (bytes[at + 3] === HEADERS) requests++;
    at += HEAD_BYTES + ((bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!);
  }
  return requests;
}
