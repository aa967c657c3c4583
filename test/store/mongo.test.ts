// The MongoDB adapter on a real server: the contracts, and what is its own.
import test from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { defineCollection, type JsonObject } from '../../src/store/collection.ts';
import {
  ensureIndexes,
  type MongoStore,
  type MongoStoreOptions,
  openMongoStore,
} from '../../src/store/mongo/open-mongo.ts';
import { mongoServer, reportMissing, type SharedMongo } from '../support/servers.ts';
import { contractCollections, documentsContract, freshScope, heads, widgets } from './documents.contract.ts';
import { heartbeatsContract } from './heartbeats.contract.ts';
import { keptValuesContract } from './kept-values.contract.ts';
import { logEntry } from './log-entries.ts';
import { dropDatabase, freshDatabase, withDatabase } from './mongo-database.ts';
import { requestLogContract } from './request-log.contract.ts';

const server = await mongoServer();
if (server === undefined) reportMissing(test, 'MongoDB');
else suite(server);

function suite(server: SharedMongo): void {
  const { uri } = server;
  const database = freshDatabase();
  // The test server does a thousand operations a second, and shares its machine.
  const open = (options: Partial<MongoStoreOptions> = {}): Promise<MongoStore> =>
    openMongoStore({ uri, collections: contractCollections, database, deadlineMs: 30_000, ...options });
  const shared = open();
  test.after.always(async () => {
    await (await shared).close();
    await dropDatabase(server, database);
  });

  // One after the other: with all at once the test server queues every write behind the open transactions.
  const serial = test.serial as typeof test;
  documentsContract(serial, async () => (await shared).documents);
  keptValuesContract(serial, async () => (await shared).kept);
  heartbeatsContract(
    serial,
    async () => (await shared).heartbeats,
    (id, ms) =>
      withDatabase(uri, database, async (view) => {
        const heartbeats = view.collection<{ _id: string; seenAt: Date }>('heartbeats');
        const kept = await heartbeats.findOne({ _id: id });
        if (kept === null) return;
        await heartbeats.updateOne({ _id: id }, { $set: { seenAt: new Date(kept.seenAt.getTime() - ms) } });
      }),
  );
  requestLogContract(serial, async () => (await shared).requestLog);

  serial('a body is kept to the letter, whatever its members are called', async (t) => {
    const { documents } = await shared;
    const scope = freshScope();
    let deep: JsonObject = { bottom: true };
    for (let level = 0; level < 150; level++) deep = { deep };
    const hostile = {
      count: 1,
      deep,
      $where: 'while (true) {}',
      'a.b': { $gt: '' },
      '': 'no name',
      _bsontype: 'ObjectId',
      _id: { $ne: null },
      constructor: { prototype: 1 },
      ...(JSON.parse('{"__proto__": {"polluted": true}}') as JsonObject),
      empty: {},
      long: Array(300_000).fill(1),
      10: 'ten',
      9: 'nine',
      minus: -0.5,
      big: Number.MAX_SAFE_INTEGER,
    };
    const body = hostile as unknown as { count: number };
    const made = await documents.insert(scope, heads, { id: 'h', createdAt: 1, body });
    const read = await documents.get(scope, heads, 'h');
    t.is(JSON.stringify(read?.body), JSON.stringify(body));
    t.is(JSON.stringify(made.body), JSON.stringify(body));
    const updated = await documents.update(scope, heads, 'h', 1, { body, updatedAt: 2 });
    t.is(JSON.stringify(updated.body), JSON.stringify(body));
  });

  serial('values that look like query syntax are values', async (t) => {
    const { documents, requestLog } = await shared;
    const scope = freshScope();
    const hostile = [
      '$where',
      '$name',
      '{"$gt":""}',
      '.*',
      'a\\',
      '[',
      '(?i)x',
      '$$ROOT',
      "';return true;//",
    ];
    for (const [i, name] of hostile.entries()) {
      await documents.insert(scope, widgets, { id: `$${i}`, slug: name, createdAt: 1, body: { name } });
    }
    for (const [i, name] of hostile.entries()) {
      t.is((await documents.get(scope, widgets, name))?.id, `$${i}`);
      for (const op of ['eq', 'contains'] as const) {
        const page = await documents.page(scope, widgets, {
          pageSize: 10,
          filter: [{ field: 'name', op, value: name }],
        });
        t.deepEqual(
          page.documents.map((document) => document.id),
          [`$${i}`],
          `${op} ${name}`,
        );
      }
    }
    const scopes = [{ $gt: '' }, ['a'], null, 7].map((organisationId) => ({
      organisationId,
      workspaceId: undefined,
    }));
    for (const wrong of scopes as unknown as (typeof scope)[]) {
      for (const call of [
        documents.get(wrong, widgets, '$0'),
        documents.page(wrong, widgets, { pageSize: 1 }),
        documents.archive(wrong, widgets, '$0', { updatedAt: 1 }),
        requestLog.page(wrong, {}, { page: 0, pageSize: 1, order: 'asc' }),
      ]) {
        const error = await t.throwsAsync(call, { instanceOf: GatewayError });
        t.is(error?.reason, 'validation_failed');
      }
    }
    const ref = { $ne: null } as unknown as string;
    t.is(
      (await t.throwsAsync(documents.get(scope, widgets, ref), { instanceOf: GatewayError }))?.status,
      400,
    );
  });

  serial('data and indexes are there after a restart, and are not built again', async (t) => {
    const own = freshDatabase();
    const first = await open({ database: own });
    const scope = freshScope();
    await first.ready();
    await first.documents.insert(scope, heads, { id: 'a', createdAt: 1, body: { count: 1 } });
    await first.requestLog.append([logEntry({ id: 'e', organisationId: scope.organisationId })]);
    const unsettled = first.documents.insert(scope, heads, { id: 'b', createdAt: 1, body: { count: 2 } });
    await first.close();
    await unsettled;
    await first.close();
    const refused = await t.throwsAsync(first.documents.get(scope, heads, 'a'), { instanceOf: GatewayError });
    t.is(refused?.reason, 'store_unavailable');
    await t.throwsAsync(first.ready());

    await ensureIndexes({ uri, database: own, collections: contractCollections });
    const second = await open({ database: own });
    t.is((await second.documents.page(scope, heads, { pageSize: 9 })).total, 2);
    t.is((await second.requestLog.page(scope, {}, { page: 0, pageSize: 9, order: 'asc' })).total, 1);
    await second.close();
    await dropDatabase(server, own);
  });

  serial('a declaration that grew finds old documents by its new fields', async (t) => {
    const own = freshDatabase();
    type Grown = { a: string; deep: { b: number } };
    const before = defineCollection<Grown>({ name: 'grown', schemaVersion: 1 });
    const after = defineCollection<Grown>({
      name: 'grown',
      schemaVersion: 2,
      fields: [
        { name: 'a', type: 'text' },
        { name: 'b', type: 'integer', path: 'deep.b' },
      ],
      unique: [{ fields: ['a'], per: 'organisation' }],
      sortable: ['b'],
    });
    const scope = freshScope();
    const first = await open({ database: own, collections: [before] });
    await first.documents.insert(scope, before, { id: '1', createdAt: 1, body: { a: 'x', deep: { b: 7 } } });
    await first.documents.insert(scope, before, { id: '2', createdAt: 1, body: { a: 'y', deep: { b: 3 } } });
    await first.close();
    const second = await open({ database: own, collections: [after] });
    const found = await second.documents.page(scope, after, {
      pageSize: 9,
      filter: [{ field: 'b', op: 'gt', value: 1 }],
      sort: { field: 'b', order: 'asc' },
    });
    t.deepEqual(
      found.documents.map((document) => [document.id, document.schemaVersion, document.version]),
      [
        ['2', 2, 1],
        ['1', 2, 1],
      ],
    );
    const taken = second.documents.insert(scope, after, {
      id: '3',
      createdAt: 1,
      body: { a: 'x', deep: { b: 1 } },
    });
    t.is((await t.throwsAsync(taken, { instanceOf: GatewayError }))?.reason, 'conflict');
    await second.close();
    await dropDatabase(server, own);
  });

  serial('too many calls are refused at once, and the others are made', async (t) => {
    const store = await open({ maxPending: 20 });
    const scope = freshScope();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        store.documents.insert(scope, heads, { id: String(i), createdAt: 1, body: { count: i } }),
      ),
    );
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    t.is(refused.length, 30);
    t.true(refused.every(({ reason }) => reason instanceof GatewayError && reason.status === 503));
    t.is((await store.documents.page(scope, heads, { pageSize: 1 })).total, 20);
    await store.close();
  });

  serial('a broken entry refuses its batch as a whole', async (t) => {
    const { requestLog } = await shared;
    const scope = freshScope();
    const good = logEntry({ id: 'good', organisationId: scope.organisationId });
    const bad = { ...logEntry({ id: 'bad', organisationId: scope.organisationId }), createdAt: 0.5 };
    const error = await t.throwsAsync(requestLog.append([good, bad]), { instanceOf: GatewayError });
    t.is(error?.reason, 'validation_failed');
    t.is((await requestLog.page(scope, {}, { page: 0, pageSize: 9, order: 'asc' })).total, 0);
    await requestLog.append([good, good]);
    t.is((await requestLog.page(scope, {}, { page: 0, pageSize: 9, order: 'asc' })).total, 1);
  });

  serial('what is stored is what the declaration says', async (t) => {
    const { documents } = await shared;
    const scope = freshScope();
    const body = {
      name: 'n',
      size: 3,
      hash: `h-${scope.organisationId}`,
      shared: true,
      owner: { mail: 'm' },
    };
    await documents.insert(scope, widgets, { id: 'a', workspaceId: 'w', createdAt: 5, body });
    const row = await withDatabase(uri, database, (db) =>
      db.collection('widgets').findOne({ organisationId: scope.organisationId }, { projection: { _id: 0 } }),
    );
    t.deepEqual(row, {
      organisationId: scope.organisationId,
      workspaceId: 'w',
      id: 'a',
      slug: null,
      version: 1,
      archived: false,
      createdAt: 5,
      updatedAt: 5,
      schemaVersion: 3,
      body: JSON.stringify(body),
      f_name: 'n',
      f_size: 3,
      f_weight: null,
      f_hash: body.hash,
      f_shared: 1,
      f_ownerMail: 'm',
    });
  });
}
