// A JSON answer as the bytes of HTTP/1.1, head and body in one write.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type JsonAnswer, MAX_JOINED, type Pairs } from '../respond.ts';

/** Characters that a header's value must not have (RFC 9110, part 5.5). */
const NO_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Writes it. False: the client takes it slowly; 'drain' follows.
 * @param keepAliveMs how long the connection is held afterwards; undefined: it is closed
 * @throws TypeError when a header's value has characters that may not be in one
 */
export function writeAnswer(socket: Socket, answer: JsonAnswer, keepAliveMs: number | undefined): boolean {
  const { status, json } = answer;
  const length = typeof json === 'string' ? Buffer.byteLength(json) : json.length;
  const own = 'content-type: application/json\r\n';
  const last = `content-length: ${length}\r\n`;
  const head = `${headText(status, answer.headers, keepAliveMs, own, last)}\r\n`;
  // A text without other characters than ASCII's is as long as its bytes.
  if (typeof json === 'string' && length === json.length && length <= MAX_JOINED)
    return socket.write(head + json, 'latin1');
  if (typeof json !== 'string' && length <= MAX_JOINED) {
    const body = Buffer.from(json.buffer, json.byteOffset, length);
    // Latin-1 keeps the bytes as they are.
    return socket.write(head + body.toString('latin1'), 'latin1');
  }
  socket.cork();
  socket.write(head, 'latin1');
  const flushed = socket.write(json);
  socket.uncork();
  return flushed;
}

/**
 * The beginning of a head, up to and with the line of its connection.
 * @param keepAliveMs how long the connection is held afterwards; undefined: it is closed @param own lines that come
 * first @param last lines that come after the headers
 * @throws TypeError when a header's value has characters that may not be in one
 */
export function headText(
  status: number,
  headers: Pairs,
  keepAliveMs: number | undefined,
  own = '',
  last = '',
): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${own}`;
  for (const [name, value] of headers) {
    if (NO_VALUE.test(value)) throw new TypeError(`the header ${name} cannot be sent`);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}${last}Date: ${dateText()}\r\n${connectionLines(keepAliveMs)}`;
}

let keptMs = 0;
let keptLines = '';

function connectionLines(keepAliveMs: number | undefined): string {
  if (keepAliveMs === undefined) return 'Connection: close\r\n';
  if (keptMs !== keepAliveMs) {
    keptMs = keepAliveMs;
    keptLines = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`;
  }
  return keptLines;
}

let dated = 0;
let date = '';

/** Of this second. */
function dateText(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dated) {
    dated = second;
    date = new Date(second * 1000).toUTCString();
  }
  return date;
}
