// One connection whose requests are plain: read and answered here, without what node:http has to keep for all that a
// request can be. The first request that is not goes to node:http, and the connection with it.
import type { Socket } from 'node:net';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { JsonAnswer } from '../respond.ts';
import { writeAnswer } from './answer.ts';
import { type PlainHead, readPlain } from './head.ts';

/** One request while it is answered. */
export interface PlainRequest extends PlainHead {
  /** Whom it came from, and over what. */
  readonly socket: Socket;
  /** Told when the client leaves; set by whom it concerns. */
  left: ((error: GatewayError) => void) | undefined;
}

/**
 * Takes a request, and resolves with its answer; with undefined when its client has left. What it throws or rejects with is
 * its own mistake: the connection is closed. Undefined: it is none of its own, and nothing was done.
 */
export type PlainHandler = (request: PlainRequest) => Promise<JsonAnswer | undefined> | undefined;

export interface PlainFacts {
  readonly handle: PlainHandler;
  /** Takes the connection, whose next bytes are to be read from it, for good. */
  readonly handOver: (socket: Socket) => void;
  /** How long an idle connection is held, in milliseconds. */
  readonly keepAliveMs: number;
  /** Whether connections end with their answers. */
  readonly draining: () => boolean;
  /** Told of what cannot be written. */
  readonly onTrouble: (error: unknown) => void;
}

/** So much of what comes before the answer is out is taken; behind it the connection is not read. */
const MAX_EARLY_BYTES = 65_536;
/** Beyond what the client is told, so that it does not write onto a connection that is being closed. */
const GRACE_MS = 1000;

export class PlainConnection {
  readonly #socket: Socket;
  readonly #facts: PlainFacts;
  #running: PlainRequest | undefined;
  /** What came before the answer was out. */
  #early: Buffer | undefined;
  /** The answer is out, and the client has not taken it yet. */
  #stalled = false;

  constructor(socket: Socket, facts: PlainFacts) {
    this.#socket = socket;
    this.#facts = facts;
  }

  /** @param first what was read of the connection */
  begin(first: Buffer): void {
    const socket = this.#socket;
    const { keepAliveMs } = this.#facts;
    socket.setTimeout(keepAliveMs + GRACE_MS);
    socket.on('data', this.#onData).on('timeout', this.#onTimeout);
    socket.on('close', this.#onClose).on('error', onError);
    this.#take(first);
  }

  /** Ends it, at once or with its answer. */
  drain(): void {
    if (this.#running === undefined && !this.#stalled) this.#socket.destroy();
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#running === undefined && !this.#stalled) {
      this.#take(bytes);
      return;
    }
    this.#early = this.#early === undefined ? bytes : Buffer.concat([this.#early, bytes]);
    // Up to there it is read on, since the end of a connection that is not read is not heard of.
    if (this.#early.length >= MAX_EARLY_BYTES) this.#socket.pause();
  };

  readonly #onTimeout = (): void => {
    if (this.#running === undefined) this.#socket.destroy();
  };

  readonly #onClose = (): void => {
    this.#running?.left?.(fail('client_closed', 'the client has left'));
  };

  #take(bytes: Buffer): void {
    const head = readPlain(bytes);
    if (head !== undefined) {
      const { url, headers, body } = head;
      const request: PlainRequest = { url, headers, body, socket: this.#socket, left: undefined };
      try {
        const answer = this.#facts.handle(request);
        if (answer !== undefined) {
          this.#running = request;
          answer.then(this.#onAnswer, this.#onFailure);
          return;
        }
      } catch (error) {
        this.#onFailure(error);
        return;
      }
    }
    this.#handOver(bytes);
  }

  readonly #onAnswer = (answer: JsonAnswer | undefined): void => {
    const socket = this.#socket;
    this.#running = undefined;
    // It is closed, or about to be: the client has ended it.
    if (!socket.writable) return;
    if (answer === undefined) {
      socket.destroy();
      return;
    }
    const last = this.#facts.draining();
    try {
      this.#stalled = !writeAnswer(socket, answer, last ? undefined : this.#facts.keepAliveMs);
    } catch (error) {
      this.#onFailure(error);
      return;
    }
    if (last) this.#close();
    else if (this.#stalled) socket.once('drain', this.#onDrain);
    else if (this.#early !== undefined) this.#goOn();
  };

  /** Nothing that goes wrong on a connection concerns another. */
  readonly #onFailure = (error: unknown): void => {
    this.#running = undefined;
    this.#facts.onTrouble(error);
    this.#socket.destroy();
  };

  readonly #onDrain = (): void => {
    this.#stalled = false;
    if (this.#facts.draining()) this.#close();
    else if (this.#early !== undefined) this.#goOn();
  };

  /** With what was written; what comes from now on is nobody's. */
  #close(): void {
    this.#socket.off('data', this.#onData).destroySoon();
  }

  #goOn(): void {
    const bytes = this.#early as Buffer;
    this.#early = undefined;
    this.#socket.resume();
    this.#take(bytes);
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    socket.off('data', this.#onData).off('timeout', this.#onTimeout);
    socket.off('close', this.#onClose).off('error', onError);
    socket.setTimeout(0);
    // Put back while nobody reads; whoever gets the connection has it flow again.
    socket.pause();
    socket.unshift(bytes);
    this.#facts.handOver(socket);
    socket.resume();
  }
}

/** The close that follows says all. */
function onError(): void {}
