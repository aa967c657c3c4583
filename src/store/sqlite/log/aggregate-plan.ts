// Which segments a question about sums reads: sums kept beside entries for whole hours, entries for the rest.
import type { LogAggregation } from '../../log/aggregation.ts';
import type { LogFilter } from '../../request-log.ts';
import { FailureError } from '../worker-loop.ts';
import { HOUR_MS } from './buckets.ts';
import { cubeFor } from './cubes.ts';
import type { SegmentRow } from './manifest.ts';
import type { Segment } from './segment.ts';
import type { Selection } from './selection.ts';
import type { View } from './view.ts';

/** What is read: a segment's rows from one time to another. */
export interface Piece {
  readonly open: () => Segment;
  readonly from: number;
  readonly until: number;
}

export interface AggregatePlan {
  readonly pieces: readonly Piece[];
  readonly source: 'rollups' | 'entries';
}

/** Rows that are read for one question: entries and rows of sums. */
const MOST_ROWS = 20_000_000;

export function planAggregate(
  view: View,
  selection: Selection,
  filter: LogFilter,
  aggregation: LogAggregation,
  files: { readonly open: (row: SegmentRow) => Segment },
): AggregatePlan {
  const { from = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = filter;
  const parts = view.parts.filter((part) => selection.overlaps(part));
  const pieces: Piece[] = [];
  let rows = 0;
  const read = (count: number, open: Piece['open'], since: number, to: number): void => {
    if (since >= to) return;
    rows += count;
    pieces.push({ open, from: since, until: to });
  };
  const covered = new Set<number>();
  const cube = cubeFor(filter, aggregation);
  if (cube !== undefined) {
    const first = Math.ceil(from / HOUR_MS) * HOUR_MS;
    const end = Math.floor(until / HOUR_MS) * HOUR_MS;
    const there = new Set(view.parts.flatMap(({ row }) => (row ? [row.id] : [])));
    for (const row of view.sums) {
      // Segments that were corrected are others now; sums over the old ones are of no use.
      if (row.cube !== cube || !row.covers.every((id) => there.has(id))) continue;
      if (row.maxTime < first || row.minTime >= end) continue;
      for (const id of row.covers) covered.add(id);
      read(row.count, () => files.open(row), first, end);
    }
    const edges = parts.filter(({ row }) => row && covered.has(row.id));
    for (const part of edges) {
      if (part.minTime < first) read(part.count, part.open, from, Math.min(first, until));
      if (part.maxTime >= end && end >= first) read(part.count, part.open, end, until);
    }
  }
  const source = pieces.length > 0 ? 'rollups' : 'entries';
  for (const part of parts)
    if (!part.row || !covered.has(part.row.id)) read(part.count, part.open, from, until);
  if (rows > MOST_ROWS) throw tooMuch();
  return { pieces, source };
}

export function tooMuch(): FailureError {
  const message = 'is too far: what lies between asks for more than can be added up at once';
  return new FailureError({
    reason: 'validation_failed',
    message: `until: ${message}`,
    violations: [{ field: 'until', rule: 'too_many', message }],
  });
}
