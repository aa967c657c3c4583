// Stored roll-ups come back from their bytes unchanged.
import test from 'ava';
import fc from 'fast-check';
import { decodeFirstTokens, encodeFirstTokens } from '../../src/store/mongo/log/first-token-bytes.ts';
import { decodeRows, encodeRows } from '../../src/store/mongo/log/rollup-bytes.ts';

const count = fc.oneof(
  fc.nat(300),
  fc.maxSafeNat(),
  fc.double({ noNaN: true }).map((value) => value + 0),
);
const money = fc.bigInt({ min: 0n, max: 10n ** 33n });

test('rows of roll-ups come back as they were', (t) => {
  const rollup = fc.record({
    requests: count,
    successes: count,
    errors: count,
    cost: money,
    promptTokens: count,
    completionTokens: count,
    totalTokens: count,
    latencyUs: count,
    cacheHits: count,
    semanticHits: count,
    cacheLatencyUs: count,
    saved: money,
    semanticSaved: money,
    retried: count,
    rescued: count,
    firstSeen: fc.maxSafeNat(),
    lastSeen: fc.maxSafeNat(),
    latencies: fc
      .uniqueArray(fc.tuple(fc.nat(1200), fc.nat(1_000_000)), { selector: ([bucket]) => bucket })
      .map((pairs) => new Map(pairs.toSorted(([a], [b]) => a - b))),
  });
  const values = fc.array(fc.string({ unit: 'binary' }), { minLength: 2, maxLength: 2 });
  fc.assert(
    fc.property(fc.array(fc.record({ values, rollup }), { maxLength: 20 }), (rows) => {
      t.deepEqual([...decodeRows(encodeRows(rows))], rows);
    }),
  );
});

test('times to first token come back as they were', (t) => {
  const times = fc
    .uniqueArray(fc.tuple(fc.nat(1200), fc.integer({ min: 1, max: 1000 })), {
      minLength: 1,
      selector: ([bucket]) => bucket,
    })
    .map((pairs) => new Map(pairs.toSorted(([a], [b]) => a - b)));
  const some = fc.record({
    calls: fc.integer({ min: 1, max: 2 ** 40 }),
    us: count,
    unknown: fc.nat(),
    times,
  });
  const none = fc.nat().map((unknown) => ({ calls: 0, us: 0, unknown, times: new Map<number, number>() }));
  fc.assert(
    fc.property(fc.array(fc.oneof(some, none), { maxLength: 20 }), (rows) => {
      t.deepEqual([...decodeFirstTokens(encodeFirstTokens(rows))], rows);
    }),
  );
});

test('bytes that are cut off are no roll-ups', (t) => {
  const bytes = encodeRows([]);
  t.throws(() => [...decodeRows(bytes.subarray(0, bytes.length - 1))], { message: /cut off/ });
});
