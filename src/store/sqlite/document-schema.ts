// Tables and indexes of the declared collections, made at the start. A new field or index of a declaration
// is added to the table that is there; an index that is no longer declared goes.
import type { DatabaseSync } from 'node:sqlite';
import { type Collection, searchedIn } from '../collection.ts';
import { columnNamed, columnOf, tableOf } from './columns.ts';

const SQL_TYPE = { text: 'TEXT', integer: 'INTEGER', real: 'REAL' } as const;

/** Brings one collection's table to its declaration. To be run in a transaction. */
export function createCollection(database: DatabaseSync, collection: Collection<object>): void {
  const table = tableOf(collection);
  if (database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) === undefined) {
    createTable(database, collection);
    for (const definition of indexesOf(collection).values()) database.exec(`CREATE ${definition}`);
    return;
  }
  addColumns(database, collection);

  const wanted = indexesOf(collection);
  const present = database
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`)
    .all(table)
    .map((row) => String(row.name));
  for (const name of present) if (!wanted.has(name)) database.exec(`DROP INDEX ${name}`);
  for (const [name, definition] of wanted) {
    if (!present.includes(name)) database.exec(`CREATE ${definition}`);
  }
}

/** With its columns at once: adding one to a table that is there makes SQLite read its whole schema again. */
function createTable(database: DatabaseSync, collection: Collection<object>): void {
  const own = collection.fields.map((field) => `, ${columnOf(field)} ${SQL_TYPE[field.type]}`);
  database.exec(`CREATE TABLE ${tableOf(collection)} (
    seq INTEGER PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    id TEXT NOT NULL,
    slug TEXT,
    version INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    schema_version INTEGER NOT NULL,
    body TEXT NOT NULL${own.join('')}
  ) STRICT`);
}

function addColumns(database: DatabaseSync, collection: Collection<object>): void {
  const table = tableOf(collection);
  const present = new Set(
    database
      .prepare(`SELECT name FROM pragma_table_info(?)`)
      .all(table)
      .map((row) => row.name),
  );
  for (const field of collection.fields) {
    const column = columnOf(field);
    if (present.has(column)) continue;
    database.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${SQL_TYPE[field.type]}`);
    const path = `$.${(field.path ?? field.name)
      .split('.')
      .map((part) => `"${part}"`)
      .join('.')}`;
    // Bodies of an older shape get their values when they are upgraded, which follows at once.
    database.exec(
      `UPDATE ${table} SET ${column} = json_extract(body, '${path}') WHERE schema_version = ${collection.schemaVersion}`,
    );
  }
}

/** The index that has the documents in a field's order. */
export function orderIndexOf(collection: Collection<object>, field: string): string {
  return `${tableOf(collection)}__${orderOf(collection, field)}`;
}

function orderOf(collection: Collection<object>, field: string): string {
  return [`by_${field}`, ...searchedIn(collection, field).map(({ name }) => name)].join('_');
}

/** The index by which slugs are found: a unique one where there is one. */
export function slugIndexOf(collection: Collection<object>): string {
  const own = collection.unique.find(({ fields }) => fields.length === 1 && fields[0] === 'slug');
  return `${tableOf(collection)}__${own ? `one_${own.per}_slug` : 'slug'}`;
}

/**
 * The indexes of a collection by name. A name says all that its definition says, so that a change is a new
 * name. They are few on purpose: in a group commit every index costs a page of the log per document.
 */
function indexesOf(collection: Collection<object>): Map<string, string> {
  const table = tableOf(collection);
  const indexes = new Map<string, string>();
  const add = (kind: string, columns: readonly string[], unique: boolean, where: string): void => {
    const name = `${table}__${kind}`;
    indexes.set(name, `${unique ? 'UNIQUE ' : ''}INDEX ${name} ON ${table} (${columns.join(', ')})${where}`);
  };
  add('id', ['organisation_id', 'id'], true, '');

  // A page's skip is walked in the index alone: all that decides is in it (tenant, status, order, workspace).
  const tenant = ['organisation_id', 'archived'];
  for (const field of collection.sortable) {
    const searched = searchedIn(collection, field).map(columnOf);
    const columns = [...tenant, columnNamed(field), 'id', 'workspace_id', ...searched];
    add(orderOf(collection, field), columns, false, '');
  }
  add('by_workspace', ['organisation_id', 'workspace_id', 'archived', 'created_at', 'id'], false, '');
  // Lists come by time unless asked otherwise: a filter's index goes on with it, so that nothing is sorted.
  for (const { name } of collection.fields) {
    if (collection.sortable.includes(name)) continue;
    add(`of_${name}`, [...tenant, columnNamed(name), 'created_at', 'id', 'workspace_id'], false, '');
  }

  // The workspace last: so the index serves look-ups over the whole organisation too.
  for (const { fields, per } of collection.unique) {
    const scope = per === 'organisation' ? [] : ['workspace_id'];
    const columns = ['organisation_id', ...fields.map(columnNamed), ...scope];
    add(`one_${per}_${fields.join('_')}`, columns, true, ' WHERE archived = 0');
  }
  for (const field of collection.fields) {
    if (field.global) add(`global_${field.name}`, [columnOf(field)], true, ' WHERE archived = 0');
  }
  if (!indexes.has(slugIndexOf(collection))) {
    add('slug', ['organisation_id', 'slug', 'workspace_id'], false, ' WHERE archived = 0');
  }
  return indexes;
}
