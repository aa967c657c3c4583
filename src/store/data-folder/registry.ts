// What sluice.db knows of the data folder: the store's id, the parts that it has, and what they should hold.
import type { DatabaseSync } from 'node:sqlite';
import { isPart, MAIN, type Part } from './parts.ts';

/** The store as its main file has it. */
export interface Registry {
  /** Undefined: the file is new, or of a version before there were ids. */
  readonly id: string | undefined;
  /** Whether nothing was ever written into the file. */
  readonly fresh: boolean;
  /** Parts that were made or adopted. */
  readonly parts: ReadonlySet<Part>;
}

/** Reads without writing. @throws Error of SQLite when the file is no database */
export function readRegistry(database: DatabaseSync): Registry {
  const tables = tablesOf(database);
  const rows = tables.has('store_parts') ? database.prepare('SELECT part, id FROM store_parts').all() : [];
  const own = rows.find(({ part }) => part === MAIN);
  return {
    id: own === undefined ? undefined : String(own.id),
    fresh: tables.size === 0 || (tables.size === 1 && tables.has('store_parts')),
    parts: new Set(rows.map(({ part }) => String(part)).filter(isPart)),
  };
}

/** Lists parts, or the main file itself; durable when it returns. */
export function listParts(database: DatabaseSync, id: string, parts: readonly (Part | typeof MAIN)[]): void {
  if (parts.length === 0) return;
  database.exec(`PRAGMA synchronous = FULL; BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS store_parts (part TEXT PRIMARY KEY, id TEXT NOT NULL) STRICT, WITHOUT ROWID`);
  const insert = database.prepare('INSERT OR REPLACE INTO store_parts VALUES (?, ?)');
  for (const part of parts) insert.run(part, id);
  database.exec('COMMIT');
}

/** Forgets the part: the next start makes it, or adopts what it finds. */
export function unlistPart(database: DatabaseSync, part: Part): void {
  if (!tablesOf(database).has('store_parts')) return;
  database.exec('PRAGMA synchronous = FULL');
  database.prepare('DELETE FROM store_parts WHERE part = ?').run(part);
}

/** Files of the log that are listed, with how many bytes each must have. */
export function listedFiles(database: DatabaseSync): ReadonlyMap<string, number> {
  if (!tablesOf(database).has('log_segments')) return new Map();
  const rows = database
    .prepare('SELECT file, max(start + length) AS bytes FROM log_segments GROUP BY file')
    .all();
  return new Map(rows.map(({ file, bytes }) => [String(file), Number(bytes)]));
}

/** Whether calls were ever logged. */
export function hasEntries(database: DatabaseSync): boolean {
  return listedFiles(database).size > 0 || hasRows(database, 'log_tail');
}

/** Whether there are values that the encryption key opens. */
export function hasSealedValues(database: DatabaseSync): boolean {
  return hasRows(database, 'c_encryption_keys');
}

function hasRows(database: DatabaseSync, table: string): boolean {
  return (
    tablesOf(database).has(table) && database.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined
  );
}

export function tablesOf(database: DatabaseSync): ReadonlySet<string> {
  const rows = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
  return new Set(rows.map(({ name }) => String(name)).filter((name) => !name.startsWith('sqlite_')));
}
