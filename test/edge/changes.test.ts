// What one instance changes the others know within a second: on MongoDB alone, with Redis, with Redis gone, and
// when the instance that wrote it died before it could tell.
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { apiKeys } from '../../src/access/identity-collections.ts';
import { makeKey } from '../../src/access/keys.ts';
import { INFERENCE_SCOPES } from '../../src/access/scopes.ts';
import { openStores, type Stores } from '../../src/app/stores.ts';
import { readSettings } from '../../src/settings.ts';
import { archiveOperation, type DocumentStore, insertOperation } from '../../src/store/documents.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { mongoServer, redisServer, reportMissing, startOwnRedis } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';

const mongo = await mongoServer();
const redis = await redisServer();

/** Changes of each test: the slowest of them is its 99th percentile. */
const CHANGES = 50;
const silent = pino({ level: 'silent' });

interface Deployment {
  readonly gateways: readonly TestGateway[];
  /** Another instance's stores: it serves nothing, and writes. */
  readonly stores: Stores;
}

async function deployment(
  t: ExecutionContext,
  uri: string,
  more: Record<string, string> = {},
): Promise<Deployment> {
  const url = new URL(uri);
  url.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
  const env = {
    MONGODB_URI: url.href,
    GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ...more,
  };
  const gateways = [await startGateway(env), await startGateway(env)];
  const stores = await openStores(readSettings({ ...env, GATEWAY_DATA_DIR: '/nowhere' }), silent);
  t.teardown(async () => {
    await stores.close();
    await Promise.all(gateways.map((gateway) => gateway.close()));
  });
  return { gateways, stores };
}

/** 401 while the key is none; 400 when it is one, for the body is none. */
async function answer(gateway: TestGateway, key: string): Promise<number> {
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-gateway-api-key': key },
    body: '{}',
  });
  await response.arrayBuffer();
  return response.status;
}

async function untilAll({ gateways }: Deployment, key: string, status: number, ms = 60_000): Promise<number> {
  const start = performance.now();
  for (;;) {
    const answers = await Promise.all(gateways.map((gateway) => answer(gateway, key)));
    const took = performance.now() - start;
    if (answers.every((one) => one === status)) return took;
    if (took > ms) throw new Error(`after ${took} ms: ${answers}, not ${status}`);
    await sleep(2);
  }
}

/** Makes keys, archives one after the other, and answers how long each was still known somewhere. */
async function revocations(
  deployed: Deployment,
  documents: DocumentStore,
  between: (done: number) => Promise<void> = async () => undefined,
): Promise<number[]> {
  const { organisationId, workspaceId } = deployed.gateways[0]!.app.tenancy;
  const scope = { organisationId, workspaceId: undefined };
  const facts = { name: 'k', kind: 'workspace-service', organisationId, workspaceId } as const;
  const keys = Array.from({ length: CHANGES }, () =>
    makeKey(deployed.stores.hasher, { ...facts, scopes: [...INFERENCE_SCOPES] }, Date.now()),
  );
  await documents.commit(
    scope,
    keys.map(({ document }) => insertOperation(apiKeys, document)),
  );
  for (const { secret } of keys) await untilAll(deployed, secret, 400);
  const took: number[] = [];
  for (const [done, { secret, document }] of keys.entries()) {
    await between(done);
    const order = { updatedAt: Date.now() };
    // A commit as the control plane makes it.
    await documents.commit(scope, [archiveOperation(apiKeys, document.id, order)]);
    took.push(await untilAll(deployed, secret, 401));
  }
  return took;
}

function inTime(t: ExecutionContext, took: readonly number[]): void {
  const sorted = took.toSorted((a, b) => a - b).map(Math.round);
  t.log(`${took.length} changes: median ${sorted[sorted.length >> 1]} ms, slowest ${sorted.at(-1)} ms`);
  t.is(took.length, CHANGES);
  t.true((sorted.at(-1) ?? Number.NaN) < withSlack(1000), `${sorted}`);
}

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  test.serial('on MongoDB alone', async (t) => {
    const deployed = await deployment(t, mongo.uri);
    inTime(t, await revocations(deployed, deployed.stores.documents));
  });

  test.serial('when the writer dies before it can tell', async (t) => {
    const deployed = await deployment(t, mongo.uri, { REDIS_URL: redis.url });
    // The store itself: what is written here nobody tells.
    inTime(t, await revocations(deployed, deployed.stores.store.documents));
  });

  test.serial('when Redis is killed in the middle, and comes back', async (t) => {
    const own = await startOwnRedis();
    if (!own) return void t.fail('no Redis to kill');
    t.teardown(() => own.stop());
    const deployed = await deployment(t, mongo.uri, { REDIS_URL: own.url });
    const took = await revocations(deployed, deployed.stores.documents, async (done) => {
      if (done === 15) await own.kill();
      if (done === 35) await own.restart();
    });
    inTime(t, took);
  });
}
