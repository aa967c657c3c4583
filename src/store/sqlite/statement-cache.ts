// Prepared statements by their text. Texts come from a closed set of shapes, but that set is large.
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** The prepared statement of a text; rows come as arrays. */
export type StatementCache = (sql: string) => StatementSync;

const SIZE = 500;

/** Keeps the statements used last. */
export function statementCache(database: DatabaseSync): StatementCache {
  const kept = new Map<string, StatementSync>();
  return (sql) => {
    let statement = kept.get(sql);
    if (statement === undefined) {
      statement = database.prepare(sql);
      statement.setReturnArrays(true);
      const [oldest] = kept.keys();
      if (kept.size >= SIZE && oldest !== undefined) kept.delete(oldest);
    } else {
      kept.delete(sql);
    }
    kept.set(sql, statement);
    return statement;
  };
}
