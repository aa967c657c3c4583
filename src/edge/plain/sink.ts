// A streamed answer as the bytes of HTTP/1.1 in chunks: head and first events in one write, the last events and the end in one.
import type { Socket } from 'node:net';
import type { EventSink } from '../event-sink.ts';
import { drained, type Pairs } from '../respond.ts';
import { headText } from './answer.ts';

const END = '0\r\n\r\n';

/** Writes one answer. */
export class PlainSink implements EventSink {
  readonly #socket: Socket;
  readonly #keepAliveMs: number | undefined;
  #head = '';
  #sent = false;
  #ended = false;

  /** @param keepAliveMs how long the connection is held afterwards; undefined: it is closed */
  constructor(socket: Socket, keepAliveMs: number | undefined) {
    this.#socket = socket;
    this.#keepAliveMs = keepAliveMs;
  }

  /** Whether the answer has begun. */
  get sent(): boolean {
    return this.#sent;
  }

  /** Whether the answer is whole. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the client was told that the connection is closed afterwards. */
  get isLast(): boolean {
    return this.#keepAliveMs === undefined;
  }

  get destroyed(): boolean {
    return this.#socket.destroyed;
  }

  get full(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** @throws TypeError when a header's value has characters that may not be in one */
  head(status: number, headers: Pairs): void {
    this.#head = `${headText(status, headers, this.#keepAliveMs)}Transfer-Encoding: chunked\r\n\r\n`;
  }

  flushHead(): void {
    if (!this.#sent && !this.destroyed) this.#write('', '');
  }

  write(text: string): boolean {
    return text !== '' && !this.destroyed && !this.#write(text, '');
  }

  end(text: string): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!this.destroyed) this.#write(text, END);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  drained(): Promise<void> {
    return drained(this.#socket);
  }

  #write(text: string, end: string): boolean {
    const head = this.#head;
    this.#head = '';
    this.#sent = true;
    const length = text === '' ? 0 : Buffer.byteLength(text);
    const body = length === 0 ? end : `${length.toString(16)}\r\n${text}\r\n${end}`;
    // Without other characters than ASCII's a text is as long as its bytes. A head is latin-1.
    if (length === text.length) return this.#socket.write(head + body, 'latin1');
    if (head === '') return this.#socket.write(body, 'utf8');
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    const flushed = this.#socket.write(body, 'utf8');
    this.#socket.uncork();
    return flushed;
  }
}
