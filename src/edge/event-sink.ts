// Where a streamed answer is written: an answer of node:http, or a plain connection.
import type { ServerResponse } from 'node:http';
import { drained, type Pairs } from './respond.ts';

/** Takes one streamed answer. */
export interface EventSink {
  /** The head, sent with what is written first. */
  head(status: number, headers: Pairs): void;
  /** Sends the head now. */
  flushHead(): void;
  /** @returns whether more should wait for `drained` */
  write(text: string): boolean;
  /** Ends the answer. @param text its last part */
  end(text: string): void;
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

  write(text: string): boolean {
    return !this.#res.write(text);
  }

  end(text: string): void {
    if (text === '') this.#res.end();
    else this.#res.end(text);
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
