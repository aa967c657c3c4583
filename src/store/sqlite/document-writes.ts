// The writer's side of the documents: one row write each, its statements prepared once.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Collection } from '../collection.ts';
import { columnOf, fieldOfColumn, ROW_COLUMNS, tableOf } from './columns.ts';
import type { DocumentRow, RowWrite, RowWritten, UpdatedParts } from './protocol.ts';
import { FailureError } from './worker-loop.ts';

interface Statements {
  readonly insert: StatementSync;
  readonly update: StatementSync;
  readonly archive: StatementSync;
  readonly look: StatementSync;
}

/** Runs row writes; throws a FailureError for what the caller shall learn. One write is one statement: all or nothing. */
export function documentWriter(
  database: DatabaseSync,
  collections: readonly Collection<object>[],
): (write: RowWrite) => RowWritten {
  const statements = collections.map((collection) => prepare(database, collection));
  return (write) => {
    const of = statements[write.c] as Statements;
    try {
      switch (write.kind) {
        case 'insert':
          of.insert.run(write.org, ...write.row, ...write.fields);
          return null;
        case 'update':
          return update(of, write);
        case 'archive':
          return archive(of, write);
      }
    } catch (error) {
      throw conflictOf(error) ?? error;
    }
  };
}

function prepare(database: DatabaseSync, collection: Collection<object>): Statements {
  const table = tableOf(collection);
  const columns = collection.fields.map(columnOf);
  const statement = (sql: string): StatementSync => {
    const prepared = database.prepare(sql);
    prepared.setReturnArrays(true);
    return prepared;
  };
  const names = ['organisation_id', ROW_COLUMNS, ...columns].join(', ');
  const holes = Array(10 + columns.length)
    .fill('?')
    .join(', ');
  const assignments = columns.map((column) => `, ${column} = ?`).join('');
  const mine = `organisation_id = ? AND id = ? AND archived = 0 AND workspace_id = coalesce(?, workspace_id)`;
  return {
    insert: statement(`INSERT INTO ${table} (${names}) VALUES (${holes})`),
    update: statement(
      `UPDATE ${table} SET version = version + 1, slug = CASE WHEN ? THEN ? ELSE slug END, updated_at = ?,
         schema_version = ?, body = ?${assignments}
       WHERE ${mine} AND version = ? RETURNING workspace_id, slug, version, created_at`,
    ),
    archive: statement(
      `UPDATE ${table} SET version = version + 1, archived = 1, updated_at = ?
       WHERE ${mine} AND version = coalesce(?, version) RETURNING ${ROW_COLUMNS}`,
    ),
    look: statement(`SELECT version FROM ${table} WHERE ${mine}`),
  };
}

function update(of: Statements, write: RowWrite & { kind: 'update' }): UpdatedParts {
  const { org, id, workspace, version, slug } = write;
  const values: SQLInputValue[] = [
    slug === undefined ? 0 : 1,
    slug ?? null,
    write.updatedAt,
    write.schemaVersion,
  ];
  const row = of.update.get(...values, write.body, ...write.fields, org, id, workspace, version);
  if (row === undefined) throw missed(of, write, version);
  return row as unknown as UpdatedParts;
}

function archive(of: Statements, write: RowWrite & { kind: 'archive' }): DocumentRow {
  const { org, id, workspace, version } = write;
  const row = of.archive.get(write.updatedAt, org, id, workspace, version);
  if (row === undefined) throw missed(of, write, version);
  return row as unknown as DocumentRow;
}

/** Why a compare-and-set found nothing to write. */
function missed(
  of: Statements,
  write: { org: string; id: string; workspace: string | null },
  version: number | null,
): FailureError {
  const row = of.look.get(write.org, write.id, write.workspace) as unknown as [number] | undefined;
  if (row === undefined)
    return new FailureError({ reason: 'not_found', message: 'there is no such document' });
  return new FailureError({
    reason: 'version_conflict',
    message: `the document was changed meanwhile: it has version ${row[0]}, not ${version}`,
    violations: [{ field: 'version', rule: 'version', message: `is ${row[0]}, not ${version}` }],
  });
}

const UNIQUE_FAILED = 2067;

/** Whether a statement failed because a value of a unique index is taken. */
export function isUniqueFailure(error: unknown): error is Error {
  return error instanceof Error && (error as { errcode?: number }).errcode === UNIQUE_FAILED;
}

const HIDDEN = new Set(['organisationId', 'organisation_id', 'workspaceId']);

/** A broken unique index as a conflict that names the fields. SQLite's text lists the index's columns. */
function conflictOf(error: unknown): FailureError | undefined {
  if (!isUniqueFailure(error)) return undefined;
  const fields = error.message
    .replace(/^.*: /, '')
    .split(', ')
    .map((column) => fieldOfColumn(column.replace(/^.*\./, '')))
    .filter((field) => !HIDDEN.has(field));
  return new FailureError({
    reason: 'conflict',
    message: `there is a document with this ${fields.join(' and ')} already`,
    violations: fields.map((field) => ({ field, rule: 'unique', message: 'is taken' })),
  });
}
