// MongoDB's own record of changes: told in time by stream and by poll, also after the server was away.
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type mongoose from 'mongoose';
import type { ChangeEvent } from '../../src/store/change-feed.ts';
import { defineCollection } from '../../src/store/collection.ts';
import { archiveOperation, insertOperation, updateOperation } from '../../src/store/documents.ts';
import { connect } from '../../src/store/mongo/connection.ts';
import { modelOf } from '../../src/store/mongo/document-schema.ts';
import { type MongoStore, openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { lookQuery, pollChanges } from '../../src/store/mongo/poll.ts';
import { mongoWatch } from '../../src/store/mongo/watch.ts';
import { mongoServer, reportMissing, startOwnMongo, startStandaloneMongo } from '../support/servers.ts';
import { dropDatabase, freshDatabase } from './mongo-database.ts';

const told = defineCollection<{ n: number }>({ name: 'told', schemaVersion: 1, noticed: true });
const quiet = defineCollection<{ n: number }>({ name: 'quiet', schemaVersion: 1 });
const collections = [told, quiet];
const scope = { organisationId: 'o', workspaceId: undefined };

/** What was heard: versions by document, and gaps. */
function ear() {
  const heard = new Map<string, number>();
  const state = { gaps: 0, others: 0 };
  const listener = (event: ChangeEvent): void => {
    if (event.kind === 'resynced') state.gaps++;
    else if (event.change.collection !== 'told' || event.change.organisationId !== 'o') state.others++;
    else heard.set(event.change.id, Math.max(event.change.version, heard.get(event.change.id) ?? 0));
  };
  return { heard, state, listener };
}

async function until(t: ExecutionContext, what: () => boolean, ms = 60_000): Promise<number> {
  const start = performance.now();
  while (!what()) {
    if (performance.now() - start > ms) {
      t.fail(`did not happen: ${what}`);
      break;
    }
    await sleep(2);
  }
  return performance.now() - start;
}

/** Every kind of write, through a store that knows nothing of who listens. */
async function writeAll({ documents }: MongoStore, id: string): Promise<void> {
  await documents.insert(scope, quiet, { id, createdAt: Date.now(), body: { n: 1 } });
  await documents.insert(scope, told, { id, createdAt: Date.now(), body: { n: 1 } });
  await documents.update(scope, told, id, 1, { body: { n: 2 }, updatedAt: Date.now() });
  await documents.commit(scope, [
    insertOperation(told, { id: `${id}-made`, createdAt: Date.now(), body: { n: 1 } }),
    updateOperation(told, id, 2, { body: { n: 3 }, updatedAt: Date.now() }),
    archiveOperation(told, id, { updatedAt: Date.now() }),
  ]);
}

const server = await mongoServer();
if (server) suite(server);
else reportMissing(test, 'MongoDB');

function suite(shared: NonNullable<typeof server>): void {
  const connectTo = (uri: string, database: string): Promise<mongoose.Connection> =>
    connect({ uri, database, answerMs: 5000, reachMs: 5000, maxPoolSize: 5 });

  test('a stream tells every write of a noticed collection, and nothing else', async (t) => {
    const database = freshDatabase();
    const [one, two] = [
      await openMongoStore({ uri: shared.uri, database, collections }),
      await openMongoStore({ uri: shared.uri, database, collections }),
    ];
    const { heard, state, listener } = ear();
    const stop = two.watch(listener);
    await until(t, () => state.gaps === 1);
    const took: number[] = [];
    for (let i = 0; i < 20; i++) {
      await writeAll(one, `d${i}`);
      took.push(await until(t, () => heard.get(`d${i}`) === 4 && heard.get(`d${i}-made`) === 1));
    }
    t.true(Math.max(...took) < 1000, `${took}`);
    t.deepEqual(state, { gaps: 1, others: 0 });
    await stop();
    await writeAll(one, 'late');
    await sleep(100);
    t.false(heard.has('late'));
    await Promise.all([one.close(), two.close()]);
    await dropDatabase(shared, database);
  });

  test('a stream goes on after its server was frozen, and after it was killed', async (t) => {
    t.timeout(240_000);
    const own = await startOwnMongo();
    if (!own) return void t.fail('no MongoDB to kill');
    t.teardown(() => own.stop());
    const options = { uri: own.uri, database: 'watched', collections, deadlineMs: 1500 };
    const [one, two] = [await openMongoStore(options), await openMongoStore(options)];
    t.teardown(async () => {
      await Promise.all([one.close(), two.close()]);
    });
    const { heard, state, listener } = ear();
    two.watch(listener);
    await until(t, () => state.gaps === 1);
    const insert = async (id: string): Promise<void> => {
      for (;;) {
        try {
          await one.documents.insert(scope, told, { id, createdAt: Date.now(), body: { n: 1 } });
          return;
        } catch (error) {
          if ((error as { reason?: string }).reason === 'conflict') return;
          await sleep(50);
        }
      }
    };
    const tolerant = () => heard.has('after') || state.gaps > 1;
    own.pause();
    await sleep(3000);
    own.resume();
    await insert('after');
    await until(t, tolerant);
    const gaps = state.gaps;
    await own.restart();
    await insert('then');
    // Where the server forgot how far the stream was, a gap is told instead.
    await until(t, () => heard.has('then') || state.gaps > gaps);
    await insert('last');
    await until(t, () => heard.has('last'));
    t.true(heard.has('last'));
  });

  test('a poll tells every write too, walking an index and nothing else', async (t) => {
    const database = freshDatabase();
    const store = await openMongoStore({ uri: shared.uri, database, collections });
    await store.documents.insert(scope, told, { id: 'before', createdAt: Date.now(), body: { n: 1 } });
    const connection = await connectTo(shared.uri, database);
    const stopping = new AbortController();
    const { heard, state, listener } = ear();
    const polling = pollChanges(connection, [told], listener, stopping.signal);
    await until(t, () => state.gaps === 1);
    const told50 = Array.from({ length: 50 }, async (_, i) => {
      await sleep(i * 30);
      await writeAll(store, `d${i}`);
      return until(t, () => heard.get(`d${i}`) === 4 && heard.get(`d${i}-made`) === 1);
    });
    const took = (await Promise.all(told50)).sort((a, b) => a - b);
    t.log(`50 changes by polling: median ${took[25]?.toFixed()} ms, slowest ${took[49]?.toFixed()} ms`);
    t.true(Math.max(...took) < 1000, `${took}`);
    const behind = Date.now() - 30_000;
    await store.documents.insert(scope, told, { id: 'slow-clock', createdAt: behind, body: { n: 1 } });
    await until(t, () => heard.has('slow-clock'));
    const ahead = Date.now() + 3_600_000;
    await store.documents.insert(scope, told, { id: 'fast-clock', createdAt: ahead, body: { n: 1 } });
    await until(t, () => heard.has('fast-clock'));
    await store.documents.insert(scope, told, { id: 'after', createdAt: Date.now(), body: { n: 1 } });
    await until(t, () => heard.has('after'));
    t.deepEqual(state, { gaps: 1, others: 0 });
    stopping.abort();
    await polling;

    const { filter, hint } = lookQuery(Date.now() - 1000);
    const query = modelOf(connection, told).collection.find(filter, {
      hint,
      projection: { _id: 0, organisationId: 1, id: 1, version: 1 },
    });
    t.regex(JSON.stringify(await query.explain('queryPlanner')), /IXSCAN.*"noticed"|"noticed".*IXSCAN/);
    await connection.close();
    await store.close();
    await dropDatabase(shared, database);
  });

  test('where the server refuses change streams, the poll takes over', async (t) => {
    const standalone = await startStandaloneMongo();
    if (!standalone) return void t.fail('no MongoDB to start');
    t.teardown(() => standalone.stop());
    const connection = await connectTo(standalone.uri, 'alone');
    const model = modelOf(connection, told);
    await model.createCollection();
    await model.createIndexes();
    const closing = new AbortController();
    const { heard, state, listener } = ear();
    const refusals: unknown[] = [];
    const onPolling = (error: unknown): void => void refusals.push(error);
    const stop = mongoWatch(connection, collections, { closing: closing.signal, onPolling })(listener);
    await until(t, () => state.gaps === 1);
    const row = { organisationId: 'o', workspaceId: null, id: 'x', slug: null, version: 7, archived: false };
    const now = Date.now();
    await model.collection.insertOne({
      ...row,
      createdAt: now,
      updatedAt: now,
      schemaVersion: 1,
      body: '{}',
    } as never);
    t.true((await until(t, () => heard.get('x') === 7)) < 1000);
    t.is(refusals.length, 1, `${refusals}`);
    await stop();
    await connection.close();
  });
}
