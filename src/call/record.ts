// What the log and the ledger store about a call: the request, its attempts, their usage.

/** Tokens as the provider reported them. Absent members were not reported. */
export interface UsageRecord {
  readonly promptTokens: number;
  readonly completionTokens?: number;
  readonly totalTokens: number;
  readonly cachedTokens?: number;
  readonly cacheCreationTokens?: number;
  /** Of those, the ones that the cache keeps for an hour. */
  readonly cacheCreation1hTokens?: number;
  readonly reasoningTokens?: number;
  /** Of audio and of images, where a provider tells them apart: parts of the prompt's, and of the completion's. */
  readonly inputAudioTokens?: number;
  readonly outputAudioTokens?: number;
  readonly inputImageTokens?: number;
  readonly outputImageTokens?: number;
  /** Of audio, part of those that were read from the provider's cache. */
  readonly cachedAudioTokens?: number;
  /** Of a predicted answer: parts of the completion's. */
  readonly acceptedPredictionTokens?: number;
  readonly rejectedPredictionTokens?: number;
  /** Searches of a rerank, where they are charged in place of tokens. */
  readonly searchUnits?: number;
  /** Searches of the web that the model made by the provider's tool, charged in addition to tokens. */
  readonly webSearches?: number;
  /** Images that were made, and of what kind they are: `<quality>.<size>`. */
  readonly images?: number;
  readonly imageKind?: string;
  /** Milliseconds of audio that was heard, and of video that was made. */
  readonly audioMs?: number;
  readonly videoMs?: number;
  /** Characters that were spoken. */
  readonly characters?: number;
  /** Pages of documents that were read. */
  readonly pages?: number;
  /** Tokens that a model was trained on. */
  readonly trainedTokens?: number;
}

/** What an integration says of its prices, as it was said when the attempt was made. */
export interface PricingRecord {
  /** Factors by what is counted; `default` is of all that are not named. */
  readonly factors?: Readonly<Record<string, number>>;
  /** The model's own rates, in US dollars by what is counted; they take the place of its price. */
  readonly rates?: Readonly<Record<string, number>>;
}

export type OutcomeRecord = 'success' | 'error' | 'cancelled' | 'interrupted';

/** One call upstream. Times are Unix milliseconds, durations milliseconds. */
export interface AttemptRecord {
  readonly id: string;
  readonly provider: string;
  readonly host: string;
  readonly model: string;
  readonly statusCode: number;
  readonly outcome: OutcomeRecord;
  readonly startedAt: number;
  readonly latencyMs: number;
  readonly timeToFirstTokenMs?: number;
  /** The model that the provider says answered, when it says so. */
  readonly responseModel?: string;
  readonly usage?: UsageRecord;
  /** The provider did not tell its usage: it is an estimate. */
  readonly usageEstimated?: true;
  /** The provider reported a usage that cannot be true. Counted when the attempt ends, and not stored. */
  readonly usageRefused?: true;
  /** Of the usage, by the price that held when the attempt began: a whole number of 1e-12 USD in decimal digits. */
  readonly cost?: string;
  /** There is usage and no price for it, or it was paid for and its usage is not known. */
  readonly unpriced?: true;
  /** The provider's tier of service, where it is not the usual one: `flex`, `priority`, `batch`. */
  readonly serviceTier?: string;
  readonly pricing?: PricingRecord;
  /** Names of the budgets of its target that it was charged to (ledger/charged-budgets.ts). */
  readonly budgets?: readonly string[];
  readonly error?: { readonly reason: string; readonly message: string };
}

/** Work of the gateway's own inside a request. Times are Unix milliseconds, durations milliseconds. */
export interface SpanRecord {
  readonly kind: 'guardrail' | 'cache' | 'tool' | 'translation';
  /** The guardrail's id or slug, the cache's mode, the tool's name, the provider to whose wire was translated. */
  readonly name: string;
  readonly startedAt: number;
  readonly latencyMs: number;
  /**
   * `passed` and `failed` of guardrails, `pending` of those that went on when the entry was written, `unknown` of those
   * that came to no end; the cache's status, `called` of tools; of translations `dropped` and the members that the wire
   * cannot carry.
   */
  readonly verdict: string;
}

/** One request. Absent members: there was none. */
export interface RequestRecord {
  readonly id: string;
  readonly traceId: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly apiKeyId: string;
  readonly createdAt: number;
  readonly operation: string;
  readonly protocol: string;
  readonly method: string;
  readonly path: string;
  readonly provider: string;
  readonly model: string;
  readonly responseModel: string;
  readonly statusCode: number;
  readonly outcome: OutcomeRecord;
  readonly streamed: boolean;
  readonly latencyMs: number;
  readonly timeToFirstTokenMs?: number;
  readonly usage?: UsageRecord;
  /** Usage of one of the attempts is an estimate. */
  readonly usageEstimated?: true;
  /** The sum over all attempts, as theirs. */
  readonly cost?: string;
  /** One of the attempts has no known cost. */
  readonly unpriced?: true;
  /** Names of the budgets that it was charged to, without those of its targets (ledger/charged-budgets.ts). */
  readonly budgets?: readonly string[];
  readonly error?: { readonly reason: string; readonly message: string };
  readonly metadata: Readonly<Record<string, string>>;
  readonly attempts: readonly AttemptRecord[];
  /** The person that the key or token belongs to. */
  readonly userId?: string;
  /** What the cache did: HIT, SEMANTIC HIT, MISS, SEMANTIC MISS or REFRESH; absent when it was not asked. */
  readonly cacheStatus?: string;
  /** What the answer from the cache would have cost: a whole number of 1e-12 USD in decimal digits. */
  readonly saved?: string;
  /**
   * What the prompt would have cost more without the provider's own prompt cache, in 1e-12 USD as the cost; less than
   * nothing when writing to the cache cost more than reading saved. Absent when the cache was neither read nor written.
   */
  readonly promptCacheSaved?: string;
  /** Slugs of the saved config, the stored provider and the prompt that were used, and the prompt's version. */
  readonly config?: string;
  readonly virtualKey?: string;
  readonly prompt?: string;
  readonly promptVersion?: number;
  /** The strategy of the config's root; absent when it has one target. */
  readonly mode?: 'loadbalance' | 'fallback' | 'conditional';
  /** Path in the config of the last target; absent where there was none, and where it is `config` and was called. */
  readonly targetPath?: string;
  /** Calls of the target that answered before the one that did; absent when there was none. */
  readonly retries?: number;
  /** Another target failed before the one that answered. */
  readonly rescued?: true;
  /** Guardrails, cache look-ups and tool calls, in order. */
  readonly spans?: readonly SpanRecord[];
  /** Given by the caller: the span that the request is in its trace, and the one that it is below. */
  readonly spanId?: string;
  readonly spanName?: string;
  readonly parentSpanId?: string;
  /** Written by `POST /logs`: the gateway did not make the call. */
  readonly inserted?: true;
  /** Its bodies were kept. */
  readonly bodies?: true;
  /** Days that it is kept when its workspace says fewer than the gateway. */
  readonly keepDays?: number;
}
