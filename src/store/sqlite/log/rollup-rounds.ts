// Sums that were made together: every cube of the same entries.
import type { SegmentRow } from './manifest.ts';

export interface Round {
  /** The segments whose entries are in them; none: these were dropped. */
  readonly covers: readonly number[];
  /** The segments of each cube that was made. */
  readonly cubes: ReadonlyMap<number, readonly SegmentRow[]>;
}

interface Open extends Round {
  readonly cubes: Map<number, SegmentRow[]>;
  last: number;
}

/** The rounds of segments of sums, which are in the order of their ids: those of a round came at once, cube by cube. */
export function roundsOf(sums: readonly SegmentRow[]): Round[] {
  const rounds: Round[] = [];
  const open = new Map<string, Open>();
  for (const row of sums) {
    const found = open.get(row.file);
    const own = found?.cubes.get(row.cube);
    if (found && (own === undefined || found.last === row.cube)) {
      if (own) own.push(row);
      else found.cubes.set(row.cube, [row]);
      found.last = row.cube;
      continue;
    }
    const round: Open = { covers: row.covers, cubes: new Map([[row.cube, [row]]]), last: row.cube };
    open.set(row.file, round);
    rounds.push(round);
  }
  return rounds;
}
