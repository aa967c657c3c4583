// To which schema version the documents of each collection are known to be written, so that a start need not look
// at them all.
import type { DatabaseSync } from 'node:sqlite';
import type { Collection } from '../collection.ts';
import { tableOf } from './columns.ts';

/** After the collections' tables. Throws, naming the collection, when the file's documents are of a newer version than the declaration's. */
export function createSchemaTable(database: DatabaseSync, collections: readonly Collection<object>[]): void {
  database.exec(`CREATE TABLE IF NOT EXISTS schema_versions (
    collection TEXT PRIMARY KEY, version INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`);
  for (const collection of collections) {
    const { name, schemaVersion } = collection;
    const found = versionOf(database, name);
    // A new table has no documents of any version.
    if (found < schemaVersion && isEmpty(database, collection)) markUpgraded(database, collection);
    if (found <= schemaVersion) continue;
    throw new Error(
      `the data of ${name} has schema version ${found}, made by a newer version of this program; ` +
        `this one knows ${schemaVersion}: start the newer one`,
    );
  }
}

export function markUpgraded(database: DatabaseSync, { name, schemaVersion }: Collection<object>): null {
  database
    .prepare('INSERT INTO schema_versions VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version')
    .run(name, schemaVersion);
  return null;
}

/** Documents of an older version came in: the next start looks. */
export function markBehind(database: DatabaseSync, { name }: Collection<object>): void {
  database.prepare('DELETE FROM schema_versions WHERE collection = ?').run(name);
}

/** The places of the collections with documents that may be of an older version. */
export function placesBehind(database: DatabaseSync, collections: readonly Collection<object>[]): number[] {
  return [...collections.keys()].filter((place) => {
    const { name, schemaVersion } = collections[place] as Collection<object>;
    return versionOf(database, name) < schemaVersion;
  });
}

function isEmpty(database: DatabaseSync, collection: Collection<object>): boolean {
  return database.prepare(`SELECT 1 FROM ${tableOf(collection)} LIMIT 1`).get() === undefined;
}

/** 0 when nothing is known. */
function versionOf(database: DatabaseSync, collection: string): number {
  const row = database.prepare('SELECT version FROM schema_versions WHERE collection = ?').get(collection);
  return Number(row?.version ?? 0);
}
