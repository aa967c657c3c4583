// Several instances on one MongoDB and one Redis: what one stores the others serve, and
// a key that is made or archived is known or refused everywhere within a second.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { pino } from 'pino';
import { createChain } from '../../src/access/audit/chain.ts';
import { apiKeys } from '../../src/access/identity-collections.ts';
import { createKey } from '../../src/access/keys.ts';
import { createOrganisation } from '../../src/access/new-organisation.ts';
import { INFERENCE_SCOPES } from '../../src/access/scopes.ts';
import { openStores } from '../../src/app/stores.ts';
import { startApp } from '../../src/app.ts';
import { readSettings } from '../../src/settings.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { mongoServer, redisServer, reportMissing, startOwnMongo } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';

const mongo = await mongoServer();
const redis = await redisServer();
const encryptionKey = randomBytes(32).toString('base64');

function databaseUri(uri: string): string {
  const url = new URL(uri);
  url.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
  return url.href;
}

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  const env = {
    MONGODB_URI: databaseUri(mongo.uri),
    REDIS_URL: redis.url,
    GATEWAY_ENCRYPTION_KEY: encryptionKey,
  };

  test.serial('two instances share keys and the request log', async (t) => {
    const provider = await startFakeProvider();
    const one = await startGateway(env);
    const two = await startGateway(env);
    t.teardown(async () => {
      await Promise.all([one.close(), two.close()]);
      await provider.close();
    });
    const chat = (gateway: TestGateway, key: string): Promise<Response> =>
      fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': key,
          'x-gateway-provider': 'openai',
          'x-gateway-custom-host': `${provider.origin}/v1`,
          'x-gateway-trace-id': 'shared',
          authorization: 'Bearer sk',
        },
        body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] }),
      });
    t.is((await chat(one, WORKSPACE_KEY)).status, 200);
    t.is((await chat(two, WORKSPACE_KEY)).status, 200);

    // The first instance's log is written behind its answers; its own reading makes it whole.
    const logs = async (gateway: TestGateway): Promise<number> => {
      const answer = await fetch(`${gateway.origin}/v1/logs?trace_id=shared`, {
        headers: { 'x-gateway-api-key': ADMIN_KEY },
      });
      return ((await answer.json()) as { total: number }).total;
    };
    await logs(one);
    t.is(await logs(two), 2, 'one instance reads what both wrote');

    const { documents, hasher, close } = await openStores(
      readSettings({ ...env, GATEWAY_DATA_DIR: '/nowhere' }),
    );
    t.teardown(close);
    const { organisationId, workspaceId } = one.app.tenancy;
    t.deepEqual(two.app.tenancy.organisationId, organisationId, 'the first start is made once');
    const facts = {
      documents,
      hasher,
      now: Date.now,
    };
    const secret = await createKey(facts, {
      name: 'Late',
      kind: 'workspace-service',
      organisationId,
      workspaceId,
      scopes: INFERENCE_SCOPES,
    });
    const within = async (status: number): Promise<number> => {
      const start = performance.now();
      while (performance.now() - start < 30_000) {
        const answers = await Promise.all([chat(one, secret), chat(two, secret)]);
        if (answers.every((answer) => answer.status === status)) break;
      }
      return performance.now() - start;
    };
    t.true((await within(200)) < withSlack(1000), 'a new key is known on every instance within a second');

    const scope = { organisationId, workspaceId: undefined };
    const [key] = (
      await documents.page(scope, apiKeys, {
        pageSize: 1,
        filter: [{ field: 'name', op: 'eq', value: 'Late' }],
      })
    ).documents;
    await documents.archive(scope, apiKeys, key!.id, { updatedAt: Date.now() });
    t.true(
      (await within(401)) < withSlack(1000),
      'an archived key is refused on every instance within a second',
    );

    // Another tenant, made by the command while both serve.
    const made = await createOrganisation(
      { chain: createChain({ documents }), hasher, now: Date.now },
      { handle: 'late', name: 'Late', ownerEmail: 'o@late.test', ownerFirstName: '', ownerLastName: '' },
    );
    const start = performance.now();
    const names = async (): Promise<readonly unknown[]> =>
      Promise.all(
        [one, two].map(async ({ origin }) => {
          const headers = { 'x-gateway-api-key': made.adminKey };
          const answer = await fetch(`${origin}/v1/admin/organisation`, { headers });
          return ((await answer.json()) as { name?: string }).name;
        }),
      );
    while ((await names()).join() !== 'Late,Late' && performance.now() - start < 30_000);
    t.true(
      performance.now() - start < withSlack(1000),
      'its admin key is known on every instance within a second',
    );
  });

  test.serial('readiness tells when MongoDB stands still, calls go on, and it comes back', async (t) => {
    const own = await startOwnMongo();
    t.truthy(own, 'a MongoDB of its own can be started wherever the run has one');
    if (!own) return;
    const provider = await startFakeProvider();
    const gateway = await startGateway({ ...env, MONGODB_URI: databaseUri(own.uri) });
    t.teardown(async () => {
      own.resume();
      await gateway.close();
      await provider.close();
      await own.stop();
    });
    const ready = async (): Promise<number> => (await fetch(`${gateway.origin}/readyz`)).status;
    t.is(await ready(), 200);
    own.pause();
    t.is(await ready(), 503);
    const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': WORKSPACE_KEY,
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': `${provider.origin}/v1`,
        authorization: 'Bearer sk',
      },
      body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] }),
    });
    t.is(answer.status, 200, 'keys are known in memory, and entries wait');
    own.resume();
    const start = performance.now();
    while ((await ready()) !== 200 && performance.now() - start < 10_000);
    t.is(await ready(), 200);
    await gateway.app.requestLog.flush();
    t.is(gateway.app.requestLog.stats().stored, 1, 'the entry that waited is stored');
  });
}

test('a MongoDB that cannot be reached stops the start, and its password is nowhere', async (t) => {
  const settings = readSettings({
    MONGODB_URI: 'mongodb://user:very-secret@127.0.0.1:1/x',
    GATEWAY_ENCRYPTION_KEY: encryptionKey,
    GATEWAY_DATA_DIR: '/nowhere',
  });
  const error = await t.throwsAsync(startApp(settings, pino({ level: 'silent' })));
  t.regex(error.message, /MONGODB_URI/);
  t.false(`${error.message} ${error.stack}`.includes('very-secret'));
});
