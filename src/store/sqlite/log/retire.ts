// Retires expired time buckets: the roll-ups of their entries stay, their files are deleted.

import type { LogRetention } from '../../log-store.ts';
import type { StatementCache } from '../statement-cache.ts';
import { memorySource } from './blobs.ts';
import { type Bucket, bucketName, dayOf, HOUR_MS, isOver, UNLIMITED } from './buckets.ts';
import { TextHash } from './hash.ts';
import {
  fileOf,
  type NewSegment,
  readSegments,
  readState,
  type SegmentChange,
  type SegmentRow,
} from './manifest.ts';
import { RollupBuilder } from './rollup-builder.ts';
import { MADE, ROLLUPS, type Rollup } from './rollups.ts';
import { Segment } from './segment.ts';
import type { BuiltSegment } from './segment-build.ts';
import { appendSegment, type SegmentFiles } from './segment-files.ts';

/** What there is to do, bucket by bucket. */
export interface Due {
  /** The tail has expired entries: the caller seals it and asks again. */
  readonly tail: boolean;
  readonly retire: readonly Bucket[];
  /** Buckets that ended long enough ago that few entries arrive any more: their roll-ups can be made. */
  readonly sum: readonly Bucket[];
  /** Expired roll-ups. */
  readonly forget: readonly Bucket[];
}

/** A change of the list, and the files that may have no listed segment after it. */
export interface Dropping {
  readonly change: SegmentChange;
  readonly files: readonly string[];
}

/** How long after a day's end its roll-ups are made; entries that arrive later are read in addition to them. */
const SETTLED_MS = HOUR_MS;

export function dueBuckets(cached: StatementCache, retention: LogRetention, now: number): Due {
  const rows = readSegments(cached, 0);
  const { logDays, metricDays } = retention;
  const [oldest] = cached('SELECT min(min_time) FROM log_tail').get() as unknown as [number | null];
  // An entry of a workspace that keeps less may be over on the day after its own.
  const tail = oldest !== null && dayOf(oldest) < dayOf(now);
  const entries = bucketsOf(rows.filter(({ kind }) => kind === 'entries'));
  const retire = entries.filter((bucket) => isOver(bucket, logDays, now));
  const sum = unsummedBuckets(cached, now).filter((bucket) => !isOver(bucket, logDays, now));
  const rolledUp = bucketsOf(rows.filter(({ kind }) => kind === 'sums'));
  // Covered entries are dropped first: roll-ups replace their entries as long as these can be asked for.
  const forget = rolledUp.filter(
    (bucket) =>
      isOver({ ...bucket, keep: UNLIMITED }, metricDays, now) &&
      (isOver(bucket, logDays, now) || !entries.some((other) => bucketName(other) === bucketName(bucket))),
  );
  return { tail, retire, sum, forget };
}

/** Buckets with entries that have no roll-ups, and that ended long enough ago that few entries arrive any more. */
export function unsummedBuckets(cached: StatementCache, now: number): Bucket[] {
  const rows = readSegments(cached, 0);
  const covered = new Set(rows.flatMap(({ covers }) => covers));
  const open = rows.filter(({ kind, id }) => kind === 'entries' && !covered.has(id));
  return bucketsOf(open).filter((bucket) => isOver({ ...bucket, keep: UNLIMITED }, 0, now - SETTLED_MS));
}

function bucketsOf(rows: readonly SegmentRow[]): Bucket[] {
  const buckets = new Map(rows.map(({ day, keep }) => [bucketName({ day, keep }), { day, keep }]));
  return [...buckets.values()].sort((a, b) => a.day - b.day || a.keep - b.keep);
}

/** Writes roll-ups of the entries that have none yet. */
export function rollUpBucket(
  cached: StatementCache,
  files: SegmentFiles,
  folder: string,
  bucket: Bucket,
): SegmentChange {
  const { entries, valid, stale } = partsOf(cached, bucket);
  const covered = new Set(valid.flatMap(({ covers }) => covers));
  const open = entries.filter(({ id }) => !covered.has(id));
  const add = writeRollups(cached, files, folder, bucket, open);
  return { add, remove: stale.map(({ id }) => id), alone: [] };
}

