// The embedded store: both contracts, and what is its own.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { defineCollection } from '../../src/store/collection.ts';
import {
  openSqliteStore,
  type SqliteStore,
  type SqliteStoreOptions,
} from '../../src/store/sqlite/open-sqlite.ts';
import { withSlack } from '../support/slack.ts';
import { contractCollections, documentsContract, freshScope, widgets } from './documents.contract.ts';
import { keptValuesContract } from './kept-values.contract.ts';
import { logEntry } from './log-entries.ts';
import { requestLogContract } from './request-log.contract.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-store-'));
let folders = 0;
function freshDir(): string {
  return join(root, String(folders++));
}

const shared = openSqliteStore({ dataDir: freshDir(), collections: contractCollections });
test.after.always(async () => {
  await (await shared).close();
  rmSync(root, { recursive: true, force: true });
});

documentsContract(test, async () => (await shared).documents);
keptValuesContract(test, async () => (await shared).kept);
requestLogContract(test, async () => (await shared).requestLog);

const scope = { organisationId: 'o', workspaceId: undefined };

async function open(options: Partial<SqliteStoreOptions> & { dataDir: string }): Promise<SqliteStore> {
  return openSqliteStore({ collections: contractCollections, ...options });
}

test('the data is private, and is there after a restart', async (t) => {
  const dataDir = freshDir();
  const first = await open({ dataDir });
  await first.ready();
  await first.documents.insert(scope, widgets, { id: 'a', createdAt: 1, body: { name: 'n' } });
  await first.requestLog.append([logEntry({ id: 'e', organisationId: 'o' })]);
  t.is(statSync(dataDir).mode & 0o777, 0o700);
  for (const file of ['lock.db', 'sluice.db', 'sluice.db-wal']) {
    t.is(statSync(join(dataDir, file)).mode & 0o777, 0o600, file);
  }
  const unsettled = first.documents.insert(scope, widgets, { id: 'b', createdAt: 1, body: { name: 'n' } });
  await first.close();
  await unsettled;
  await first.close();
  const refused = await t.throwsAsync(first.documents.get(scope, widgets, 'a'), { instanceOf: GatewayError });
  t.is(refused?.reason, 'store_unavailable');
  await t.throwsAsync(first.ready());

  const second = await open({ dataDir });
  t.is((await second.documents.page(scope, widgets, { pageSize: 9 })).total, 2);
  const page = await second.requestLog.page(scope, {}, { page: 0, pageSize: 9, order: 'asc' });
  t.is(page.total, 1);
  await second.close();
});

test('a second store on the same directory is refused by its name', async (t) => {
  const dataDir = freshDir();
  const first = await open({ dataDir });
  const error = await t.throwsAsync(open({ dataDir }), { instanceOf: GatewayError });
  t.is(error?.reason, 'store_unavailable');
  t.true(error?.message.includes(dataDir));
  await first.documents.insert(scope, widgets, { id: 'a', createdAt: 1, body: { name: 'n' } });
  await first.close();
  await (await open({ dataDir })).close();
});

test('a directory that cannot be, and data that is none, stop the start', async (t) => {
  const blocked = await t.throwsAsync(open({ dataDir: '/dev/null/data' }), { instanceOf: GatewayError });
  t.true(blocked?.message.includes('/dev/null/data'));
  const dataDir = freshDir();
  await (await open({ dataDir })).close();
  const database = new DatabaseSync(join(dataDir, 'sluice.db'));
  database.exec('PRAGMA user_version = 99');
  database.close();
  const newer = await t.throwsAsync(open({ dataDir }), { instanceOf: GatewayError });
  t.regex(newer?.message ?? '', /newer version/);
});

