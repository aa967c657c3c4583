// Brings files and the list of segments together before a store is opened. What this program dropped is deleted; a file
// that it does not know is moved to lost+found; a file that is listed and gone, or too short, is named.
import { existsSync, readdirSync, statSync, unlinkSync } from 'node:fs';
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
    if (dropped.has(file)) unlinkSync(join(folder, file));
    else aside.push({ file, to: setAside(dataDir, folder, file) });
  }
  if (dropped.size > 0) database.exec('DELETE FROM log_dropped');
  const damaged = [...listed].flatMap(([file, bytes]) => {
    const size = statSync(join(folder, file), { throwIfNoEntry: false })?.size;
    if (size === undefined) return [{ file, why: 'the file is missing' }];
    return size < bytes ? [{ file, why: `the file has ${size} bytes of ${bytes}` }] : [];
  });
  return { aside, damaged };
}

/** Files of which the last segment was taken off the list, and which may not be deleted yet. */
function droppedFiles(database: DatabaseSync): ReadonlySet<string> {
  if (!tablesOf(database).has('log_dropped')) return new Set();
  const rows = database.prepare('SELECT file FROM log_dropped').all();
  return new Set(rows.map(({ file }) => String(file)));
}
