// Documents as they are stored, read without writing, also beside a running gateway. No secret is opened.
import { DatabaseSync } from 'node:sqlite';
import type { Collection } from '../collection.ts';
import { tableOf } from './columns.ts';

const MOST = 1000;

/** What is read of a document. */
export interface StoredBody {
  readonly collection: Collection<object>;
  readonly slug: string;
  readonly body: object;
}

/** Active documents of the collections that the file has, the first 1000 of each. @throws Error of SQLite */
export function readBodies(path: string, collections: readonly Collection<object>[]): StoredBody[] {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  try {
    const found = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
    const tables = new Set(found.map(({ name }) => name));
    return collections
      .filter((one) => tables.has(tableOf(one)))
      .flatMap((collection) =>
        database
          .prepare(`SELECT slug, body FROM ${tableOf(collection)} WHERE archived = 0 LIMIT ${MOST}`)
          .all()
          .map(({ slug, body }) => ({
            collection,
            slug: String(slug),
            body: JSON.parse(String(body)) as object,
          })),
      );
  } finally {
    database.close();
  }
}
