// Several processes on one port: calls go to all, one that dies is replaced, and all end together.
import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import http from 'node:http';
import test from 'ava';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { mongoServer, redisServer, reportMissing } from '../support/servers.ts';
import { type Child, launch, startChild, tempDir, until } from './child.ts';

const mongo = await mongoServer();
const redis = await redisServer();

test('more than one process needs stores that all of them reach', async (t) => {
  const child = launch(t, { GATEWAY_WORKERS: '2', GATEWAY_DATA_DIR: tempDir(t) });
  t.is(await child.exited, 1);
  t.regex(child.output(), /GATEWAY_WORKERS: .*MONGODB_URI/);
});

/** The processes that serve. */
function workersOf({ process: { pid } }: Child): number[] {
  const out = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return out.split('\n').map(Number).filter(Boolean);
}

interface Listed {
  readonly is_current: boolean;
  readonly version: string;
  readonly workers: readonly { readonly pid: number; readonly log_lag_ms: number }[];
}

/** Instances as the gateway lists them. */
async function instancesOf({ origin }: Child): Promise<readonly Listed[]> {
  const answer = await fetch(`${origin}/v1/status`, { headers: { 'x-gateway-api-key': ADMIN_KEY } });
  return ((await answer.json()) as { readonly instances: readonly Listed[] }).instances;
}

const pidsOf = ({ workers }: Listed): number[] => workers.map(({ pid }) => pid).toSorted((a, b) => a - b);

const isSame = (some: readonly number[], others: readonly number[]): boolean =>
  some.join() === others.toSorted((a, b) => a - b).join();

/** Calls over a connection of its own each; their statuses. */
async function calls(child: Child, provider: string, count: number): Promise<number[]> {
  const one = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const request = http.request(
        `${child.origin}/v1/chat/completions`,
        {
          method: 'POST',
          agent: false,
          headers: {
            'x-gateway-api-key': WORKSPACE_KEY,
            'x-gateway-provider': 'openai',
            'x-gateway-custom-host': `${provider}/v1`,
            authorization: 'Bearer sk-x',
            'content-type': 'application/json',
          },
        },
        (answer) => answer.resume().on('end', () => resolve(answer.statusCode ?? 0)),
      );
      request.on('error', reject);
      request.end(JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'x' }] }));
    });
  return Promise.all(Array.from({ length: count }, one));
}

async function counted(child: Child): Promise<number> {
  const text = await (await fetch(`${child.origin}/metrics`)).text();
  const line = text
    .split('\n')
    .find((each) => /^sluice_call_duration_seconds_count\{.*CreateChatCompletion.*status="200"/.test(each));
  return Number(line?.slice(line.lastIndexOf(' ') + 1) ?? 0);
}

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  test('two processes on one port', async (t) => {
    t.timeout(240_000);
    const provider = await startFakeProvider();
    t.teardown(() => provider.close());
    const uri = new URL(mongo.uri);
    uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const env = {
      MONGODB_URI: uri.href,
      REDIS_URL: redis.url,
      GATEWAY_WORKERS: '2',
      GATEWAY_DATA_DIR: tempDir(t),
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_API_KEY: WORKSPACE_KEY,
    };
    const child = await startChild(t, env);
    t.regex(child.output(), /2 processes/);
    t.is(child.output().split('listens on').length, 2, 'it is said once');
    const before = workersOf(child);
    t.is(before.length, 2);
    t.deepEqual(new Set(await calls(child, provider.origin, 30)), new Set([200]));
    t.is(await counted(child), 30, 'metrics are of both');

    const [alone, ...others] = await instancesOf(child);
    t.deepEqual(others, []);
    t.deepEqual(
      alone && pidsOf(alone),
      before.toSorted((a, b) => a - b),
    );
    const second = await startChild(t, {
      ...env,
      GATEWAY_WORKERS: '1',
      GATEWAY_DATA_DIR: tempDir(t),
    });
    const both = await instancesOf(child);
    t.deepEqual(
      both.map((one) => [one.is_current, one.workers.length]),
      [
        [true, 2],
        [false, 1],
      ],
    );
    t.deepEqual(both[1] && pidsOf(both[1]), [second.process.pid]);
    second.process.kill('SIGKILL');
    await until(async () => (await instancesOf(child)).length === 1);

    process.kill(before[0]!, 'SIGKILL');
    await until(() => workersOf(child).some((pid) => !before.includes(pid)));
    t.deepEqual(new Set(await calls(child, provider.origin, 10)), new Set([200]));

    const serving = workersOf(child);
    await until(async () => {
      const [instance] = await instancesOf(child);
      return instance !== undefined && isSame(pidsOf(instance), serving);
    });
    child.process.kill('SIGTERM');
    t.is(await child.exited, 0, child.output());
    for (const pid of serving) t.throws(() => process.kill(pid, 0), undefined, `${pid} has ended`);
  });

  test('keys that were made are shown once for all processes, at each start until they were used', async (t) => {
    t.timeout(240_000);
    const uri = new URL(mongo.uri);
    uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const env = {
      MONGODB_URI: uri.href,
      REDIS_URL: redis.url,
      GATEWAY_WORKERS: '2',
      GATEWAY_DATA_DIR: tempDir(t),
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
    const keysOf = (child: Child): string[] =>
      [...child.output().matchAll(/API key, shown until it is used once: +(slk_\S+)/g)].map(
        ([, key]) => key ?? '',
      );
    const first = await startChild(t, env);
    await until(() => keysOf(first).length === 2);
    const [admin = '', workspace = ''] = keysOf(first);
    const status = async (child: Child, key: string): Promise<number> =>
      (await fetch(`${child.origin}/v1/logs`, { headers: { 'x-gateway-api-key': key } })).status;
    first.process.kill('SIGTERM');
    t.is(await first.exited, 0);
    const again = await startChild(t, env);
    await until(() => keysOf(again).length === 2);
    t.deepEqual(keysOf(again), [admin, workspace]);
    t.is(await status(again, admin), 200);
    again.process.kill('SIGTERM');
    t.is(await again.exited, 0);
    const third = await startChild(t, env);
    await until(() => keysOf(third).length > 0);
    t.is(await status(third, admin), 200);
    t.deepEqual(keysOf(third), [workspace]);
  });
}
