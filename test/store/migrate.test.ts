// `sluice migrate` through the front door: a gateway's data in place, and moved from a folder to MongoDB and Redis.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { COLLECTIONS } from '../../src/app/stores.ts';
import { migrateFrom } from '../../src/migrate/copy.ts';
import { readSettings } from '../../src/settings.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { openRedisState } from '../../src/store/redis/open-redis.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { mongoServer, redisServer, reportMissing, type SharedMongo } from '../support/servers.ts';
import { logEntry } from './log-entries.ts';
import { migrate } from './migrate-command.ts';
import { dropDatabase, freshDatabase, withDatabase } from './mongo-database.ts';
import { clearRedis, freshOrg, untilReady } from './shared-stores.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-migrate-'));
let folders = 0;
const freshDir = (): string => join(root, String(folders++));
test.after.always(() => rmSync(root, { recursive: true, force: true }));

const GIVEN_KEYS = { GATEWAY_ADMIN_API_KEY: ADMIN_KEY, GATEWAY_API_KEY: WORKSPACE_KEY };

async function chat(gateway: TestGateway, provider: string, traceId: string): Promise<number> {
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai-compatible',
      'x-gateway-custom-host': provider,
      'x-gateway-trace-id': traceId,
      'x-gateway-metadata': JSON.stringify({ z: 'ünï', a: traceId }),
    },
    body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** Asks for a response over a chat wire, which the gateway keeps, and answers its id. */
async function respond(gateway: TestGateway, provider: string): Promise<string> {
  const answer = await fetch(`${gateway.origin}/v1/responses`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai-compatible',
      'x-gateway-custom-host': provider,
    },
    body: JSON.stringify({ model: 'gpt-ok', input: 'hi' }),
  });
  return ((await answer.json()) as { readonly id: string }).id;
}

async function logs(gateway: TestGateway): Promise<{ total: number; data: unknown[] }> {
  const answer = await fetch(`${gateway.origin}/v1/logs?page_size=100`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  return (await answer.json()) as { total: number; data: unknown[] };
}

/** The text of an export. */
async function fetched(gateway: TestGateway, id: unknown): Promise<string> {
  const { signed_url: url } = await ok(gateway, 'GET', `/logs/exports/${id}/download`);
  return (await fetch(gateway.origin + new URL(String(url)).pathname)).text();
}

/** Exports all entries; answers the id and what is in it. */
async function exported(gateway: TestGateway): Promise<{ readonly id: unknown; readonly text: string }> {
  const body = { filters: {}, requested_data: ['id', 'trace_id'] };
  const { id } = await ok(gateway, 'POST', '/logs/exports', { body });
  await ok(gateway, 'POST', `/logs/exports/${id}/start`);
  while ((await ok(gateway, 'GET', `/logs/exports/${id}`)).status === 'in_progress') await sleep(10);
  return { id, text: await fetched(gateway, id) };
}

/** A folder with what a gateway leaves behind: keys, entries, an export, and books of one organisation. */
async function usedFolder(org: string, calls: number) {
  const dataDir = freshDir();
  const provider = await startFakeProvider();
  const gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir });
  for (let i = 1; i < calls; i++) await chat(gateway, provider.origin, `trace-${i}`);
  const response = await respond(gateway, provider.origin);
  const listed = await logs(gateway);
  const file = await exported(gateway);
  await gateway.close();
  await provider.close();
  const state = await openMemoryState({ dataDir });
  const limits = [{ kind: 'budget', key: 'b', amount: 7n } as const];
  await state.admit(org, { limits, hold: { id: 'open', owner: 'o', leaseMs: 60_000 } });
  await state.admit(org, { limits, hold: { id: 'done', owner: 'o', leaseMs: 60_000 } });
  await state.settle(org, { id: 'done', entry: { id: 'e', data: 'd' } });
  await state.writeValue(org, { key: 'v', version: 0, value: 'kept' });
  await state.close();
  return { dataDir, listed, file, response };
}

