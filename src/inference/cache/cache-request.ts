// One call at the cache, from its key to its answer or its duty to make one.
import type { AbortLike } from '../../lib/abort.ts';
import type { Suffix } from './form.ts';
import type { CacheSubject } from './key.ts';
import type { AnswerNote, AnswerRecord } from './record.ts';
import type { CacheReport, CacheStatus } from './report.ts';
import type { Embedder } from './semantic.ts';
import type { CacheSettings } from './settings.ts';

/** What the cache must know of a call. */
export interface CachedCallInput {
  readonly subject: () => Promise<CacheSubject>;
  readonly signal: AbortLike;
  readonly note: (report: CacheReport) => void;
  readonly embedder?: Embedder | undefined;
  readonly answerNote?: () => AnswerNote;
  readonly waitMs?: number;
}

/** One call at the cache. */
export interface CacheRequest {
  readonly call: CachedCallInput;
  readonly settings: CacheSettings;
  readonly subject: CacheSubject;
  readonly org: string;
  readonly key: string;
  /** Of the keys under which its answer may be, the own form first. */
  readonly suffixes: readonly [Suffix, ...Suffix[]];
  /** Whether a record serves the caller. */
  readonly fits: (kept: AnswerRecord) => boolean;
  report: CacheReport;
}

/** A kept record on its way to one or more callers. */
export interface Found {
  readonly key: string;
  readonly record: AnswerRecord;
  readonly ageMs: number;
}

/** What a call gets, and what it brings to those who waited for it. */
export interface CacheResult extends Found {
  readonly status: CacheStatus;
  readonly similarity?: number | undefined;
}

/** Adds to the report, and tells the caller. */
export function tell(visit: CacheRequest, report: Partial<CacheReport>): void {
  visit.report = { ...visit.report, ...report };
  visit.call.note(visit.report);
}

/** What `read` gives; undefined when it throws. */
export function readable<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
