// One call upstream, from its first byte to its entry in the log.
import { randomUUID } from 'node:crypto';
import type { Usage } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { Call } from '../../access/call.ts';
import { type GatewayError, withProvider } from '../../lib/errors.ts';
import type { Target } from '../../providers/dialect.ts';
import type { OutcomeRecord, UsageRecord } from '../../store/request-log.ts';

/** What an attempt ended with. */
export interface AttemptEnd {
  readonly status: number;
  readonly outcome: OutcomeRecord;
  readonly usage?: Usage | undefined;
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
  #firstTokenMs: number | undefined;
  #ended = false;

  constructor(call: Call, target: Target, origin: string, model: string) {
    this.#call = call;
    this.#target = target;
    this.#host = origin.slice(origin.indexOf('//') + 2);
    this.#model = model;
    call.trail.model = model;
  }

  /** The first piece of a streamed answer is here. */
  firstToken(): void {
    if (this.#firstTokenMs !== undefined) return;
    this.#firstTokenMs = performance.now() - this.#start;
    this.#call.trail.timeToFirstTokenMs = this.#call.elapsedMs();
  }

  end({ status, outcome, usage, responseModel, error }: AttemptEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    const { trail } = this.#call;
    const record = usage && usageRecord(usage);
    trail.responseModel = responseModel ?? '';
    trail.usage = record;
    trail.attempts.push({
      id: randomUUID(),
      provider: this.#target.provider.id,
      host: this.#host,
      model: this.#model,
      statusCode: status,
      outcome,
      startedAt: this.#startedAt,
      latencyMs: round(performance.now() - this.#start),
      ...(this.#firstTokenMs === undefined ? {} : { timeToFirstTokenMs: round(this.#firstTokenMs) }),
      ...(record ? { usage: record } : {}),
      ...(error ? { error: { reason: error.reason, message: error.message } } : {}),
    });
  }

  /** Ends with what was thrown, and gives it back with the provider named. */
  fail(thrown: unknown, usage?: Usage, responseModel?: string): GatewayError {
    const error = withProvider(thrown, this.#target.provider.id);
    const outcome =
      error.reason === 'client_closed'
        ? 'cancelled'
        : this.#firstTokenMs === undefined
          ? 'error'
          : 'interrupted';
    this.end({ status: error.facts.status ?? 0, outcome, usage, responseModel, error });
    return error;
  }
}

function usageRecord(usage: Usage): UsageRecord {
  const { completionTokens, promptTokensDetails: prompt, completionTokensDetails: completion } = usage;
  return {
    promptTokens: Number(usage.promptTokens),
    totalTokens: Number(usage.totalTokens),
    ...optional('completionTokens', completionTokens),
    ...optional('cachedTokens', prompt?.cachedTokens),
    ...optional('cacheCreationTokens', prompt?.cacheCreationTokens),
    ...optional('reasoningTokens', completion?.reasoningTokens),
  };
}

function optional<K extends string>(key: K, value: bigint | undefined): { [key in K]?: number } {
  return (value === undefined ? {} : { [key]: Number(value) }) as { [key in K]?: number };
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
