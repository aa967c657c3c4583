// The embedded log's own: what is sealed, sent again, left by a crash or by an earlier version, and what outlives entries.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import type { LogAggregate, LogAggregation } from '../../src/store/log/aggregation.ts';
import { decodeEntry, encodeEntry } from '../../src/store/log/entry-text.ts';
import type { LogFilter } from '../../src/store/request-log.ts';
import type { LogDamage } from '../../src/store/sqlite/log/damage.ts';
import { inspectLog } from '../../src/store/sqlite/log/inspect.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { eventually } from '../support/eventually.ts';
import { logEntry } from './log-entries.ts';
import { logModel } from './log-model.ts';
import { plainRollup } from './plain-rollup.ts';
import { BEGIN, traffic } from './random-log.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-log-own-'));
const opened: SqliteStore[] = [];
test.after.always(async () => {
  // After a test that failed; a store that is closed already says so, and is none to care for.
  for (const store of opened) await store.close().catch(() => {});
  rmSync(root, { recursive: true, force: true });
});
let folders = 0;
const freshDir = (): string => join(root, String(folders++));
const DAY_MS = 86_400_000;
const scope = { organisationId: 'o', workspaceId: undefined };

async function open(dataDir: string, block = 50): Promise<SqliteStore> {
  const store = await openSqliteStore({ dataDir, collections: [], logBounds: { block } });
  opened.push(store);
  return store;
}

function filesOf(dataDir: string): string[] {
  return readdirSync(join(dataDir, 'logs')).sort();
}

async function untilSealed(dataDir: string): Promise<void> {
  await eventually('a segment', () => filesOf(dataDir).some((name) => name.startsWith('entries-')));
}

async function allOf({ requestLog }: SqliteStore, organisationId = 'o'): Promise<readonly RequestRecord[]> {
  const first = { page: 0, pageSize: 1000, order: 'asc' } as const;
  const whose = { organisationId, workspaceId: undefined };
  const all: RequestRecord[] = [];
  // A busy machine's page may be short.
  let after: string | undefined;
  do {
    const page = await requestLog.page(whose, {}, after === undefined ? first : { ...first, after });
    all.push(...page.entries);
    after = page.next;
  } while (after !== undefined);
  return all;
}

test('every member of an entry survives its text', (t) => {
  const random = traffic(3, 'o');
  for (let i = 0; i < 300; i++) {
    const entry = random.entry();
    t.deepEqual(decodeEntry(encodeEntry(entry)), entry);
  }
});

test('an entry that is sent again is kept once: in the tail, sealed, after a restart, within one batch', async (t) => {
  const dataDir = freshDir();
  const random = traffic(4, 'o');
  const entries = Array.from({ length: 180 }, random.entry);
  let store = await open(dataDir);
  await store.requestLog.append([...entries.slice(0, 30), ...entries.slice(0, 30)]);
  await store.requestLog.append(entries.slice(20, 120));
  await untilSealed(dataDir);
  await store.requestLog.append(entries.slice(0, 150));
  t.is((await allOf(store)).length, 150);
  await store.close();
  store = await open(dataDir);
  await store.requestLog.append(entries);
  await store.makeRollups();
  await store.requestLog.append(entries);
  // Another entry of the same id at another time, and of another organisation, is another entry.
  const [first] = entries as [RequestRecord];
  const others = [
    { ...first, createdAt: first.createdAt + 1 },
    { ...first, organisationId: 'other' },
  ];
  await store.requestLog.append(others);
  t.is((await allOf(store)).length, 181);
  t.is((await allOf(store, 'other')).length, 1);
  await store.close();
});

