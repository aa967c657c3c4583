// The first bytes of a connection: HTTP/2 or HTTP/1, and of HTTP/1 the whole head, before anything else is made for it.
import type { Socket } from 'node:net';
import { Pieces } from '../lib/incoming/pieces.ts';
import { SLICE_BYTES } from './read-in-slices.ts';

const PREFACE = 'PRI';
const END = '\r\n\r\n';
/** What can still become a request line of HTTP/1; all else is refused at once. */
const LINE = /^[A-Z-]{1,20}(?: [^\r\n]*\r?)?$|^[A-Z-]{1,20} [^\r\n]* HTTP\/1\.[01]\r\n/;

/**
 * Reads until it is known what the connection speaks, then puts all back and calls `then`, once.
 * @param then `rest`: of many bytes of HTTP/1, what was not put back
 */
export function readFirstBytes(
  socket: Socket,
  maxHeadBytes: number,
  then: (version: 1 | 2, rest?: Buffer) => void,
): void {
  const pieces = new Pieces(true);
  let start = '';
  let tail = '';
  const close = (): void => void socket.destroy();
  const decide = (version: 1 | 2): void => {
    socket.off('readable', look).off('error', close).off('end', close);
    // Put back once, when it is decided: bytes put back while this listens would be read again at once.
    const bytes = pieces.take();
    const put = version === 1 ? Math.min(bytes.length, SLICE_BYTES) : bytes.length;
    socket.unshift(bytes.subarray(0, put));
    then(version, put < bytes.length ? bytes.subarray(put) : undefined);
  };
  const look = (): void => {
    const bytes: Buffer | null = socket.read();
    if (bytes === null) return;
    pieces.push(bytes);
    if (start.length < maxHeadBytes) start = head(start, bytes);
    if (start.startsWith(PREFACE)) {
      decide(2);
      return;
    }
    if (PREFACE.startsWith(start)) return;
    const seen = tail + bytes.toString('latin1');
    if (seen.includes(END) || pieces.bytes > maxHeadBytes || !LINE.test(start)) {
      decide(1);
      return;
    }
    tail = seen.slice(-END.length + 1);
  };
  socket.on('readable', look).once('error', close).once('end', close);
}

/** Whether bytes may be the beginning of a request of HTTP/1. */
export function mayBeRequest(bytes: Buffer): boolean {
  return LINE.test(head('', bytes));
}

/** The first line, as far as it is there. */
function head(start: string, bytes: Buffer): string {
  if (start.includes('\n')) return start;
  const text = start + bytes.toString('latin1');
  const end = text.indexOf('\n');
  return end === -1 ? text : text.slice(0, end + 1);
}