test('a declaration that grew finds old documents by its new fields', async (t) => {
  const dataDir = freshDir();
  const before = defineCollection<{ a: string; deep: { b: number } }>({ name: 'grown', schemaVersion: 1 });
  const after = defineCollection<{ a: string; deep: { b: number } }>({
    name: 'grown',
    schemaVersion: 2,
    fields: [
      { name: 'a', type: 'text' },
      { name: 'b', type: 'integer', path: 'deep.b' },
    ],
    unique: [{ fields: ['a'], per: 'organisation' }],
    sortable: ['b'],
  });
  const first = await open({ dataDir, collections: [before] });
  await first.documents.insert(scope, before, { id: '1', createdAt: 1, body: { a: 'x', deep: { b: 7 } } });
  await first.documents.insert(scope, before, { id: '2', createdAt: 1, body: { a: 'y', deep: { b: 3 } } });
  await first.close();
  const second = await open({ dataDir, collections: [after] });
  const found = await second.documents.page(scope, after, {
    pageSize: 9,
    filter: [{ field: 'b', op: 'gt', value: 1 }],
    sort: { field: 'b', order: 'asc' },
  });
  t.deepEqual(
    found.documents.map((document) => [document.id, document.schemaVersion]),
    [
      ['2', 2],
      ['1', 2],
    ],
  );
  await t.throwsAsync(
    second.documents.insert(scope, after, { id: '3', createdAt: 1, body: { a: 'x', deep: { b: 1 } } }),
  );
  await second.close();
});

test('too many calls are refused at once, and the others are made', async (t) => {
  const store = await open({ dataDir: freshDir(), maxQueued: 50 });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 120 }, (_, i) =>
      store.documents.insert(scope, widgets, { id: String(i), createdAt: 1, body: { name: 'n' } }),
    ),
  );
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  t.is(refused.length, 70);
  t.true(
    refused.every(({ reason }) => reason instanceof GatewayError && reason.reason === 'store_unavailable'),
  );
  t.is((await store.documents.page(scope, widgets, { pageSize: 1 })).total, 50);
  await store.close();
});

test('a store that does not answer in time is unavailable, and not for ever', async (t) => {
  const dataDir = freshDir();
  const store = await open({ dataDir, deadlineMs: 500 });
  const insert = (id: string) =>
    store.documents.insert(scope, widgets, { id, createdAt: 1, body: { name: 'n' } });
  // Somebody else's write lock makes the writer wait.
  const other = new DatabaseSync(join(dataDir, 'sluice.db'));
  other.exec('BEGIN IMMEDIATE');
  const start = performance.now();
  const error = await t.throwsAsync(insert('a'), { instanceOf: GatewayError });
  t.is(error?.reason, 'store_unavailable');
  t.true(performance.now() - start < withSlack(4000));
  t.is((await store.documents.page(scope, widgets, { pageSize: 1 })).total, 0);
  other.exec('ROLLBACK');
  other.close();
  let made = false;
  for (let i = 0; i < 50 && !made; i++)
    made = await insert(`b${i}`).then(
      () => true,
      () => false,
    );
  t.true(made);
  await store.close();
});

test('statements of one group fail alone', async (t) => {
  const store = await shared;
  const own = freshScope();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 60 }, (_, i) =>
      store.documents.insert(own, widgets, { id: String(i % 40), createdAt: 1, body: { name: `n${i}` } }),
    ),
  );
  t.is(outcomes.filter((outcome) => outcome.status === 'fulfilled').length, 40);
  t.is((await store.documents.page(own, widgets, { pageSize: 1 })).total, 40);
});

test('a broken entry refuses its batch as a whole', async (t) => {
  const { requestLog } = await shared;
  const own = freshScope();
  const good = logEntry({ id: 'good', organisationId: own.organisationId });
  const bad = { ...logEntry({ id: 'bad', organisationId: own.organisationId }), createdAt: 0.5 };
  const error = await t.throwsAsync(requestLog.append([good, bad]), { instanceOf: GatewayError });
  t.is(error?.reason, 'validation_failed');
  t.is((await requestLog.page(own, {}, { page: 0, pageSize: 9, order: 'asc' })).total, 0);
  await requestLog.append([good]);
  t.is((await requestLog.page(own, {}, { page: 0, pageSize: 9, order: 'asc' })).total, 1);
});