test('a batch of tens of thousands is stored as a whole', async (t) => {
  const store = await openSqliteStore({ dataDir: freshDir(), collections: [], deadlineMs: 120_000 });
  const batch = Array.from({ length: 70_000 }, (_, i) =>
    logEntry({ id: `e${i}`, organisationId: 'o', createdAt: BEGIN + i, apiKeyId: `key-${i % 7000}` }),
  );
  await store.requestLog.append(batch);
  for (const source of ['entries', 'rollups'] as const) {
    const all = await store.requestLog.aggregate(scope, {}, {});
    t.is(all.source, source);
    t.is(all.rows[0]?.rollup.requests, 70_000);
    t.is(all.rows[0]?.rollup.firstSeen, BEGIN);
    const keys = await store.requestLog.aggregate(scope, {}, { by: ['apiKey'], bucketMs: DAY_MS });
    t.is(keys.rows.length, 7000);
    t.true(keys.rows.every(({ rollup }) => rollup.requests === 10));
    const statuses = await store.requestLog.aggregate(scope, {}, { by: ['apiKey', 'config'], take: 10 });
    t.deepEqual(
      statuses.rows.map(({ group }) => group[0]),
      [0, 1, 10, 100, 1000, 1001, 1002, 1003, 1004, 1005].map((i) => `key-${i}`),
    );
    await store.makeRollups();
  }
  await store.close();
});

test('a search that takes too long answers what it has, and goes on from there', async (t) => {
  const bounds = { block: 20, searchMs: 0 };
  const store = await openSqliteStore({ dataDir: freshDir(), collections: [], logBounds: bounds });
  const random = traffic(8, 'o');
  // Segments one behind the other, and some that lie over each other.
  for (let i = 0; i < 10; i++) {
    const shift = Math.floor(i / 2) * 6 * 3_600_000;
    const batch = Array.from({ length: 20 }, random.entry);
    await store.requestLog.append(batch.map((entry) => ({ ...entry, createdAt: entry.createdAt + shift })));
  }
  await store.makeRollups();
  const all = (await allOf(store)).filter(({ path }) => path === '/V1/Odd').map(({ id }) => id);
  const found: string[] = [];
  let after: string | undefined;
  let pages = 0;
  do {
    const page = await store.requestLog.page(
      scope,
      { text: '/v1/odd' },
      {
        page: 0,
        pageSize: 50,
        order: 'asc' as const,
        ...(after === undefined ? {} : { after }),
      },
    );
    found.push(...page.entries.map(({ id }) => id));
    if (page.next !== undefined) t.true(page.totalCapped && page.total <= all.length);
    after = page.next;
    pages++;
  } while (after !== undefined && pages < 100);
  t.deepEqual(found, all);
  t.true(pages > 1 && pages < 100);
  await store.close();
});

test('sums outlive their entries, and go in their own time', async (t) => {
  const dataDir = freshDir();
  const store = await open(dataDir);
  const model = logModel();
  const random = traffic(5, 'o');
  const entries = Array.from({ length: 300 }, () => {
    const { keepDays: _, ...entry } = random.entry();
    return entry;
  });
  for (let at = 0; at < entries.length; at += 60) await store.requestLog.append(entries.slice(at, at + 60));
  await model.append(entries);
  await store.makeRollups();
  // One that comes late is beside the sums that were made.
  const late = { ...random.entry(), id: 'late', keepDays: undefined, createdAt: BEGIN + 60_000 };
  delete (late as { keepDays?: number }).keepDays;
  await store.requestLog.append([late]);
  await model.append([late]);

  const sumsOf = async (of: Pick<SqliteStore['requestLog'], 'aggregate'>): Promise<unknown[]> => {
    const answers = await Promise.all([
      of.aggregate(scope, {}, { bucketMs: 3_600_000 }),
      of.aggregate(scope, { workspaceIds: ['ws-1'] }, { by: ['provider', 'model'] }),
      of.aggregate(
        scope,
        { statusCodes: [200, 429] },
        { by: ['prompt', 'cacheStatus'], unique: 'virtualKey' },
      ),
      of.aggregate(scope, { cacheStatuses: ['DISABLED'] }, { bucketMs: DAY_MS, by: ['apiKey'] }),
    ]);
    return answers.map(plain);
  };
  const wanted = await sumsOf(model);
  t.deepEqual(await sumsOf(store.requestLog), wanted);
  t.is((await store.requestLog.aggregate(scope, {}, {})).source, 'rollups');
  t.is((await store.requestLog.aggregate(scope, { users: ['u'] }, {})).source, 'entries');

  const retention = { logDays: 3, bodyDays: 3, metricDays: 9 };
  const dropped = await store.requestLog.expire(retention, BEGIN + 6 * DAY_MS);
  t.deepEqual(dropped, ['entries-2026-11-20', 'entries-2026-11-21']);
  t.deepEqual(await allOf(store), []);
  t.deepEqual(await sumsOf(store.requestLog), wanted);
  t.deepEqual(filesOf(dataDir), ['sums-2026-11-20', 'sums-2026-11-21']);
  await store.requestLog.expire(retention, BEGIN + 12 * DAY_MS);
  t.deepEqual(filesOf(dataDir), []);
  t.deepEqual((await store.requestLog.aggregate(scope, {}, {})).rows, []);
  await store.close();
});

