// Two instances on one MongoDB and one Redis: what is published over one of them runs on the other within a second.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { mongoServer, redisServer, reportMissing } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';

const mongo = await mongoServer();
const redis = await redisServer();
const PROMPTS = 8;
const CHANGES = 5;
const GIVE_UP_MS = 30_000;

type Json = Record<string, unknown>;

async function call(
  { origin }: TestGateway,
  key: string,
  verb: string,
  path: string,
  body?: Json,
): Promise<{ status: number; json: Json }> {
  const response = await fetch(`${origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, json: (await response.json()) as Json };
}

/** The number that a prompt says on an instance; undefined when the instance has no such prompt. */
async function saidOn(gateway: TestGateway, slug: string): Promise<number | undefined> {
  const { status, json } = await call(gateway, WORKSPACE_KEY, 'POST', `/prompts/${slug}/render`, {
    variables: {},
  });
  return status === 200 ? Number((json.data as Json).prompt) : undefined;
}

if (!mongo || !redis) reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
else
  test('prompts and partials that are published and archived count on every instance within a second', async (t) => {
    const uri = new URL(mongo.uri);
    uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const env = {
      MONGODB_URI: uri.href,
      REDIS_URL: redis.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
    const one = await startGateway(env);
    const two = await startGateway(env);
    t.teardown(async () => {
      await Promise.all([one.close(), two.close()]);
    });
    const waits: number[] = [];
    /** Waits until the other instance says so; what it says on the way never goes back. */
    const until = async (slug: string, wanted: number | undefined): Promise<void> => {
      const since = performance.now();
      let before = 0;
      for (;;) {
        const said = await saidOn(two, slug);
        const ms = performance.now() - since;
        if (said === wanted || ms > GIVE_UP_MS) return void waits.push(ms);
        t.true((said ?? before) >= before, 'never backwards');
        before = said ?? before;
      }
    };
    const admin = async (verb: string, path: string, body?: Json): Promise<Json> => {
      const { status, json } = await call(one, ADMIN_KEY, verb, path, body);
      t.is(status, 200, JSON.stringify(json));
      return json;
    };
    const life = async (name: string): Promise<void> => {
      const part = await admin('POST', '/prompts/partials', { name, string: '1' });
      const partial = String(part.slug);
      const made = await admin('POST', '/prompts', { name, string: `{{>${partial}}}`, model: 'm' });
      const slug = String(made.slug);
      await until(slug, 1);
      for (let n = 2; n < 2 + CHANGES; n++) {
        // By turns in the prompt and in the partial that it uses.
        const own = n % 2 === 0;
        if (own) await admin('PUT', `/prompts/${slug}`, { string: `${n}`, patch: true });
        else {
          await admin('PUT', `/prompts/partials/${partial}`, { string: `${n}` });
          await admin('PUT', `/prompts/partials/${partial}/makeDefault`, { version: (n + 1) / 2 });
          await admin('PUT', `/prompts/${slug}`, { string: `{{>${partial}}}`, patch: true });
        }
        await admin('PUT', `/prompts/${slug}/makeDefault`, { version: n });
        await until(slug, n);
      }
      await admin('DELETE', `/prompts/${slug}`);
      await until(slug, undefined);
    };
    const names = Array.from({ length: PROMPTS }, (_, i) => `p${i}`).values();
    const lane = async (): Promise<void> => {
      for (const name of names) await life(name);
    };
    await Promise.all([lane(), lane(), lane(), lane()]);
    waits.sort((a, b) => a - b);
    const p99 = waits[Math.ceil(waits.length * 0.99) - 1]!;
    t.log(
      `${waits.length} changes: p50 ${waits[waits.length >> 1]!.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
    );
    t.true(p99 < withSlack(1000), `${p99} ms`);
  });
