// Several processes on one MongoDB and one Redis: what is changed of a stored provider over one of them counts for
// calls over all within a second.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { type Child, startChild } from '../edge/child.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { mongoServer, redisServer, reportMissing } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';

const mongo = await mongoServer();
const redis = await redisServer();
const INSTANCES = 3;
const PROVIDERS = 12;
const AT_ONCE = 4;
/** A change that is not everywhere by then is a failure of its own. */
const GIVE_UP_MS = 30_000;

type Json = Record<string, unknown>;

async function admin({ origin }: Child, verb: string, path: string, body: Json): Promise<void> {
  const response = await fetch(`${origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

/** The status of a call by a stored provider. */
async function statusOf({ origin }: Child, slug: string): Promise<number> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': `@${slug}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Milliseconds from `since` until the instance answers so. */
async function until(child: Child, slug: string, status: number, since: number): Promise<number> {
  for (;;) {
    const got = await statusOf(child, slug);
    const ms = performance.now() - since;
    if (got === status) return ms;
    if (ms > GIVE_UP_MS) return Number.POSITIVE_INFINITY;
  }
}

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  test(`what happens to a stored provider counts on ${INSTANCES} processes within a second`, async (t) => {
    const provider = await startFakeProvider();
    t.teardown(() => provider.close());
    const uri = new URL(mongo.uri);
    uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const env = {
      MONGODB_URI: uri.href,
      REDIS_URL: redis.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_API_KEY: WORKSPACE_KEY,
      GATEWAY_EGRESS_ALLOW: '127.0.0.1/32',
    };
    const first = await startChild(t, env);
    const others = await Promise.all(Array.from({ length: INSTANCES - 1 }, () => startChild(t, env)));
    const children = [first, ...others];
    const times: number[] = [];
    const everywhere = async (slug: string, status: number): Promise<void> => {
      const since = performance.now();
      times.push(...(await Promise.all(children.map((child) => until(child, slug, status, since)))));
    };
    const live = async (i: number): Promise<void> => {
      const writer = children[i % INSTANCES]!;
      const slug = `p-${i}`;
      await admin(writer, 'POST', '/integrations', {
        name: slug,
        slug,
        ai_provider_id: 'openai',
        key: 'some-credential-0123',
        configurations: { custom_host: `${provider.origin}/v1` },
      });
      const share = (enabled: boolean) =>
        admin(writer, 'PUT', `/integrations/${slug}/workspaces`, {
          workspaces: [{ id: 'default', enabled }],
        });
      await share(true);
      await everywhere(slug, 200);
      await share(false);
      await everywhere(slug, 403);
      await share(true);
      await everywhere(slug, 200);
      await admin(writer, 'DELETE', `/providers/${slug}?workspace_id=default`, {});
      await everywhere(slug, 400);
    };
    for (let i = 0; i < PROVIDERS; i += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, k) => live(i + k)));
    times.sort((a, b) => a - b);
    const at = (share: number): number => times[Math.ceil(times.length * share) - 1]!;
    t.log(
      `${times.length} arrivals: median ${at(0.5).toFixed(0)} ms, p99 ${at(0.99).toFixed(0)} ms, last ${at(1).toFixed(0)} ms`,
    );
    t.true(at(0.99) < withSlack(1000), `p99 ${at(0.99)} ms`);
    t.true(at(1) < GIVE_UP_MS, 'every change arrived');
  });
}
