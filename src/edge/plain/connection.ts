// One connection whose requests are plain: read and answered here, without what node:http keeps for all that a request can
// be, which is a fifth of a model call. The first request that is not goes to node:http, and the connection with it. So does
// a request without a valid key: the bounds on unauthenticated clients are applied in one place.
import type { Socket } from 'node:net';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { Connection } from '../connections.ts';
import type { EventSink } from '../event-sink.ts';
import { mayBeRequest } from '../first-bytes.ts';
import { onHalfClosed, type WaitingAnswer } from '../half-closed.ts';
import { SLICE_BYTES } from '../read-in-slices.ts';
import type { JsonAnswer } from '../respond.ts';
import { writeAnswer } from './answer.ts';
import { KnownHead, type PlainHead, readPlain } from './head.ts';
import { PlainSink } from './sink.ts';

/** One request while it is answered. */
export interface PlainRequest extends PlainHead {
  /** What it came over. */
  readonly socket: Socket;
  /** Called when the client leaves; set by the handler. */
  left: ((error: GatewayError) => void) | undefined;
}

/** A streamed answer. */
export interface StreamedAnswer {
  /** Writes it; resolves when all is written, or its client has left. */
  readonly write: (sink: EventSink) => Promise<void>;
}

/**
 * Takes a request with a valid key, and resolves with its answer; with undefined when its client has left. What it throws
 * or rejects with is a mistake of its own: the connection is closed. Undefined: it does not take it, and nothing was done.
 */
export type PlainHandler = (
  request: PlainRequest,
) => Promise<JsonAnswer | StreamedAnswer | undefined> | undefined;

/** What answers plain requests. */
export interface Plain {
  readonly handle: PlainHandler;
  /** Whether the body of a request is waited for: its caller has a valid key. */
  readonly awaits: (request: PlainRequest) => boolean;
}

export interface PlainDeps extends Plain {
  /** The connection's requests have valid keys. */
  readonly prove: (connection: Connection) => void;
  /** Takes the connection for good; its next bytes are read from it. @param rest what comes after them, read already */
  readonly handOver: (connection: Connection, rest: Buffer | undefined) => void;
  /** How long the body of a head that came alone is waited for, in milliseconds; 20 when absent. */
  readonly bodyWaitMs?: number;
  /** How long an idle connection is held, in milliseconds. */
  readonly keepAliveMs: number;
  /** Whether connections end with their answers. */
  readonly draining: () => boolean;
  /** Told of what cannot be written. */
  readonly onTrouble: (error: unknown) => void;
}

/** Bytes that are taken before the answer is out; beyond them the connection is not read. */
const MAX_EARLY_BYTES = 65_536;
/** Short: node:http has the bounds on slow bodies. */
const BODY_WAIT_MS = 20;
/** Added to what the client is told, so that it does not write onto a connection that is being closed. */
const GRACE_MS = 1000;

export class PlainConnection {
  readonly #connection: Connection;
  readonly #socket: Socket;
  readonly #deps: PlainDeps;
  #running: PlainRequest | undefined;
  /** The beginning of a request whose body comes by itself. */
  #partial: Buffer | undefined;
  /** Hands that beginning over. */
  #patience: NodeJS.Timeout | undefined;
  /** What came before the answer was out, or was read before the connection began. */
  #early: Buffer | undefined;
  /** The answer is out, and the client has not taken it yet. */
  #stalled = false;
  /** The client has ended its side. */
  #ended = false;
  /** Where the answer is written, where it is a streamed one. */
  #sink: PlainSink | undefined;
  /** Of a client with a valid key. */
  #known: KnownHead | undefined;
  /** Of a client that has ended its side: what it waits for. */
  readonly #waiting = new Set<WaitingAnswer>();

  constructor(connection: Connection, deps: PlainDeps) {
    this.#connection = connection;
    this.#socket = connection.stream;
    this.#deps = deps;
  }

