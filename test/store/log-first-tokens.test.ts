// Segments and roll-ups of versions that did not keep the time to first token: what they lack is told, never counted as 0.
import test from 'ava';
import { encodeEntry } from '../../src/store/log/entry-text.ts';
import { entryTuple } from '../../src/store/log/entry-tuple.ts';
import { emptyRollup } from '../../src/store/log/rollups.ts';
import { Accumulator } from '../../src/store/sqlite/log/accumulator.ts';
import { memorySource } from '../../src/store/sqlite/log/blobs.ts';
import { TextHash } from '../../src/store/sqlite/log/hash.ts';
import { RollupBuilder } from '../../src/store/sqlite/log/rollup-builder.ts';
import { Scratch, Segment } from '../../src/store/sqlite/log/segment.ts';
import { type BuiltSegment, SegmentBuilder } from '../../src/store/sqlite/log/segment-build.ts';
import { logEntry } from './log-entries.ts';

const hash = new TextHash(7);

/** Entries of one hour with these times; undefined: not streamed. */
function entriesOf(times: readonly (number | undefined)[]): BuiltSegment {
  const builder = new SegmentBuilder(times.length, hash);
  for (const [i, timeToFirstTokenMs] of times.entries()) {
    const more = timeToFirstTokenMs === undefined ? {} : { timeToFirstTokenMs };
    const entry = logEntry({ id: `e${i}`, organisationId: 'o', createdAt: 1000 + i, ...more });
    builder.add(i + 1, entryTuple(entry), encodeEntry(entry));
  }
  return builder.finish(true);
}

const open = ({ head, bytes }: BuiltSegment): Segment => new Segment(head, memorySource(bytes));

/** As an earlier version wrote it. */
function older({ head, bytes }: BuiltSegment): Segment {
  const { firstTokenUs: _, firstTokenBucket, firstTokens, firstTokenUnknown, ...numbers } = head.numbers;
  const { firstTokenTimes, ...rest } = head;
  return new Segment({ ...rest, numbers }, memorySource(bytes));
}

function rolledUp(...segments: readonly Segment[]): BuiltSegment {
  const builder = new RollupBuilder(hash, ['workspace']);
  for (const segment of segments) builder.add(segment);
  const [built] = builder.finish();
  if (built === undefined) throw new Error('no roll-ups');
  return built;
}

/** All of them in one group. */
function totalOf(...segments: readonly Segment[]) {
  const totals = new Accumulator(false, true);
  totals.grow(1);
  for (const segment of segments) {
    const { count } = segment;
    const rows = Uint16Array.from({ length: count }, (_, row) => row);
    totals.add(segment, { rows, count, groups: new Int32Array(count), runs: undefined }, new Scratch());
  }
  const found = totals.firstTokens?.of([0]);
  if (found === undefined) throw new Error('not requested');
  const { calls, us, unknown, times } = found;
  return { calls: calls[0], us: us[0], unknown: unknown[0], times: [...times.counts] };
}

test('a time of 0 is a time, and no stream is none', (t) => {
  const segment = open(entriesOf([0, undefined, 12.5, undefined, 12.5]));
  const wanted = { calls: 3, us: 25_000, unknown: 0, times: [1, 2] };
  t.deepEqual(totalOf(segment), wanted);
  t.deepEqual(totalOf(open(rolledUp(segment))), wanted);
});

test('without streams nothing is measured, and all is known', (t) => {
  const segment = open(entriesOf([undefined, undefined]));
  const wanted = { calls: 0, us: 0, unknown: 0, times: [] };
  t.deepEqual(totalOf(segment), wanted);
  t.deepEqual(totalOf(open(rolledUp(segment))), wanted);
});

test('entries and roll-ups of earlier versions are unknown, alone and between others', (t) => {
  const [old, young] = [entriesOf([5, 5, 5]), entriesOf([1, undefined])];
  t.deepEqual(totalOf(older(old)), { calls: 0, us: 0, unknown: 3, times: [] });
  t.deepEqual(totalOf(older(rolledUp(open(old)))), { calls: 0, us: 0, unknown: 3, times: [] });
  const wanted = { calls: 1, us: 1000, unknown: 3, times: [1] };
  t.deepEqual(totalOf(older(old), open(young)), wanted);
  t.deepEqual(totalOf(open(rolledUp(older(old), open(young)))), wanted, 'a roll-up of both keeps it');
});

test('roll-ups that were not asked for times have none', (t) => {
  t.false('firstTokens' in emptyRollup());
});
