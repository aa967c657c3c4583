// "Everything on": limits, budgets, the ledger and Redis, beside the gateway as it comes.
import { Redis } from 'ioredis';
import { startOwnRedis } from '../support/servers.ts';
import { chatShot } from './cases.ts';
import type { Lab, Target } from './lab.ts';
import type { Options } from './options.ts';
import type { CaseReport } from './report.ts';
import { type Measured, measure, ratioOf } from './rounds.ts';
import { ADMIN_KEY } from './sluice.ts';

const CONNECTIONS = 32;
/** More than is ever used. */
const CREDIT = 1_000_000_000;

export async function everythingOn(lab: Lab, options: Options): Promise<CaseReport> {
  const title = `Chat, prompt of 0.5 KB, ${CONNECTIONS} connections: limits, budgets, ledger and Redis beside the bare gateway`;
  const redis = await startOwnRedis();
  if (redis === undefined)
    return { name: 'everything-on', title: `${title} (no redis-server here)`, verdicts: [], faults: [] };
  try {
    // The tests' Redis waits for the disk with every write; the scaling guide asks for less.
    const client = new Redis(redis.url);
    await client.config('SET', 'appendfsync', 'everysec');
    client.disconnect();
    const bare = lab.targets('chat').find(({ name }) => name === 'sluice') as Target;
    const other = await lab.anotherSluice({ REDIS_URL: redis.url });
    const key = await limitedKey(other.origin);
    const full: Target = {
      name: 'everything on',
      origin: other.origin,
      pid: other.child.pid,
      headers: { ...bare.headers, 'x-gateway-api-key': key },
    };
    const measured = await measure(lab, options, [bare, full], {
      connections: CONNECTIONS,
      shot: (target) => chatShot(target, 500),
    });
    const row = (name: Target['name']): Measured | undefined =>
      measured.find(({ target }) => target === name);
    const ratio = ratioOf(row('everything on'), row('sluice'));
    await other.child.stop();
    return {
      name: 'everything-on',
      title,
      measured,
      figures: { 'everything on, of the bare rate': ratio ?? 0 },
      verdicts: [],
      faults: measured
        .filter(({ wrong }) => wrong > 0)
        .map(({ target, wrong }) => `${target}: ${wrong} wrong answers`),
    };
  } finally {
    await redis.stop();
  }
}

/** A key with a rate, a budget of money, and policies of three kinds over its calls. */
async function limitedKey(origin: string): Promise<string> {
  const conditions = [{ key: 'workspace_id', value: '*' }];
  const group = { conditions, group_by: [{ key: 'api_key' }] };
  await post(origin, '/policies/rate-limits', { ...group, type: 'requests', unit: 'rpm', value: CREDIT });
  await post(origin, '/policies/rate-limits', { ...group, type: 'tokens', unit: 'rpm', value: CREDIT });
  await post(origin, '/policies/usage-limits', { ...group, type: 'tokens', credit_limit: CREDIT });
  const { key } = await post(origin, '/api-keys/workspace/service', {
    name: 'bench',
    workspace_id: 'default',
    scopes: ['completions.write'],
    rate_limits: [{ type: 'requests', unit: 'rpm', value: CREDIT }],
    usage_limits: { type: 'cost', credit_limit: CREDIT },
  });
  return String(key);
}

async function post(origin: string, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${origin}/v1${path}`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}
