// Whether a database file is whole, as SQLite sees it.
import { DatabaseSync } from 'node:sqlite';

const WAIT_MS = 5000;

/** What is wrong with a file, in a few lines at most; empty when it is sound. Only reads; a gateway may be running. */
export function quickCheck(path: string): readonly string[] {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: WAIT_MS });
    try {
      const rows = database.prepare('PRAGMA quick_check(3)').all();
      return rows.map((row) => String(Object.values(row)[0])).filter((text) => text !== 'ok');
    } finally {
      database.close();
    }
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
