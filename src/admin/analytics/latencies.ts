// Percentiles off many histograms at once: a graph has three for each of hundreds of stretches of time.
import { latencyBucket, latencyOfBucket } from '../../store/log/sums.ts';

/** As many as `latencyBucket` can answer. */
const BUCKETS = latencyBucket(Number.MAX_SAFE_INTEGER) + 1;

/** A histogram of latencies. */
export type Latencies = ReadonlyMap<number, number>;

/** The latencies, in milliseconds, that shares (0 to 1, rising) of all in some histograms are at or below; 0 when there are none. */
export function percentilesOf(histograms: Iterable<Latencies>, shares: readonly number[]): number[] {
  const counts = new Float64Array(BUCKETS);
  let all = 0;
  for (const histogram of histograms)
    histogram.forEach((count, bucket) => {
      counts[bucket] = (counts[bucket] ?? 0) + count;
      all += count;
    });
  if (all === 0) return shares.map(() => 0);
  let bucket = -1;
  let seen = 0;
  return shares.map((share) => {
    const rank = Math.max(1, Math.ceil(all * share));
    while (seen < rank) seen += counts[++bucket] ?? Number.POSITIVE_INFINITY;
    return latencyOfBucket(bucket) / 1000;
  });
}
