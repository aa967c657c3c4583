// Several instances on one MongoDB and one Redis: what is saved over one of them counts on the others within a second.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { mongoServer, redisServer, reportMissing } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';

const mongo = await mongoServer();
const redis = await redisServer();
const CONFIGS = 16;
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

/** What a config says on an instance: its time; undefined when the instance has no such config. */
async function timeOn(gateway: TestGateway, config: string): Promise<number | undefined> {
  const { status, json } = await call(gateway, WORKSPACE_KEY, 'POST', '/configs/explain', { config });
  return status === 200 ? Number((json.plan as Json).request_timeout) : undefined;
}

const config = (request_timeout: number) => ({ provider: 'openai', api_key: 'sk-x', request_timeout });

if (!mongo || !redis) reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
else
  test('configs that are saved, changed and archived count on every instance within a second', async (t) => {
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
        const said = await timeOn(two, slug);
        const ms = performance.now() - since;
        if (said === wanted || ms > GIVE_UP_MS) return void waits.push(ms);
        t.true((said ?? before) >= before, 'never backwards');
        before = said ?? before;
      }
    };
    const life = async (name: string): Promise<void> => {
      const { json } = await call(one, ADMIN_KEY, 'POST', '/configs', { name, config: config(1) });
      const slug = String(json.slug);
      await until(slug, 1);
      for (let time = 2; time < 2 + CHANGES; time++) {
        const { status } = await call(one, ADMIN_KEY, 'PUT', `/configs/${slug}`, { config: config(time) });
        t.is(status, 200);
        await until(slug, time);
      }
      await call(one, ADMIN_KEY, 'DELETE', `/configs/${slug}`);
      await until(slug, undefined);
    };
    // Four at a time.
    const names = Array.from({ length: CONFIGS }, (_, i) => `c${i}`).values();
    const lane = async (): Promise<void> => {
      for (const name of names) await life(name);
    };
    await Promise.all([lane(), lane(), lane(), lane()]);
    const { json: words } = await call(one, ADMIN_KEY, 'POST', '/guardrails', {
      name: 'words',
      actions: { deny: true },
      workspace_id: 'default',
      checks: [{ id: 'default.contains', parameters: { words: ['x'], operator: 'none' } }],
    });
    for (const name of ['first', 'second']) {
      const guarded = { ...config(9), input_guardrails: [words.slug] };
      const body = { name, is_default: 1, config: guarded };
      const { status, json } = await call(one, ADMIN_KEY, 'POST', '/configs', body);
      t.is(status, 200, JSON.stringify(json));
      await until(String(json.slug), 9);
    }
    const { json: list } = await call(two, ADMIN_KEY, 'GET', '/configs');
    const defaults = (list.data as Json[]).map(({ name, is_default }) => [name, is_default]);
    t.deepEqual(defaults, [
      ['second', 1],
      ['first', 0],
    ]);
    waits.sort((a, b) => a - b);
    const p99 = waits[Math.ceil(waits.length * 0.99) - 1]!;
    t.log(
      `${waits.length} changes: p50 ${waits[waits.length >> 1]!.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
    );
    t.true(p99 < withSlack(1000), `${p99} ms`);
  });
