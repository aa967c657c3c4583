// One request and its answer on undici's dispatch interface: the signal, the clocks, the one safe retry, the end.

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { AbortLike } from '../abort.ts';
import { fail } from '../errors.ts';
import { inItsTurn, PIECES_OF_A_TURN } from '../incoming/pause-for-turn.ts';
import { type LongWait, longWaits } from './long-waits.ts';
import type { InboundHead, OutboundRequest } from './outbound.ts';
import { proxyRefused } from './proxy.ts';
import type { Route } from './route.ts';
import { Upload } from './upload.ts';
import { isClosedEarly, upstreamError } from './upstream-errors.ts';
import { wireHeaders } from './wire-headers.ts';

const DEFAULT_SILENCE_MS = 300_000;
/** Waits from here on may end a second late, and have no timer of their own. */
const LONG_SILENCE_MS = 60_000;
/** A reader that takes nothing for this long has stopped reading: its socket is closed. */
const LONGEST_PAUSE_MS = 300_000;

const WAITING = 0;
const IN_HEAD = 1;
const IN_BODY = 2;
const OVER = 3;

/** Status and headers as undici gives them; the pairs become text on first access. */
export class Head implements InboundHead {
  readonly status: number;
  #fields: IncomingHttpHeaders;
  #raw: readonly Buffer[];
  #pairs: readonly string[] | undefined;

  constructor(status: number, fields: IncomingHttpHeaders, raw: readonly Buffer[]) {
    this.status = status;
    this.#fields = fields;
    this.#raw = raw;
  }

  get rawHeaders(): readonly string[] {
    this.#pairs ??= this.#raw.map((bytes) => bytes.toString('latin1'));
    return this.#pairs;
  }

  header(name: string): string | undefined {
    const value = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
    return typeof value === 'object' ? value[value.length - 1] : value;
  }
}

/** What `whole` and `stream` share. Subclasses say what a head, a piece, the end and a failure mean. */
export abstract class Exchange implements Dispatcher.DispatchHandler, LongWait {
  protected controller: Dispatcher.DispatchController | undefined;
  protected readonly host: string;
  #route: Route;
  #request: OutboundRequest;
  #upload: Upload | undefined;
  #timer: NodeJS.Timeout | undefined;
  place = -1;
  seenAt = 0;
  patienceMs = 0;
  #state = WAITING;
  #retried = false;
  #pausedAt = 0;
  #pieces = 0;

  constructor(route: Route, request: OutboundRequest) {
    this.#route = route;
    this.#request = request;
    this.host = route.host;
  }

  protected abstract onHead(status: number, fields: IncomingHttpHeaders, raw: readonly Buffer[]): void;
  protected abstract onPiece(piece: Buffer): void;
  protected abstract onEnd(): void;
  protected abstract onFailure(error: unknown): void;

  /** Sends the request. Called once. */
  start(): void {
    const { signal, headTimeoutMs, body } = this.#request;
    if (signal.aborted) {
      this.#state = OVER;
      this.onFailure(reasonOf(signal));
      return;
    }
    signal.addEventListener('abort', this);
    this.#watch(headTimeoutMs ?? DEFAULT_SILENCE_MS);
    if (typeof body === 'object' && !(body instanceof Uint8Array)) this.#upload = new Upload(body);
    this.#dispatch();
  }

