// The request log as a store: entries with their bodies and feedback, read by filter, page and aggregation.

import type { RequestRecord } from '../call/record.ts';
import type { TenantScope } from '../call/scope.ts';
import type { LogAggregate, LogAggregation } from './log/aggregation.ts';
import type { LogFacets, LogFacetsQuestion } from './log/facets.ts';
import type { FeedbackOwner, LogFilter, RequestLogStore } from './request-log.ts';

/** A message as it went over the wire: text, or base64 of what is no text. */
export interface BodyRecord {
  readonly method?: string;
  readonly url?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly base64?: true;
  /** Bytes that were left out at the end. */
  readonly truncated?: number;
}

/** A request's bodies: apart from its entry, with their own time to live. The writer masks secrets. */
export interface BodiesRecord {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly createdAt: number;
  readonly keepDays?: number;
  readonly request: BodyRecord;
  readonly response: BodyRecord;
  /** As sent to the provider and as it answered, where that is another text. */
  readonly transformedRequest?: BodyRecord;
  readonly originalResponse?: BodyRecord;
  /** Results of guardrails, as JSON. */
  readonly hooks?: string;
}

/** What somebody thinks of a trace's answer. */
export interface FeedbackRecord {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly traceId: string;
  /** -10 to 10. */
  readonly value: number;
  /** 0 to 1. */
  readonly weight: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly apiKeyId: string;
  readonly userId?: string;
  /** The trace's last entry when it was given, without its attempts and spans: filters of aggregations match it. */
  readonly entry?: RequestRecord;
}

/** What the feedback of a trace comes to. */
export interface TraceFeedback {
  readonly count: number;
  /** Of value x weight. */
  readonly sum: number;
  /** The last `SHOWN_FEEDBACK` by time, those of one time by id; oldest first, without their entries. */
  readonly last: readonly FeedbackRecord[];
}

/**
 * By what feedback is summed up: a stretch of time that begins at a multiple of its length, the value that was given,
 * the model of its entry ('' without one), its entry's value of a metadata key (without one it is in no group).
 */
export type FeedbackGrouping =
  | { readonly bucketMs: number }
  | 'value'
  | 'model'
  | { readonly metadata: string };

/** Feedback that has something in common. */
export interface FeedbackTotals {
  /** Times (Unix milliseconds) and values are decimal digits. */
  readonly group: string;
  readonly count: number;
  /** Of value x weight. */
  readonly sum: number;
  /** How many traces it is about. */
  readonly traces: number;
}

/** Most pieces of feedback of a trace that are returned one by one. */
export const SHOWN_FEEDBACK = 20;

/** Corrected money of an entry: whole numbers of 1e-12 USD in decimal digits, an attempt's by its place. */
export interface Repriced {
  readonly id: string;
  readonly createdAt: number;
  readonly cost: string | undefined;
  readonly attempts: readonly (string | undefined)[];
}

/** How long what is kept. */
export interface LogRetention {
  /** Days of entries without a `keepDays` of their own, of bodies, and of roll-ups. */
  readonly logDays: number;
  readonly bodyDays: number;
  readonly metricDays: number;
}

/** Errors as of the other ports: `validation_failed` for what cannot be asked, `store_unavailable` when it is down. */
export interface LogStore extends RequestLogStore {
  /** The entry with its id; undefined when it is none of the scope's. `createdAt` makes it faster where it is known. */
  get(scope: TenantScope, id: string, createdAt?: number): Promise<RequestRecord | undefined>;

  /**
   * Aggregates the entries that match a filter, equal to adding them up one by one (`addEntry`). Answers from roll-ups
   * where filter, dimensions and buckets allow; otherwise reads entries, and refuses (`validation_failed` on `until`)
   * to read too many of them. Beyond `logDays` only roll-ups answer.
   */
  aggregate(scope: TenantScope, filter: LogFilter, aggregation: LogAggregation): Promise<LogAggregate>;

  /**
   * Counts the values of several fields over the entries that match a filter, and finds their names of metadata. Takes
   * a bounded time: where that is over, the fields say from when on their entries are counted.
   */
  facets(scope: TenantScope, filter: LogFilter, question: LogFacetsQuestion): Promise<LogFacets>;

  /** Keeps bodies, all or nothing; what is kept already (same organisation, time, id) is skipped. */
  appendBodies(batch: readonly BodiesRecord[]): Promise<void>;
  bodies(scope: TenantScope, id: string, createdAt: number): Promise<BodiesRecord | undefined>;

  /** Stores new feedback, all or nothing. */
  addFeedback(batch: readonly FeedbackRecord[]): Promise<void>;
  getFeedback(scope: TenantScope, id: string): Promise<FeedbackRecord | undefined>;
  /** Replaces value, weight, metadata and updatedAt; false when there is none with its id in the scope. */
  updateFeedback(scope: TenantScope, feedback: FeedbackRecord): Promise<boolean>;
  /** Of these traces (at most 1,000) those that have feedback, by id. @param own what counts of it; absent: all */
  feedbackOf(
    scope: TenantScope,
    traceIds: readonly string[],
    own?: FeedbackOwner,
  ): Promise<ReadonlyMap<string, TraceFeedback>>;
  /**
   * Totals of the feedback whose entry matches a filter, by group in no order. Its time is the entry's, its own where
   * there is no entry; without an entry it matches only filters of nothing but time and trace. More than a million
   * pieces in the time, and more than 100,000 groups, are `validation_failed` on `until`.
   */
  sumFeedback(
    scope: TenantScope,
    filter: LogFilter,
    by: FeedbackGrouping,
  ): Promise<readonly FeedbackTotals[]>;

  /** Sets other costs on entries and corrects the roll-ups; unknown entries are skipped. Returns how many exist. */
  reprice(organisationId: string, corrections: readonly Repriced[]): Promise<number>;

  /** Drops the time buckets that have expired by `now` (Unix milliseconds); returns their names. */
  expire(retention: LogRetention, now: number): Promise<readonly string[]>;
}