test('sums that an earlier version made are read as far as they go, beside newer ones', async (t) => {
  const dataDir = freshDir();
  let store = await open(dataDir);
  const model = logModel();
  const random = traffic(9, 'o');
  const entries = Array.from({ length: 400 }, random.entry);
  await model.append(entries);
  for (let at = 0; at < 250; at += 50) await store.requestLog.append(entries.slice(at, at + 50));
  await store.makeRollups();
  await store.close();
  // It knew five cubes, and wrote them in the order of their numbers.
  const database = new DatabaseSync(join(dataDir, 'sluice.db'));
  database.exec(`DELETE FROM log_segments WHERE kind = 'sums' AND cube > 4;
    UPDATE log_segments SET id = -1000 * day - 10 * (keep + 1) + cube WHERE kind = 'sums';
    UPDATE log_segments SET id = 10000000000 + id WHERE kind = 'sums';
    UPDATE log_state SET epoch = epoch + 1`);
  database.close();
  store = await open(dataDir);
  await store.requestLog.append(entries.slice(250));
  const questions = [
    [{}, { bucketMs: 3_600_000, by: ['statusCode'] }],
    [{ cacheStatuses: ['HIT'] }, { bucketMs: DAY_MS }],
    [{}, { by: ['provider', 'model'], take: 3 }],
    [{}, { by: ['apiKey', 'statusCode'] }],
    [{ workspaceIds: ['ws-1'] }, { by: ['model'], unique: 'apiKey' }],
    [{}, { bucketMs: 3_600_000, unique: 'user' }],
    [{}, { unique: 'userId' }],
    [{ models: ['o1'] }, { by: ['provider'], unique: 'user', latencies: false }],
    [{}, { bucketMs: 3_600_000, by: ['model'], firstTokens: true }],
    [{ statusCodes: [200] }, { by: ['provider'], firstTokens: true }],
  ] as const satisfies (readonly [LogFilter, LogAggregation])[];
  for (const made of [false, true]) {
    for (const [filter, aggregation] of questions) {
      const found = await store.requestLog.aggregate(scope, filter, aggregation);
      t.is(found.source, 'rollups');
      const wanted = plain(await model.aggregate(scope, filter, aggregation));
      t.deepEqual(withoutUnasked(found, aggregation), withoutUnasked(wanted as LogAggregate, aggregation));
    }
    if (!made) await store.makeRollups();
  }
  await store.close();
});

test('a file that was dropped has a name of its own: late entries of its day go into another', async (t) => {
  const dataDir = freshDir();
  const store = await open(dataDir);
  const at = (id: string): RequestRecord => logEntry({ id, organisationId: 'o', createdAt: BEGIN });
  const retention = { logDays: 1, bodyDays: 1, metricDays: 0 };
  const seen: string[] = [];
  for (const id of ['first', 'second', 'third']) {
    await store.requestLog.append([at(id)]);
    await store.makeRollups();
    const names = filesOf(dataDir);
    t.is(names.length, 2);
    t.deepEqual(
      (await allOf(store)).map((entry) => entry.id),
      [id],
    );
    seen.push(...names);
    await store.requestLog.expire(retention, BEGIN + 5 * DAY_MS);
    t.deepEqual(filesOf(dataDir), []);
  }
  t.is(new Set(seen).size, 6);
  await store.close();
});

