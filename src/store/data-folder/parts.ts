// The parts of a data folder. Each carries the store's id, so that a part of another store, or an empty folder in the
// place of one, is told from its own.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The part that lists the others. */
export const MAIN = 'sluice.db';

/** Parts other than sluice.db, each with a description for operators. */
export const PARTS = {
  logs: { kind: 'folder', what: 'the request log' },
  'state.db': { kind: 'database', what: 'what budgets have spent, and holds' },
  exports: { kind: 'folder', what: 'files of log exports' },
  flights: { kind: 'folder', what: 'calls in flight when a process was killed' },
  'encryption.key': { kind: 'key', what: 'the key of stored credentials and API keys' },
} as const;
export type Part = keyof typeof PARTS;

/** Whether a word names a part other than sluice.db. */
export function isPart(word: string): word is Part {
  return Object.hasOwn(PARTS, word);
}

/** What is found at a part's place: nothing, something without an id, or a store's part. */
export type Found =
  | { readonly kind: 'absent' | 'unmarked' }
  | { readonly kind: 'marked'; readonly id: string };

const MARK = 'store.id';

/** @throws Error of the system, or of SQLite, when the part is there and cannot be read */
export function findPart(dataDir: string, part: Part): Found {
  const path = join(dataDir, part);
  if (!existsSync(path)) return { kind: 'absent' };
  switch (PARTS[part].kind) {
    case 'key':
      return { kind: 'unmarked' };
    case 'folder':
      return markedWith(markIn(path));
    case 'database':
      return markedWith(onDatabase(path, idIn));
  }
}

/** The id in a folder; undefined: there is none. @throws Error of the system where it cannot be read */
function markIn(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, MARK), 'utf8').trim();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Makes the part where it is absent, and writes the id into it; durable when it returns. A key is left alone. */
export function markPart(dataDir: string, part: Part, id: string): void {
  const path = join(dataDir, part);
  switch (PARTS[part].kind) {
    case 'key':
      return;
    case 'folder':
      mkdirSync(path, { recursive: true, mode: 0o700 });
      writeFileSync(join(path, MARK), `${id}\n`, { mode: 0o600, flush: true });
      syncFolder(path);
      syncFolder(dataDir);
      return;
    case 'database':
      makePrivate(path);
      onDatabase(path, (database) => writeId(database, id));
      syncFolder(dataDir);
  }
}

/** Whether there is data in a part, as far as it can be told without its list. */
export function holdsData(dataDir: string, part: Part): boolean {
  const found = findPart(dataDir, part);
  if (found.kind === 'marked') return true;
  return part === 'logs' && found.kind === 'unmarked' && readdirSync(join(dataDir, part)).some(isLogFile);
}

function isLogFile(name: string): boolean {
  return /^(?:entries|sums|bodies)-/.test(name);
}

/** Creates an empty file (0600) unless it exists. */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Called while no other connection of this process has the file: closing one drops the locks of all. */
export function onDatabase<T>(path: string, run: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path, { timeout: 5000 });
  try {
    return run(database);
  } finally {
    database.close();
  }
}

function idIn(database: DatabaseSync): string | undefined {
  const table = database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'store_id'`).get();
  const row = table && database.prepare('SELECT id FROM store_id').get();
  return row === undefined ? undefined : String(row.id);
}

function writeId(database: DatabaseSync, id: string): void {
  database.exec(`PRAGMA synchronous = FULL; BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS store_id (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT`);
  database.prepare('INSERT OR REPLACE INTO store_id VALUES (1, ?)').run(id);
  database.exec('COMMIT');
}

function markedWith(id: string | undefined): Found {
  return id === undefined || id === '' ? { kind: 'unmarked' } : { kind: 'marked', id };
}

/** Names in a folder outlive a power cut. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
