// Shared state as rows, to be carried from one store to another while no gateway uses the first: what must survive a
// crash must survive a move. Windows, caches, leases and circuits are not part of it: they start empty.

/**
 * What an admission took: a window's cost in a slice, a budget's amount, a slot. Of a window of a pool also the pool, and
 * the window that was asked for, which another one may stand for.
 */
export type TakenItem =
  | readonly ['w', key: string, length: number, slices: number, slice: number, cost: number]
  | readonly [
      ...['w', key: string, length: number, slices: number, slice: number, cost: number],
      ...[pool: string, asked: string],
    ]
  | readonly ['b', key: string, amount: string]
  | readonly ['s', key: string];

/** One row; amounts are decimal text, times Unix milliseconds. */
export type StateRow = { readonly org: string } & (
  | {
      readonly kind: 'budget';
      readonly key: string;
      readonly spent: string;
      readonly held: string;
      /** Absent: never expires. */
      readonly keepUntil?: number;
    }
  | {
      readonly kind: 'hold';
      readonly id: string;
      readonly owner: string;
      readonly expiresAt: number;
      readonly note: string;
      readonly items: readonly TakenItem[];
    }
  /** A mark that a hold was settled, for repeats. */
  | { readonly kind: 'settled'; readonly id: string; readonly forgetAt: number }
  /** A hold in a slot. */
  | { readonly kind: 'slot'; readonly key: string; readonly id: string; readonly expiresAt: number }
  | {
      readonly kind: 'journal';
      readonly seq: number;
      readonly id: string;
      readonly madeAt: number;
      readonly data: string;
      /** Who claimed it, and until when. */
      readonly claim?: { readonly consumer: string; readonly until: number };
    }
  /** The numbers of the last entry that was appended, and of the last that was claimed for the first time. */
  | { readonly kind: 'journal_head'; readonly tail: number; readonly claimedTo: number }
  /** An entry's id, for repeats. */
  | { readonly kind: 'journal_id'; readonly id: string; readonly forgetAt: number }
  | {
      readonly kind: 'value';
      readonly key: string;
      readonly version: number;
      /** Absent: it was removed; its version stays. */
      readonly value?: string;
    }
);

export type StateKind = StateRow['kind'];

/** In the order in which they are carried: an organisation's journal by its numbers. */
export const STATE_KINDS: readonly StateKind[] = [
  'budget',
  'hold',
  'settled',
  'slot',
  'journal',
  'journal_head',
  'journal_id',
  'value',
];

/** Whether a row has expired, so that its store removes it. */
export function isForgotten(row: StateRow, ms: number): boolean {
  if (row.kind === 'budget') return row.keepUntil !== undefined && row.keepUntil <= ms;
  return (row.kind === 'settled' || row.kind === 'journal_id') && row.forgetAt <= ms;
}

/** A row as one text, the same for the same row. */
export function stateRowText(row: StateRow): string {
  switch (row.kind) {
    case 'budget':
      return JSON.stringify([row.kind, row.org, row.key, row.spent, row.held, row.keepUntil ?? null]);
    case 'hold': {
      const { kind, org, id, owner, expiresAt, note, items } = row;
      return JSON.stringify([kind, org, id, owner, expiresAt, note, items]);
    }
    case 'settled':
    case 'journal_id':
      return JSON.stringify([row.kind, row.org, row.id, row.forgetAt]);
    case 'slot':
      return JSON.stringify([row.kind, row.org, row.key, row.id, row.expiresAt]);
    case 'journal': {
      const { kind, org, seq, id, madeAt, data, claim } = row;
      return JSON.stringify([
        kind,
        org,
        seq,
        id,
        madeAt,
        data,
        claim?.consumer ?? null,
        claim?.until ?? null,
      ]);
    }
    case 'journal_head':
      return JSON.stringify([row.kind, row.org, row.tail, row.claimedTo]);
    case 'value':
      return JSON.stringify([row.kind, row.org, row.key, row.version, row.value ?? null]);
  }
}

/** Reads the state of a store that has no writers. */
export interface StateSource {
  /** Rows in batches: kind by kind, an organisation's journal by its numbers. */
  rows(): AsyncIterable<readonly StateRow[]>;
}

/**
 * - `present`: it is there already, the same in everything.
 * - `differs`: another is there in its place; nothing was written.
 */
export type StateImportOutcome = 'written' | 'present' | 'differs';

/** Writes rows into a store. */
export interface StateTarget {
  /** As `StateSource`, of these organisations. */
  rows(organisations: ReadonlySet<string>): AsyncIterable<readonly StateRow[]>;
  /** What each row would come to, without writing: `written` stands for a place that is free. */
  look(rows: readonly StateRow[]): Promise<readonly StateImportOutcome[]>;
  /** Writes what is not there, each row atomically; a journal's rows in the order of their numbers. */
  write(rows: readonly StateRow[]): Promise<readonly StateImportOutcome[]>;
}
