// A lock that the system releases when its holder ends, even by kill -9: an exclusive transaction on a database.
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** An unreferenced connection is garbage-collected, and its lock released: this set refers to the held ones. */
const held = new Set<DatabaseSync>();

/**
 * Locks the file and creates it (0600) when it does not exist; undefined: another process, or another holder in this
 * one, has the lock. The returned function releases it. The file must not be opened by other means: closing it would
 * release the lock as well.
 * @throws Error of the system when the file cannot be made
 */
export function lockFile(path: string): (() => void) | undefined {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch {
    database.close();
    return undefined;
  }
  held.add(database);
  return () => {
    held.delete(database);
    if (database.isOpen) database.close();
  };
}
