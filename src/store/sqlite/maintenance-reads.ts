// The reader's side of scans: rows of all tenants in the order in which they came.
import type { SQLInputValue } from 'node:sqlite';
import type { Collection } from '../collection.ts';
import type { LookUp } from '../maintenance.ts';
import { ROW_COLUMNS, tableOf } from './columns.ts';
import type { DocumentRow, PlacedRow, ScanCall, ScannedRow } from './protocol.ts';
import type { StatementCache } from './statement-cache.ts';

export interface MaintenanceReader {
  scan(call: ScanCall): ScannedRow[];
  countDocuments(c: number): number;
  lookUp(c: number, rows: readonly PlacedRow[]): LookUp[];
}

/** The row of an organisation and an id. */
export function rowSql(collection: Collection<object>): string {
  return `SELECT ${ROW_COLUMNS} FROM ${tableOf(collection)} WHERE organisation_id = ? AND id = ?`;
}

export function compareRows(there: DocumentRow | undefined, row: DocumentRow): LookUp {
  if (there === undefined) return 'absent';
  return there.every((value, index) => value === row[index]) ? 'present' : 'differs';
}

export function maintenanceReader(
  collections: readonly Collection<object>[],
  cached: StatementCache,
): MaintenanceReader {
  const tableAt = (c: number): string => tableOf(collections[c] as Collection<object>);

  /** Rows until there are so many characters of what `lengthOf` counts, at least one. */
  function rowsOf<Row>(
    sql: string,
    values: readonly SQLInputValue[],
    characters: number,
    lengthOf: (row: Row) => number,
  ): Row[] {
    const found: Row[] = [];
    let length = 0;
    for (const row of cached(sql).iterate(...values) as unknown as Iterable<Row>) {
      found.push(row);
      length += lengthOf(row);
      if (length >= characters) break;
    }
    return found;
  }

  return {
    scan: ({ c, after, limit, characters, olderThan }) => {
      const older = olderThan === null ? [] : [olderThan];
      const rows = rowsOf<[number, string, ...DocumentRow]>(
        `SELECT seq, organisation_id, ${ROW_COLUMNS} FROM ${tableAt(c)}
         WHERE seq > ? ${olderThan === null ? '' : 'AND schema_version < ?'} ORDER BY seq LIMIT ?`,
        [after, ...older, limit],
        characters,
        (row) => row[10].length,
      );
      return rows.map(([seq, org, ...row]): ScannedRow => [seq, org, row]);
    },

    countDocuments: (c) =>
      Number((cached(`SELECT count(*) FROM ${tableAt(c)}`).get() as unknown as [number])[0]),

    lookUp: (c, rows) => {
      const find = cached(rowSql(collections[c] as Collection<object>));
      return rows.map(({ org, row }) => compareRows(find.get(org, row[0]) as DocumentRow | undefined, row));
    },
  };
}
