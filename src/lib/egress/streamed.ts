// An answer read as it comes: a queue between the socket and one reader, with backpressure. Short pieces that wait are joined.
import type { IncomingHttpHeaders } from 'node:http';
import { fail } from '../errors.ts';
import { Pieces } from '../incoming/pieces.ts';
import { Exchange, Head } from './exchange.ts';
import type { OutboundRequest, StreamedAnswer } from './outbound.ts';
import type { Route } from './route.ts';

/** Bytes that wait for the reader before the socket is paused; it goes on at half of them. */
const HIGH_WATER = 256 * 1024;
const LOW_WATER = HIGH_WATER / 2;

type Piece = IteratorResult<Uint8Array, undefined>;

const DONE: Piece = { done: true, value: undefined };

class Streamed extends Head implements StreamedAnswer {
  readonly body: AsyncIterable<Uint8Array>;

  constructor(
    status: number,
    fields: IncomingHttpHeaders,
    raw: readonly Buffer[],
    body: AsyncIterable<Uint8Array>,
  ) {
    super(status, fields, raw);
    this.body = body;
  }
}

/** Settles a promise with the head; is itself the iterator over the body, for one reader. */
export class StreamedExchange extends Exchange implements AsyncIterableIterator<Uint8Array, undefined> {
  #resolve: (answer: StreamedAnswer) => void;
  #reject: (error: unknown) => void;
  #headless = true;
  #queue = new Pieces();
  #paused = false;
  #ended = false;
  #failed = false;
  #error: unknown;
  #reader: { resolve(piece: Piece): void; reject(error: unknown): void } | undefined;

  constructor(
    route: Route,
    request: OutboundRequest,
    resolve: (answer: StreamedAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    super(route, request);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next piece as it came off the socket. */
  next(): Promise<Piece> {
    if (this.#queue.bytes > 0) return Promise.resolve({ done: false, value: this.#take() });
    if (this.#failed) return Promise.reject(this.#error);
    if (this.#ended) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      if (this.#reader !== undefined) reject(new Error('the body has one reader, which already waits'));
      else this.#reader = { resolve, reject };
    });
  }

  /** Leaving early closes the socket: what is still to come is of no use to anybody. */
  return(): Promise<Piece> {
    this.abort(fail('client_closed', 'the reader left'));
    this.#queue.take();
    this.#failed = false;
    this.#ended = true;
    return Promise.resolve(DONE);
  }

  protected override onHead(status: number, fields: IncomingHttpHeaders, raw: readonly Buffer[]): void {
    this.#headless = false;
    this.#resolve(new Streamed(status, fields, raw, this));
  }

  protected override onPiece(piece: Buffer): void {
    const reader = this.#reader;
    if (reader !== undefined) {
      this.#reader = undefined;
      reader.resolve({ done: false, value: piece });
      return;
    }
    this.#queue.push(piece);
    if (this.#queue.held >= HIGH_WATER && !this.#paused) {
      this.#paused = true;
      this.pause();
    }
  }

  protected override onEnd(): void {
    this.#ended = true;
    this.#reader?.resolve(DONE);
    this.#reader = undefined;
  }

  /** What came before the failure is still read. */
  protected override onFailure(error: unknown): void {
    if (this.#headless) {
      this.#reject(error);
      return;
    }
    this.#failed = true;
    this.#error = error;
    this.#reader?.reject(error);
    this.#reader = undefined;
  }

  #take(): Buffer {
    const piece = this.#queue.shift();
    if (this.#paused && this.#queue.held <= LOW_WATER) {
      this.#paused = false;
      this.resume();
    }
    return piece;
  }
}