/** Removes a bucket's entries, and puts roll-ups in their place when these are kept. */
export function retireBucket(
  cached: StatementCache,
  files: SegmentFiles,
  folder: string,
  bucket: Bucket,
  withSums: boolean,
): Dropping {
  const { entries, valid, stale } = partsOf(cached, bucket);
  const covered = new Set(valid.flatMap(({ covers }) => covers));
  const open = withSums ? entries.filter(({ id }) => !covered.has(id)) : [];
  const add = writeRollups(cached, files, folder, bucket, open);
  const gone = [...entries, ...stale];
  const change = {
    add: add.map((row) => ({ ...row, covers: [] })),
    remove: gone.map(({ id }) => id),
    alone: valid.filter(({ covers }) => covers.length > 0).map(({ id }) => id),
  };
  return { change, files: filesOf(gone) };
}

/** Removes a bucket's roll-ups. */
export function forgetRollups(cached: StatementCache, { day, keep }: Bucket): Dropping {
  const rows = readSegments(cached, 0).filter(
    (row) => row.kind === 'sums' && row.day === day && row.keep === keep,
  );
  return { change: { add: [], remove: rows.map(({ id }) => id), alone: [] }, files: filesOf(rows) };
}

/** What to drop so that a day's roll-ups are remade: only roll-ups whose entries still exist. */
export interface Unsummed extends Dropping {
  readonly buckets: readonly Bucket[];
}

/** Removes a day's roll-ups whose entries still exist. @param day as of `Bucket` */
export function dropRollupsOfDay(cached: StatementCache, day: number): Unsummed {
  const rows = readSegments(cached, 0).filter(
    (row) => row.kind === 'sums' && row.day === day && row.covers.length > 0,
  );
  return {
    change: { add: [], remove: rows.map(({ id }) => id), alone: [] },
    files: filesOf(rows),
    buckets: bucketsOf(rows),
  };
}

function filesOf(rows: readonly SegmentRow[]): string[] {
  return [...new Set(rows.map(({ file }) => file))];
}

function partsOf(
  cached: StatementCache,
  { day, keep }: Bucket,
): { readonly entries: SegmentRow[]; readonly valid: SegmentRow[]; readonly stale: SegmentRow[] } {
  const rows = readSegments(cached, 0).filter((row) => row.day === day && row.keep === keep);
  const entries = rows.filter(({ kind }) => kind === 'entries');
  const there = new Set(entries.map(({ id }) => id));
  const rollups = rows.filter(({ kind }) => kind === 'sums');
  const isValid = ({ covers }: SegmentRow): boolean => covers.every((id) => there.has(id));
  return { entries, valid: rollups.filter(isValid), stale: rollups.filter((row) => !isValid(row)) };
}

function writeRollups(
  cached: StatementCache,
  files: SegmentFiles,
  folder: string,
  bucket: Bucket,
  open: readonly SegmentRow[],
): NewSegment[] {
  // Damaged segments get no roll-ups until they are repaired.
  const whole = open.filter((row) => files.isWhole(row));
  if (whole.length === 0) return [];
  const hash = new TextHash(readState(cached).seed);
  const file = fileOf(cached, 'sums', bucket);
  const made = new Map<number, readonly BuiltSegment[]>();
  return MADE.flatMap((index) => {
    const { by, of } = ROLLUPS[index] as Rollup;
    const builder = new RollupBuilder(hash, by);
    if (of === undefined) for (const row of whole) builder.add(files.segment(row));
    else
      for (const { head, bytes } of made.get(of) ?? []) builder.add(new Segment(head, memorySource(bytes)));
    const built = builder.finish();
    if (ROLLUPS.some((other) => other.of === index)) made.set(index, built);
    return built.map((segment) => ({
      kind: 'sums' as const,
      cube: index,
      ...bucket,
      file,
      ...appendSegment(folder, file, segment),
      count: segment.head.count,
      minTime: segment.minTime,
      maxTime: segment.maxTime,
      firstSeq: segment.firstSeq,
      lastSeq: segment.lastSeq,
      covers: open.map(({ id }) => id),
    }));
  });
}