test('distinct values are counted where sums know nothing of them, and of gone entries nothing is told', async (t) => {
  const store = await open(freshDir());
  const model = logModel();
  const random = traffic(10, 'o');
  const entries = Array.from({ length: 300 }, () => {
    const { keepDays: _, ...entry } = random.entry();
    return entry;
  });
  const second = Date.UTC(2026, 10, 21);
  await store.requestLog.append(entries);
  await model.append(entries.filter(({ createdAt }) => createdAt >= second));
  await store.makeRollups();
  await store.requestLog.expire({ logDays: 1, bodyDays: 1, metricDays: 100 }, second + 1.5 * DAY_MS);
  for (const aggregation of [
    { bucketMs: 3_600_000, unique: 'user' },
    { unique: 'user' },
    { by: ['model'], unique: 'userId', take: 3 },
    { bucketMs: DAY_MS, by: ['provider'], unique: 'user' },
  ] as const) {
    const found = await store.requestLog.aggregate(scope, {}, aggregation);
    t.is(found.source, 'rollups');
    t.deepEqual(plain(found), plain(await model.aggregate(scope, {}, aggregation)));
  }
  const all = await store.requestLog.aggregate(scope, {}, { latencies: false });
  t.is(all.rows[0]?.rollup.requests, 300);
  t.is(all.rows[0]?.rollup.latencies.size, 0);
  await store.close();
});

function withoutUnasked(answer: LogAggregate, { latencies }: LogAggregation): object {
  const { rows, ...rest } = plain(answer) as LogAggregate;
  if (latencies !== false) return { ...rest, rows };
  return { ...rest, rows: rows.map((row) => ({ ...row, rollup: { ...row.rollup, latencies: [] } })) };
}

/** Maps in order, and without the source. */
function plain({ source: _, ...aggregate }: LogAggregate): object {
  return {
    ...aggregate,
    rows: aggregate.rows.map((row) => ({
      ...row,
      rollup: plainRollup(row.rollup),
    })),
  };
}

/** A log of 60 entries in segments, with sums, closed. */
async function sealedLog(): Promise<{
  readonly dataDir: string;
  readonly entries: readonly RequestRecord[];
}> {
  const dataDir = freshDir();
  const store = await open(dataDir);
  await store.requestLog.append(Array.from({ length: 60 }, traffic(6, 'o').entry));
  await store.makeRollups();
  const entries = await allOf(store);
  await store.close();
  return { dataDir, entries };
}

test('a file that is not listed is moved to lost+found and named, and nothing is deleted', async (t) => {
  const { dataDir } = await sealedLog();
  writeFileSync(join(dataDir, 'logs', 'entries-2020-01-01'), 'half a segment');
  const found: LogDamage[] = [];
  const store = await openSqliteStore({
    dataDir,
    collections: [],
    onDamage: (damage) => void found.push(damage),
  });
  t.false(existsSync(join(dataDir, 'logs', 'entries-2020-01-01')));
  const [kept = ''] = readdirSync(join(dataDir, 'lost+found'));
  t.is(readFileSync(join(dataDir, 'lost+found', kept), 'utf8'), 'half a segment');
  t.deepEqual(
    found.map(({ file, lost }) => [file, lost]),
    [['entries-2020-01-01', false]],
  );
  t.true(found[0]?.why.includes(kept));
  t.is((await allOf(store)).length, 60);
  await store.close();
});

test('files that are gone: the list stays, and the log is whole when they are back', async (t) => {
  const { dataDir, entries } = await sealedLog();
  const files = filesOf(dataDir);
  const away = join(root, 'away');
  renameSync(join(dataDir, 'logs'), away);
  const found: LogDamage[] = [];
  let store = await openSqliteStore({
    dataDir,
    collections: [],
    onDamage: (damage) => void found.push(damage),
  });
  t.deepEqual([...new Set(found.map(({ file }) => file))].sort(), files);
  t.deepEqual(await allOf(store), []);
  t.true((store.damaged?.() ?? 0) > 0);
  await store.requestLog.append([logEntry({ id: 'meanwhile', organisationId: 'o', createdAt: BEGIN - 5 })]);
  t.is((await allOf(store)).length, 1, 'what comes meanwhile is kept');
  await store.close();
  rmSync(join(dataDir, 'logs'), { recursive: true });
  renameSync(away, join(dataDir, 'logs'));
  store = await open(dataDir);
  t.deepEqual((await allOf(store)).slice(1), entries);
  await store.close();
  t.false(existsSync(join(dataDir, 'lost+found')));
});

