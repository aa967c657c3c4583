// What the cache did for a call, for the answer's headers and for the explanation.
import type { AnswerNote, AnswerRecord } from './record.ts';

/**
 * The words of the header cache-status (those of the reference gateway). `DISABLED` also when the store that the
 * cache is in does not answer.
 */
export type CacheStatus = 'HIT' | 'SEMANTIC HIT' | 'MISS' | 'SEMANTIC MISS' | 'REFRESH' | 'DISABLED';

/** What was done, and why. */
export interface CacheReport {
  readonly status: CacheStatus;
  /** The answer's key, 64 hexadecimal digits; absent where none was made. */
  readonly key?: string;
  /** Of the answer that was given. */
  readonly ageMs?: number;
  /** Waited for another call that was making the same answer. */
  readonly waitedMs?: number;
  /** Cosine of the nearest kept text, found good enough or not. */
  readonly similarity?: number;
  /** Of the answer that was given. */
  readonly note?: AnswerNote;
  /** What would have been answered in shadow mode. */
  readonly shadow?: ShadowHit;
  /** Why it is no more than that, in words for the caller. */
  readonly reason?: string;
}

/** A semantic hit that was not given. */
export interface ShadowHit {
  /** The key of the answer that would have been given. */
  readonly key: string;
  readonly similarity: number;
  readonly ageMs: number;
  readonly record: AnswerRecord;
}

/** The value of the header cache-shadow, e.g. `hit; similarity=0.9731; age=12`; undefined when there is nothing to say. */
export function shadowHeader({ shadow }: CacheReport): string | undefined {
  if (shadow === undefined) return undefined;
  return `hit; similarity=${shadow.similarity.toFixed(4)}; age=${Math.floor(shadow.ageMs / 1000)}`;
}