  /** Ends the exchange and its socket. Does nothing when it has ended. */
  abort(error: unknown): void {
    if (this.#state === OVER) return;
    this.#finish();
    this.controller?.abort(error instanceof Error ? error : new Error('aborted', { cause: error }));
    this.onFailure(error);
  }

  /** For AbortSignal: this object is its own listener, so that a request costs no closure. */
  handleEvent(): void {
    this.abort(reasonOf(this.#request.signal));
  }

  /** Stops reading from the socket. The upstream's silence does not count from here on. */
  protected pause(): void {
    this.#pausedAt = performance.now();
    this.controller?.pause();
  }

  protected resume(): void {
    this.#pausedAt = 0;
    if (this.#state !== IN_BODY) return;
    this.#seen();
    this.controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Thrown rather than aborted: an exchange that ended while it waited for a socket must not cost that socket.
    if (this.#state === OVER) throw new Error('the exchange is over');
    this.controller = controller;
  }

  onBodySent(): void {
    if (this.#upload !== undefined && this.#state !== OVER) this.#seen();
  }

  onResponseStarted(): void {
    if (this.#state === WAITING) this.#state = IN_HEAD;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    fields: IncomingHttpHeaders,
  ): void {
    if (this.#state === OVER) return;
    // Informational answers (103) are a sign of life and no more.
    if (status < 200) {
      this.#seen();
      return;
    }
    if (status === 407 && this.#route.forward !== '') {
      this.abort(proxyRefused(status));
      return;
    }
    this.#state = IN_BODY;
    const headMs = this.#request.headTimeoutMs ?? DEFAULT_SILENCE_MS;
    const idleMs = this.#request.idleTimeoutMs ?? DEFAULT_SILENCE_MS;
    if (headMs === idleMs) {
      this.#seen();
    } else {
      this.#unwatch();
      this.#watch(idleMs);
    }
    this.onHead(status, fields, (controller.rawHeaders ?? []) as readonly Buffer[]);
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#state === OVER) return;
    this.#seen();
    this.onPiece(piece);
    if (++this.#pieces % PIECES_OF_A_TURN === 0) this.#pauseForTurn();
  }

  onResponseEnd(): void {
    if (this.#state === OVER) return;
    this.#finish();
    this.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#state === OVER) return;
    if (this.#mayRetry(error)) {
      this.#retried = true;
      this.controller = undefined;
      // Not from within undici's own clean-up of the closed connection.
      setImmediate(() => {
        if (this.#state !== OVER) this.#dispatch();
      });
      return;
    }
    // An error of the caller's own body is rethrown to the caller unchanged.
    const failure = this.#upload?.failure;
    const phase = this.#state === IN_BODY ? 'in_body' : this.#state === IN_HEAD ? 'in_head' : 'before_answer';
    this.#finish();
    this.onFailure(failure ?? upstreamError(error, this.host, phase, this.#route.proves));
  }

  /** Undici's own timers are coarse (half a second and more). */
  #watch(ms: number): void {
    this.patienceMs = ms;
    if (ms >= LONG_SILENCE_MS) longWaits.add(this);
    else this.#timer = setTimeout(onSilence, ms, this);
  }

  /** A sign of life. */
  #seen(): void {
    if (this.#timer === undefined) this.seenAt = longWaits.now;
    else this.#timer.refresh();
  }

  #unwatch(): void {
    if (this.#timer === undefined) {
      longWaits.delete(this);
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** The wait is over: the upstream, or the reader, has been silent for too long. */
  silence(): void {
    if (this.#pausedAt > 0) {
      const paused = performance.now() - this.#pausedAt;
      if (paused < LONGEST_PAUSE_MS) this.#seen();
      else
        this.abort(
          fail('client_closed', `the answer of ${this.host} was not read for ${LONGEST_PAUSE_MS} ms`),
        );
      return;
    }
    const { headTimeoutMs, idleTimeoutMs } = this.#request;
    const inBody = this.#state === IN_BODY;
    const ms = (inBody ? idleTimeoutMs : headTimeoutMs) ?? DEFAULT_SILENCE_MS;
    const text = inBody
      ? `${this.host} fell silent in its answer for ${ms} ms`
      : `${this.host} sent no answer within ${ms} ms`;
    this.abort(fail('upstream_timeout', text));
  }

  /** Bounds the tiny pieces that one turn of the event loop reads, so that other work runs in between. */
  #pauseForTurn(): void {
    if (this.#pausedAt > 0) return;
    this.controller?.pause();
    inItsTurn(() => {
      if (this.#state === IN_BODY && this.#pausedAt === 0) this.controller?.resume();
    });
  }

  #dispatch(): void {
    const { path, method, headers, body } = this.#request;
    const { pool, forward, extraHeaders } = this.#route;
    const upload = this.#upload;
    const kept = wireHeaders(headers, upload === undefined);
    pool.dispatch(
      {
        path: forward === '' ? path : forward + path,
        method,
        headers: (extraHeaders.length === 0 ? kept : [...kept, ...extraHeaders]) as string[],
        // Undici takes any async iterable, which its types do not say.
        body: (upload ?? body ?? null) as string | Uint8Array | null,
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      this,
    );
  }

  /**
   * A keep-alive connection may close while a request is on its way. Only safe methods (RFC 9110, part 9.2.1) are
   * sent again, once, when no byte of an answer came: a provider may have begun to work on anything else.
   */
  #mayRetry(error: Error): boolean {
    if (this.#retried || this.#state !== WAITING || this.#upload !== undefined) return false;
    const { method } = this.#request;
    return (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') && isClosedEarly(error);
  }

  #finish(): void {
    this.#state = OVER;
    this.#unwatch();
    this.#request.signal.removeEventListener('abort', this);
    this.#upload?.stop();
  }
}

function onSilence(exchange: Exchange): void {
  exchange.silence();
}

/** What the caller gave as its reason, when that is an error. */
function reasonOf(signal: AbortLike): Error {
  if (signal.reason instanceof Error) return signal.reason;
  return fail('client_closed', 'the call was given up', { cause: signal.reason });
}
