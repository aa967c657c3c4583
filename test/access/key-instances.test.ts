// Several processes on one MongoDB and one Redis: what is changed over one of them counts on all within a second.
import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { type Child, startChild } from '../edge/child.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { mongoServer, redisServer, reportMissing } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';

const mongo = await mongoServer();
const redis = await redisServer();
const INSTANCES = 3;
const KEYS = 60;
/** Changes at once: those of one instance share a commit. */
const AT_ONCE = 6;
/** A change that is not everywhere by then is a failure of its own. */
const GIVE_UP_MS = 30_000;

type Json = Record<string, unknown>;

async function call(
  { origin }: Child,
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

/** The status of a call that gets past access: without a provider it lists the models of stored ones. */
const PASSED = 200;
const statusOf = async (child: Child, key: string): Promise<number> =>
  (await call(child, key, 'GET', '/models')).status;

/** Milliseconds from `since` until the instance answers so. */
async function until(child: Child, key: string, status: number, since: number): Promise<number> {
  for (;;) {
    const got = await statusOf(child, key);
    const ms = performance.now() - since;
    if (got === status) return ms;
    if (ms > GIVE_UP_MS) return Number.POSITIVE_INFINITY;
  }
}

interface Key {
  readonly id: string;
  readonly key: string;
}

async function makeKeys(t: ExecutionContext, child: Child, count: number): Promise<Key[]> {
  const body = { name: 'n', workspace_id: 'default', scopes: ['models.list', 'logs.list'] };
  const made = await Promise.all(
    Array.from({ length: count }, () => call(child, ADMIN_KEY, 'POST', '/api-keys/workspace/service', body)),
  );
  for (const { status, json } of made) t.is(status, 200, JSON.stringify(json));
  return made.map(({ json }) => json as unknown as Key);
}

/** What may happen to a key: the call, and how all instances must answer the key (or the secret it got) then. */
interface Change {
  readonly verb: string;
  readonly path: string;
  readonly body?: Json;
  readonly status: number;
}

const CHANGES: readonly Change[] = [
  { verb: 'DELETE', path: '', status: 401 },
  { verb: 'PUT', path: '', body: { scopes: ['logs.list'] }, status: 403 },
  { verb: 'POST', path: '/rotate', body: {}, status: PASSED },
];

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  test(`what happens to a key counts on ${INSTANCES} processes within a second`, async (t) => {
    const uri = new URL(mongo.uri);
    uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const env = {
      MONGODB_URI: uri.href,
      REDIS_URL: redis.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_API_KEY: WORKSPACE_KEY,
    };
    const first = await startChild(t, env);
    const children = [
      first,
      ...(await Promise.all(Array.from({ length: INSTANCES - 1 }, () => startChild(t, env)))),
    ];
    const keys = await makeKeys(t, first, KEYS);
    await Promise.all(
      children.flatMap((child) => keys.map(({ key }) => until(child, key, PASSED, performance.now()))),
    ).then((times) => t.true(Math.max(...times) < GIVE_UP_MS, 'new keys are known everywhere'));

    const times: number[] = [];
    const asked: { readonly key: string; readonly status: number }[] = [];
    const change = async ({ id, key }: Key, i: number): Promise<void> => {
      const { verb, path, body, status } = CHANGES[i % CHANGES.length]!;
      const writer = children[Math.floor(i / CHANGES.length) % children.length]!;
      const changed = await call(writer, ADMIN_KEY, verb, `/api-keys/${id}${path}`, body);
      const since = performance.now();
      t.is(changed.status, 200, JSON.stringify(changed.json));
      const secret = String(changed.json.key ?? key);
      asked.push({ key: secret, status });
      times.push(...(await Promise.all(children.map((child) => until(child, secret, status, since)))));
    };
    for (let i = 0; i < KEYS; i += AT_ONCE)
      await Promise.all(keys.slice(i, i + AT_ONCE).map((key, k) => change(key, i + k)));
    times.sort((a, b) => a - b);
    const at = (share: number): number => times[Math.ceil(times.length * share) - 1]!;
    t.log(
      `${times.length} arrivals: median ${at(0.5).toFixed(0)} ms, p99 ${at(0.99).toFixed(0)} ms, last ${at(1).toFixed(0)} ms`,
    );
    t.true(at(0.99) < withSlack(1000), `p99 ${at(0.99)} ms`);
    t.true(at(1) < GIVE_UP_MS, 'every change arrived');

    // And so it stays: no late notice or write-back brings an older version back.
    const late = await Promise.all(
      children.flatMap((child) =>
        asked.map(async ({ key, status }) => (await statusOf(child, key)) === status),
      ),
    );
    t.true(late.every(Boolean));
  });
}
