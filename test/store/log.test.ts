// Reading the books of the embedded store: off the tail, off segments, and off both.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import anyTest, { type Implementation, type TestFn } from 'ava';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { logContract } from './log.contract.ts';
import { logReadingContract } from './log-reading.contract.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-log-'));
const stores: SqliteStore[] = [];
let folders = 0;

function open(block: number, groups: number): Promise<SqliteStore> {
  return openSqliteStore({
    dataDir: join(root, String(folders++)),
    collections: [],
    logBounds: { block, groups, searchMs: 30_000 },
  }).then((store) => {
    stores.push(store);
    return store;
  });
}

anyTest.after.always(async () => {
  for (const store of stores) await store.close();
  rmSync(root, { recursive: true, force: true });
});

/** The contract's tests under a name of their own. */
function named(name: string): TestFn {
  const register = (title: string, run: Implementation<[]>): void => anyTest(`${name}: ${title}`, run);
  return register as unknown as TestFn;
}

for (const [name, block, groups] of [
  ['in the tail', 8192, 4096],
  ['in segments', 1, 4096],
  ['in both', 100, 2],
] as const) {
  const store = open(block, groups);
  logReadingContract(named(name), async () => (await store).requestLog);
  logContract(named(name), async () => (await store).requestLog, {
    settle: async () => (await store).makeRollups(),
  });
}
