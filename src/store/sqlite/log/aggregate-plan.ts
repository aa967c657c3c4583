// Which segments an aggregation reads: roll-ups for whole hours, entries for the rest.
import type { LogAggregation } from '../../log/aggregation.ts';
import type { LogFilter } from '../../request-log.ts';
import { FailureError } from '../worker-loop.ts';
import { HOUR_MS } from './buckets.ts';
import type { SegmentRow } from './manifest.ts';
import { type Round, roundsOf } from './rollup-rounds.ts';
import { rollupsFor } from './rollups.ts';
import type { Segment } from './segment.ts';
import type { LogScope, Selection } from './selection.ts';
import type { Part, View } from './view.ts';

/** What is read: a segment's rows from one time to another. */
export interface Piece {
  readonly open: () => Segment;
  readonly from: number;
  readonly until: number;
}

export interface AggregatePlan {
  readonly pieces: readonly Piece[];
  /** The entries that distinct values are counted in, where the roll-ups of these entries do not have them. */
  readonly unique?: readonly Piece[];
  readonly source: 'rollups' | 'entries';
}

/** What is asked. */
export interface AggregateQuestion extends LogScope {
  readonly filter: LogFilter;
  readonly aggregation: LogAggregation;
}

/** Most rows that one aggregation reads: entries and rows of roll-ups. */
const MOST_ROWS = 20_000_000;

export function planAggregate(
  view: View,
  selection: Selection,
  { workspace, filter, aggregation }: AggregateQuestion,
  open: (row: SegmentRow) => Segment,
): AggregatePlan {
  const { unique, ...countless } = aggregation;
  const candidates = rollupsFor(filter, aggregation, workspace !== null);
  const pieces = new Pieces(filter, selection, open);
  if (candidates.length > 0 || unique === undefined) {
    pieces.addRollups(view, candidates, false);
    pieces.addEntries(view);
    return { pieces: pieces.list, source: pieces.source };
  }
  const entries = new Pieces(filter, selection, open);
  entries.addEntries(view);
  // The distinct values of roll-ups without entries are unknown: such roll-ups are left out of both.
  pieces.addRollups(view, rollupsFor(filter, countless, workspace !== null), true);
  if (pieces.list.length === 0) return { pieces: entries.list, source: 'entries' };
  pieces.addEntries(view);
  return { pieces: pieces.list, unique: entries.list, source: 'rollups' };
}

class Pieces {
  readonly list: Piece[] = [];
  readonly #filter: LogFilter;
  readonly #selection: Selection;
  readonly #open: (row: SegmentRow) => Segment;
  /** Segments of entries that roll-ups replace. */
  readonly #covered = new Set<number>();
  #rows = 0;
  source: AggregatePlan['source'] = 'entries';

  constructor(filter: LogFilter, selection: Selection, open: (row: SegmentRow) => Segment) {
    this.#filter = filter;
    this.#selection = selection;
    this.#open = open;
  }

  /** @param withEntries takes only roll-ups whose entries still exist. */
  addRollups(view: View, candidates: readonly number[], withEntries: boolean): void {
    if (candidates.length === 0) return;
    const { from = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = this.#filter;
    const first = Math.ceil(from / HOUR_MS) * HOUR_MS;
    const end = Math.floor(until / HOUR_MS) * HOUR_MS;
    // Roll-ups still hold what they were made of, also when the entries are damaged by now.
    const there = new Set([...view.damaged, ...view.parts.flatMap(({ row }) => (row ? [row.id] : []))]);
    for (const round of roundsOf(view.rollups)) {
      // Corrected segments have new ids; roll-ups over the old ones are stale.
      if (!round.covers.every((id) => there.has(id))) continue;
      if (withEntries && round.covers.length === 0) continue;
      for (const row of smallestOf(round, candidates)) {
        if (row.maxTime < first || row.minTime >= end) continue;
        for (const id of round.covers) this.#covered.add(id);
        this.#read(row.count, () => this.#open(row), first, end);
      }
    }
    if (this.list.length > 0) this.source = 'rollups';
    for (const part of this.#meant(view)) {
      if (!part.row || !this.#covered.has(part.row.id)) continue;
      if (part.minTime < first) this.#read(part.count, part.open, from, Math.min(first, until));
      if (part.maxTime >= end && end >= first) this.#read(part.count, part.open, end, until);
    }
  }

  /** Adds all entries that no roll-up replaces. */
  addEntries(view: View): void {
    const { from = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = this.#filter;
    for (const part of this.#meant(view))
      if (!part.row || !this.#covered.has(part.row.id)) this.#read(part.count, part.open, from, until);
  }

  #meant(view: View): Part[] {
    return view.parts.filter((part) => this.#selection.overlaps(part));
  }

  #read(count: number, open: Piece['open'], from: number, until: number): void {
    if (from >= until) return;
    this.#rows += count;
    if (this.#rows > MOST_ROWS) throw tooMuch();
    this.list.push({ open, from, until });
  }
}

/** The segments of the first wanted roll-up that a round has. */
function smallestOf({ rollups }: Round, wanted: readonly number[]): readonly SegmentRow[] {
  for (const index of wanted) {
    const rows = rollups.get(index);
    if (rows) return rows;
  }
  return [];
}

export function tooMuch(): FailureError {
  const message = 'is too far: what lies between asks for more than can be added up at once';
  return new FailureError({
    reason: 'validation_failed',
    message: `until: ${message}`,
    violations: [{ field: 'until', rule: 'too_many', message }],
  });
}
