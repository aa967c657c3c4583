// Kept values in the embedded store: a table, written by the writer and read by the reader.
import type { DatabaseSync } from 'node:sqlite';
import { KEPT_PAGE, type KeptRow, type KeptValues, LIST_PAGE } from '../kept-values.ts';
import type { ReaderCall, WriterCall } from './protocol.ts';
import type { StatementCache } from './statement-cache.ts';
import type { WorkerClient } from './worker-client.ts';

/** Rows that one sweep deletes at the most. */
const SWEPT = 1000;

export function createKeptTable(database: DatabaseSync): void {
  database.exec(`CREATE TABLE IF NOT EXISTS kept (
    key TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, value BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS kept_by_expiry ON kept (expires_at)`);
}

type ScannedKept = readonly [key: string, expiresAt: number, value: Uint8Array];

/** The writer's end. */
export function keptWriter(cached: StatementCache) {
  return {
    keep(key: string, value: Uint8Array, expiresAt: number): null {
      cached('INSERT OR REPLACE INTO kept (key, expires_at, value) VALUES (?, ?, ?)').run(
        key,
        expiresAt,
        value,
      );
      return null;
    },
    replace(key: string, before: Uint8Array, value: Uint8Array, expiresAt: number): boolean {
      const sql = 'UPDATE kept SET value = ?, expires_at = ? WHERE key = ? AND value = ?';
      return Number(cached(sql).run(value, expiresAt, key, before).changes) > 0;
    },
    drop: (key: string): boolean => Number(cached('DELETE FROM kept WHERE key = ?').run(key).changes) > 0,
    sweep(now: number): number {
      const rows = 'SELECT key FROM kept WHERE expires_at <= ? ORDER BY expires_at LIMIT ?';
      return Number(cached(`DELETE FROM kept WHERE key IN (${rows})`).run(now, SWEPT).changes);
    },
  };
}

/** The reader's end. */
export function keptReader(cached: StatementCache) {
  return {
    get(key: string, now: number): Uint8Array | null {
      const row = cached('SELECT value FROM kept WHERE key = ? AND expires_at > ?').get(key, now);
      // Rows come as arrays.
      return row === undefined ? null : (row as unknown as readonly [Uint8Array])[0];
    },
    scan(after: string): readonly ScannedKept[] {
      const sql = 'SELECT key, expires_at, value FROM kept WHERE key > ? ORDER BY key LIMIT ?';
      return cached(sql).all(after, KEPT_PAGE) as unknown as ScannedKept[];
    },
    list(prefix: string, after: string): readonly ScannedKept[] {
      const sql = 'SELECT key, expires_at, value FROM kept WHERE key > ? AND key < ? ORDER BY key LIMIT ?';
      return cached(sql).all(after, endOf(prefix), LIST_PAGE) as unknown as ScannedKept[];
    },
  };
}

/** No key that begins so is greater. */
function endOf(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}

/** The port over both workers. */
export function sqliteKeptValues(
  writer: WorkerClient<WriterCall>,
  reader: WorkerClient<ReaderCall>,
): KeptValues {
  return {
    async put(key, value, expiresAt) {
      await writer.call({ kind: 'keep', key, value, expiresAt }, value.length);
    },
    async get(key, now) {
      return (await reader.call<Uint8Array | null>({ kind: 'kept', key, now }, key.length)) ?? undefined;
    },
    replace: (key, before, value, expiresAt) =>
      writer.call<boolean>({ kind: 'replaceKept', key, before, value, expiresAt }, value.length),
    remove: (key) => writer.call<boolean>({ kind: 'dropKept', key }, key.length),
    sweep: (now) => writer.call<number>({ kind: 'sweepKept', now }),
    async scan(after) {
      const rows = await reader.call<readonly ScannedKept[]>({ kind: 'scanKept', after }, after.length);
      return rows.map(rowOf);
    },
    async list(prefix, after) {
      return (await reader.call<readonly ScannedKept[]>({ kind: 'listKept', prefix, after }, 0)).map(rowOf);
    },
  };
}

function rowOf([key, expiresAt, value]: ScannedKept): KeptRow {
  return { key, expiresAt, value };
}
