// Percentiles off several histograms are those of one that holds them all.
import test from 'ava';
import fc from 'fast-check';
import { percentilesOf } from '../../../src/admin/analytics/latencies.ts';
import { latencyBucket, percentile } from '../../../src/store/log/sums.ts';

const SHARES = [0, 0.5, 0.9, 0.95, 0.99, 1];

test('as the store reads them', (t) => {
  const histogram = fc.dictionary(
    fc.integer({ min: 0, max: 1200 }).map(String),
    fc.integer({ min: 1, max: 1000 }),
  );
  fc.assert(
    fc.property(fc.array(histogram, { maxLength: 5 }), (given) => {
      const histograms = given.map((one) => new Map(Object.entries(one).map(([k, n]) => [Number(k), n])));
      const all = new Map<number, number>();
      for (const one of histograms) for (const [k, n] of one) all.set(k, (all.get(k) ?? 0) + n);
      const expected = SHARES.map((share) => percentile(all, share) / 1000);
      return JSON.stringify(percentilesOf(histograms, SHARES)) === JSON.stringify(expected);
    }),
  );
  const slowest = new Map([[latencyBucket(Number.MAX_SAFE_INTEGER), 1]]);
  t.true((percentilesOf([slowest], [1])[0] ?? 0) > 3_600_000);
});
