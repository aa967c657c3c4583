// Settings that one instance takes count on the others, within a second.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { ADMIN_KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { mongoServer, redisServer, reportMissing } from '../../support/servers.ts';
import { withSlack } from '../../support/slack.ts';
import { claimsWith, sign, signingKey } from './issuer.ts';

const mongo = await mongoServer();
const redis = await redisServer();

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  test('set, changed and taken away on one instance, followed by the other', async (t) => {
    const uri = new URL(mongo.uri);
    uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const env = {
      MONGODB_URI: uri.href,
      REDIS_URL: redis.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
    const one = await startGateway(env);
    const two = await startGateway(env);
    t.teardown(() => Promise.all([one.close(), two.close()]));
    const key = await signingKey('ES256', 'first');
    const token = await sign(key, claimsWith({ organisation_id: one.app.tenancy.organisationId }));
    const set = async (method: string, settings?: unknown): Promise<void> => {
      const answer = await fetch(`${one.origin}/v1/admin/organisation/jwt`, {
        method,
        headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
        ...(settings ? { body: JSON.stringify(settings) } : {}),
      });
      t.is(answer.status, 200, await answer.text());
    };
    const status = async (gateway: TestGateway): Promise<number> =>
      (await fetch(`${gateway.origin}/v1/logs`, { headers: { 'x-gateway-api-key': token } })).status;
    const both = async (expected: number): Promise<void> => {
      t.is(await status(one), expected, 'where it was changed it counts at once');
      const begun = performance.now();
      while ((await status(two)) !== expected && performance.now() - begun < 30_000);
      const took = performance.now() - begun;
      t.true(took < withSlack(1000), `${expected}: ${Math.round(took)} ms`);
    };
    await both(403);
    await set('PUT', { jwks: { keys: [key.publicJwk] }, any_issuer_and_audience: true });
    await both(200);
    await set('PUT', { jwks: { keys: [key.publicJwk] }, audiences: ['somebody else'] });
    await both(401);
    await set('DELETE');
    await both(403);
    await set('PUT', { jwks: { keys: [key.publicJwk] }, any_issuer_and_audience: true });
    await both(200);
  });
}
