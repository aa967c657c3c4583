// The tables of the log in the main file: the tail, in which entries arrive, and the list of segments, into which the
// tail is sealed. Both change in one transaction, so that an entry is in exactly one of them.

import { randomInt } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { StatementCache } from '../statement-cache.ts';
import { type Bucket, bucketName } from './buckets.ts';

/** A segment of entries, or of roll-ups over them. */
export interface SegmentRow {
  /** Never given twice. */
  readonly id: number;
  readonly kind: 'entries' | 'sums';
  /** For roll-ups: the index in `ROLLUPS`; 0 for entries. */
  readonly cube: number;
  readonly day: number;
  /** As of a bucket. */
  readonly keep: number;
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  /** Length of the head, which ends the segment. */
  readonly head: number;
  readonly count: number;
  readonly minTime: number;
  readonly maxTime: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** For roll-ups: the segments of the covered entries. Empty once these are dropped: the roll-ups then stand alone. */
  readonly covers: readonly number[];
}

export type NewSegment = Omit<SegmentRow, 'id'>;

/** What the log is at. */
export interface LogState {
  /** Entries up to this place of arrival are in segments. */
  readonly sealed: number;
  /** Rises when segments go. */
  readonly epoch: number;
  /** Of the hashes in segments. */
  readonly seed: number;
}

/** A change of the list of segments, made at once. */
export interface SegmentChange {
  /** What `sealed` was and becomes. */
  readonly sealed?: { readonly from: number; readonly to: number };
  readonly add: readonly NewSegment[];
  readonly remove: readonly number[];
  /** Up to where the log of an earlier version is in segments. */
  readonly takenOver?: number;
  /** Roll-ups that stand alone from now on. */
  readonly alone: readonly number[];
}

/**
 * - `log_tail` has a row for each batch: the place of arrival of its last entry, and its entries as lines.
 * - `log_dropped` names files of which nothing is listed any more: a start deletes those that are still there.
 * - No index: who writes knows by itself what is there (recent-keys.ts).
 */