  /** @param rest what comes after the bytes that wait on the stream */
  begin(rest: Buffer | undefined): void {
    const socket = this.#socket;
    this.#early = rest;
    socket.setTimeout(this.#deps.keepAliveMs + GRACE_MS);
    socket.on('data', this.#onData).on('end', this.#onEnd).on('timeout', this.#onTimeout);
    socket.on('close', this.#onClose).on('error', onError);
  }

  /** Ends it, at once or with its answer. */
  drain(): void {
    if (this.#running === undefined && !this.#stalled) this.#socket.destroy();
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#running === undefined && !this.#stalled) {
      const early = this.#early;
      this.#early = undefined;
      this.#take(early === undefined ? bytes : Buffer.concat([bytes, early]));
      return;
    }
    this.#early = this.#early === undefined ? bytes : Buffer.concat([this.#early, bytes]);
    // Up to there it is read on, since the end of a connection that is not read is not noticed.
    if (this.#early.length >= MAX_EARLY_BYTES) this.#socket.pause();
  };

  readonly #onTimeout = (): void => {
    if (this.#running === undefined) this.#socket.destroy();
  };

  readonly #onEnd = (): void => {
    this.#ended = true;
    if (this.#running === undefined) {
      if (!this.#stalled) this.#socket.end();
      return;
    }
    const isSent = (): boolean => this.#sink?.sent === true;
    this.#waiting.add({
      get headersSent() {
        return isSent();
      },
      req: { complete: true, httpVersionMinor: 1 },
    });
    onHalfClosed({ answers: this.#waiting, stream: this.#socket });
  };

  readonly #onClose = (): void => {
    this.#waiting.clear();
    clearTimeout(this.#patience);
    const running = this.#running;
    if (running === undefined) return;
    this.#over();
    running.left?.(fail('client_closed', 'the client has left'));
  };

  #over(): void {
    this.#running = undefined;
    this.#connection.running--;
  }

  #take(given: Buffer): void {
    const partial = this.#partial;
    this.#partial = undefined;
    if (partial !== undefined) clearTimeout(this.#patience);
    const bytes = partial === undefined ? given : Buffer.concat([partial, given]);
    const head = readPlain(bytes, this.#known);
    if (head === undefined) {
      this.#handOver(bytes);
      return;
    }
    const { url, headers, body, isWhole } = head;
    const request: PlainRequest = { url, headers, body, isWhole, socket: this.#socket, left: undefined };
    try {
      // Of clients that write the head and then the body one more piece is waited for.
      if (!isWhole && partial === undefined && this.#deps.awaits(request)) {
        this.#partial = bytes;
        this.#patience = setTimeout(() => this.#handOver(bytes), this.#deps.bodyWaitMs ?? BODY_WAIT_MS);
        return;
      }
      const answer = isWhole ? this.#deps.handle(request) : undefined;
      if (answer === undefined) {
        this.#handOver(bytes);
        return;
      }
      this.#begun(request);
      answer.then(this.#onAnswer, this.#onFailure);
    } catch (error) {
      this.#onFailure(error);
    }
  }

  #begun(request: PlainRequest): void {
    const connection = this.#connection;
    this.#running = request;
    connection.asked = true;
    connection.running++;
    connection.lastAt = Date.now();
    if (!connection.proven) this.#deps.prove(connection);
    this.#known ??= new KnownHead();
  }

  readonly #onAnswer = (answer: JsonAnswer | StreamedAnswer | undefined): void => {
    if (answer !== undefined && 'write' in answer) {
      this.#stream(answer);
      return;
    }
    const socket = this.#socket;
    if (this.#waiting.size > 0) this.#waiting.clear();
    if (this.#running !== undefined) this.#over();
    // It is closed, or about to be.
    if (!socket.writable) return;
    if (answer === undefined) {
      socket.destroy();
      return;
    }
    const last = this.#isLast();
    try {
      this.#stalled = !writeAnswer(socket, answer, last ? undefined : this.#deps.keepAliveMs);
    } catch (error) {
      this.#onFailure(error);
      return;
    }
    if (last) this.#close();
    else if (this.#stalled) socket.once('drain', this.#onDrain);
    else if (this.#early !== undefined) this.#goOn();
  };

  /** Bytes that are no request have no answer: the connection ends with this one. */
  #isLast(): boolean {
    const early = this.#early;
    const isOver = early === undefined ? this.#ended : !mayBeRequest(early);
    return isOver || this.#deps.draining();
  }

  /** Its client may have left: what is written then goes nowhere, and the answer ends. */
  #stream(answer: StreamedAnswer): void {
    const sink = new PlainSink(this.#socket, this.#isLast() ? undefined : this.#deps.keepAliveMs);
    this.#sink = sink;
    answer.write(sink).then(() => this.#streamed(sink), this.#onFailure);
  }

  #streamed(sink: PlainSink): void {
    const socket = this.#socket;
    this.#sink = undefined;
    this.#waiting.clear();
    if (this.#running !== undefined) this.#over();
    if (!socket.writable) return;
    if (!sink.ended) socket.destroy();
    else if (sink.isLast || this.#isLast()) this.#close();
    else if (socket.writableNeedDrain) {
      this.#stalled = true;
      socket.once('drain', this.#onDrain);
    } else if (this.#early !== undefined) this.#goOn();
  }

  /** What goes wrong on a connection does not concern another. */
  readonly #onFailure = (error: unknown): void => {
    if (this.#running !== undefined) this.#over();
    this.#deps.onTrouble(error);
    this.#socket.destroy();
  };

  readonly #onDrain = (): void => {
    this.#stalled = false;
    if (this.#deps.draining()) this.#close();
    else if (this.#early !== undefined) this.#goOn();
    else if (this.#ended) this.#close();
  };

  /** With what was written; what comes from now on is not read. */
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
    socket.off('data', this.#onData).off('end', this.#onEnd).off('timeout', this.#onTimeout);
    socket.off('close', this.#onClose).off('error', onError);
    socket.setTimeout(0);
    // Put back while the connection is not read; node:http lets it flow again.
    socket.pause();
    const put = Math.min(bytes.length, SLICE_BYTES);
    socket.unshift(bytes.subarray(0, put));
    this.#deps.handOver(this.#connection, put < bytes.length ? bytes.subarray(put) : undefined);
    socket.resume();
  }
}

/** The close that follows says all. */
function onError(): void {}
