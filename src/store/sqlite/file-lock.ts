// A lock that the system lets go when its holder ends, even by kill -9: an exclusive transaction on a database.
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** A connection that nobody refers to is collected, and its lock with it: a held one is referred to here. */
const held = new Set<DatabaseSync>();

/**
 * Locks the file, which is made (0600) when it is not there; undefined: another process, or another holder of this
 * one, has it. The returned function lets go. Nobody may open the file by other means: closing it would let go as well.
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
