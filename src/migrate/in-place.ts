// `sluice migrate`: brings the configured stores up.
import { openMongoStore } from '../store/mongo/open-mongo.ts';
import { openSqliteStore } from '../store/sqlite/open-sqlite.ts';
import { DEADLINE_MS, type MigrateDeps } from './migrate-deps.ts';
import { table } from './table.ts';

/**
 * Builds missing indexes and writes the documents of older schema versions in the current one. After it, programs of
 * older versions are refused at their start. Resolves with false when documents could not be upgraded.
 */
export async function migrateInPlace({ settings, collections, say }: MigrateDeps): Promise<boolean> {
  const { mongodbUri: uri, dataDir } = settings;
  const store =
    uri === undefined
      ? await openSqliteStore({ dataDir, collections, deadlineMs: DEADLINE_MS, upgradeAtOpen: false })
      : await openMongoStore({ uri, collections, deadlineMs: DEADLINE_MS });
  try {
    const reports = new Map((await store.upgrade()).map((report) => [report.collection, report]));
    const rows: string[][] = [];
    for (const collection of collections) {
      const { upgraded = 0, left = 0 } = reports.get(collection.name) ?? {};
      const count = await store.maintenance.count(collection);
      rows.push([collection.name, String(count), String(upgraded), String(left)]);
    }
    table(['collection', 'documents', 'upgraded', 'left'], rows).forEach(say);
    const examples = [...reports.values()].flatMap((report) =>
      report.examples.map((left) => ({ name: report.collection, ...left })),
    );
    for (const { name, organisationId, id, schemaVersion, why } of examples) {
      say(`left at schema version ${schemaVersion}: ${name} ${id} of ${organisationId}: ${why}`);
    }
    return examples.length === 0;
  } finally {
    await store.close();
  }
}
