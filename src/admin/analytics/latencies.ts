// Percentiles off many histograms at once: a graph has three for each of hundreds of stretches of time.
import { setImmediate } from 'node:timers/promises';
import { latencyBucket, latencyOfBucket } from '../../store/log/sums.ts';

/** As many as `latencyBucket` can answer. */
const BUCKETS = latencyBucket(Number.MAX_SAFE_INTEGER) + 1;

/** A histogram of latencies. */
export type Latencies = ReadonlyMap<number, number>;

/** Histograms that are read between two turns of the event loop: a millisecond's work. */
const SLICE = 64;

/** What is said of all histograms together, and of each. */
export interface Percentiles {
  readonly all: readonly number[];
  readonly each: readonly (readonly number[])[];
}

/**
 * The latencies, in milliseconds, that shares (0 to 1, rising) of what is in histograms are at or below; 0 where there is
 * nothing. Gives way to other work in between. @param histogramOf is asked for each of them once
 */
export async function percentilesOf<T>(
  all: readonly T[],
  histogramOf: (one: T) => Latencies,
  shares: readonly number[],
): Promise<Percentiles> {
  const together = new Float64Array(BUCKETS);
  const own = new Float64Array(BUCKETS);
  const each: number[][] = [];
  for (const [index, one] of all.entries()) {
    if (index > 0 && index % SLICE === 0) await setImmediate();
    const histogram = histogramOf(one);
    histogram.forEach((count, bucket) => {
      own[bucket] = count;
      together[bucket] = (together[bucket] as number) + count;
    });
    each.push(sharesOf(own, shares));
    histogram.forEach((_, bucket) => {
      own[bucket] = 0;
    });
  }
  return { all: sharesOf(together, shares), each };
}

function sharesOf(counts: Float64Array, shares: readonly number[]): number[] {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return shares.map(() => 0);
  let bucket = -1;
  let seen = 0;
  return shares.map((share) => {
    const rank = Math.max(1, Math.ceil(all * share));
    while (seen < rank) seen += counts[++bucket] ?? Number.POSITIVE_INFINITY;
    return latencyOfBucket(bucket) / 1000;
  });
}
