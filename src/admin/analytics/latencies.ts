// Percentiles off many histograms at once: a graph has three for each of hundreds of stretches of time.
import { setImmediate } from 'node:timers/promises';
import type { Histogram } from '../../store/log/aggregation.ts';
import { latencyBucket, latencyOfBucket } from '../../store/log/rollups.ts';

/** As many as `latencyBucket` can answer. */
const BUCKETS = latencyBucket(Number.MAX_SAFE_INTEGER) + 1;

/** Histograms that are read between two turns of the event loop: a millisecond's work. */
const SLICE = 48;

/** The statistics of all histograms together, and of each. */
export interface Percentiles {
  readonly all: readonly number[];
  readonly each: readonly (readonly number[])[];
}

/**
 * The latencies, in milliseconds, that shares (0 to 1, rising) of what is in histograms are at or below; 0 where there is
 * nothing. Yields to other work in between. @param histogramOf called once for each
 */
export async function percentilesOf<T>(
  all: readonly T[],
  histogramOf: (one: T) => Histogram,
  shares: readonly number[],
): Promise<Percentiles> {
  const together = new Counts();
  const own = new Counts();
  const each: number[][] = [];
  const add = (count: number, bucket: number): void => {
    own.add(bucket, count);
    together.add(bucket, count);
  };
  for (const [index, one] of all.entries()) {
    if (index > 0 && index % SLICE === 0) await setImmediate();
    histogramOf(one).forEach(add);
    each.push(own.percentiles(shares));
    own.clear();
  }
  return { all: together.percentiles(shares), each };
}

/** One histogram as an array: a graph adds up and reads off hundreds, which maps and callbacks would make slow. */
class Counts {
  readonly #counts = new Float64Array(BUCKETS);
  #all = 0;
  #first = BUCKETS;
  #last = -1;

  add(bucket: number, count: number): void {
    this.#counts[bucket] = (this.#counts[bucket] as number) + count;
    this.#all += count;
    if (bucket < this.#first) this.#first = bucket;
    if (bucket > this.#last) this.#last = bucket;
  }

  percentiles(shares: readonly number[]): number[] {
    let bucket = this.#first - 1;
    let seen = 0;
    return shares.map((share) => {
      if (this.#all === 0) return 0;
      const rank = Math.max(1, Math.ceil(this.#all * share));
      while (seen < rank && bucket < this.#last) seen += this.#counts[++bucket] as number;
      return latencyOfBucket(bucket) / 1000;
    });
  }

  clear(): void {
    this.#counts.fill(0, this.#first, this.#last + 1);
    this.#all = 0;
    this.#first = BUCKETS;
    this.#last = -1;
  }
}
