// The writer's side of maintenance: each row by itself, with an outcome of its own.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Collection } from '../collection.ts';
import type { ImportOutcome, RewriteOutcome } from '../maintenance.ts';
import { columnOf, ROW_COLUMNS, tableOf } from './columns.ts';
import { isUniqueFailure } from './document-writes.ts';
import { compareRows, rowSql } from './maintenance-reads.ts';
import type { DocumentRow, RowImport, RowRewrite } from './protocol.ts';
import { markBehind } from './schema-versions.ts';

export interface MaintenanceWriter {
  rewrite(c: number, rewrites: readonly RowRewrite[]): RewriteOutcome[];
  importRows(c: number, imports: readonly RowImport[]): ImportOutcome[];
}

interface Statements {
  readonly rewrite: StatementSync;
  readonly look: StatementSync;
  readonly insert: StatementSync;
}

export function maintenanceWriter(
  database: DatabaseSync,
  collections: readonly Collection<object>[],
): MaintenanceWriter {
  // Prepared when they are asked for: most processes never do.
  const prepared = new Map<number, Statements>();
  const statementsOf = (c: number): Statements => {
    const found = prepared.get(c) ?? prepare(database, collections[c] as Collection<object>);
    prepared.set(c, found);
    return found;
  };
  return {
    rewrite: (c, rewrites) => rewrites.map((one) => rewrite(statementsOf(c), one)),
    importRows: (c, imports) => {
      const collection = collections[c] as Collection<object>;
      if (imports.some(({ row }) => row[7] < collection.schemaVersion)) markBehind(database, collection);
      return imports.map((one) => importRow(statementsOf(c), one));
    },
  };
}

function prepare(database: DatabaseSync, collection: Collection<object>): Statements {
  const table = tableOf(collection);
  const columns = collection.fields.map(columnOf);
  const assignments = columns.map((column) => `, ${column} = ?`).join('');
  const names = ['organisation_id', ROW_COLUMNS, ...columns].join(', ');
  const holes = Array(10 + columns.length)
    .fill('?')
    .join(', ');
  const look = database.prepare(rowSql(collection));
  look.setReturnArrays(true);
  return {
    rewrite: database.prepare(
      `UPDATE ${table} SET schema_version = ?, body = ?${assignments}
       WHERE organisation_id = ? AND id = ? AND version = ? AND schema_version = ? AND body = ?`,
    ),
    look,
    insert: database.prepare(`INSERT INTO ${table} (${names}) VALUES (${holes})`),
  };
}

function rewrite(of: Statements, one: RowRewrite): RewriteOutcome {
  const { org, id, version, schemaVersion, body, newSchemaVersion, newBody, fields } = one;
  try {
    const { changes } = of.rewrite.run(
      newSchemaVersion,
      newBody,
      ...fields,
      org,
      id,
      version,
      schemaVersion,
      body,
    );
    return changes === 0 ? 'changed' : 'written';
  } catch (error) {
    if (isUniqueFailure(error)) return 'conflict';
    throw error;
  }
}

function importRow(of: Statements, { org, row, fields }: RowImport): ImportOutcome {
  const there = compareRows(of.look.get(org, row[0]) as unknown as DocumentRow | undefined, row);
  if (there !== 'absent') return there;
  try {
    of.insert.run(org, ...row, ...fields);
    return 'written';
  } catch (error) {
    if (isUniqueFailure(error)) return 'conflict';
    throw error;
  }
}