test('a damaged segment: the rest is served, sums still have it, it is told once, and it is back when mended', async (t) => {
  const { dataDir, entries } = await sealedLog();
  const database = new DatabaseSync(join(dataDir, 'sluice.db'), { readOnly: true });
  const rows = database
    .prepare(`SELECT file, start, length, count FROM log_segments WHERE kind = 'entries'`)
    .all();
  database.close();
  t.true(rows.length > 1);
  for (const at of [0.1, 0.5, 0.999]) {
    const [{ file, start, length } = {}] = rows;
    const path = join(dataDir, 'logs', String(file));
    const whole = readFileSync(path);
    const place = Number(start) + Math.floor(Number(length) * at);
    const flipped = Buffer.from(whole);
    flipped[place] = (flipped[place] as number) ^ 0x10;
    for (const damaged of [flipped, whole.subarray(0, place)]) {
      writeFileSync(path, damaged);
      t.true(inspectLog(dataDir).damages.length > 0, 'a whole look finds it');
      const found: LogDamage[] = [];
      const store = await openSqliteStore({
        dataDir,
        collections: [],
        onDamage: (damage) => void found.push(damage),
      });
      for (const one of [...(await allOf(store)), ...(await allOf(store))])
        t.deepEqual(
          one,
          entries.find(({ id }) => id === one.id),
        );
      const left = (await allOf(store)).length;
      const inFile = rows.filter((row) => row.file === file).reduce((sum, row) => sum + Number(row.count), 0);
      t.true(left >= entries.length - inFile && left > 0, 'the rest is served');
      // What is cut is missed by every reader; of what is changed, by those that read the column.
      if (damaged.length < whole.length) t.true(left < entries.length);
      const sums = await store.requestLog.aggregate(scope, {}, { bucketMs: DAY_MS });
      t.is(
        sums.rows.reduce((sum, row) => sum + row.rollup.requests, 0),
        entries.length,
        'sums were made of it before',
      );
      t.is(found.length, left < entries.length ? 1 : 0, 'told once');
      if (damaged.length < whole.length) {
        const scanned = store.logMaintenance.scan({ limit: 1000 });
        await t.throwsAsync(scanned, { message: /damaged/ }, 'a copy is whole or fails');
      }
      await store.close();
    }
    writeFileSync(path, whole);
    const mended = await open(dataDir);
    t.deepEqual(await allOf(mended), entries);
    await mended.close();
  }
});

test('what stands in the place of a file: the rest is served, it is named, and all is back when mended', async (t) => {
  const { dataDir, entries } = await sealedLog();
  const file = filesOf(dataDir).find((name) => name.startsWith('entries-'))!;
  const path = join(dataDir, 'logs', file);
  const whole = readFileSync(path);
  const places: Readonly<Record<string, () => void>> = {
    'a folder with something in it': () => {
      mkdirSync(path);
      writeFileSync(join(path, 'mine'), 'x');
    },
    'a link that leads to itself': () => symlinkSync(path, path),
    'a link that leads nowhere': () => symlinkSync(join(dataDir, 'nowhere'), path),
    'a pipe': () => execFileSync('mkfifo', [path]),
  };
  for (const [what, put] of Object.entries(places)) {
    rmSync(path);
    put();
    const found: LogDamage[] = [];
    const store = await openSqliteStore({
      dataDir,
      collections: [],
      onDamage: (damage) => void found.push(damage),
    });
    const left = await allOf(store);
    t.true(left.length > 0 && left.length < entries.length, `${what}: the rest is served`);
    t.deepEqual([...new Set(found.map((one) => one.file))], [file], `${what}: it is named`);
    await store.close();
    t.true(inspectLog(dataDir).damages.length > 0, what);
    t.not(lstatSync(path, { throwIfNoEntry: false }), undefined, `${what}: it is left where it is`);
    rmSync(path, { recursive: true });
    writeFileSync(path, whole);
    const mended = await open(dataDir);
    t.deepEqual(await allOf(mended), entries, what);
    await mended.close();
  }
});

