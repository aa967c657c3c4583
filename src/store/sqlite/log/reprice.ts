// Other costs on entries: each segment that has one of them is written anew.
import { encodeEntry } from '../../log/entry-text.ts';
import { type EntryTuple, entryRecord } from '../../log/entry-tuple.ts';
import { repricedEntry } from '../../log/repriced.ts';
import type { Repriced } from '../../log-store.ts';
import type { StatementCache } from '../statement-cache.ts';
import { DamagedSegment } from './damage.ts';
import { TextHash } from './hash.ts';
import { type NewSegment, readSegments, readState, type SegmentChange, type SegmentRow } from './manifest.ts';
import { type Arrived, writeSegments } from './seal.ts';
import type { Segment } from './segment.ts';
import type { SegmentFiles } from './segment-files.ts';
import { Selection } from './selection.ts';

/** How many entries there were, and the change that corrects them. */
export interface RepricedSegments {
  readonly count: number;
  readonly change: SegmentChange;
}

export function repriceSegments(
  cached: StatementCache,
  files: SegmentFiles,
  folder: string,
  org: string,
  corrections: readonly Repriced[],
): RepricedSegments {
  const hash = new TextHash(readState(cached).seed);
  const byKey = new Map(corrections.map((one) => [keyOf(one), one]));
  const times = Float64Array.from(corrections, ({ createdAt }) => createdAt).sort();
  const selection = new Selection(
    { org, workspace: null },
    { ids: corrections.map(({ id }) => id) },
    hash,
    undefined,
  );
  const add: NewSegment[] = [];
  const remove: number[] = [];
  let count = 0;
  const correctRow = (row: SegmentRow): Corrected | undefined => {
    try {
      const segment = files.segment(row);
      return selection.rows(segment).count === 0 ? undefined : correct(segment, selection, org, byKey);
    } catch (error) {
      // Damaged segments stay as they are.
      if (error instanceof DamagedSegment || (error as NodeJS.ErrnoException).code === 'ENOENT')
        return undefined;
      throw error;
    }
  };
  for (const row of readSegments(cached, 0)) {
    if (row.kind !== 'entries' || !hasTime(times, row)) continue;
    const corrected = correctRow(row);
    count += corrected?.count ?? 0;
    if (!corrected?.changed) continue;
    add.push(...writeSegments(corrected.entries, folder, hash, cached));
    remove.push(row.id);
  }
  return { count, change: { add, remove, alone: [] } };
}

function hasTime(times: Float64Array, { minTime, maxTime }: SegmentRow): boolean {
  return times.some((time) => time >= minTime && time <= maxTime);
}

interface Corrected {
  readonly entries: Arrived[];
  readonly count: number;
  readonly changed: boolean;
}

/** All entries of a segment in order of arrival, corrected. */
function correct(
  segment: Segment,
  { scratch }: Selection,
  org: string,
  byKey: ReadonlyMap<string, Repriced>,
): Corrected {
  const seqs = segment.numbers('seq', scratch).slice(0, segment.count);
  const texts = segment.entries(Array.from(seqs, (_, row) => row));
  let count = 0;
  let changed = false;
  const entries = texts.map((text, row): Arrived => {
    const seq = seqs[row] as number;
    const tuple = JSON.parse(text) as EntryTuple;
    const correction = tuple[1] === org ? byKey.get(keyOf({ id: tuple[0], createdAt: tuple[3] })) : undefined;
    if (correction === undefined) return { seq, tuple, text };
    count++;
    const other = encodeEntry(repricedEntry(entryRecord(tuple), correction));
    if (other !== text) changed = true;
    return { seq, tuple: JSON.parse(other) as EntryTuple, text: other };
  });
  return { entries: entries.sort((a, b) => a.seq - b.seq), count, changed };
}

function keyOf({ id, createdAt }: Pick<Repriced, 'id' | 'createdAt'>): string {
  return `${createdAt} ${id}`;
}
