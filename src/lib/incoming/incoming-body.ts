// A request's body as it comes: an async iterable with backpressure, for one reader, within bounds of pace and memory.
import type { IncomingMessage } from 'node:http';
import { fail, type GatewayError } from '../errors.ts';
import type { Pace, Watched } from './pace.ts';
import { pauseForTurn } from './pause-for-turn.ts';
import { Pieces } from './pieces.ts';
import type { Reading } from './reading-budget.ts';

/** Bytes that wait for the reader before the socket is paused. */
const HIGH_WATER = 65_536;
/** Of a body that is kept whole, so many bytes are given together. */
const TOGETHER = 1024 * 1024;
/** Longer pieces are given at once. */
const SHORT = 4096;

type Next = IteratorResult<Buffer, undefined>;

export interface IncomingBodyOptions {
  readonly pace: Pace;
  /** Opened when the body begins to be read. */
  readonly reading: () => Reading;
  /** Whether the body is kept whole, which bounds its time. */
  readonly whole: boolean;
  /** Told what the reader is given. @returns the bytes of it and of what came before that count as being read */
  readonly heldOf?: (given: Buffer) => number;
  /** Whether no bytes are expected now, e.g. between two messages of a stream: then the client may be silent. */
  readonly mayIdle?: () => boolean;
  /** The error as the reader gets it. */
  readonly toError?: (error: GatewayError) => Error;
}

/**
 * Nothing is read before the first `next()`. Short pieces are joined. Ends with request_timeout for a body that comes too
 * slowly, overloaded when too many bytes are being read, client_closed when the client leaves.
 */
export class IncomingBody implements AsyncIterableIterator<Buffer, undefined> {
  readonly #req: IncomingMessage;
  readonly #options: IncomingBodyOptions;
  readonly #pieces = new Pieces();
  #reading: Reading | undefined;
  #watched: Watched | undefined;
  /** Bytes that were given and are still held by the reader. */
  #given = 0;
  #count = 0;
  #turn: NodeJS.Immediate | undefined;
  #ended = false;
  #error: Error | undefined;
  #reader: { resolve(next: Next): void; reject(error: Error): void } | undefined;

  constructor(req: IncomingMessage, options: IncomingBodyOptions) {
    this.#req = req;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Next> {
    if (this.#reading === undefined) this.#begin();
    if (this.#pieces.bytes > 0) return Promise.resolve({ done: false, value: this.#take() });
    if (this.#error) return Promise.reject(this.#error);
    if (this.#ended) {
      this.#reading?.release();
      return Promise.resolve({ done: true, value: undefined });
    }
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.#resume();
    });
  }

  /** The rest is not read. The connection is left as it is, so that an answer can still be written. */
  return(): Promise<Next> {
    this.#stop();
    this.#ended = true;
    this.#pieces.take();
    this.#reading?.release();
    return Promise.resolve({ done: true, value: undefined });
  }

  #begin(): void {
    const { pace, reading, whole } = this.#options;
    const req = this.#req;
    this.#reading = reading();
    this.#watched = pace.watch(whole, (error) => this.#fail(error));
    req.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose).on('error', this.#onClose);
    if (req.destroyed && !req.readableEnded) this.#onClose();
  }

  readonly #onData = (piece: Buffer): void => {
    const watched = this.#watched;
    if (watched) {
      this.#options.pace.resume(watched);
      watched.bytes += piece.length;
    }
    this.#pieces.push(piece);
    try {
      this.#reading?.hold(this.#given + this.#pieces.held);
    } catch (error) {
      this.#fail(error as GatewayError);
      return;
    }
    if (this.#reader === undefined) {
      if (this.#pieces.held >= HIGH_WATER) this.#pause();
    } else if (this.#pieces.bytes >= (this.#options.whole ? TOGETHER : SHORT)) this.#give();
    else if (!this.#options.whole) this.#turn ??= setImmediate(() => this.#give());
    pauseForTurn(this.#req, ++this.#count);
  };

  /** Short pieces that come together are given together: a reader that keeps them has less to keep. */
  #give(): void {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    const reader = this.#reader;
    if (reader === undefined || this.#pieces.bytes === 0) return;
    this.#reader = undefined;
    reader.resolve({ done: false, value: this.#take() });
  }

  readonly #onEnd = (): void => {
    this.#ended = true;
    this.#stop();
    this.#give();
    if (this.#reader === undefined) return;
    this.#reading?.release();
    this.#reader.resolve({ done: true, value: undefined });
    this.#reader = undefined;
  };

  readonly #onClose = (): void => {
    if (!this.#ended) this.#fail(fail('client_closed', 'the client has left before its body was there'));
  };

  #fail(error: GatewayError): void {
    if (this.#error || this.#ended) return;
    this.#error = this.#options.toError?.(error) ?? error;
    this.#stop();
    this.#pieces.take();
    this.#reading?.release();
    this.#reader?.reject(this.#error);
    this.#reader = undefined;
  }

  #take(): Buffer {
    const bytes = this.#pieces.take();
    this.#given = this.#options.heldOf?.(bytes) ?? 0;
    this.#reading?.hold(this.#given);
    return bytes;
  }

  #pause(): void {
    this.#req.pause();
    if (this.#watched) this.#options.pace.pause(this.#watched);
  }

  #resume(): void {
    const { pace, mayIdle } = this.#options;
    if (this.#watched && mayIdle?.()) pace.pause(this.#watched);
    else if (this.#watched) pace.resume(this.#watched);
    this.#req.resume();
  }

  #stop(): void {
    if (this.#watched) this.#options.pace.done(this.#watched);
    const req = this.#req;
    req.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    if (!this.#ended) req.pause();
  }
}
