// Segments that were written before the reasons of errors had a column: they are read from the entries.
import test from 'ava';
import { encodeEntry } from '../../src/store/log/entry-text.ts';
import { entryTuple } from '../../src/store/log/entry-tuple.ts';
import { memorySource } from '../../src/store/sqlite/log/blobs.ts';
import { TextHash } from '../../src/store/sqlite/log/hash.ts';
import { Scratch, Segment } from '../../src/store/sqlite/log/segment.ts';
import { SegmentBuilder } from '../../src/store/sqlite/log/segment-build.ts';
import { Selection } from '../../src/store/sqlite/log/selection.ts';
import { logEntry } from './log-entries.ts';

const hash = new TextHash(7);

/** A segment of calls with these reasons, as it was written before. */
function oldSegment(reasons: readonly (string | undefined)[]): Segment {
  const builder = new SegmentBuilder(reasons.length, hash);
  for (const [i, reason] of reasons.entries()) {
    const entry = logEntry({
      id: `e${i}`,
      organisationId: 'o',
      createdAt: 1000 + i,
      ...(reason === undefined ? {} : { error: { reason, message: `message ${i % 3}` } }),
    });
    builder.add(i + 1, entryTuple(entry), encodeEntry(entry));
  }
  const { head, bytes } = builder.finish(true);
  const { errorReason: _, ...texts } = head.texts;
  return new Segment({ ...head, texts }, memorySource(bytes));
}

function rowsWith(segment: Segment, ...errorReasons: string[]): number[] {
  const selection = new Selection({ org: 'o', workspace: null }, { errorReasons }, hash, undefined);
  const { rows, count } = selection.rows(segment);
  return [...rows.subarray(0, count)];
}

test('rows of some reasons are found, over several chunks of entries', (t) => {
  const reasons = Array.from({ length: 300 }, (_, i) =>
    i % 7 === 0 ? 'upstream_status' : i % 50 === 3 ? 'rate_limited' : undefined,
  );
  const segment = oldSegment(reasons);
  const meant = (reason: string) => [...reasons.keys()].filter((i) => reasons[i] === reason);
  t.deepEqual(rowsWith(segment, 'upstream_status'), meant('upstream_status'));
  t.deepEqual(rowsWith(segment, 'rate_limited', 'none'), meant('rate_limited'));
  t.deepEqual(rowsWith(segment, 'none'), []);
  t.is(segment.text('errorReason'), segment.text('errorReason'), 'it is made once');
});

test('all rows, none, and more reasons than a byte counts', (t) => {
  const many = Array.from({ length: 300 }, (_, i) => `reason ${i}`);
  t.deepEqual(rowsWith(oldSegment(many), 'reason 0', 'reason 299'), [0, 299]);
  const one = oldSegment(['timeout', 'timeout']);
  t.deepEqual(rowsWith(one, 'timeout'), [0, 1]);
  const column = one.text('errorReason');
  t.deepEqual(column && [...one.packedIds(column, new Scratch(), 'x')], [1, 1]);
  t.is(oldSegment([undefined, undefined]).text('errorReason'), undefined);
});
