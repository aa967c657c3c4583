// What calls of models came to, counted once for Prometheus and for OTLP alike.
import type { AttemptRecord, RequestRecord } from '../call/record.ts';
import {
  Distribution,
  DURATION_BOUNDS,
  type Exemplar,
  FIRST_TOKEN_BOUNDS,
  TOKEN_BOUNDS,
} from './distribution.ts';
import { OTHER, type SeriesLabels, SeriesTable } from './series-table.ts';

/** Calls of an operation that were answered by a provider's model. */
export interface CallSeries {
  readonly labels: SeriesLabels;
  /** By the first digit of the status. */
  readonly statuses: number[];
  retries: number;
  rescued: number;
}

/** Attempts. Durations in seconds. */
export interface AttemptSeries {
  readonly labels: SeriesLabels;
  /** What the catalogue says the model is, e.g. "chat". */
  readonly mode: string | undefined;
  readonly durations: Distribution;
  /** Undefined: there was none yet. */
  firstTokens: Distribution | undefined;
  input: Distribution | undefined;
  output: Distribution | undefined;
  /** Tokens among the input's and the output's. */
  cached: number;
  cacheWritten: number;
  reasoning: number;
  /** 1e-12 USD. */
  cost: number;
  unpriced: number;
  /** Reports of usage that cannot be true. */
  refused: number;
}

/** Knows which models may be labels. */
export interface KnownModels {
  /** Undefined: not known. `mode` says what the model is, e.g. "embedding". */
  find(provider: string, model: string): { readonly mode?: string | undefined } | undefined;
}

/** What was counted last, by what its caller wrote. */
interface Last<T> {
  readonly operation: string;
  readonly provider: string;
  readonly model: string;
  readonly series: T;
}

/** Each kind has this many series at the most, and one more for each operation. */
const MOST_SERIES = 1000;

export class UsageSeries {
  /** Unix milliseconds. */
  readonly since: number;
  readonly #models: KnownModels;
  readonly #calls: SeriesTable<CallSeries>;
  readonly #attempts: SeriesTable<AttemptSeries>;
  #lastCall: Last<CallSeries> | undefined;
  #lastAttempt: Last<AttemptSeries> | undefined;
  /** By what the cache did. */
  readonly cache = new Map<string, number>();
  /** By what guardrails found: passed, failed. */
  readonly guardrails = new Map<string, number>();

