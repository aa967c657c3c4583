// The reader's side of the documents.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Collection } from '../collection.ts';
import type { ColumnValue } from '../document-checks.ts';
import { columnNamed, ROW_COLUMNS, tableOf } from './columns.ts';
import { slugIndexOf } from './document-schema.ts';
import { countQuery, pageQuery } from './page-sql.ts';
import type { DocumentRow, GlobalRow, PageCall, ReaderCall, RowPage, SomeRows } from './protocol.ts';
import type { StatementCache } from './statement-cache.ts';
import { FailureError } from './worker-loop.ts';

export interface DocumentReader {
  get(call: ReaderCall & { kind: 'get' }): DocumentRow | null;
  unique(call: ReaderCall & { kind: 'unique' }): GlobalRow | null;
  page(call: PageCall): RowPage;
  rows(call: ReaderCall & { kind: 'rows' }): SomeRows;
}

/** Characters of the bodies in one message: it is taken in one turn of the main thread, 75 MB take 67 ms. */
const MESSAGE_LENGTH = 1_048_576;

export function documentReader(
  database: DatabaseSync,
  collections: readonly Collection<object>[],
  cached: StatementCache,
): DocumentReader {
  const prepare = (sql: string): StatementSync => {
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  };
  const statements = collections.map((collection) => {
    const from = `SELECT ${ROW_COLUMNS} FROM ${tableOf(collection)}`;
    const mine = 'organisation_id = ? AND workspace_id = coalesce(?, workspace_id)';
    return {
      byId: prepare(
        `${from} INDEXED BY ${tableOf(collection)}__id WHERE ${mine} AND id = ? AND archived <= ?`,
      ),
      bySlug: prepare(
        `${from} INDEXED BY ${slugIndexOf(collection)} WHERE ${mine} AND slug = ? AND archived = 0 LIMIT 2`,
      ),
      bySeq: prepare(`${from} WHERE seq = ?`),
    };
  });
  const countOf = (collection: Collection<object>, call: PageCall): number => {
    const { sql, values } = countQuery(collection, call);
    return (cached(sql).get(...values) as unknown as [number])[0];
  };
  const of = (c: number) => statements[c] as (typeof statements)[number];

  const someRows = (c: number, places: readonly number[]): SomeRows => rowsAt(of(c).bySeq, places);

  return {
    get: ({ c, org, workspace, ref, archived }) => {
      const found = of(c).byId.get(org, workspace, ref, archived ? 1 : 0) as unknown as
        | DocumentRow
        | undefined;
      if (found) return found;
      const [row, another] = of(c).bySlug.all(org, workspace, ref) as unknown as DocumentRow[];
      if (another) {
        const message = 'names documents of several workspaces: name the workspace or use the id';
        throw new FailureError({
          reason: 'validation_failed',
          message: `slug: ${message}`,
          violations: [{ field: 'slug', rule: 'ambiguous', message }],
        });
      }
      return row ?? null;
    },

    unique: ({ c, field, value }) => {
      const table = tableOf(collections[c] as Collection<object>);
      const sql = `SELECT organisation_id, ${ROW_COLUMNS} FROM ${table} WHERE archived = 0 AND ${columnNamed(field)} = ?`;
      const row = cached(sql).get(value) as unknown as [string, ...DocumentRow] | undefined;
      if (!row) return null;
      const [organisationId, ...rest] = row;
      return [organisationId, rest];
    },

    page: (call) => {
      const collection = collections[call.c] as Collection<object>;
      const page = pageQuery(collection, call);
      const found = cached(page.sql).all(...page.values) as unknown as [seq: number, value: ColumnValue][];
      const more = found.length > call.take;
      if (more) found.pop();
      // A last page that was not reached by a cursor tells how many there are.
      const told = !more && call.after === undefined && (found.length > 0 || call.skip === 0);
      const total = told ? call.skip + found.length : countOf(collection, call);
      const places = found.map(([seq]) => seq);
      return { ...someRows(call.c, places), total, last: more ? found.at(-1)?.[1] : undefined };
    },

    rows: ({ c, places }) => someRows(c, places),
  };
}

/** The rows of some places, as many as fit into one message. */
function rowsAt(bySeq: StatementSync, places: readonly number[]): SomeRows {
  const rows: DocumentRow[] = [];
  let length = 0;
  for (const [index, place] of places.entries()) {
    if (length >= MESSAGE_LENGTH) return { rows, rest: places.slice(index) };
    const row = bySeq.get(place) as unknown as DocumentRow | undefined;
    if (row === undefined) continue;
    rows.push(row);
    length += row[8].length;
  }
  return { rows, rest: [] };
}
