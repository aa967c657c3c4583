// Where a streamed answer is written: an answer of node:http, or a plain connection.
import type { ServerResponse } from 'node:http';
import type { EventBytes } from './event-bytes.ts';
import { drained, type Pairs } from './respond.ts';

/** Takes one streamed answer. */
export interface EventSink {
  /** The head, sent with what is written first. */
  head(status: number, headers: Pairs): void;
  /** Sends the head now. */
  flushHead(): void;
  /** Takes the events, and frees them. @returns whether more should wait for `drained` */
  write(events: EventBytes): boolean;
  /** Ends the answer. @param events its last ones, which are freed */
  end(events: EventBytes | undefined): void;
  /** Ends the connection. */
  destroy(): void;
  readonly destroyed: boolean;
  /** Whether more should wait for `drained`. */
  readonly full: boolean;
  /** @throws GatewayError client_closed when the client has left, or takes nothing for too long */
  drained(): Promise<void>;
}

/** An answer of node:http as a sink. */
export class ResponseSink implements EventSink {
  readonly #res: ServerResponse;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  head(status: number, headers: Pairs): void {
    this.#res.writeHead(status, Object.fromEntries(headers));
  }

  flushHead(): void {
    this.#res.flushHeaders();
  }

  write(events: EventBytes): boolean {
    return !this.#res.write(copyOf(events));
  }

  end(events: EventBytes | undefined): void {
    if (events === undefined) this.#res.end();
    else this.#res.end(copyOf(events));
  }

  destroy(): void {
    this.#res.destroy();
  }

  get destroyed(): boolean {
    return this.#res.destroyed;
  }

  get full(): boolean {
    return this.#res.writableNeedDrain;
  }

  drained(): Promise<void> {
    return drained(this.#res);
  }
}

/** Answers of node:http keep what they are given for as long as they like. */
function copyOf(events: EventBytes): Buffer {
  const copy = Buffer.from(events.view());
  events.free();
  return copy;
}
