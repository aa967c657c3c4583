// Sums of entries, added up one by one and together.
import type { RequestRecord } from '../../call/record.ts';
import type { LogRollups } from './aggregation.ts';

/** Each bucket is 2 % wide: a percentile read off it is within 1 % of the entry's. */
const GROWTH = Math.log(1.02);

/** The number of the bucket that a latency in microseconds falls into: 0 for none, at most 1,200. */
export function latencyBucket(us: number): number {
  return us <= 1 ? 0 : Math.min(1200, 1 + Math.floor(Math.log(us) / GROWTH));
}

/** Microseconds in the middle of a bucket. */
export function latencyOfBucket(bucket: number): number {
  return bucket === 0 ? 0 : Math.exp((bucket - 0.5) * GROWTH);
}

/** The latency that a share (0 to 1) of all is at or below, in microseconds; 0 when there is none. */
export function percentile(latencies: ReadonlyMap<number, number>, share: number): number {
  let all = 0;
  for (const count of latencies.values()) all += count;
  if (all === 0) return 0;
  const rank = Math.max(1, Math.ceil(all * share));
  let seen = 0;
  for (const bucket of [...latencies.keys()].sort((a, b) => a - b)) {
    seen += latencies.get(bucket) ?? 0;
    if (seen >= rank) return latencyOfBucket(bucket);
  }
  return 0;
}

export function emptyRollup(): LogRollups {
  return {
    requests: 0,
    successes: 0,
    errors: 0,
    cost: 0n,
    promptTokens: 0,
    completionTokens: 0,
    totalTokens: 0,
    latencyUs: 0,
    latencies: new Map(),
    cacheHits: 0,
    semanticHits: 0,
    cacheLatencyUs: 0,
    saved: 0n,
    semanticSaved: 0n,
    retried: 0,
    rescued: 0,
    firstSeen: Number.MAX_SAFE_INTEGER,
    lastSeen: 0,
  };
}

/** Counts an entry in. */
export function addEntry(sums: LogRollups, entry: RequestRecord): void {
  const { statusCode, usage, cacheStatus, createdAt } = entry;
  const us = Math.round(entry.latencyMs * 1000);
  const bucket = latencyBucket(us);
  sums.requests++;
  if (statusCode >= 200 && statusCode < 300) sums.successes++;
  if (statusCode >= 400) sums.errors++;
  if (entry.cost !== undefined) sums.cost += BigInt(entry.cost);
  if (usage) {
    sums.promptTokens += usage.promptTokens;
    sums.completionTokens += usage.completionTokens ?? 0;
    sums.totalTokens += usage.totalTokens;
  }
  sums.latencyUs += us;
  sums.latencies.set(bucket, (sums.latencies.get(bucket) ?? 0) + 1);
  if (cacheStatus === 'HIT' || cacheStatus === 'SEMANTIC HIT') {
    const saved = entry.saved === undefined ? 0n : BigInt(entry.saved);
    sums.cacheLatencyUs += us;
    if (cacheStatus === 'HIT') {
      sums.cacheHits++;
      sums.saved += saved;
    } else {
      sums.semanticHits++;
      sums.semanticSaved += saved;
    }
  }
  if (entry.retries !== undefined && entry.retries > 0) sums.retried++;
  if (entry.rescued) sums.rescued++;
  sums.firstSeen = Math.min(sums.firstSeen, createdAt);
  sums.lastSeen = Math.max(sums.lastSeen, createdAt);
}

/** Adds other sums in. */
export function addRollup(sums: LogRollups, more: LogRollups): void {
  sums.requests += more.requests;
  sums.successes += more.successes;
  sums.errors += more.errors;
  sums.cost += more.cost;
  sums.promptTokens += more.promptTokens;
  sums.completionTokens += more.completionTokens;
  sums.totalTokens += more.totalTokens;
  sums.latencyUs += more.latencyUs;
  for (const [bucket, count] of more.latencies)
    sums.latencies.set(bucket, (sums.latencies.get(bucket) ?? 0) + count);
  sums.cacheHits += more.cacheHits;
  sums.semanticHits += more.semanticHits;
  sums.cacheLatencyUs += more.cacheLatencyUs;
  sums.saved += more.saved;
  sums.semanticSaved += more.semanticSaved;
  sums.retried += more.retried;
  sums.rescued += more.rescued;
  sums.firstSeen = Math.min(sums.firstSeen, more.firstSeen);
  sums.lastSeen = Math.max(sums.lastSeen, more.lastSeen);
}