test('the log of an earlier version is taken over, also after being cut off', async (t) => {
  const dataDir = freshDir();
  mkdirSync(dataDir, { recursive: true });
  const entries = Array.from({ length: 230 }, (_, i) =>
    logEntry({ id: `e${i}`, organisationId: 'o', createdAt: BEGIN + ((i * 7919) % 230) * 1_000_000 }),
  );
  const database = new DatabaseSync(join(dataDir, 'sluice.db'));
  database.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE log_scopes (key INTEGER PRIMARY KEY, organisation_id TEXT, workspace_id TEXT);
    CREATE TABLE log_entries (seq INTEGER PRIMARY KEY, id TEXT, entry TEXT NOT NULL)`);
  const insert = database.prepare('INSERT INTO log_entries VALUES (?, ?, ?)');
  // As an earlier version wrote them: without what came to be kept since.
  for (const [i, entry] of entries.entries()) {
    insert.run(i + 1, entry.id, JSON.stringify(JSON.parse(encodeEntry(entry)).slice(0, 22)));
  }
  database.close();
  let store = await open(dataDir, 50);
  t.deepEqual(
    [...(await allOf(store))],
    entries.toSorted((a, b) => a.createdAt - b.createdAt),
  );
  await store.requestLog.append([
    entries[3]!,
    logEntry({ id: 'new', organisationId: 'o', createdAt: BEGIN }),
  ]);
  t.is((await allOf(store)).length, 231);
  await store.close();

  // As if it had been cut off after half: what is in segments is marked as such in one step with them.
  store = await open(dataDir, 50);
  t.is((await allOf(store)).length, 231);
  await store.close();
  const after = new DatabaseSync(join(dataDir, 'sluice.db'), { readOnly: true });
  t.is(after.prepare(`SELECT count(*) AS n FROM sqlite_schema WHERE name LIKE 'log_entries%'`).get()?.n, 0);
  after.close();
});

test('bodies and feedback are copied whole, and once', async (t) => {
  const [from, to] = [await open(freshDir()), await open(freshDir())];
  const bodies = Array.from({ length: 40 }, (_, i) => ({
    id: `b${i}`,
    organisationId: 'o',
    workspaceId: 'w',
    createdAt: BEGIN + (i % 3) * DAY_MS,
    request: { body: `${'x'.repeat(i * 1000)}\n` },
    response: { status: 200 },
  }));
  for (let at = 0; at < 40; at += 7) await from.requestLog.appendBodies(bodies.slice(at, at + 7));
  const feedback = Array.from({ length: 25 }, (_, i) => ({
    id: `f${i}`,
    organisationId: 'o',
    workspaceId: 'w',
    traceId: 't',
    value: 1,
    weight: 1,
    metadata: {},
    createdAt: BEGIN + i,
    updatedAt: BEGIN,
    apiKeyId: 'k',
  }));
  await from.requestLog.addFeedback(feedback);
  for (let time = 0; time < 2; time++) {
    for (const part of ['bodies', 'feedback'] as const) {
      let after: string | undefined;
      let count = 0;
      do {
        const source = from.logMaintenance[part]!;
        const { records, next } = await source.scan({ limit: 10, ...(after === undefined ? {} : { after }) });
        await to.logMaintenance[part]!.import(records as never);
        count += records.length;
        after = next;
      } while (after !== undefined);
      t.is(count, part === 'bodies' ? 40 : 25);
    }
  }
  t.deepEqual(await to.requestLog.bodies(scope, 'b17', bodies[17]!.createdAt), bodies[17]);
  t.is((await to.requestLog.feedbackOf(scope, ['t'])).get('t')?.count, 25);
  t.deepEqual(await to.requestLog.getFeedback(scope, 'f7'), feedback[7]);
  t.deepEqual((await to.logMaintenance.bodies!.scan({ limit: 10 })).records.length > 0, true);
  await t.throwsAsync(from.logMaintenance.bodies!.scan({ limit: 10, after: '../x:1' }), { message: /after/ });
  await from.close();
  await to.close();
});
