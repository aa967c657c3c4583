// Sums and pages of the embedded log while it is put in shape around them: whatever is sealed, added up, corrected and
// dropped meanwhile, each answer is that of some moment between its question and itself.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { dice, traffic } from './random-log.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-log-changes-'));
test.after.always(() => rmSync(root, { recursive: true, force: true }));
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const OLD = Date.UTC(1999, 0, 1);
/** Questions of each of two that ask. */
const ROUNDS = Number(process.env.SLUICE_CHANGES_ROUNDS ?? 12);
const SEED = Number(process.env.SLUICE_CHANGES_SEED ?? 1);

const kept = { organisationId: 'kept', workspaceId: undefined };
const passing = { organisationId: 'passing', workspaceId: undefined };

interface Run {
  readonly store: SqliteStore;
  readonly random: () => number;
  running: boolean;
}

/** Entries that stay, and their cost; what is answered of them never changes. */
async function filled({ requestLog }: SqliteStore): Promise<RequestRecord[]> {
  const random = traffic(SEED, 'kept');
  const entries = Array.from({ length: 240 }, (): RequestRecord => {
    const { keepDays: _, ...entry } = random.entry();
    return { ...entry, cost: '1000' };
  });
  for (let at = 0; at < entries.length; at += 12) await requestLog.append(entries.slice(at, at + 12));
  return entries;
}

/** Others come, are sealed, added up, and dropped; late ones come behind them into files of the same names. */
async function comeAndGo(run: Run): Promise<number> {
  const { store, random } = run;
  const made = traffic(SEED + 1, 'passing');
  let rounds = 0;
  while (run.running) {
    const batch = Array.from({ length: 1 + Math.floor(random() * 20) }, (_, i): RequestRecord => {
      const { keepDays: _keep, ...entry } = made.entry();
      return { ...entry, createdAt: OLD + Math.floor(random() * 3) * DAY_MS + i };
    });
    await store.requestLog.append(batch);
    if (random() < 0.5) await store.makeRollups();
    if (random() < 0.5) {
      const metricDays = random() < 0.5 ? 0 : 1000;
      await store.requestLog.expire({ logDays: 1, bodyDays: 1, metricDays }, OLD + 5 * DAY_MS);
    }
    rounds++;
  }
  return rounds;
}

/** Corrections that change nothing that is asked: costs go from one to another and back. */
async function correct(run: Run, entries: readonly RequestRecord[]): Promise<number> {
  let rounds = 0;
  while (run.running) {
    const some = entries.filter(() => run.random() < 0.05);
    for (const cost of ['2000', '1000']) {
      await run.store.requestLog.reprice(
        'kept',
        some.map(({ id, createdAt }) => ({ id, createdAt, cost, attempts: [cost] })),
      );
      if (run.random() < 0.3) await run.store.makeRollups();
    }
    rounds++;
  }
  return rounds;
}

test('answers hold while the log is put in shape', async (t) => {
  const store = await openSqliteStore({
    dataDir: join(root, 'a'),
    collections: [],
    logBounds: { block: 8, groups: 6 },
  });
  const entries = await filled(store);
  await store.makeRollups();
  const run: Run = { store, random: dice(SEED), running: true };
  const users = new Set(entries.flatMap(({ metadata }) => metadata._user || [])).size;
  const counts = new Map<string | undefined, number>();
  for (const { model } of entries) counts.set(model, (counts.get(model) ?? 0) + 1);
  const models = new Map([...counts].sort());
  const ask = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS && run.running; round++) {
      const [whole, hours, byModel, unique, page] = await Promise.all([
        store.requestLog.aggregate(kept, {}, {}),
        store.requestLog.aggregate(kept, {}, { bucketMs: HOUR_MS, unique: 'user' }),
        store.requestLog.aggregate(kept, {}, { by: ['model'], take: 100 }),
        store.requestLog.aggregate(kept, {}, { unique: 'user', by: ['user'], take: 5 }),
        store.requestLog.page(kept, {}, { page: 0, pageSize: 300, order: 'asc' }),
      ]);
      t.is(whole.rows[0]?.rollup.requests, entries.length);
      const cost = Number(whole.rows[0]?.rollup.cost);
      t.true(cost >= entries.length * 1000 && cost <= entries.length * 2000 && cost % 1000 === 0);
      t.is(
        hours.rows.reduce((sum, { rollup }) => sum + rollup.requests, 0),
        entries.length,
      );
      t.is(hours.unique, users);
      t.deepEqual(
        new Map(byModel.rows.map(({ group, rollup }) => [group[0], rollup.requests] as const).sort()),
        models,
      );
      t.is(unique.unique, users);
      t.is(page.entries.length, entries.length);
      // Of what comes and goes at least the shape is right: no answer fails.
      await store.requestLog.aggregate(passing, {}, { bucketMs: DAY_MS, by: ['user'] });
      await store.requestLog.page(passing, {}, { page: 0, pageSize: 50, order: 'desc' });
    }
  };
  const changes = [comeAndGo(run), correct(run, entries)];
  try {
    // A change that fails ends the questions.
    await Promise.race([Promise.all([ask(), ask()]), Promise.all(changes)]);
    run.running = false;
    await Promise.all(changes);
  } finally {
    run.running = false;
    await Promise.allSettled(changes);
    await store.close();
  }
});
