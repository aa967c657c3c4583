// The request log's port: one entry per request, read by filter and page.
import type { OutcomeRecord, RequestRecord } from '../call/record.ts';
import type { TenantScope } from '../call/scope.ts';

/** Inclusive bounds. */
export interface LogRange<T> {
  readonly min?: T;
  readonly max?: T;
}

/** Whose feedback counts: what this person or this key gave, and what their calls got. One of both. */
export interface FeedbackOwner {
  readonly userId?: string;
  readonly apiKeyId?: string;
}

/** Which mean of a trace's feedback. */
export interface FeedbackRange extends LogRange<number> {
  /** Absent: all feedback within the scope counts. */
  readonly own?: FeedbackOwner;
}

/** Which entries: all given conditions hold. Times are Unix milliseconds, `from` inclusive, `until` exclusive. */
export interface LogFilter {
  readonly from?: number;
  readonly until?: number;
  readonly statusCodes?: readonly number[];
  readonly traceIds?: readonly string[];
  readonly ids?: readonly string[];
  readonly spanIds?: readonly string[];
  readonly workspaceIds?: readonly string[];
  readonly apiKeyIds?: readonly string[];
  readonly userIds?: readonly string[];
  /** Of metadata `_user`. */
  readonly users?: readonly string[];
  readonly providers?: readonly string[];
  readonly models?: readonly string[];
  /** Any of the pairs. */
  readonly providerModels?: readonly { readonly provider: string; readonly model: string }[];
  readonly virtualKeys?: readonly string[];
  readonly configs?: readonly string[];
  readonly prompts?: readonly string[];
  /** `DISABLED` means entries without one. */
  readonly cacheStatuses?: readonly string[];
  /** Entries without an error do not match. */
  readonly errorReasons?: readonly string[];
  readonly outcomes?: readonly OutcomeRecord[];
  /** All pairs are in the entry's metadata; at most 10. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** 1e-12 USD; an entry without a cost has 0. */
  readonly cost?: LogRange<bigint>;
  /** Entries without usage have 0. */
  readonly totalTokens?: LogRange<number>;
  readonly promptTokens?: LogRange<number>;
  readonly completionTokens?: LogRange<number>;
  readonly latencyMs?: LogRange<number>;
  /**
   * Mean of value x weight over the feedback of the entry's trace within the scope, to the billionth; entries without
   * such feedback do not match.
   */
  readonly feedback?: FeedbackRange;
  /**
   * Part of the entry's id, trace id, path, provider, models, error message or a metadata value, in any case; 3 to 200
   * characters. Pages look for it in bodies, too, where they are asked to.
   */
  readonly text?: string;
}

/**
 * Which page, by time of creation; entries of the same millisecond keep one order from page to page.
 * A page size over 1,000, a skip over 100,000 and more than 100 values in one condition are `validation_failed`.
 */
export interface LogPageRequest {
  /** From 0; of no meaning with `after`. */
  readonly page: number;
  readonly pageSize: number;
  readonly order: 'asc' | 'desc';
  /** The `next` of the page before, with the same filter and order; a text that is none is `validation_failed`. */
  readonly after?: string;
  /** False: `total` is not counted (0). */
  readonly count?: false;
  /** With a `text` in the filter: it is looked for in what was said, too. */
  readonly bodies?: BodySearch;
}

/** A search in bodies. It reads them one after the other, so that it has bounds. */
export interface BodySearch {
  /** Only of calls that were made with this key; absent: of all. */
  readonly apiKeyId?: string;
  /** Milliseconds, and bytes of bodies as they were before they were compressed. */
  readonly ms?: number;
  readonly bytes?: number;
  /** The total is counted as far as the bounds let it, also beyond 10,000 and when the page is full. */
  readonly countAll?: true;
}

export interface LogPage {
  /** Counted to 10,000 at the most. Of a search in bodies: as many as were found behind `after` while it lasted. */
  readonly total: number;
  /** There may be more: it was counted to the most, or there was no time to count on. */
  readonly totalCapped: boolean;
  readonly entries: readonly RequestRecord[];
  /** Where the next page begins; absent when this page is the last. */
  readonly next?: string;
  /**
   * Unix milliseconds. A search ended for want of time before the page was full: it looked at all entries before this one's
   * time in the page's order, and goes on from `next`.
   */
  readonly searchedTo?: number;
}

/** An entry, or its text as `encodeEntry` writes it. */
export type WrittenEntry = RequestRecord | string;

/** Where entries live. */
export interface RequestLogStore {
  /**
   * Stores a batch, all of it or nothing; resolves when it would survive kill -9. An entry that is stored already
   * (same organisation, id and time of creation: a retry) is skipped.
   * @param batch entries, or where they were written before what `encodeEntry` made of them
   * @param texts of entries by their place in the batch, where both are at hand
   * @param options `apart`: a part of the batch may be stored when it rejects, because it is given again
   */
  append(
    batch: readonly WrittenEntry[],
    texts?: readonly (string | undefined)[],
    options?: { readonly apart?: boolean },
  ): Promise<void>;
  page(scope: TenantScope, filter: LogFilter, request: LogPageRequest): Promise<LogPage>;
}