  constructor(models: KnownModels, now: () => number = Date.now, most = MOST_SERIES) {
    this.#models = models;
    this.since = now();
    this.#calls = new SeriesTable(callSeries, most);
    this.#attempts = new SeriesTable(
      (labels) => attemptSeries(labels, models.find(labels.provider, labels.model)?.mode),
      most,
    );
  }

  calls(): readonly CallSeries[] {
    return this.#calls.all();
  }

  attempts(): readonly AttemptSeries[] {
    return this.#attempts.all();
  }

  /** Counts a call that has ended, with its attempts. */
  count(entry: RequestRecord): void {
    const { operation, attempts, cacheStatus, spans } = entry;
    const call = this.#callOf(operation, entry.provider, entry.model);
    call.statuses[statusClass(entry.statusCode)]!++;
    if (entry.retries !== undefined && entry.retries > 0) call.retries += entry.retries;
    if (entry.rescued) call.rescued++;
    if (cacheStatus !== undefined) add(this.cache, CACHE_WORDS[cacheStatus] ?? OTHER);
    if (spans !== undefined) {
      for (const { kind, verdict } of spans)
        if (kind === 'guardrail') add(this.guardrails, VERDICTS.has(verdict) ? verdict : OTHER);
    }
    for (const attempt of attempts) this.#attempt(operation, attempt, entry);
  }

  /** Counts a refused report of a call that was made elsewhere, of which nothing else is counted here. */
  refused(operation: string, { provider, model }: AttemptRecord): void {
    this.#attemptOf(operation, provider, model, '').refused++;
  }

  #attempt(operation: string, attempt: AttemptRecord, entry: RequestRecord): void {
    const { provider, model, usage, cost, timeToFirstTokenMs } = attempt;
    const series = this.#attemptOf(operation, provider, model, errorOf(attempt));
    const seconds = attempt.latencyMs / 1000;
    series.durations.observe(seconds, exemplarOf(entry, attempt, seconds));
    if (timeToFirstTokenMs !== undefined) {
      series.firstTokens ??= new Distribution(FIRST_TOKEN_BOUNDS);
      const first = timeToFirstTokenMs / 1000;
      series.firstTokens.observe(first, exemplarOf(entry, attempt, first));
    }
    if (cost !== undefined) series.cost += Number(cost);
    if (attempt.unpriced) series.unpriced++;
    if (attempt.usageRefused) series.refused++;
    if (usage === undefined) return;
    series.input ??= new Distribution(TOKEN_BOUNDS);
    series.input.observe(usage.promptTokens);
    if (usage.completionTokens !== undefined) {
      series.output ??= new Distribution(TOKEN_BOUNDS);
      series.output.observe(usage.completionTokens);
    }
    if (usage.cachedTokens !== undefined) series.cached += usage.cachedTokens;
    if (usage.cacheCreationTokens !== undefined) series.cacheWritten += usage.cacheCreationTokens;
    if (usage.reasoningTokens !== undefined) series.reasoning += usage.reasoningTokens;
  }

  /** The series; most calls are as the one before, and look nothing up. */
  #callOf(operation: string, provider: string, model: string): CallSeries {
    const last = this.#lastCall;
    if (last?.operation === operation && last.provider === provider && last.model === model)
      return last.series;
    const series = this.#calls.at(operation, provider, this.#label(provider, model), '');
    this.#lastCall = { operation, provider, model, series };
    return series;
  }

  #attemptOf(operation: string, provider: string, model: string, error: string): AttemptSeries {
    const last = this.#lastAttempt;
    if (
      last?.operation === operation &&
      last.provider === provider &&
      last.model === model &&
      last.series.labels.error === error
    )
      return last.series;
    const series = this.#attempts.at(operation, provider, this.#label(provider, model), error);
    this.#lastAttempt = { operation, provider, model, series };
    return series;
  }

  /** What a caller writes is a label only where it is the name of a model that is known. */
  #label(provider: string, model: string): string {
    if (model === '') return '';
    return this.#models.find(provider, model) === undefined ? OTHER : model;
  }
}

/** `error.type` of an attempt: the provider's status, or the reason; empty where nothing failed. */
export function errorOf({ error, statusCode, outcome }: AttemptRecord): string {
  if (error === undefined) return outcome === 'error' ? String(statusCode) : '';
  return error.reason === 'upstream_status' ? String(statusCode) : error.reason;
}

function exemplarOf(entry: RequestRecord, attempt: AttemptRecord, value: number): Exemplar {
  const timestamp = (attempt.startedAt + attempt.latencyMs) / 1000;
  return { requestId: entry.id, traceId: entry.traceId, value, timestamp };
}

const CACHE_WORDS: Readonly<Record<string, string>> = {
  HIT: 'hit',
  'SEMANTIC HIT': 'semantic_hit',
  MISS: 'miss',
  'SEMANTIC MISS': 'semantic_miss',
  REFRESH: 'refresh',
};
const VERDICTS = new Set(['passed', 'failed']);

function callSeries(labels: SeriesLabels): CallSeries {
  return { labels, statuses: [0, 0, 0, 0, 0, 0], retries: 0, rescued: 0 };
}

function attemptSeries(labels: SeriesLabels, mode: string | undefined): AttemptSeries {
  return {
    labels,
    mode,
    durations: new Distribution(DURATION_BOUNDS),
    firstTokens: undefined,
    input: undefined,
    output: undefined,
    cached: 0,
    cacheWritten: 0,
    reasoning: 0,
    cost: 0,
    unpriced: 0,
    refused: 0,
  };
}

function statusClass(status: number): number {
  const digit = Math.floor(status / 100);
  return digit >= 1 && digit <= 5 ? digit : 0;
}

function add(counts: Map<string, number>, word: string): void {
  counts.set(word, (counts.get(word) ?? 0) + 1);
}