test('in place, embedded: counts by collection, and a running gateway is refused', async (t) => {
  const dataDir = freshDir();
  const env = { GATEWAY_DATA_DIR: dataDir, ...GIVEN_KEYS };
  const gateway = await startGateway(env);
  const busy = await migrate({ GATEWAY_DATA_DIR: dataDir });
  t.is(busy.code, 1);
  t.regex(busy.output, /in use by another process/);
  await gateway.close();
  const { code, output } = await migrate({ GATEWAY_DATA_DIR: dataDir });
  t.is(code, 0, output);
  t.regex(output, /^collection +documents +upgraded +left$/m);
  t.regex(output, /^api_keys +2 +0 +0$/m);
  t.regex(output, /^organisations +1 +0 +0$/m);
});

test('a copy that cannot begin says why', async (t) => {
  const dataDir = freshDir();
  const key = randomBytes(32).toString('base64');
  const there = { MONGODB_URI: 'mongodb://127.0.0.1:1/x', GATEWAY_ENCRYPTION_KEY: key };
  const refused = async (env: Readonly<Record<string, string>>, why: RegExp): Promise<void> => {
    const facts = { settings: readSettings(env), collections: COLLECTIONS, say: () => undefined };
    const error = await t.throwsAsync(migrateFrom(facts, dataDir));
    t.regex(error?.message ?? '', why);
    t.false(error?.message.includes(key));
  };
  await refused({}, /MONGODB_URI: is missing/);
  await refused(there, /no embedded store here/);
  const gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir });
  await refused(there, /in use by another process/);
  await gateway.close();
  await refused(there, /cannot be used with this GATEWAY_ENCRYPTION_KEY.*encryption\.key/);
  const own = readFileSync(join(dataDir, 'encryption.key'), 'utf8').trim();
  const state = await openMemoryState({ dataDir });
  await refused({ ...there, GATEWAY_ENCRYPTION_KEY: own }, /shared state in .* is in use/);
  await state.writeValue('o', { key: 'k', version: 0, value: 'v' });
  await state.close();
  await refused({ ...there, GATEWAY_ENCRYPTION_KEY: own }, /REDIS_URL: is missing/);
  const missing = await migrate({}, '--from', dataDir);
  t.is(missing.code, 1);
  t.regex(missing.output, /^MONGODB_URI: is missing/);
  const unknown = await migrate({}, '--form', dataDir);
  t.is(unknown.code, 1);
  t.regex(unknown.output, /--form/);
});

const mongo = await mongoServer();
const redis = await redisServer();
if (!mongo || !redis) reportMissing(test, mongo ? 'Redis' : 'MongoDB');
else suite(mongo, redis.url);

function databaseUri(uri: string, database: string): string {
  const url = new URL(uri);
  url.pathname = `/${database}`;
  return url.href;
}

