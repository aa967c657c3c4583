// One call in progress: its request, its principal, and what is noted for the log.
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Aborter, type AbortLike } from '../lib/abort.ts';
import type { GatewayHeaders } from '../lib/gateway-headers.ts';
import { randomId } from '../lib/random-id.ts';
import { timeOrderedId } from '../lib/time-ordered-id.ts';
import type { TraceContext } from '../lib/trace-context.ts';
import type { CallAccount, LimitSubject } from './account.ts';
import type { CallBodies } from './bodies.ts';
import { type CallRecord, newCallRecord } from './call-record.ts';
import type { Principal } from './principal.ts';
import type { CallTurn } from './turn.ts';

export type Protocol = 'rest' | 'connect' | 'grpc' | 'grpc-web' | 'in-process';

/** Where a call came from. */
export interface CallSource {
  readonly protocol: Protocol;
  readonly headers: GatewayHeaders;
  /** HTTP method and path without its query; empty for calls from within. */
  readonly httpMethod: string;
  readonly path: string;
  /** The peer's address. */
  readonly remote: string;
  /** The connection that it came over, where there is one: an identity and nothing else. */
  readonly connection?: object;
}

/** The principal, and the credential for the provider that came with the request. */
export interface Identity {
  readonly principal: Principal;
  /** The gateway key or token as presented. */
  readonly key: string;
  /** The provider's credential, without its scheme; undefined when none was sent. */
  readonly providerCredential: string | undefined;
}

/** One call in progress. */
export class Call {
  /** Unique; answered as x-gateway-request-id. */
  readonly id: string;
  /** Undefined when telemetry is off. */
  traceContext: TraceContext | undefined;
  /** Over REST it is final once the body's `stream` is read. */
  method: DescMethod;
  readonly source: CallSource;
  /** Unix milliseconds. */
  readonly arrivedAt: number = Date.now();
  readonly #startedAt: number = performance.now();
  readonly #aborter = new Aborter();
  #traceId: string | undefined;
  #atEnd: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #underWay = 0;
  #whenEnded: (() => void)[] | undefined;
  #patienceMs = 0;
  #answerHeaders: Map<string, string> | undefined;
  /** Set before the body is read; the auth interceptor makes it the principal. */
  identity: Identity | undefined;
  /** Bytes of the request's body as it was decoded; undefined: not known. */
  bodyBytes: number | undefined;
  /** Set by the auth interceptor. */
  principal: Principal | undefined;
  /** The workspace that the request names outside of its message, by id or slug. */
  namedWorkspace: string | undefined;
  /** The principal as one of the workspace that the request names; set by the workspace interceptor. */
  place: Principal | undefined;
  /** The key as presented: outgoing headers are compared with it, so that it is never sent to a provider. */
  presentedKey: string | undefined;
  /** The credential for the provider that the caller sent, without its scheme. */
  providerCredential: string | undefined;
  /** Of a response within a live session. */
  turn: CallTurn | undefined;
  /** Its entry in the audit log was written together with what it changed. */
  audited = false;
  /** Of calls over one connection: earlier answers that are not kept elsewhere, by their ids. */
  earlier: Map<string, object> | undefined;
  /** Metadata that the caller's key, workspace and organisation give every request; it wins over the request's own. */
  defaultMetadata: Readonly<Record<string, string>> | undefined;
  /** Metadata of the client's own fields: the least that counts. */
  clientMetadata: Readonly<Record<string, string>> | undefined;
  /** Set when limits are checked for each attempt. */
  limitSubject: LimitSubject | undefined;
  /** How far its settlement has come. */
  readonly account: CallAccount = {
    taken: false,
    completing: undefined,
    claim: undefined,
    flight: undefined,
    held: undefined,
  };
  readonly record: CallRecord = newCallRecord();
  /**
   * Answers the caller now, while the call goes on without it: its leaving ends nothing any more. Undefined: the method
   * has no answers before its end.
   */
  detach: ((answer: Message | AsyncIterable<Message>) => void) | undefined;
  #detached = false;
  /** Notes the verdicts of a stream's guardrails when it has ended. */
  streamHooks: (() => void) | undefined;
  /** A refusal for want of room leaves no entry: the call is made again. */
  repeats = false;
  /** Only status, type and code of errors are kept, because their texts may quote the request. */
  wordless = false;
  /** Undefined: its bodies are not kept. */
  bodies: CallBodies | undefined;

  /** @param id made when absent */
  constructor(method: DescMethod, source: CallSource, id: string = timeOrderedId()) {
    this.id = id;
    this.method = method;
    this.source = source;
  }

  /** The caller's x-gateway-trace-id or `traceparent`; one is made when it is read before or without them. */
  get traceId(): string {
    this.#traceId ??= randomId();
    return this.#traceId;
  }

  set traceId(id: string) {
    this.#traceId = id;
  }

  get headers(): GatewayHeaders {
    return this.source.headers;
  }

  /** Headers to add to the answer, by lower-case name. */
  get answerHeaders(): Map<string, string> {
    this.#answerHeaders ??= new Map();
    return this.#answerHeaders;
  }

  /** The same; undefined: there are none. */
  get addedHeaders(): ReadonlyMap<string, string> | undefined {
    return this.#answerHeaders;
  }

  /** Aborted when the client leaves or the call's time is up; the reason is a GatewayError. */
  get signal(): AbortLike {
    return this.#aborter;
  }

  abort(reason: Error): void {
    if (!this.#detached) this.#aborter.abort(reason);
  }

  /** From now on only `stop` and the call's own time end it. */
  detached(): void {
    this.#detached = true;
  }

  /** Ends a call that goes on without its caller. */
  stop(reason: Error): void {
    this.#aborter.abort(reason);
  }

  /** Aborts the call with the given error `ms` milliseconds after it arrived. */
  expireAfter(ms: number, error: () => Error): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.stop(error()), Math.max(0, ms - this.elapsedMs()));
  }

  stopTimer(): void {
    clearTimeout(this.#timer);
  }

  /** Runs an action when the call has ended, e.g. to give back its place among the calls in flight. */
  atEnd(action: () => void): void {
    this.#atEnd.push(action);
  }

  /** The call is over: its timer stops, and the actions of `atEnd` run, once. */
  ended(): void {
    this.stopTimer();
    const actions = this.#atEnd;
    if (actions.length === 0) return;
    this.#atEnd = [];
    for (const action of actions) action();
  }

  /** An attempt has begun; `attemptEnded` follows. */
  attemptBegan(): void {
    this.#underWay++;
  }

  attemptEnded(): void {
    this.#underWay--;
    if (this.#underWay > 0 || this.#whenEnded === undefined) return;
    const waiting = this.#whenEnded;
    this.#whenEnded = undefined;
    for (const tell of waiting) tell();
  }

  /** Lets attempts run for so long after the answer: the client has left, and they are read to their end. */
  waitFor(ms: number): void {
    this.#patienceMs = ms;
  }

  /** Milliseconds that attempts may run after the answer, in addition to the usual; 0: no longer. */
  get patienceMs(): number {
    return this.#patienceMs;
  }

  /**
   * Undefined when no attempt is under way; else resolves when none is any more, or after `ms`. The answer may end
   * first: attempts whose client left, and attempts that another one overtook, end later.
   */
  attemptsOver(ms: number): Promise<void> | undefined {
    if (this.#underWay === 0) return undefined;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms + (ms > 0 ? this.#patienceMs : 0)).unref();
      this.#whenEnded ??= [];
      this.#whenEnded.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Milliseconds since the call came. */
  elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }
}
