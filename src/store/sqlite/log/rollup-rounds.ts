// Roll-ups that were made together: each of `ROLLUPS` over the same entries.
import type { SegmentRow } from './manifest.ts';

export interface Round {
  /** The segments whose entries they cover; empty: these were dropped. */
  readonly covers: readonly number[];
  /** The segments of each roll-up that was made, by its index in `ROLLUPS`. */
  readonly rollups: ReadonlyMap<number, readonly SegmentRow[]>;
}

interface Open extends Round {
  readonly rollups: Map<number, SegmentRow[]>;
  last: number;
}

/** The rounds of roll-up segments, given in the order of their ids: a round is written at once, roll-up by roll-up. */
export function roundsOf(rows: readonly SegmentRow[]): Round[] {
  const rounds: Round[] = [];
  const open = new Map<string, Open>();
  for (const row of rows) {
    const found = open.get(row.file);
    const own = found?.rollups.get(row.cube);
    if (found && (own === undefined || found.last === row.cube)) {
      if (own) own.push(row);
      else found.rollups.set(row.cube, [row]);
      found.last = row.cube;
      continue;
    }
    const round: Open = { covers: row.covers, rollups: new Map([[row.cube, [row]]]), last: row.cube };
    open.set(row.file, round);
    rounds.push(round);
  }
  return rounds;
}
