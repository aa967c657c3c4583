// The data directory: private to its owner, and to one process at a time.
import { chmodSync, closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fail } from '../../lib/errors.ts';
import { makeFolder } from '../../lib/make-folder.ts';

export interface DataDirLock {
  readonly databasePath: string;
  /** Makes the files that every store has, for their owner alone. @throws GatewayError store_unavailable */
  prepare(): void;
  release(): void;
}

/**
 * Makes the directory (0700) and holds it for this process: an exclusive transaction
 * on a database of its own, which the system releases even after kill -9. Throws `store_unavailable`, naming
 * the directory, when another process (or another store of this one) holds it.
 *
 * The lock is an advisory lock of the file system: opening and closing lock.db by other means in this process
 * releases it, and file systems without such locks (some network ones) must not hold data.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const lockPath = join(dataDir, 'lock.db');
  const databasePath = join(dataDir, 'sluice.db');
  usable(dataDir, () => {
    makeFolder(dataDir, 0o700);
    makePrivate(lockPath);
  });
  const database = new DatabaseSync(lockPath, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    database.close();
    throw fail(
      'store_unavailable',
      `the data directory ${dataDir} is in use by another process: stop it, or set GATEWAY_DATA_DIR to another directory`,
      { cause },
    );
  }
  held.add(database);
  return {
    databasePath,
    prepare: () =>
      usable(dataDir, () => {
        makePrivate(databasePath);
        makeFolder(join(dataDir, 'logs'), 0o700);
      }),
    release: () => {
      held.delete(database);
      if (database.isOpen) database.close();
    },
  };
}

function usable(dataDir: string, make: () => void): void {
  try {
    make();
  } catch (cause) {
    const todo = TODO[(cause as NodeJS.ErrnoException).code ?? ''] ?? TODO.EACCES;
    throw fail(
      'store_unavailable',
      `the data directory ${dataDir} cannot be used: ${textOf(cause)}: ${todo}`,
      { cause },
    );
  }
}

const ANOTHER = 'set GATEWAY_DATA_DIR (or --data-dir)';
/** What helps, by the system's code. */
const TODO = {
  EACCES: `${ANOTHER} to a folder that this user may write`,
  EEXIST: `it is no folder; ${ANOTHER} to one`,
  ENOTDIR: `a part of it is no folder; ${ANOTHER} to another one`,
  EROFS: `its file system is read-only; ${ANOTHER} to a folder on another one`,
  ENOSPC: `the disk is full: make room, or ${ANOTHER} to a folder on another one`,
} as Readonly<Record<string, string>> & { readonly EACCES: string };

/** An unreferenced connection is garbage-collected, and its lock released: this set refers to the held ones. */
const held = new Set<DatabaseSync>();

/** Makes the file or sets its mode. An existing one is not opened: closing it would drop the process's locks. */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    chmodSync(path, 0o600);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
