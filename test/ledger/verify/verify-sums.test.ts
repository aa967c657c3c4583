// The sums kept beside entries against the entries.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { verifyLedger } from '../../../src/app/verify.ts';
import { verifyRollups } from '../../../src/ledger/verify/verify-rollups.ts';
import { openMemoryState } from '../../../src/store/memory/open-memory.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';
import { logEntry } from '../../store/log-entries.ts';

const DAY_MS = 86_400_000;

test('sums of days that are over are those of their entries, and a wrong one is told', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-sums-'));
  const store = await openSqliteStore({ dataDir, collections: [] });
  t.teardown(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const now = Date.now();
  const entries = Array.from({ length: 40 }, (_, i) =>
    logEntry({
      id: `e${i}`,
      organisationId: 'org',
      cost: String(1000 + i),
      createdAt: now - (2 + (i % 3)) * DAY_MS,
    }),
  );
  await store.requestLog.append(entries);
  await store.makeRollups(now);
  const facts = { store: store.requestLog, organisations: ['org'], logDays: 10, now };
  const right = await verifyRollups(facts);
  t.is(right.days, 3);
  t.deepEqual(right.different, []);

  // A store whose kept sums have lost an entry.
  const wrong = await verifyRollups({
    ...facts,
    store: {
      async aggregate(scope, filter, aggregation) {
        const found = await store.requestLog.aggregate(scope, filter, aggregation);
        const [row] = found.rows;
        if (found.source === 'rollups' && row) row.rollup.requests--;
        return found;
      },
    },
  });
  t.is(wrong.different.length, 3);
});

test('sums that are not those of their entries are made anew when they are told to be', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-sums-'));
  const open = () => openSqliteStore({ dataDir, collections: [] });
  let store = await open();
  t.teardown(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const now = Date.now();
  const createdAt = now - 2 * DAY_MS;
  for (const first of [0, 40]) {
    const own = Array.from({ length: 40 }, (_, i) =>
      logEntry({ id: `e${first + i}`, organisationId: 'org', cost: '7', createdAt }),
    );
    await store.requestLog.append(own);
    await store.makeRollups(now);
  }
  await store.close();
  // Sums of the first block of entries say that those of the second are in them.
  const database = new DatabaseSync(join(dataDir, 'sluice.db'));
  const sums = database
    .prepare(`SELECT id, covers FROM log_segments WHERE kind = 'sums' ORDER BY id`)
    .all() as { id: number; covers: string }[];
  const blocks = [...new Set(sums.map(({ covers }) => covers))];
  t.is(blocks.length, 2);
  const all = JSON.stringify(blocks.flatMap((covers) => JSON.parse(covers) as number[]));
  database.prepare(`DELETE FROM log_segments WHERE kind = 'sums' AND covers = ?`).run(String(blocks[1]));
  database.prepare(`UPDATE log_segments SET covers = ? WHERE kind = 'sums'`).run(all);
  database.close();

  store = await open();
  const said: string[] = [];
  const parts = {
    logMaintenance: store.logMaintenance,
    requestLog: store.requestLog,
    maintenance: store.maintenance,
    state: await openMemoryState({ dataDir }),
    documents: store.documents,
    logDays: 10,
    flush: async () => {},
    say: (line: string) => void said.push(line),
  };
  t.teardown(() => parts.state.close());
  t.false(await verifyLedger(parts, { organisationId: 'org', rebuild: false }));
  t.regex(said.join('\n'), /differs: org sums of \S+: 280, entries 560/);
  t.true(await verifyLedger(parts, { organisationId: 'org', rebuild: true }));
  t.regex(said.join('\n'), /1 corrected, 0 different/);
  const found = await store.requestLog.aggregate({ organisationId: 'org', workspaceId: undefined }, {}, {});
  t.is(found.source, 'rollups');
  t.is(found.rows[0]?.rollup.requests, 80);
  t.true(await verifyLedger(parts, { organisationId: 'org', rebuild: false }));
});
