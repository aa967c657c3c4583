// The request log's port: one entry per request, read by filter and page.

import type { TenantScope } from './scope.ts';

export type { TenantScope } from './scope.ts';

/** Tokens as the provider reported them. Absent members were not reported. */
export interface UsageRecord {
  readonly promptTokens: number;
  readonly completionTokens?: number;
  readonly totalTokens: number;
  readonly cachedTokens?: number;
  readonly cacheCreationTokens?: number;
  readonly reasoningTokens?: number;
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
  /** Of the usage, by the price that held when the attempt began: a whole number of 1e-12 USD in decimal digits. */
  readonly cost?: string;
  /** There is usage, and no price for it. */
  readonly unpriced?: true;
  readonly error?: { readonly reason: string; readonly message: string };
}

/** One request. */
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
  /** One of the attempts has usage and no price. */
  readonly unpriced?: true;
  readonly error?: { readonly reason: string; readonly message: string };
  readonly metadata: Readonly<Record<string, string>>;
  readonly attempts: readonly AttemptRecord[];
}

/** Which entries: all given conditions hold. Times are Unix milliseconds, `from` inclusive, `until` exclusive. */
export interface LogFilter {
  readonly from?: number;
  readonly until?: number;
  readonly statusCodes?: readonly number[];
  readonly traceIds?: readonly string[];
}

/**
 * Which page, by time of creation; entries of the same millisecond keep one order from page to page.
 * A page size over 1,000, a skip over 100,000 and more than 100 values in one condition are `validation_failed`.
 */
export interface LogPageRequest {
  /** From 0. */
  readonly page: number;
  readonly pageSize: number;
  readonly order: 'asc' | 'desc';
}

export interface LogPage {
  /** Counted to 10,000 at the most. */
  readonly total: number;
  readonly totalCapped: boolean;
  readonly entries: readonly RequestRecord[];
}

/** Where entries live. */
export interface RequestLogStore {
  /**
   * Stores a batch, all of it or nothing; resolves when it would survive kill -9. An entry that is stored already
   * (same organisation, id and time of creation: a retry) is skipped.
   */
  append(batch: readonly RequestRecord[]): Promise<void>;
  page(scope: TenantScope, filter: LogFilter, request: LogPageRequest): Promise<LogPage>;
}
