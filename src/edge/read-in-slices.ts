// What comes on a connection is parsed in slices: 64 KiB of a body in chunks of one byte are 11,000 pieces, 30 ms of one turn.
import type { Socket } from 'node:net';
import { inItsTurn } from '../lib/incoming/pause-for-turn.ts';

/** Bytes of a slice at the least: 700 pieces of one byte. */
export const SLICE_BYTES = 4096;
/** Lines of a slice; a piece has two. */
const SLICE_LINES = 1400;
const LINE_FEED = 10;

const sliced = new WeakSet<Socket>();

/**
 * From now on gives no more than a slice of the connection's bytes in one turn of the event loop, and takes no more from it meanwhile. Once for a connection, when it has been handed to node:http.
 * @param first bytes that were read and not given yet
 */
export function readInSlices(stream: Socket, first?: Buffer): void {
  if (sliced.has(stream)) return;
  sliced.add(stream);
  const push = stream.push.bind(stream);
  const read = stream._read.bind(stream);
  const queue: (Buffer | null)[] = [];
  let isWanted = false;
  const next = (): void => inItsTurn(deliver);
  const deliver = (): void => {
    if (stream.destroyed) return;
    if (stream.isPaused()) {
      stream.once('resume', next);
      return;
    }
    const bytes = queue[0];
    const end = bytes ? sliceOf(bytes) : 0;
    if (bytes && end < bytes.length) {
      queue[0] = bytes.subarray(end);
      push(bytes.subarray(0, end));
    } else if (bytes !== undefined) {
      queue.shift();
      push(bytes);
    }
    if (queue.length > 0) next();
    else if (isWanted) {
      isWanted = false;
      read(SLICE_BYTES);
    }
  };
  stream.push = (chunk: Buffer | null): boolean => {
    if (queue.length === 0 && (chunk === null || sliceOf(chunk) === chunk.length)) return push(chunk);
    if (queue.push(chunk) === 1) next();
    return false;
  };
  stream._read = (size) => {
    if (queue.length === 0) read(size);
    else isWanted = true;
  };
  // A listener takes the connection back from the parser, which else reads it without the stream.
  const listener = (): void => {};
  stream.on('data', listener).off('data', listener);
  if (first !== undefined) stream.push(first);
}

/** Where the slice ends that bytes begin with: long pieces are not cut, many short ones are. */
function sliceOf(bytes: Buffer): number {
  if (bytes.length <= SLICE_BYTES) return bytes.length;
  let end = 0;
  for (let lines = 0; lines < SLICE_LINES; lines++) {
    end = bytes.indexOf(LINE_FEED, end) + 1;
    if (end === 0) return bytes.length;
  }
  return Math.max(end, SLICE_BYTES);
}