export function createLogTables(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE IF NOT EXISTS log_state (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      sealed INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      seed INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS log_tail (
      seq INTEGER PRIMARY KEY,
      count INTEGER NOT NULL,
      min_time INTEGER NOT NULL,
      entries TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS log_segments (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      kind TEXT NOT NULL,
      cube INTEGER NOT NULL,
      day INTEGER NOT NULL,
      keep INTEGER NOT NULL,
      file TEXT NOT NULL,
      start INTEGER NOT NULL,
      length INTEGER NOT NULL,
      head INTEGER NOT NULL,
      count INTEGER NOT NULL,
      min_time INTEGER NOT NULL,
      max_time INTEGER NOT NULL,
      first_seq INTEGER NOT NULL,
      last_seq INTEGER NOT NULL,
      covers TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS log_dropped (file TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  `);
  database
    .prepare('INSERT INTO log_state VALUES (1, 0, 0, ?) ON CONFLICT DO NOTHING')
    .run(randomInt(0x7fffffff));
}

export function readState(cached: StatementCache): LogState {
  const row = cached('SELECT sealed, epoch, seed FROM log_state').get() as unknown as [
    number,
    number,
    number,
  ];
  return { sealed: row[0], epoch: row[1], seed: row[2] };
}

/**
 * The file that segments of a bucket are appended to. The name of a dropped file is not used again: dropping raises the
 * epoch, and a reader with the list from before must not find another file under that name.
 */
export function fileOf(cached: StatementCache, kind: SegmentRow['kind'], bucket: Bucket): string {
  const { day, keep } = bucket;
  const sql = 'SELECT file FROM log_segments WHERE kind = ? AND day = ? AND keep = ? LIMIT 1';
  const found = cached(sql).get(kind, day, keep) as unknown as [string] | undefined;
  if (found) return found[0];
  const { epoch } = readState(cached);
  const name = `${kind}-${bucketName(bucket)}`;
  return epoch === 0 ? name : `${name}~${epoch}`;
}

/** Segments with an id above this one, by id. */
export function readSegments(cached: StatementCache, above: number): SegmentRow[] {
  const rows = cached(`SELECT id, kind, cube, day, keep, file, start, length, head, count, min_time, max_time,
    first_seq, last_seq, covers FROM log_segments WHERE id > ? ORDER BY id`).all(above);
  return (rows as unknown as SegmentTuple[]).map((row) => {
    const [id, kind, cube, day, keep, file, offset, length, head, count, ...bounds] = row;
    const [minTime, maxTime, firstSeq, lastSeq, covers] = bounds;
    return {
      id,
      kind,
      cube,
      day,
      keep,
      file,
      offset,
      length,
      head,
      count,
      minTime,
      maxTime,
      firstSeq,
      lastSeq,
      covers: JSON.parse(covers) as number[],
    };
  });
}

type SegmentTuple = [
  id: number,
  kind: SegmentRow['kind'],
  cube: number,
  day: number,
  keep: number,
  file: string,
  offset: number,
  length: number,
  head: number,
  count: number,
  minTime: number,
  maxTime: number,
  firstSeq: number,
  lastSeq: number,
  covers: string,
];

/** Makes a change. Throws when the log is at another place than the change believes. */
export function changeSegments(cached: StatementCache, change: SegmentChange): void {
  const { sealed, takenOver, add, remove, alone } = change;
  const state = readState(cached);
  if (sealed) {
    if (state.sealed !== sealed.from) throw new Error('the tail of the log was sealed by somebody else');
    cached('DELETE FROM log_tail WHERE seq <= ?').run(sealed.to);
    cached('UPDATE log_state SET sealed = ?').run(sealed.to);
  }
  if (takenOver !== undefined) cached('UPDATE log_taken_over SET seq = ?').run(takenOver);
  for (const id of remove) {
    cached('INSERT OR IGNORE INTO log_dropped SELECT file FROM log_segments WHERE id = ?').run(id);
    cached('DELETE FROM log_segments WHERE id = ?').run(id);
  }
  for (const id of alone) cached(`UPDATE log_segments SET covers = '[]' WHERE id = ?`).run(id);
  if (remove.length + alone.length > 0) cached('UPDATE log_state SET epoch = epoch + 1').run();
  if (remove.length > 0)
    cached('DELETE FROM log_dropped WHERE file IN (SELECT file FROM log_segments)').run();
  const insert =
    cached(`INSERT INTO log_segments (kind, cube, day, keep, file, start, length, head, count, min_time,
    max_time, first_seq, last_seq, covers) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const row of add) {
    const { kind, cube, day, keep, file, offset, length, head, count } = row;
    const { minTime, maxTime, firstSeq, lastSeq, covers } = row;
    insert.run(
      ...([kind, cube, day, keep, file, offset, length, head, count] as const),
      ...([minTime, maxTime, firstSeq, lastSeq, JSON.stringify(covers)] as const),
    );
  }
}

/** A row of the tail. */
export type TailRow = [lastSeq: number, count: number, entries: string];

/** How many entries are in the tail: places of arrival are numbered without a gap. */
export function tailSize(cached: StatementCache): number {
  const [last] = cached('SELECT max(seq) FROM log_tail').get() as unknown as [number | null];
  const { sealed } = readState(cached);
  return Math.max(0, (last ?? sealed) - sealed);
}

/** Batches of the tail up to a place of arrival, the newest first. */
export function readTailBack(cached: StatementCache, upTo: number): Iterable<TailRow> {
  const sql = 'SELECT seq, count, entries FROM log_tail WHERE seq <= ? ORDER BY seq DESC';
  return cached(sql).iterate(upTo) as unknown as Iterable<TailRow>;
}

/** Batches of the tail after a place of arrival, in order. */
export function readTail(cached: StatementCache, above: number): Iterable<TailRow> {
  const sql = 'SELECT seq, count, entries FROM log_tail WHERE seq > ? ORDER BY seq';
  return cached(sql).iterate(above) as unknown as Iterable<TailRow>;
}
