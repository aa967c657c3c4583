// A data folder whose log has many entries: made by a gateway, filled behind its back, and opened by a gateway again.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { RequestRecord } from '../../src/call/record.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { generator } from '../bench/log-generator.ts';
import { startSluice } from '../bench/sluice.ts';

const BATCH = 1000;
/** The log is put in shape after so many: a gateway starts with few entries that are not. */
const IN_SHAPE = 250_000;
const DEADLINE_MS = 600_000;

/**
 * Does nothing where the folder has been filled.
 * @param shaped what becomes of each entry
 */
export async function fillLog(
  dataDir: string,
  entries: number,
  shaped: (entry: RequestRecord) => RequestRecord = (entry) => entry,
): Promise<void> {
  if (existsSync(join(dataDir, 'logs'))) return;
  mkdirSync(dataDir, { recursive: true });
  const gateway = await startSluice(dataDir, undefined, { GATEWAY_DATA_DIR: dataDir });
  await gateway.child.stop();
  const database = new DatabaseSync(join(dataDir, 'sluice.db'), { readOnly: true });
  const row = database
    .prepare('SELECT organisation_id AS organisation, id FROM c_workspaces LIMIT 1')
    .get() as unknown as { organisation: string; id: string };
  database.close();
  const store = await openSqliteStore({ dataDir, collections: [], deadlineMs: DEADLINE_MS });
  const next = generator(entries);
  for (let done = 0; done < entries; done += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, entries - done) }, () => ({
      ...shaped(next()),
      organisationId: row.organisation,
      workspaceId: row.id,
    }));
    await store.requestLog.append(batch);
    if ((done + BATCH) % IN_SHAPE === 0) await store.makeRollups();
  }
  await store.makeRollups();
  await store.close();
}
