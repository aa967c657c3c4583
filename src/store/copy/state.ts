// Copies shared state from one store into another: rows as they are, only where the target has none or the same.
import { type RowDigest, rowDigest } from '../row-digest.ts';
import {
  isForgotten,
  STATE_KINDS,
  type StateKind,
  type StateRow,
  type StateSource,
  type StateTarget,
  stateRowText,
} from '../state-transfer.ts';
import { type Comparison, type Conflict, type Copied, TOLD } from './sides.ts';

const NAMES: Readonly<Record<StateKind, string>> = {
  budget: 'budgets',
  hold: 'holds',
  settled: 'settled holds',
  slot: 'slots',
  journal: 'journal entries',
  journal_head: 'journals',
  journal_id: 'journal ids',
  value: 'values',
};

/** The first rows that the target has in place of the source's. Writes nothing. */
export async function stateConflicts(source: StateSource, target: StateTarget): Promise<Conflict[]> {
  return (await carry(source, (rows) => target.look(rows))).conflicts;
}

/** Copies all rows that are not forgotten. */
export async function copyState(
  source: StateSource,
  target: StateTarget,
): Promise<Copied & { readonly conflicts: readonly Conflict[] }> {
  return carry(source, (rows) => target.write(rows));
}

async function carry(
  source: StateSource,
  step: StateTarget['write'],
): Promise<Copied & { readonly conflicts: Conflict[] }> {
  let [written, present] = [0, 0];
  const conflicts: Conflict[] = [];
  for await (const batch of source.rows()) {
    const rows = batch.filter((row) => !isForgotten(row, Date.now()));
    const outcomes = await step(rows);
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome === 'written') written++;
      else if (outcome === 'present') present++;
      else conflicts.push(conflictOf(rows[index] as StateRow));
    }
    if (conflicts.length >= TOLD) break;
  }
  return { name: 'shared state', written, present, conflicts: conflicts.slice(0, TOLD) };
}

function conflictOf(row: StateRow): Conflict {
  const id = 'key' in row ? row.key : 'id' in row ? row.id : '';
  return {
    name: NAMES[row.kind],
    organisationId: row.org,
    id,
    why: 'is there already, and differs',
  };
}

/** The stores' clocks are not one. */
const SLACK_MS = 5000;

/** All rows of the source's organisations on both sides, but those that are forgotten by the end. */
export async function compareState(source: StateSource, target: StateTarget): Promise<Comparison[]> {
  const organisations = new Set<string>();
  const mine = digests();
  const theirs = digests();
  for await (const batch of source.rows()) {
    for (const row of batch) {
      organisations.add(row.org);
      mine.add(row);
    }
  }
  for await (const batch of target.rows(organisations)) batch.forEach(theirs.add);
  const now = Date.now() + SLACK_MS;
  const [ours, others] = [mine.at(now), theirs.at(now)];
  return STATE_KINDS.map((kind) => ({
    name: NAMES[kind],
    source: summary(ours.get(kind)),
    target: summary(others.get(kind)),
  })).filter(({ source: a, target: b }) => a.count + b.count > 0);
}

interface Digests {
  readonly add: (row: StateRow) => void;
  /** Of all kinds, without what is forgotten by then. */
  at(ms: number): ReadonlyMap<StateKind, RowDigest>;
}

function digests(): Digests {
  const byKind = new Map<StateKind, RowDigest>();
  // What may be forgotten is decided on at the end; it is what a few minutes brought.
  const passing: StateRow[] = [];
  const into = (row: StateRow): void => {
    const digest = byKind.get(row.kind) ?? rowDigest();
    byKind.set(row.kind, digest);
    digest.add(stateRowText(row));
  };
  return {
    add: (row) => {
      if (row.kind === 'settled' || row.kind === 'journal_id') passing.push(row);
      else into(row);
    },
    at: (ms) => {
      for (const row of passing.splice(0)) if (!isForgotten(row, ms)) into(row);
      return byKind;
    },
  };
}

function summary(digest: RowDigest = rowDigest()): Comparison['source'] {
  return { count: digest.count, hash: digest.hash };
}
