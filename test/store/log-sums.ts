// How entries and feedback add up: the definition that every adapter is tested against.
import type { RequestRecord } from '../../src/call/record.ts';
import type { FirstTokens, LogRollups } from '../../src/store/log/aggregation.ts';
import { latencyBucket } from '../../src/store/log/rollups.ts';
import { type FeedbackRecord, SHOWN_FEEDBACK, type TraceFeedback } from '../../src/store/log-store.ts';
import type { FeedbackOwner } from '../../src/store/request-log.ts';

/** Counts an entry in. */
export function addEntry(rollup: LogRollups, entry: RequestRecord): void {
  const { statusCode, usage, cacheStatus, createdAt } = entry;
  const us = Math.round(entry.latencyMs * 1000);
  const bucket = latencyBucket(us);
  rollup.requests++;
  if (statusCode >= 200 && statusCode < 300) rollup.successes++;
  if (statusCode >= 400) rollup.errors++;
  if (entry.cost !== undefined) rollup.cost += BigInt(entry.cost);
  if (usage) {
    rollup.promptTokens += usage.promptTokens;
    rollup.completionTokens += usage.completionTokens ?? 0;
    rollup.totalTokens += usage.totalTokens;
  }
  rollup.latencyUs += us;
  rollup.latencies.set(bucket, (rollup.latencies.get(bucket) ?? 0) + 1);
  if (rollup.firstTokens !== undefined) addFirstToken(rollup.firstTokens, entry);
  if (cacheStatus === 'HIT' || cacheStatus === 'SEMANTIC HIT') {
    const saved = entry.saved === undefined ? 0n : BigInt(entry.saved);
    rollup.cacheLatencyUs += us;
    if (cacheStatus === 'HIT') {
      rollup.cacheHits++;
      rollup.saved += saved;
    } else {
      rollup.semanticHits++;
      rollup.semanticSaved += saved;
    }
  }
  if (entry.retries !== undefined && entry.retries > 0) rollup.retried++;
  if (entry.rescued) rollup.rescued++;
  rollup.firstSeen = Math.min(rollup.firstSeen, createdAt);
  rollup.lastSeen = Math.max(rollup.lastSeen, createdAt);
}

function addFirstToken(firstTokens: FirstTokens, { timeToFirstTokenMs }: RequestRecord): void {
  if (timeToFirstTokenMs === undefined) return;
  const us = Math.round(timeToFirstTokenMs * 1000);
  const bucket = latencyBucket(us);
  firstTokens.calls++;
  firstTokens.us += us;
  firstTokens.times.set(bucket, (firstTokens.times.get(bucket) ?? 0) + 1);
}

/** Whether it was given by a person or a key, or for a call of theirs. */
export function isOwnFeedback(own: FeedbackOwner, { userId, apiKeyId, entry }: FeedbackRecord): boolean {
  if (own.userId !== undefined) return userId === own.userId || entry?.userId === own.userId;
  return apiKeyId === own.apiKeyId || entry?.apiKeyId === own.apiKeyId;
}

/** By time, those of one time by id. */
function byTime(a: FeedbackRecord, b: FeedbackRecord): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** Adds up feedback of one trace. */
export function traceFeedback(feedback: readonly FeedbackRecord[]): TraceFeedback {
  return {
    count: feedback.length,
    sum: feedback.reduce((sum, { value, weight }) => sum + value * weight, 0),
    last: feedback
      .toSorted(byTime)
      .slice(-SHOWN_FEEDBACK)
      .map(({ entry: _, ...one }) => one),
  };
}
