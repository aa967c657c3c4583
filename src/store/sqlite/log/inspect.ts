// The files of a log looked at as a whole, for `sluice doctor`: every segment is read and held to its checksums.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { quickCheck } from '../../data-folder/quick-check.ts';
import { tablesOf } from '../../data-folder/registry.ts';
import { statementCache } from '../statement-cache.ts';
import { bodyFiles } from './body-names.ts';
import { DamagedSegment, type LogDamage } from './damage.ts';
import { readSegments, type SegmentRow } from './manifest.ts';
import { SegmentFiles } from './segment-files.ts';

/** What was inspected. */
export interface InspectedLog {
  readonly segments: number;
  /** Of an earlier version: they can be read, and nothing tells whether they are as they were written. */
  readonly unchecked: number;
  readonly bodyFiles: number;
  readonly damages: readonly LogDamage[];
  /** The latest time of an entry, in Unix milliseconds. */
  readonly newest: number | undefined;
}

/** Looks without writing, also while a gateway runs. @throws Error of SQLite when the list itself cannot be read */
export function inspectLog(dataDir: string): InspectedLog {
  const database = new DatabaseSync(join(dataDir, 'sluice.db'), { readOnly: true, timeout: 5000 });
  const folder = join(dataDir, 'logs');
  const files = new SegmentFiles(folder, 1);
  try {
    const rows = tablesOf(database).has('log_segments') ? readSegments(statementCache(database), 0) : [];
    const looked = rows.map((row) => lookAt(files, row));
    const bodies = statSync(folder, { throwIfNoEntry: false }) === undefined ? [] : bodyFiles(folder);
    return {
      segments: rows.length,
      unchecked: looked.filter((found) => found === 'unchecked').length,
      bodyFiles: bodies.length,
      damages: [
        ...looked.filter((found) => typeof found === 'object'),
        ...bodies.flatMap((name) => bodyDamage(folder, name)),
      ],
      newest: rows.reduce<number | undefined>(
        (last, { maxTime }) => Math.max(last ?? maxTime, maxTime),
        undefined,
      ),
    };
  } finally {
    files.forget();
    database.close();
  }
}

function lookAt(files: SegmentFiles, row: SegmentRow): LogDamage | 'whole' | 'unchecked' {
  const { file, offset } = row;
  try {
    files.check(row);
    return files.segment(row).head.checksums === undefined ? 'unchecked' : 'whole';
  } catch (error) {
    if (error instanceof DamagedSegment) return error.damage;
    const gone = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { file, offset, why: gone ? 'the file is missing' : String(error), lost: true };
  }
}

function bodyDamage(folder: string, file: string): LogDamage[] {
  return quickCheck(join(folder, file)).map((why) => ({ file, why, lost: true }));
}
