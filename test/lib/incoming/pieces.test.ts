// Pieces of bodies: nothing is lost, and nothing is held beside the bytes.
import test from 'ava';
import fc from 'fast-check';
import { EnvelopeMeter } from '../../../src/lib/incoming/envelope-meter.ts';
import { Pieces } from '../../../src/lib/incoming/pieces.ts';
import { ReadingBudget } from '../../../src/lib/incoming/reading-budget.ts';

test('pieces of any lengths come out as they went in', (t) => {
  const lengths = fc.array(fc.oneof(fc.nat(20), fc.nat(5000), fc.integer({ min: 4000, max: 70_000 })), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(lengths, (all) => {
      const parts = all.map((length, i) => Buffer.alloc(length, i + 1));
      const pieces = new Pieces();
      for (const part of parts) pieces.push(part);
      const whole = Buffer.concat(parts);
      t.is(pieces.bytes, whole.length);
      t.true(pieces.held >= whole.length);
      t.true(pieces.take().equals(whole));
      t.is(pieces.bytes, 0);
    }),
    { numRuns: 50 },
  );
});

test('one piece is handed on without a copy', (t) => {
  const pieces = new Pieces();
  const only = Buffer.from('only');
  pieces.push(only);
  t.is(pieces.take(), only);
});

test('a million pieces of one byte hold little more than their bytes', (t) => {
  const pieces = new Pieces();
  for (let i = 0; i < 1_000_000; i++) pieces.push(Buffer.of(i & 255));
  t.true(pieces.held < 1_200_000, `${pieces.held}`);
});

test('short and long pieces by turns leave no gaps', (t) => {
  const pieces = new Pieces();
  const long = Buffer.alloc(5000);
  for (let i = 0; i < 1000; i++) {
    pieces.push(long);
    pieces.push(Buffer.of(1));
  }
  t.true(pieces.held < 1.2 * pieces.bytes, `${pieces.held} for ${pieces.bytes}`);
});

test('the meter knows where messages end, however the bytes are cut', (t) => {
  const message = (length: number): Buffer => {
    const bytes = Buffer.alloc(5 + length);
    bytes.writeUInt32BE(length, 1);
    return bytes;
  };
  const stream = Buffer.concat([message(0), message(3), message(300), message(1)]);
  const ends = new Set([5, 13, 318, 324]);
  for (const step of [1, 2, 3, 7, 324]) {
    const meter = new EnvelopeMeter();
    for (let at = 0; at < stream.length; at += step) {
      const open = meter.push(stream.subarray(at, at + step));
      t.is(open === 0, ends.has(Math.min(stream.length, at + step)));
    }
  }
});

test('the budget counts by key and in all, and gets back what it gave', (t) => {
  const budget = new ReadingBudget({ totalBytes: 1000, keyBytes: 600 });
  const [a, b, c] = [budget.open('one'), budget.open('one'), budget.open('two')];
  a.hold(500);
  t.throws(() => b.hold(101), { message: /of this key/ });
  b.hold(100);
  c.hold(400);
  t.throws(() => c.hold(401), { message: /the gateway reads/ });
  a.hold(100);
  c.hold(600);
  for (const each of [a, b, c, a]) each.release();
  t.is(budget.bytes, 0);
  t.throws(() => new ReadingBudget({ totalBytes: 1e9, keyBytes: 1e9 }).open(undefined).hold(5_000_000), {
    message: /without a key/,
  });
});
