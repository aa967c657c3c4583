// A streamed answer as the bytes of HTTP/1.1 in chunks: head and first events in one write, the last events and the end in one.
import type { Socket } from 'node:net';
import type { EventBytes } from '../event-bytes.ts';
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
    if (this.#sent || this.destroyed) return;
    this.#sent = true;
    this.#socket.write(this.#takeHead(), 'latin1');
  }

  write(events: EventBytes): boolean {
    return !this.#write(events, '\r\n');
  }

  end(events: EventBytes | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    if (events !== undefined) this.#write(events, `\r\n${END}`);
    else if (!this.destroyed) {
      this.#sent = true;
      this.#socket.write(this.#takeHead() + END, 'latin1');
    }
  }

  destroy(): void {
    this.#socket.destroy();
  }

  drained(): Promise<void> {
    return drained(this.#socket);
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = '';
    return head;
  }

  /** Whether more may follow at once. */
  #write(events: EventBytes, end: string): boolean {
    const socket = this.#socket;
    if (this.destroyed) {
      events.free();
      return true;
    }
    this.#sent = true;
    const size = `${events.length.toString(16)}\r\n`;
    const head = this.#takeHead();
    if (!events.lead(head + size)) {
      socket.write(head, 'latin1');
      events.lead(size);
    }
    events.close(end);
    // Until then the system may read it.
    return socket.write(events.view(), () => events.free());
  }
}
