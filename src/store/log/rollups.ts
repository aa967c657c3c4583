import type { FirstTokens, LogRollups } from './aggregation.ts';

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

/** @param firstTokens whether times to first token are counted */
export function emptyRollup(firstTokens = false): LogRollups {
  return {
    ...(firstTokens ? { firstTokens: emptyFirstTokens() } : {}),
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

export function emptyFirstTokens(): FirstTokens {
  return { calls: 0, us: 0, times: new Map(), unknown: 0 };
}

/** Adds another roll-up. */
export function addRollup(rollup: LogRollups, more: LogRollups): void {
  rollup.requests += more.requests;
  rollup.successes += more.successes;
  rollup.errors += more.errors;
  rollup.cost += more.cost;
  rollup.promptTokens += more.promptTokens;
  rollup.completionTokens += more.completionTokens;
  rollup.totalTokens += more.totalTokens;
  rollup.latencyUs += more.latencyUs;
  for (const [bucket, count] of more.latencies)
    rollup.latencies.set(bucket, (rollup.latencies.get(bucket) ?? 0) + count);
  if (more.firstTokens !== undefined) {
    rollup.firstTokens ??= emptyFirstTokens();
    addFirstTokens(rollup.firstTokens, more.firstTokens);
  }
  rollup.cacheHits += more.cacheHits;
  rollup.semanticHits += more.semanticHits;
  rollup.cacheLatencyUs += more.cacheLatencyUs;
  rollup.saved += more.saved;
  rollup.semanticSaved += more.semanticSaved;
  rollup.retried += more.retried;
  rollup.rescued += more.rescued;
  rollup.firstSeen = Math.min(rollup.firstSeen, more.firstSeen);
  rollup.lastSeen = Math.max(rollup.lastSeen, more.lastSeen);
}

/** Adds others. @param withTimes false: without their histogram */
export function addFirstTokens(firstTokens: FirstTokens, more: FirstTokens, withTimes = true): void {
  firstTokens.calls += more.calls;
  firstTokens.us += more.us;
  firstTokens.unknown += more.unknown;
  if (!withTimes) return;
  for (const [bucket, count] of more.times)
    firstTokens.times.set(bucket, (firstTokens.times.get(bucket) ?? 0) + count);
}
