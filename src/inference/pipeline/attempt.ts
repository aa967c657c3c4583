// One call upstream, from its first byte to its entry in the log.
import { randomUUID } from 'node:crypto';
import type { Usage } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { Call } from '../../access/call.ts';
import { type GatewayError, withProvider } from '../../lib/errors.ts';
import type { Target } from '../../providers/dialect.ts';
import type { AttemptRecord, OutcomeRecord, UsageRecord } from '../../store/request-log.ts';
import { saidIn } from './said-in.ts';

/** Of an answer's text that is kept for an estimate, in UTF-16 units. */
const MAX_SAID = 1024 * 1024;

/** A record while it is filled: members that were not reported stay absent. */
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What an attempt ended with. */
export interface AttemptEnd {
  readonly status: number;
  readonly outcome: OutcomeRecord;
  readonly usage?: Usage | undefined;
  /** The usage is the gateway's own estimate. */
  readonly usageEstimated?: boolean;
  readonly responseModel?: string | undefined;
  readonly error?: GatewayError;
}

/** One call upstream. Ends exactly once; later ends are ignored. */
export class Attempt {
  readonly #call: Call;
  readonly #target: Target;
  readonly #host: string;
  readonly #model: string;
  readonly #startedAt = Date.now();
  readonly #start = performance.now();
  readonly #aside: boolean;
  #firstTokenMs: number | undefined;
  #ended = false;
  #asked: object | undefined;
  #said: string | undefined;

  /** @param aside whether it is made beside the call, whose own answer it does not bring */
  constructor(call: Call, target: Target, origin: string, model: string, aside = false) {
    this.#call = call;
    this.#aside = aside;
    this.#target = target;
    this.#host = origin.slice(origin.indexOf('//') + 2);
    this.#model = model;
    if (!aside) call.trail.model = model;
    call.attemptBegan();
  }

  /** What it asks for: without a report of the usage, that is estimated from it and from what was said. */
  asks(request: object): void {
    this.#asked = request;
  }

  /** A part of the answer. */
  says(part: object): void {
    if (this.#said !== undefined && this.#said.length > MAX_SAID) return;
    this.#said = (this.#said ?? '') + saidIn(part);
  }

  /** The first piece of a streamed answer is here. */
  firstToken(): void {
    if (this.#firstTokenMs !== undefined) return;
    this.#firstTokenMs = performance.now() - this.#start;
    this.#call.trail.timeToFirstTokenMs = this.#call.elapsedMs();
  }

  end({ status, outcome, usage, usageEstimated = false, responseModel, error }: AttemptEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    const { trail } = this.#call;
    const record = usage && usageRecord(usage);
    // An attempt that was given up for another one says nothing of the call.
    if (!this.#aside && (outcome !== 'cancelled' || trail.attempts.length === 0 || record !== undefined)) {
      trail.provider = this.#target.provider.id;
      trail.model = this.#model;
      trail.responseModel = responseModel ?? '';
      trail.usage = record;
      trail.usageEstimated = usageEstimated;
    }
    const id = randomUUID();
    const reached = outcome !== 'error' || (status >= 200 && status <= 299);
    if (record === undefined && this.#asked !== undefined && reached)
      trail.unreported.push({ attemptId: id, request: this.#asked, said: this.#said });
    const entry: Writable<AttemptRecord> = {
      id,
      provider: this.#target.provider.id,
      host: this.#host,
      model: this.#model,
      statusCode: status,
      outcome,
      startedAt: this.#startedAt,
      latencyMs: round(performance.now() - this.#start),
    };
    if (this.#firstTokenMs !== undefined) entry.timeToFirstTokenMs = round(this.#firstTokenMs);
    if (responseModel) entry.responseModel = responseModel;
    if (record) entry.usage = record;
    if (record && usageEstimated) entry.usageEstimated = true;
    if (error) entry.error = { reason: error.reason, message: error.message };
    trail.attempts.push(entry);
    this.#call.attemptEnded();
  }

  /** Ends with what was thrown, and gives it back with the provider named. */
  fail(
    thrown: unknown,
    heard: Pick<AttemptEnd, 'usage' | 'usageEstimated'> = {},
    responseModel?: string,
  ): GatewayError {
    const error = withProvider(thrown, this.#target.provider.id);
    const outcome =
      error.reason === 'client_closed'
        ? 'cancelled'
        : this.#firstTokenMs === undefined
          ? 'error'
          : 'interrupted';
    this.end({ status: error.facts.status ?? 0, outcome, ...heard, responseModel, error });
    return error;
  }
}

function usageRecord(usage: Usage): UsageRecord {
  const { completionTokens, promptTokensDetails: prompt, completionTokensDetails: completion } = usage;
  const record: Writable<UsageRecord> = {
    promptTokens: Number(usage.promptTokens),
    totalTokens: Number(usage.totalTokens),
  };
  if (completionTokens !== undefined) record.completionTokens = Number(completionTokens);
  if (prompt?.cachedTokens !== undefined) record.cachedTokens = Number(prompt.cachedTokens);
  if (prompt?.cacheCreationTokens !== undefined)
    record.cacheCreationTokens = Number(prompt.cacheCreationTokens);
  if (completion?.reasoningTokens !== undefined) record.reasoningTokens = Number(completion.reasoningTokens);
  return record;
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
