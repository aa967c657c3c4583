// An answer read whole: pieces are collected, at most so many bytes of them.
import type { IncomingHttpHeaders } from 'node:http';
import { fail, type GatewayError } from '../errors.ts';
import { Pieces } from '../incoming/pieces.ts';
import { Exchange, Head } from './exchange.ts';
import type { OutboundRequest, WholeAnswer } from './outbound.ts';
import type { Route } from './route.ts';

const NOTHING = new Uint8Array(0);

class Whole extends Head implements WholeAnswer {
  body: Uint8Array = NOTHING;
}

/** Settles a promise with the whole answer. */
export class WholeExchange extends Exchange {
  #maxBytes: number;
  #resolve: (answer: WholeAnswer) => void;
  #reject: (error: unknown) => void;
  #answer: Whole | undefined;
  #pieces = new Pieces();

  constructor(
    route: Route,
    request: OutboundRequest,
    maxBytes: number,
    resolve: (answer: WholeAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    super(route, request);
    this.#maxBytes = maxBytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  protected override onHead(status: number, fields: IncomingHttpHeaders, raw: readonly Buffer[]): void {
    this.#answer = new Whole(status, fields, raw);
  }

  protected override onPiece(piece: Buffer): void {
    this.#pieces.push(piece);
    if (this.#pieces.bytes > this.#maxBytes) this.abort(this.#tooLong());
  }

  protected override onEnd(): void {
    const answer = this.#answer!;
    if (!this.#pieces.isShort) {
      this.#pieces.takeInTurns().then((body) => {
        answer.body = body;
        this.#resolve(answer);
      }, this.#reject);
      return;
    }
    if (this.#pieces.bytes > 0) answer.body = this.#pieces.take();
    this.#resolve(answer);
  }

  protected override onFailure(error: unknown): void {
    this.#pieces.take();
    this.#reject(error);
  }

  #tooLong(): GatewayError {
    return fail('upstream_garbage', `the answer of ${this.host} is longer than ${this.#maxBytes} bytes`);
  }
}
