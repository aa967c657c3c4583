// The books on MongoDB: the port's contract on a real server, and what is its own.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import fc from 'fast-check';
import type mongoose from 'mongoose';
import type { RequestRecord } from '../../src/call/record.ts';
import type { TenantScope } from '../../src/call/scope.ts';
import { compareLogParts, copyLogParts } from '../../src/store/copy/log-parts.ts';
import { compareLogs, copyLog } from '../../src/store/copy/request-log.ts';
import { isEqual } from '../../src/store/copy/sides.ts';
import type { LogAggregation } from '../../src/store/log/aggregation.ts';
import { encodeEntry } from '../../src/store/log/entry-text.ts';
import { mostFrequent } from '../../src/store/log/facets.ts';
import { createCalls, type Deadline } from '../../src/store/mongo/calls.ts';
import { connect } from '../../src/store/mongo/connection.ts';
import { bucketOf } from '../../src/store/mongo/log/bucket-name.ts';
import { entryMatch } from '../../src/store/mongo/log/entry-filter.ts';
import { ENTRY_INDEXES } from '../../src/store/mongo/log/entry-indexes.ts';
import { readEntries } from '../../src/store/mongo/log/entry-pages.ts';
import { countFacets } from '../../src/store/mongo/log/facet-counts.ts';
import { decodeFirstTokens } from '../../src/store/mongo/log/first-token-bytes.ts';
import { hourRollups } from '../../src/store/mongo/log/hour-rollups.ts';
import type { Position } from '../../src/store/mongo/log/page-cursor.ts';
import type { LogPlace } from '../../src/store/mongo/log/place.ts';
import { decodeRows } from '../../src/store/mongo/log/rollup-bytes.ts';
import type { RollupDocument } from '../../src/store/mongo/log/stored-rollups.ts';
import { type MongoStore, type MongoStoreOptions, openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { type LogTuning, logPlace } from '../../src/store/mongo/request-log.ts';
import type { LogFilter, LogPageRequest } from '../../src/store/request-log.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { mongoServer, reportMissing, type SharedMongo } from '../support/servers.ts';
import { freshScope } from './documents.contract.ts';
import { logContract } from './log.contract.ts';
import { logEntry } from './log-entries.ts';
import { logModel } from './log-model.ts';
import { logReadingContract } from './log-reading.contract.ts';
import { traffic } from './log-traffic.ts';
import { dropDatabase, freshDatabase, withDatabase } from './mongo-database.ts';
import { plainFacets } from './plain-facets.ts';
import { plainRollup } from './plain-rollup.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const FIRST: LogPageRequest = { page: 0, pageSize: 1000, order: 'desc' };
/** All entries are late, and sums are made at once. */
const AT_ONCE = { lateMs: 0, settleMs: 0 };

const server = await mongoServer();
if (server === undefined) reportMissing(test, 'MongoDB');
else suite(server);

function suite(server: SharedMongo): void {
  const { uri } = server;
  const database = freshDatabase();
  const open = (own: string, log: MongoStoreOptions['log'] = AT_ONCE): Promise<MongoStore> =>
    openMongoStore({ uri, database: own, collections: [], deadlineMs: 30_000, log });
  const shared = open(database);
  test.after.always(async () => {
    await (await shared).close();
    await dropDatabase(server, database);
  });
  // One after the other: the test server has one thread.
  const serial = test.serial as typeof test;
  logReadingContract(serial, async () => (await shared).requestLog, 20);
  logContract(serial, async () => (await shared).requestLog, {
    entries: 100,
    runs: 20,
    settle: async () => (await shared).makeRollups(),
  });

  /** A database of a test's own, with stores on it. */
  async function alone<T>(use: (own: string) => Promise<T>): Promise<T> {
    const own = freshDatabase();
    try {
      return await use(own);
    } finally {
      await dropDatabase(server, own);
    }
  }

  /** The log's parts on the shared database, below its port. */
  async function placeOf(log: LogTuning): Promise<{ place: LogPlace; end: () => Promise<void> }> {
    const connection = await connect({ uri, database, answerMs: 30_000, reachMs: 30_000, maxPoolSize: 4 });
    const place = logPlace(connection, createCalls(30_000, 9), 30_000, log);
    return { place, end: () => connection.close(true) };
  }

  /** A time that is over when it was looked at so often. */
  const deadlineOf = (looks: number): Deadline => {
    let left = looks;
    return { remaining: () => (left-- > 0 ? 10_000 : 1), backOff: async () => false };
  };

  const begin = Date.UTC(2024, 4, 5);
  const day = (scope: TenantScope, count: number): RequestRecord[] =>
    Array.from({ length: count }, (_, i) =>
      logEntry({
        id: `e${i}`,
        organisationId: scope.organisationId,
        createdAt: begin + (i % 3) * HOUR_MS + i,
        model: `m${i % 2}`,
        cost: '9223372036854775807',
        metadata: { _user: `u${i % 4}` },
      }),
    );

  serial('sums beside entries answer where they can, and when the entries are gone', async (t) => {
    await alone(async (own) => {
      const store = await open(own);
      const scope = freshScope();
      const model = logModel();
      const entries = day(scope, 12);
      await store.requestLog.append(entries);
      await model.append(entries);
      const ask = async (
        filter: LogFilter,
        aggregation: LogAggregation,
        source: 'entries' | 'rollups',
      ): Promise<void> => {
        const found = await store.requestLog.aggregate(scope, filter, aggregation);
        t.is(found.source, source, JSON.stringify([filter, aggregation]));
        t.deepEqual(plain(found), plain(await model.aggregate(scope, filter, aggregation)));
      };
      const byHour = { bucketMs: HOUR_MS, by: ['model'] as const };
      await ask({}, byHour, 'entries');
      await store.makeRollups();
      await ask({}, byHour, 'rollups');
      await ask({ models: ['m1'], users: ['u1', 'u3'] }, {}, 'entries');
      await ask({ users: ['u1', 'u3'] }, { by: ['user'], unique: 'user' }, 'rollups');
      await ask({ from: begin + 5, until: begin + 2 * HOUR_MS + 7 }, byHour, 'rollups');
      await ask({}, { ...byHour, bucketMs: 60_000 }, 'entries');
      await ask({ text: 'gpt' }, byHour, 'entries');
      t.is((await store.requestLog.aggregate(scope, {}, {})).rows[0]?.rollup.cost, 12n * (2n ** 63n - 1n));

      // One that comes late is seen at once.
      const late = logEntry({ id: 'late', organisationId: scope.organisationId, createdAt: begin + 9 });
      await store.requestLog.append([late]);
      await model.append([late]);
      await ask({}, byHour, 'rollups');
      await store.makeRollups();
      await ask({}, byHour, 'rollups');

      // What is too much to be kept is added up.
      const unkept = await inDatabase(own, (db) =>
        db
          .collection('log.sums.202405')
          .updateMany({ cuboid: 'workspace+provider+model', hour: { $gt: begin } }, { $unset: { data: '' } }),
      );
      t.is(unkept.modifiedCount, 2);
      await ask({}, byHour, 'rollups');
      await store.requestLog.reprice(
        scope.organisationId,
        entries.map(({ id, createdAt }) => ({ id, createdAt, cost: '5', attempts: [] })),
      );
      await model.reprice(
        scope.organisationId,
        entries.map(({ id, createdAt }) => ({ id, createdAt, cost: '5', attempts: [] })),
      );
      await ask({}, byHour, 'rollups');
      await store.makeRollups();
      await ask({}, byHour, 'rollups');

      const dropped = await store.requestLog.expire(
        { logDays: 2, bodyDays: 2, metricDays: 60 },
        begin + 3 * DAY_MS,
      );
      t.deepEqual(dropped, ['log.entries.20240505']);
      t.is((await store.requestLog.page(scope, {}, FIRST)).total, 0);
      await ask({}, byHour, 'rollups');
      // What comes for a bucket that is gone has a new one, beside the sums of the old one.
      const again = { ...late, id: 'again' };
      for (const log of [store.requestLog, model]) await log.append([again]);
      await ask({}, byHour, 'rollups');
      await store.makeRollups();
      await ask({}, byHour, 'rollups');
      for (const now of [begin + 3 * DAY_MS, begin + 100 * DAY_MS]) {
        await store.requestLog.expire({ logDays: 2, bodyDays: 2, metricDays: 60 }, now);
        if (now === begin + 3 * DAY_MS) await ask({}, byHour, 'rollups');
      }
      t.deepEqual((await store.requestLog.aggregate(scope, {}, byHour)).rows, []);
      await store.close();
    });
  });

  serial('a drop that was cut off anywhere counts every entry once, and is ended by the next', async (t) => {
    for (const gone of [false, true]) {
      await alone(async (own) => {
        const store = await open(own);
        const scope = freshScope();
        await store.requestLog.append(day(scope, 12));
        await store.makeRollups();
        await inDatabase(own, async (db) => {
          const rolled = db.collection<{ _id: string }>('log.rolled');
          await rolled.updateOne({ _id: 'log.entries.20240505' }, { $set: { dropping: true } });
          if (gone) await db.dropCollection('log.entries.20240505');
        });
        const requests = async (): Promise<number | undefined> =>
          (await store.requestLog.aggregate(scope, {}, {})).rows[0]?.rollup.requests;
        t.is(await requests(), 12);
        await store.makeRollups();
        t.is(await requests(), 12);
        await store.requestLog.expire({ logDays: 2, bodyDays: 2, metricDays: 60 }, begin + 3 * DAY_MS);
        t.is(await requests(), 12);
        await store.requestLog.append(day(scope, 2));
        t.is(await requests(), 14);
        await store.makeRollups();
        t.is(await requests(), 14);
        await store.close();
      });
    }
  });

  serial(
    'what no index answers is read piece by piece, and every page goes on where the last one ended',
    async (t) => {
      await alone(async (own) => {
        const store = await open(own, { piece: 5 });
        const scope = freshScope();
        const entries = day(scope, 40).map((entry, i) => ({
          ...entry,
          ...(i % 3 ? {} : { keepDays: 3 }),
          createdAt: i < 20 ? entry.createdAt : begin - DAY_MS + (i % 7),
          path: i % 9 ? '/v1/x' : '/v1/needle',
        }));
        await store.requestLog.append(entries);
        for (const order of ['asc', 'desc'] as const) {
          for (const pageSize of [1, 3, 100]) {
            const found: string[] = [];
            let after: string | undefined;
            do {
              const request = { page: 0, pageSize, order, ...(after === undefined ? {} : { after }) };
              const page = await store.requestLog.page(scope, { text: 'NEEDLE' }, request);
              t.is(page.total, 5);
              found.push(...page.entries.map(({ id }) => id));
              after = page.next;
            } while (after !== undefined);
            t.deepEqual(found.toSorted(), ['e0', 'e18', 'e27', 'e36', 'e9']);
          }
        }
        await store.close();
      });
    },
  );

  serial('a page whose time is over is short, and says where to go on', async (t) => {
    const { requestLog } = await shared;
    const scope = { organisationId: freshScope().organisationId, workspaceId: null };
    const entries = day(freshScope(), 30).map((entry, i) => ({
      ...entry,
      organisationId: scope.organisationId,
      createdAt: entry.createdAt - (i % 4) * DAY_MS,
      ...(i % 3 ? {} : { keepDays: 11 }),
      path: i % 10 ? '/v1/x' : '/v1/needle',
    }));
    await requestLog.append(entries);
    const { place, end } = await placeOf({ piece: 3 });
    for (const order of ['asc', 'desc'] as const) {
      const found: string[] = [];
      let after: Position | undefined;
      let short = 0;
      do {
        // All that it is given is over with its first look at the clock.
        const times = [1];
        const deadline = { remaining: () => times.pop() ?? 10_000, backOff: async () => false };
        const all = await place.buckets.list('entries', { ...deadline, remaining: () => 10_000 });
        const query = { ...scope, filter: { text: 'needle' }, order, skip: 0, take: 10, after, count: false };
        const page = await readEntries(place, query, all, deadline);
        found.push(...page.entries.map(({ id }) => id));
        if (page.next !== undefined && page.entries.length < 10) short++;
        after = page.next;
      } while (after !== undefined);
      t.deepEqual(found.toSorted(), ['e0', 'e10', 'e20']);
      t.true(short >= 4, String(short));
    }
    await end();
  });

  serial('facets whose time is over count the newest entries, and say from when on', async (t) => {
    const { requestLog } = await shared;
    const scope = freshScope();
    const entries = day(scope, 60).map((entry, i) => ({
      ...entry,
      createdAt: entry.createdAt - (i % 4) * DAY_MS,
      ...(i % 3 ? {} : { keepDays: 11 }),
    }));
    await requestLog.append(entries);
    const { place, end } = await placeOf({});
    try {
      const span = { from: begin - 5 * DAY_MS, until: begin + DAY_MS };
      const checked = { organisationId: scope.organisationId, workspaceId: null };
      const match = entryMatch(checked, { text: 'completions' });
      const buckets = await place.buckets.list('entries', deadlineOf(100), span.from, span.until);
      const by = ['model', 'user'] as const;
      for (const looks of [1, 3, 8, 1000]) {
        const { counts, countedFrom } = await countFacets(
          place,
          buckets,
          { match, ...span },
          by,
          deadlineOf(looks),
        );
        const own = entries.filter(({ createdAt }) => createdAt >= (countedFrom ?? 0));
        const wanted = plainFacets(own, { by, take: 50, names: 0 });
        t.deepEqual(
          counts.map((each) => mostFrequent(each, 50)),
          wanted.facets.map(({ values }) => values),
          String(looks),
        );
        t.is(countedFrom === undefined, looks === 1000);
      }
    } finally {
      await end();
    }
  });

  serial('sums that are not those of their entries are made anew when they are told to be', async (t) => {
    await alone(async (own) => {
      const store = await open(own);
      const scope = freshScope();
      await store.requestLog.append(day(scope, 30));
      await store.makeRollups();
      const counted = async (): Promise<[string, number | undefined]> => {
        const { source, rows } = await store.requestLog.aggregate(scope, {}, {});
        return [source, rows[0]?.rollup.requests];
      };
      t.deepEqual(await counted(), ['rollups', 30]);
      // An entry goes, and the sums are not told.
      await inDatabase(own, (db) =>
        db.collection<{ id: string }>('log.entries.20240505').deleteOne({ id: 'e3' }),
      );
      t.deepEqual(await counted(), ['rollups', 30]);
      await store.logMaintenance.remakeRollups('another organisation', begin);
      t.deepEqual(await counted(), ['rollups', 30]);
      await store.logMaintenance.remakeRollups(scope.organisationId, begin + HOUR_MS);
      t.is((await counted())[1], 29, 'read from entries');
      await store.makeRollups();
      t.deepEqual(await counted(), ['rollups', 29]);
      await store.close();
    });
  });

  serial('instances that come to a new day at once make one bucket, with all its indexes', async (t) => {
    await alone(async (own) => {
      const stores = await Promise.all([open(own), open(own), open(own)]);
      const scope = freshScope();
      const entries = day(scope, 30);
      await Promise.all(stores.map((store, i) => store.requestLog.append(entries.slice(i * 8, i * 8 + 14))));
      const page = await (stores[0] as MongoStore).requestLog.page(scope, {}, FIRST);
      t.is(page.total, 30);
      const indexes = await inDatabase(own, (db) => db.collection('log.entries.20240505').indexes());
      const names = indexes.map(({ name }) => String(name)).toSorted();
      t.deepEqual(names, ['_id_', ...ENTRY_INDEXES.map(({ name }) => String(name))].toSorted());
      // All of them make sums: one does at a time, and each entry is in them once.
      await Promise.all(stores.map((store) => store.makeRollups()));
      for (const store of stores) {
        const sums = await store.requestLog.aggregate(scope, {}, {});
        t.is(sums.source, 'rollups');
        t.is(sums.rows[0]?.rollup.requests, 30);
      }
      await Promise.all(stores.map((store) => store.close()));
    });
  });

  serial('an hour is the same by one command for all dimensions and by one for each', async (t) => {
    const { requestLog } = await shared;
    const scope = freshScope();
    const [all = []] = fc.sample(traffic(scope.organisationId, begin, 1, 40), { numRuns: 1, seed: 3 });
    await requestLog.append(all.map((entry, i) => ({ ...entry, createdAt: begin + i, keepDays: 11 })));
    const { place, end } = await placeOf({});
    const hour = {
      organisationId: scope.organisationId,
      hour: begin,
      generation: 0,
      bucket: bucketOf('entries', begin, 11).name,
    };
    const [together, each] = await place.calls.run(async (deadline) => [
      await hourRollups(place, hour, 1, deadline),
      await hourRollups(place, hour, 1, deadline, 1),
    ]);
    const rowsOf = ({ cuboid, rows, data, firstTokens }: RollupDocument): object => ({
      calls: [...decodeFirstTokens(firstTokens?.buffer ?? new Uint8Array())].reduce(
        (sum, one) => sum + one.calls,
        0,
      ),
      cuboid,
      rows,
      values: [...decodeRows(data?.buffer ?? new Uint8Array())]
        .map(({ values, rollup }) => ({ values, rollup: { ...rollup, latencies: [...rollup.latencies] } }))
        .toSorted((a, b) => (JSON.stringify(a.values) < JSON.stringify(b.values) ? -1 : 1)),
    });
    t.true(together.length > 10);
    t.deepEqual(each.map(rowsOf), together.map(rowsOf));
    await end();
  });

  serial('bodies beyond a document of the server leave out what was said, and say so', async (t) => {
    const { requestLog } = await shared;
    const scope = freshScope();
    const body = randomBytes(16 * 1024 * 1024).toString('base64');
    const of = { id: 'a', organisationId: scope.organisationId, workspaceId: 'w', createdAt: begin };
    const small = { ...of, id: 'b', request: { body: 'small' }, response: {} };
    await requestLog.appendBodies([
      { ...of, request: { url: '/x', body, base64: true }, response: { status: 200 } },
      small,
    ]);
    t.deepEqual(await requestLog.bodies(scope, 'a', begin), {
      ...of,
      request: { url: '/x', truncated: body.length },
      response: { status: 200 },
    });
    t.deepEqual(await requestLog.bodies(scope, 'b', begin), small);
  });

  serial('a bucket without its indexes gets them when it is read', async (t) => {
    await alone(async (own) => {
      const store = await open(own);
      const scope = freshScope();
      await store.requestLog.append(day(scope, 3));
      await inDatabase(own, (db) => db.collection('log.entries.20240505').dropIndexes());
      t.is((await store.requestLog.page(scope, { models: ['m1'] }, FIRST)).total, 1);
      t.is((await store.requestLog.get(scope, 'e1'))?.id, 'e1');
      await store.close();
    });
  });

  serial('sums are right while entries come late and instances make sums at once', async (t) => {
    await alone(async (own) => {
      const settleMs = 2000;
      const stores = await Promise.all([
        open(own, { lateMs: 0, settleMs }),
        open(own, { lateMs: 0, settleMs }),
      ]);
      const scope = freshScope();
      let acknowledged = 0;
      let ended = false;
      const writing = stores.map(async ({ requestLog }, of) => {
        for (let i = 0; i < 25; i++) {
          const batch = day(scope, 3).map((entry) => ({ ...entry, id: `${of}-${i}-${entry.id}` }));
          await requestLog.append(batch);
          acknowledged += batch.length;
        }
      });
      const rolling = stores.map(async (store) => {
        while (!ended) await store.makeRollups();
      });
      const reads = stores.map(async ({ requestLog }) => {
        while (!ended) {
          const before = acknowledged;
          const { rows } = await requestLog.aggregate(scope, {}, {});
          t.true((rows[0]?.rollup.requests ?? 0) >= before);
        }
      });
      await Promise.all(writing);
      await sleep(settleMs + 200);
      ended = true;
      await Promise.all([...rolling, ...reads]);
      for (const store of stores) await store.makeRollups();
      for (const { requestLog } of stores) {
        const { rows, source } = await requestLog.aggregate(scope, {}, {});
        t.is(source, 'rollups');
        t.is(rows[0]?.rollup.requests, 150);
      }
      t.is(await inDatabase(own, (db) => db.collection('log.stale').countDocuments()), 0);
      await Promise.all(stores.map((store) => store.close()));
    });
  });

  serial('entries of the version before are moved into buckets, whoever starts', async (t) => {
    await alone(async (own) => {
      const scope = freshScope();
      const entries = day(scope, 20);
      const rows = entries.map((entry) => ({
        organisationId: entry.organisationId,
        entry: JSON.stringify(entry),
      }));
      const bad = { organisationId: 'o', entry: JSON.stringify({ ...entries[0], cost: 'much' }) };
      await inDatabase(own, async (db) => {
        await db
          .collection('log.entries.moving.0a1b2c3d')
          .insertMany(rows.slice(0, 5).map((row) => ({ ...row })));
        await db.collection('log.entries').insertMany([...rows, bad].map((row) => ({ ...row })));
      });
      const stores = await Promise.all([open(own), open(own)]);
      const page = await (stores[0] as MongoStore).requestLog.page(scope, {}, { ...FIRST, order: 'asc' });
      t.deepEqual(
        page.entries.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
        entries.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      );
      const names = await inDatabase(own, async (db) =>
        (await db.listCollections({ name: { $regex: '^log\\.entries' } }, { nameOnly: true }).toArray()).map(
          ({ name }) => name,
        ),
      );
      t.deepEqual(names.toSorted(), ['log.entries.20240505', 'log.entries.refused']);
      await Promise.all(stores.map((store) => store.close()));
    });
  });

  serial('a batch over several buckets is stored whole or not at all', async (t) => {
    const { requestLog } = await shared;
    const scope = freshScope();
    const entries = day(scope, 9).map((entry, i) => ({
      ...entry,
      createdAt: entry.createdAt - (i % 3) * DAY_MS,
      ...(i % 2 ? { keepDays: 5 } : {}),
    }));
    const refused = requestLog.append([
      ...entries,
      { ...(entries[0] as RequestRecord), id: 'x', cost: '-1' },
    ]);
    await t.throwsAsync(refused, { message: /money/ });
    t.is((await requestLog.page(scope, {}, FIRST)).total, 0);
    await requestLog.append(entries.slice(3, 5));
    await Promise.all([requestLog.append(entries), requestLog.append(entries.toReversed())]);
    t.is((await requestLog.page(scope, {}, FIRST)).total, 9);
  });

  serial('bodies and feedback are copied as they are, and once', async (t) => {
    await alone(async (own) => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-log-copy-'));
      t.teardown(() => rmSync(folder, { recursive: true, force: true }));
      const source = await openSqliteStore({ dataDir: folder, collections: [] });
      const middle = await open(own);
      const target = await open(`${own}_copy`);
      const scope = freshScope();
      const entries = day(scope, 7);
      await source.requestLog.append(entries);
      await source.requestLog.appendBodies(
        entries.map(({ id, organisationId, workspaceId, createdAt }, i) => ({
          id,
          organisationId,
          workspaceId,
          createdAt,
          request: { body: 'x'.repeat(i * 1000) },
          response: {},
          ...(i % 2 ? { keepDays: 4 } : {}),
        })),
      );
      await source.requestLog.addFeedback(
        entries.map((entry, i) => ({
          id: `f${i}`,
          organisationId: scope.organisationId,
          workspaceId: 'ws-1',
          traceId: `t${i}`,
          value: 5,
          weight: 1,
          metadata: { i: String(i) },
          createdAt: i,
          updatedAt: i,
          apiKeyId: 'k',
          ...(i % 2 ? { entry: { ...entry, attempts: [] } } : {}),
        })),
      );
      const ways = [
        [source, middle],
        [source, middle],
        [middle, target],
      ] as const;
      for (const [from, to] of ways) {
        await copyLog(from, to);
        const parts = await copyLogParts(from, to);
        t.deepEqual(
          parts.map(({ count }) => count),
          [7, 7],
        );
        const compared = [await compareLogs(from, to), ...(await compareLogParts(from, to))];
        t.deepEqual(
          compared.map((one) => [one.source.count, isEqual(one)]),
          [
            [7, true],
            [7, true],
            [7, true],
          ],
        );
      }
      const found = await target.requestLog.sumFeedback(scope, { models: ['m1'] }, 'model');
      t.deepEqual(found, await source.requestLog.sumFeedback(scope, { models: ['m1'] }, 'model'));
      t.is(found[0]?.count, 3);
      for (const part of [target.logMaintenance.bodies, target.logMaintenance.feedback]) {
        await t.throwsAsync(part.scan({ limit: 1, after: 'x' }), { message: /after/ });
      }
      await Promise.all([source.close(), middle.close(), target.close()]);
      await dropDatabase(server, `${own}_copy`);
    });
  });

  serial('an entry is found by members of its own', async (t) => {
    const { requestLog } = await shared;
    const scope = freshScope();
    const entry: RequestRecord = {
      ...logEntry({ id: 'a', organisationId: scope.organisationId, createdAt: begin }),
      cost: '123456789012345678901',
      userId: 'p',
      metadata: { _user: 'Ü', 'a=b': 'c' },
      keepDays: 9,
    };
    await requestLog.append([entry]);
    const { name } = bucketOf('entries', begin, 9);
    const row = await inDatabase(database, (db) =>
      db.collection(name).findOne({ organisationId: scope.organisationId }, { projection: { _id: 0 } }),
    );
    t.deepEqual(
      { ...row, cost: String(row?.cost) },
      {
        organisationId: scope.organisationId,
        workspaceId: 'ws-1',
        createdAt: begin,
        id: 'a',
        statusCode: 200,
        outcome: 'success',
        traceId: 'trace-1',
        apiKeyId: 'key-1',
        provider: 'openai',
        model: 'gpt-4o-mini',
        metadata: ['_user=Ü', 'a%3Db=c'],
        cost: '123456789012345678901',
        promptTokens: 120,
        completionTokens: 48,
        totalTokens: 168,
        latencyMs: 412,
        latencyUs: 412_000,
        latencyBucket: 653,
        firstTokenUs: -1,
        text: 'a\ntrace-1\n/v1/chat/completions\nopenai\ngpt-4o-mini\ngpt-4o-mini-2024-07-18\n\nü\nc',
        userId: 'p',
        user: 'Ü',
        entry: encodeEntry(entry),
      },
    );
  });

  function inDatabase<T>(name: string, use: (db: mongoose.mongo.Db) => Promise<T>): Promise<T> {
    return withDatabase(uri, name, use);
  }
}

function plain({
  source: _,
  ...aggregate
}: Awaited<ReturnType<MongoStore['requestLog']['aggregate']>>): object {
  return {
    ...aggregate,
    rows: aggregate.rows.map((row) => ({
      ...row,
      rollup: plainRollup(row.rollup),
    })),
  };
}
