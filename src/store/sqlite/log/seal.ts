// Makes segments of the tail's begin.

import { eachLine } from '../../log/entry-text.ts';
import type { EntryTuple } from '../../log/entry-tuple.ts';
import type { StatementCache } from '../statement-cache.ts';
import { type Bucket, bucketName, dayOf, UNLIMITED } from './buckets.ts';
import { TextHash } from './hash.ts';
import { fileOf, type NewSegment, readState, readTail, type SegmentChange } from './manifest.ts';
import type { LogSetup } from './protocol.ts';
import { SegmentBuilder } from './segment-build.ts';
import { appendSegment } from './segment-files.ts';

/** An entry on its way into a segment. */
export interface Arrived {
  readonly seq: number;
  readonly tuple: EntryTuple;
  readonly text: string;
}

/**
 * Writes the first block of the tail into segments, and answers the change that puts these into the tail's place;
 * undefined: there is less than a block, and not `all` is meant (then less than a block is one too).
 */
export function sealBlock(
  cached: StatementCache,
  { folder, block }: LogSetup,
  all: boolean,
): SegmentChange | undefined {
  const { sealed, seed } = readState(cached);
  const arrived: Arrived[] = [];
  let to = sealed;
  for (const [lastSeq, count, entries] of readTail(cached, sealed)) {
    let seq = lastSeq - count;
    eachLine(entries, (text) => {
      seq++;
      arrived.push({ seq, tuple: JSON.parse(text) as EntryTuple, text });
    });
    to = lastSeq;
    if (arrived.length >= block) break;
  }
  if (arrived.length === 0 || (arrived.length < block && !all)) return undefined;
  const add = writeSegments(arrived, folder, new TextHash(seed), cached);
  return { sealed: { from: sealed, to }, add, remove: [], alone: [] };
}

/** Writes entries, in order of arrival, into segments of their buckets. */
export function writeSegments(
  arrived: readonly Arrived[],
  folder: string,
  hash: TextHash,
  cached: StatementCache,
): NewSegment[] {
  const buckets = new Map<string, { readonly bucket: Bucket; readonly entries: Arrived[] }>();
  for (const entry of arrived) {
    const bucket = { day: dayOf(entry.tuple[3]), keep: entry.tuple[24]?.[13] ?? UNLIMITED };
    const name = bucketName(bucket);
    const found = buckets.get(name) ?? { bucket, entries: [] };
    buckets.set(name, found);
    found.entries.push(entry);
  }
  return [...buckets.values()].map(({ bucket, entries }) => {
    const builder = new SegmentBuilder(entries.length, hash);
    for (const { seq, tuple, text } of entries) builder.add(seq, tuple, text);
    const { minTime, maxTime, firstSeq, lastSeq, ...built } = builder.finish(true);
    const file = fileOf(cached, 'entries', bucket);
    const place = appendSegment(folder, file, built);
    return {
      kind: 'entries',
      cube: 0,
      ...bucket,
      file,
      ...place,
      count: entries.length,
      minTime,
      maxTime,
      firstSeq,
      lastSeq,
      covers: [],
    };
  });
}
