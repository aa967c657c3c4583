// The log of earlier versions: a row for each entry, in one table. It is made into segments when its folder is opened,
// block by block, and goes at the next opening.
import type { DatabaseSync } from 'node:sqlite';
import type { EntryTuple } from '../../log/entry-tuple.ts';
import type { StatementCache } from '../statement-cache.ts';
import { TextHash } from './hash.ts';
import { readState, type SegmentChange } from './manifest.ts';
import type { LogSetup } from './protocol.ts';
import { type Arrived, writeSegments } from './seal.ts';

/**
 * Called when the tables of the log are made. Arrival continues after the last row of the old table; that table is
 * dropped when all of it was taken over.
 */
export function prepareLegacy(database: DatabaseSync): void {
  if (!exists(database, 'log_entries')) return;
  const last = Number(database.prepare('SELECT coalesce(max(seq), 0) AS seq FROM log_entries').get()?.seq);
  database.exec(`CREATE TABLE IF NOT EXISTS log_taken_over (seq INTEGER NOT NULL) STRICT`);
  const taken = database.prepare('SELECT seq FROM log_taken_over').get();
  if (taken === undefined) {
    database.exec('INSERT INTO log_taken_over VALUES (0)');
    database.prepare('UPDATE log_state SET sealed = max(sealed, ?)').run(last);
  } else if (Number(taken.seq) >= last) {
    database.exec('DROP TABLE log_entries; DROP TABLE IF EXISTS log_scopes; DROP TABLE log_taken_over');
  }
}

/** Whether there is something to take over. */
export function hasLegacy(database: DatabaseSync): boolean {
  return exists(database, 'log_taken_over');
}

/** Writes the next block into segments; null: there is none left. */
export function takeOverBlock(cached: StatementCache, { folder, block }: LogSetup): SegmentChange | null {
  const table = cached(`SELECT 1 FROM sqlite_schema WHERE name = 'log_taken_over'`).get();
  if (table === undefined) return null;
  const [from] = cached('SELECT seq FROM log_taken_over').get() as unknown as [number];
  const rows = cached('SELECT seq, entry FROM log_entries WHERE seq > ? ORDER BY seq LIMIT ?').all(
    from,
    block,
  );
  const arrived = (rows as unknown as [number, string][]).map(([seq, text]): Arrived => {
    return { seq, text, tuple: JSON.parse(text) as EntryTuple };
  });
  const last = arrived.at(-1);
  if (last === undefined) return null;
  const add = writeSegments(arrived, folder, new TextHash(readState(cached).seed), cached);
  return { takenOver: last.seq, add, remove: [], alone: [] };
}

function exists(database: DatabaseSync, table: string): boolean {
  return (
    database.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`).get(table) !== undefined
  );
}
