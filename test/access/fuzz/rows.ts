// What the embedded store keeps of a tenant, byte for byte.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Every row of the tenant's, as JSON, by its table and place. */
export function rowsOf(dataDir: string, organisationId: string): Map<string, string> {
  const database = new DatabaseSync(join(dataDir, 'sluice.db'), { readOnly: true });
  try {
    const rows = new Map<string, string>();
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    for (const { name } of tables as { name: string }[]) {
      const columns = (database.prepare(`PRAGMA table_info("${name}")`).all() as { name: string }[]).map(
        (c) => c.name,
      );
      const own = columns.includes('organisation_id')
        ? 'organisation_id = ?'
        : columns.includes('organisation')
          ? 'organisation IN (SELECT key FROM log_scopes WHERE organisation_id = ?)'
          : undefined;
      if (own === undefined) continue;
      for (const row of database
        .prepare(`SELECT rowid AS place, * FROM "${name}" WHERE ${own}`)
        .all(organisationId))
        rows.set(`${name} ${row.place}`, JSON.stringify(row));
    }
    return rows;
  } finally {
    database.close();
  }
}