function suite(server: SharedMongo, redisUrl: string): void {
  test.after.always(() => clearRedis(redisUrl));

  const target = (t: ExecutionContext, dataDir: string) => {
    const database = freshDatabase();
    t.teardown(() => dropDatabase(server, database));
    const env = {
      MONGODB_URI: databaseUri(server.uri, database),
      REDIS_URL: redisUrl,
      GATEWAY_ENCRYPTION_KEY: readFileSync(join(dataDir, 'encryption.key'), 'utf8').trim(),
    };
    return { database, env };
  };

  test.serial('a gateway goes on elsewhere with the same keys and the same logs', async (t) => {
    t.timeout(240_000);
    const org = freshOrg();
    const { dataDir, listed, file, response } = await usedFolder(org, 12);
    const { env } = target(t, dataDir);
    const first = await migrate(env, '--from', dataDir);
    t.is(first.code, 0, first.output);
    t.regex(first.output, /api_keys: 2 copied, 0 there already/);
    t.regex(first.output, /^request log +12 +(\w+) +12 +\1 +same$/m);
    t.regex(first.output, /^export files +1 +(\w+) +1 +\1 +same$/m);
    t.regex(first.output, /^kept responses +1 +(\w+) +1 +\1 +same$/m);
    t.regex(first.output, /^holds +1 +(\w+) +1 +\1 +same$/m);
    t.regex(first.output, /Everything is there, and the same/);
    const second = await migrate(env, '--from', dataDir);
    t.is(second.code, 0, second.output);
    t.regex(second.output, /api_keys: 0 copied, 2 there already/);
    t.regex(second.output, /shared state: 0 copied/);

    const gateway = await startGateway(env);
    t.teardown(() => gateway.close());
    t.deepEqual(await logs(gateway), listed);
    t.is(file.text.trimEnd().split('\n').length, 12);
    t.is(await fetched(gateway, file.id), file.text);
    const provider = await startFakeProvider();
    t.teardown(() => provider.close());
    t.is(await chat(gateway, provider.origin, 'after'), 200);
    t.is((await logs(gateway)).total, 13);
    t.is((await ok(gateway, 'GET', `/responses/${response}`, { key: WORKSPACE_KEY })).id, response);

    const state = openRedisState({ url: redisUrl });
    await untilReady(state);
    t.deepEqual(await state.readBudget(org, { key: 'b' }), { spent: 7n, held: 7n });
    t.is((await state.settle(org, { id: 'done' })).outcome, 'repeated');
    t.deepEqual((await state.settle(org, { id: 'open' })).budgets, [
      { key: 'b', charged: 7n, spent: 14n, held: 0n },
    ]);
    t.is((await state.readValue(org, { key: 'v' })).value, 'kept');
    await state.close();
  });

  test.serial('a target with other data is refused before anything is written', async (t) => {
    t.timeout(240_000);
    const { dataDir } = await usedFolder(freshOrg(), 1);
    const { env, database } = target(t, dataDir);
    await (await startGateway(env)).close();
    const counts = (): Promise<number> =>
      withDatabase(server.uri, database, (db) => db.collection('api_keys').countDocuments());
    t.is(await counts(), 2);
    const { code, output } = await migrate(env, '--from', dataDir);
    t.is(code, 1);
    t.regex(output, /The target has other data/);
    t.regex(output, /organisations \S+ of \S+ is not in the source/);
    t.is(await counts(), 2);
  });

  test.serial('what differs at the end is told in a table, and the exit says so', async (t) => {
    t.timeout(240_000);
    const org = freshOrg();
    const { dataDir } = await usedFolder(org, 2);
    const { env, database } = target(t, dataDir);
    t.is((await migrate(env, '--from', dataDir)).code, 0);
    const store = await openMongoStore({ uri: server.uri, database, collections: [], deadlineMs: 30_000 });
    await store.requestLog.append([logEntry({ id: 'another', organisationId: org })]);
    await store.close();
    const more = await migrate(env, '--from', dataDir);
    t.is(more.code, 1);
    t.regex(more.output, /^request log +2 +(\w+) +3 +(?!\1)\w+ +DIFFERS$/m);
    t.regex(more.output, /^api_keys .* same$/m);
    t.regex(more.output, /The two sides differ/);

    const state = openRedisState({ url: redisUrl });
    await untilReady(state);
    await state.settle(org, { id: 'open' });
    await state.close();
    const changed = await migrate(env, '--from', dataDir);
    t.is(changed.code, 1);
    t.regex(changed.output, new RegExp(`budgets b of ${org} is there already, and differs`));
  });

  test.serial('in place, on MongoDB beside a running gateway', async (t) => {
    const database = freshDatabase();
    t.teardown(() => dropDatabase(server, database));
    const env = {
      MONGODB_URI: databaseUri(server.uri, database),
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
    const gateway = await startGateway(env);
    t.teardown(() => gateway.close());
    const { code, output } = await migrate(env);
    t.is(code, 0, output);
    t.regex(output, /^api_keys +2 +0 +0$/m);
    t.is(
      (await fetch(`${gateway.origin}/v1/logs`, { headers: { 'x-gateway-api-key': ADMIN_KEY } })).status,
      200,
    );
  });
}
