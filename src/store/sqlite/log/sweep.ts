// Brings files and the list of segments together after a crash: a file that nothing is listed in was not dropped yet, or
// not listed yet; a segment whose file is gone was dropped just before the power went.
import { existsSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

const SEGMENTS = /^(?:entries|sums)-/;

/** To be called while nobody writes segments. */
export function sweepFolder(database: DatabaseSync, folder: string): void {
  const rows = database.prepare('SELECT DISTINCT file FROM log_segments').all();
  const listed = new Set(rows.map(({ file }) => String(file)));
  for (const file of listed) {
    if (existsSync(join(folder, file))) continue;
    database.prepare('DELETE FROM log_segments WHERE file = ?').run(file);
    database.exec('UPDATE log_state SET epoch = epoch + 1');
  }
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    if (SEGMENTS.test(name) && !listed.has(name)) unlinkSync(join(folder, name));
  }
}
