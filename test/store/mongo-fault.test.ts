// A server that is frozen, gone, or not fit: every call settles in time with a typed refusal, and works again.
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { insertOperation, updateOperation } from '../../src/store/documents.ts';
import { failureOf } from '../../src/store/mongo/failures.ts';
import { type MongoStore, openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { checkTopology } from '../../src/store/mongo/topology.ts';
import { freePort } from '../support/servers/process.ts';
import { mongoServer, reportMissing, startOwnMongo, startStandaloneMongo } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';
import { contractCollections, freshScope, heads, widgets } from './documents.contract.ts';
import { logEntry } from './log-entries.ts';

const DEADLINE_MS = 1000;
/** What the machine may add. */
const SLACK_MS = 700;
const options = { database: 'faults', collections: contractCollections };

const available = (await mongoServer()) !== undefined;
if (available) suite();
else reportMissing(test, 'MongoDB');

test('only a server that has transactions and takes writes is accepted', (t) => {
  const refusal = (hello: object): string => {
    const error = t.throws(() => checkTopology(hello), { instanceOf: GatewayError });
    t.is(error?.reason, 'store_unavailable');
    return error?.message ?? '';
  };
  const standalone = refusal({ isWritablePrimary: true, maxWireVersion: 21, ok: 1 });
  t.regex(standalone, /mongod --replSet rs0/);
  t.regex(standalone, /rs\.initiate\(\)/);
  t.regex(refusal({ setName: 'rs0', isWritablePrimary: false, secondary: true }), /rs0.*no writes/);
  t.notThrows(() => checkTopology({ setName: 'rs0', isWritablePrimary: true }));
  t.notThrows(() => checkTopology({ msg: 'isdbgrid', isWritablePrimary: true }));
});

test('a socket that the driver did not wrap is the store, and a mistake of ours is not', (t) => {
  for (const code of ['ECONNRESET', 'EPIPE', 'ERR_STREAM_DESTROYED']) {
    const broken = failureOf(Object.assign(new Error(`write ${code}`), { code }));
    t.is(broken.reason, 'store_unavailable');
    t.false(broken.message.includes(code));
  }
  t.is(failureOf(new TypeError('x is undefined')).reason, 'internal');
});

test('what is wrong with the address is said without it', async (t) => {
  const port = await freePort();
  const uris = [
    `mongodb://user:s3cret@127.0.0.1:${port}/?directConnection=true`,
    'mongodb://user:s3cret@',
    'mongodb://us er:s3cret@127.0.0.1:1:2/',
    'http://user:s3cret@127.0.0.1/',
    's3cret',
    'mongodb://user:s3cret@127.0.0.1/?nonsense=s3cret',
  ];
  for (const uri of uris) {
    const start = performance.now();
    const open = openMongoStore({ uri, ...options, deadlineMs: DEADLINE_MS });
    const error = await t.throwsAsync(open, { instanceOf: GatewayError }, uri);
    t.is(error?.reason, 'store_unavailable', uri);
    t.regex(error?.message ?? '', /MONGODB_URI/, uri);
    t.notRegex(`${error?.message} ${error?.stack} ${JSON.stringify(error?.cause)}`, /s3cret/, uri);
    t.true(performance.now() - start < withSlack(DEADLINE_MS + 2 * SLACK_MS), uri);
  }
});

/** Every kind of call. */
function calls({ documents, requestLog }: MongoStore): Record<string, () => Promise<unknown>> {
  const scope = freshScope();
  const widget = (id: string) => ({ id, createdAt: 1, body: { name: id } });
  return {
    insert: () => documents.insert(scope, widgets, widget('a')),
    get: () => documents.get(scope, widgets, 'a'),
    page: () => documents.page(scope, widgets, { pageSize: 10 }),
    update: () => documents.update(scope, widgets, 'a', 1, { body: { name: 'b' }, updatedAt: 2 }),
    archive: () => documents.archive(scope, widgets, 'a', { updatedAt: 2 }),
    findByUnique: () => documents.findByUnique(widgets, 'hash', 'h'),
    commit: () =>
      documents.commit(scope, [
        insertOperation(widgets, widget('b')),
        updateOperation(heads, 'head', 1, { body: { count: 1 }, updatedAt: 2 }),
      ]),
    append: () => requestLog.append([logEntry({ id: 'e', organisationId: scope.organisationId })]),
    log: () => requestLog.page(scope, {}, { page: 0, pageSize: 10, order: 'asc' }),
  };
}

async function allRefused(t: ExecutionContext, store: MongoStore, boundMs: number): Promise<void> {
  await Promise.all(
    Object.entries(calls(store)).map(async ([name, call]) => {
      const start = performance.now();
      const error = await t.throwsAsync(call(), { instanceOf: GatewayError }, name);
      const took = performance.now() - start;
      t.is(error?.reason, 'store_unavailable', name);
      t.true(took < withSlack(boundMs + SLACK_MS), `${name} took ${took} ms`);
      t.notRegex(error?.message ?? '', /ECONN|127\.0\.0\.1|Mongo[A-Z]\w+Error|topology/, name);
    }),
  );
  const start = performance.now();
  t.is((await t.throwsAsync(store.ready(), { instanceOf: GatewayError }))?.reason, 'store_unavailable');
  t.true(performance.now() - start < withSlack(1000 + SLACK_MS));
}

/** The time until a write and a transaction are made again. */
async function recovered(t: ExecutionContext, store: MongoStore): Promise<number> {
  const start = performance.now();
  for (;;) {
    const scope = freshScope();
    try {
      await store.documents.insert(scope, heads, { id: 'head', createdAt: 1, body: { count: 0 } });
      await store.documents.commit(scope, [
        insertOperation(widgets, { id: 'a', createdAt: 1, body: { name: 'a' } }),
        updateOperation(heads, 'head', 1, { body: { count: 1 }, updatedAt: 2 }),
      ]);
      await store.requestLog.append([logEntry({ id: 'e', organisationId: scope.organisationId })]);
      await store.ready();
      return performance.now() - start;
    } catch (error) {
      t.is((error as GatewayError).reason, 'store_unavailable');
      if (performance.now() - start > 15_000) throw error;
      await sleep(50);
    }
  }
}

function suite(): void {
  test.serial(
    'a frozen server and a killed one: calls settle in time, and work again afterwards',
    async (t) => {
      const server = await startOwnMongo();
      if (server === undefined) return void t.pass();
      t.teardown(() => server.stop());
      const store = await openMongoStore({ uri: server.uri, ...options, deadlineMs: DEADLINE_MS });
      t.teardown(() => store.close());
      await recovered(t, store);

      server.pause();
      await allRefused(t, store, DEADLINE_MS);
      await allRefused(t, store, DEADLINE_MS);
      server.resume();
      t.log(`thawed: works again after ${Math.round(await recovered(t, store))} ms`);
      await server.kill();
      await allRefused(t, store, DEADLINE_MS);
      await server.restart();
      t.log(`restarted: works again after ${Math.round(await recovered(t, store))} ms`);
    },
  );

  test.serial('a start in front of a frozen server ends in time', async (t) => {
    const server = await startOwnMongo();
    if (server === undefined) return void t.pass();
    t.teardown(() => server.stop());
    server.pause();
    const start = performance.now();
    const open = openMongoStore({ uri: server.uri, ...options, deadlineMs: DEADLINE_MS });
    t.is((await t.throwsAsync(open, { instanceOf: GatewayError }))?.reason, 'store_unavailable');
    t.true(performance.now() - start < withSlack(DEADLINE_MS + 2 * SLACK_MS));
  });

  test.serial('a standalone server stops the start and says what to do', async (t) => {
    const server = await startStandaloneMongo();
    if (server === undefined) return void t.pass();
    t.teardown(() => server.stop());
    const error = await t.throwsAsync(openMongoStore({ uri: server.uri, ...options }), {
      instanceOf: GatewayError,
    });
    t.is(error?.reason, 'store_unavailable');
    t.regex(error?.message ?? '', /replica set of one.*mongod --replSet rs0.*rs\.initiate\(\)/);
  });
}
