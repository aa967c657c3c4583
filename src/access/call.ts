// One call in progress: what came in, who makes it, and what is noted for the log.
import { randomUUID } from 'node:crypto';
import type { DescMethod } from '@bufbuild/protobuf';
import { Aborter, type AbortLike } from '../lib/abort.ts';
import type { GatewayHeaders } from '../lib/gateway-headers.ts';
import type { AttemptRecord, OutcomeRecord, RequestRecord, UsageRecord } from '../store/request-log.ts';
import type { Principal } from './principal.ts';

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

/** An attempt whose provider did not tell its usage: what it was asked and what it said, for an estimate. */
export interface Unreported {
  readonly attemptId: string;
  readonly request: object;
  /** Undefined: it broke off before any of the answer was there. */
  readonly said: string | undefined;
}

/** What the stages note for the request's log entry. */
export interface Trail {
  provider: string;
  model: string;
  responseModel: string;
  streamed: boolean;
  /** The HTTP status to note when it is not the usual one, e.g. a pass-through answer's. */
  status: number | undefined;
  outcome: OutcomeRecord | undefined;
  timeToFirstTokenMs: number | undefined;
  usage: UsageRecord | undefined;
  usageEstimated: boolean;
  metadata: Readonly<Record<string, string>>;
  readonly attempts: AttemptRecord[];
  readonly unreported: Unreported[];
  /** Path of the target that was called last, e.g. "config.targets[1]"; empty while there is none. */
  targetPath: string;
  /** Calls of that target before the last one; -1 when it was given up. */
  retries: number;
  /** What the cache did: HIT, SEMANTIC HIT, MISS, SEMANTIC MISS, REFRESH or DISABLED. */
  cacheStatus: string;
}

/** One call in progress. */
export class Call {
  /** Unique; answered as x-gateway-request-id. */
  readonly id: string;
  /** The caller's x-gateway-trace-id, or one made; set by the trace interceptor. */
  traceId = '';
  /** Over REST it is known for good once the body's `stream` is read. */
  method: DescMethod;
  readonly source: CallSource;
  /** Unix milliseconds. */
  readonly arrivedAt: number = Date.now();
  readonly #startedAt: number = performance.now();
  readonly #aborter = new Aborter();
  #timer: NodeJS.Timeout | undefined;
  #underWay = 0;
  #whenEnded: (() => void)[] = [];
  /** Set by the auth interceptor. */
  principal: Principal | undefined;
  /** The key as presented: never sent anywhere, compared so that it cannot be. */
  presentedKey: string | undefined;
  /** The credential for the provider that the caller sent, without its scheme. */
  providerCredential: string | undefined;
  /** Its entry in the audit log was written together with what it changed. */
  audited = false;
  /** Metadata that the caller's key, workspace and organisation give every request; it wins over the request's own. */
  defaultMetadata: Readonly<Record<string, string>> | undefined;
  /** Where it stands with its books. */
  readonly account: {
    taken: boolean;
    completing: Promise<void> | undefined;
    claim: ((entry: RequestRecord) => void) | undefined;
  } = { taken: false, completing: undefined, claim: undefined };
  /** Headers to add to the answer, by lower-case name. */
  readonly answerHeaders = new Map<string, string>();
  readonly trail: Trail = {
    provider: '',
    model: '',
    responseModel: '',
    streamed: false,
    status: undefined,
    outcome: undefined,
    timeToFirstTokenMs: undefined,
    usage: undefined,
    usageEstimated: false,
    metadata: {},
    attempts: [],
    unreported: [],
    targetPath: '',
    retries: 0,
    cacheStatus: 'DISABLED',
  };

  /** @param id made when absent */
  constructor(method: DescMethod, source: CallSource, id: string = randomUUID()) {
    this.id = id;
    this.method = method;
    this.source = source;
  }

  get headers(): GatewayHeaders {
    return this.source.headers;
  }

  /** Aborted when the client leaves or the call's time is up; the reason is a GatewayError. */
  get signal(): AbortLike {
    return this.#aborter;
  }

  abort(reason: Error): void {
    this.#aborter.abort(reason);
  }

  /** Aborts the call with the given error when it has run for `ms` since it came. */
  expireAfter(ms: number, error: () => Error): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.abort(error()), Math.max(0, ms - this.elapsedMs()));
  }

  /** Nothing of the call runs any more. */
  ended(): void {
    clearTimeout(this.#timer);
  }

  /** An attempt is under way; `attemptEnded` follows. */
  attemptBegan(): void {
    this.#underWay++;
  }

  attemptEnded(): void {
    this.#underWay--;
    if (this.#underWay > 0) return;
    for (const tell of this.#whenEnded.splice(0)) tell();
  }

  /**
   * Undefined when no attempt is under way; else resolves when none is any more, or after `ms`. The answer may end
   * before: a client that leaves, and calls that another one overtook, are ended behind it.
   */
  attemptsOver(ms: number): Promise<void> | undefined {
    if (this.#underWay === 0) return undefined;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
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
