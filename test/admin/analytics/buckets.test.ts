// Stretches of time: aligned, gapless, over the whole range, and never many.
import test from 'ava';
import fc from 'fast-check';
import { bucketLength, bucketsOf } from '../../../src/admin/analytics/buckets.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

test('any range is covered by whole stretches, at most 745 of them', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4e12 }),
        fc.oneof(fc.integer({ min: 1, max: 2 * DAY_MS }), fc.integer({ min: 1, max: 400 * DAY_MS })),
        (from, span) => {
          const until = from + span;
          const length = bucketLength(from, until);
          const buckets = bucketsOf(from, until, length);
          const last = buckets.at(-1) ?? Number.NaN;
          return (
            buckets.length <= 745 &&
            buckets.every((at, i) => at % length === 0 && (i === 0 || at - length === buckets[i - 1])) &&
            (buckets[0] ?? Number.NaN) <= from &&
            from < (buckets[0] ?? Number.NaN) + length &&
            last < until &&
            until <= last + length
          );
        },
      ),
      { numRuns: 2000 },
    ),
  );
});

test('lengths by span', (t) => {
  const length = (minutes: number): number => bucketLength(7, 7 + minutes * MINUTE_MS) / MINUTE_MS;
  t.deepEqual([1, 360, 361, 1440, 1441, 31 * 1440, 31 * 1440 + 1].map(length), [1, 1, 5, 5, 60, 60, 1440]);
});
