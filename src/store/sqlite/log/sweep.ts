// Brings files and the list of segments together before a store is opened. What this program dropped is deleted; a file
// that it does not know is moved to lost+found; a file that is listed and gone, or too short, is named.
import { existsSync, lstatSync, readdirSync, type Stats, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setAside } from '../../data-folder/lost-and-found.ts';
import { listedFiles, tablesOf } from '../../data-folder/registry.ts';

const SEGMENTS = /^(?:entries|sums)-/;

/** What was found. */
export interface Swept {
  /** Files without a listed segment, and where they were moved. */
  readonly aside: readonly { readonly file: string; readonly to: string }[];
  /** Files that are listed and not whole. */
  readonly damaged: readonly { readonly file: string; readonly why: string }[];
}

/** Called while nothing else has the database or the folder open. */
export function sweepFolder(database: DatabaseSync, dataDir: string, folder: string): Swept {
  const listed = listedFiles(database);
  const dropped = droppedFiles(database);
  const aside: { readonly file: string; readonly to: string }[] = [];
  for (const file of existsSync(folder) ? readdirSync(folder) : []) {
    if (!SEGMENTS.test(file) || listed.has(file)) continue;
    if (dropped.has(file) && isFile(join(folder, file))) unlinkSync(join(folder, file));
    else aside.push({ file, to: setAside(dataDir, folder, file) });
  }
  if (dropped.size > 0) database.exec('DELETE FROM log_dropped');
  const damaged = [...listed].flatMap(([file, bytes]) => {
    const why = faultOf(join(folder, file), bytes);
    return why === undefined ? [] : [{ file, why }];
  });
  return { aside, damaged };
}

/** A link counts as one: it is deleted, and what it leads to stays. */
function isFile(path: string): boolean {
  const found = lstatSync(path);
  return found.isFile() || found.isSymbolicLink();
}

/** What is wrong with a file that is listed with so many bytes; undefined: nothing that shows from outside. */
function faultOf(path: string, bytes: number): string | undefined {
  let found: Stats | undefined;
  try {
    found = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    return `the file cannot be read (${(error as NodeJS.ErrnoException).code})`;
  }
  if (found === undefined) return 'the file is missing';
  if (!found.isFile()) return 'it is no file';
  return found.size < bytes ? `the file has ${found.size} bytes of ${bytes}` : undefined;
}

/** Files of which the last segment was taken off the list, and which may not be deleted yet. */
function droppedFiles(database: DatabaseSync): ReadonlySet<string> {
  if (!tablesOf(database).has('log_dropped')) return new Set();
  const rows = database.prepare('SELECT file FROM log_dropped').all();
  return new Set(rows.map(({ file }) => String(file)));
}
