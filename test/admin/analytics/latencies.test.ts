// Percentiles off several histograms are those of one that holds them all.
import test from 'ava';
import fc from 'fast-check';
import { percentilesOf } from '../../../src/admin/analytics/latencies.ts';
import { latencyBucket, percentile } from '../../../src/store/log/rollups.ts';

const SHARES = [0, 0.5, 0.9, 0.95, 0.99, 1];

test('of all together and of each, as the store reads them', async (t) => {
  const histogram = fc.dictionary(
    fc.integer({ min: 0, max: 1200 }).map(String),
    fc.integer({ min: 1, max: 1000 }),
  );
  const asStored = (one: ReadonlyMap<number, number>) => SHARES.map((share) => percentile(one, share) / 1000);
  await fc.assert(
    fc.asyncProperty(fc.array(histogram, { maxLength: 5 }), async (given) => {
      const histograms = given.map((one) => new Map(Object.entries(one).map(([k, n]) => [Number(k), n])));
      const all = new Map<number, number>();
      for (const one of histograms) for (const [k, n] of one) all.set(k, (all.get(k) ?? 0) + n);
      t.deepEqual(await percentilesOf(histograms, (one) => one, SHARES), {
        all: asStored(all),
        each: histograms.map(asStored),
      });
    }),
  );
  const slowest = new Map([[latencyBucket(Number.MAX_SAFE_INTEGER), 1]]);
  const { all } = await percentilesOf([slowest], (one) => one, [1]);
  t.true((all[0] ?? 0) > 3_600_000);
});
