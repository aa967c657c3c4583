// As many policies as an organisation may have, all of them on one call: it is held under each, in one step.
import test from 'ava';
import { MOST_POLICIES } from '../../src/admin/policies/parts.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { type Json, type LimitsClient, limitsClient, until } from '../support/limits-client.ts';
import { redisServer, reportMissing } from '../support/servers.ts';

const AT_ONCE = 50;
const redis = await redisServer();
if (!redis) reportMissing(test, 'Redis');
let provider: FakeProvider;
test.before(async () => {
  provider = await startFakeProvider();
});
test.after.always(() => provider?.close());

/** Rates of requests and of tokens, calls in flight and budgets, in turn; the last ones let two calls through. */
function policyOf(i: number): readonly [path: string, body: Json] {
  const common = {
    name: `policy ${i}`,
    conditions: [{ key: 'metadata.all', value: 'of-them' }],
    group_by: [{ key: 'api_key' }],
  };
  if (i === MOST_POLICIES - 1)
    return ['/policies/rate-limits', { ...common, type: 'requests', unit: 'rph', value: 2 }];
  switch (i % 4) {
    case 0:
      return ['/policies/rate-limits', { ...common, type: 'requests', unit: 'rph', value: 1000 }];
    case 1:
      return ['/policies/rate-limits', { ...common, type: 'tokens', unit: 'rpd', value: 1_000_000 }];
    case 2:
      return ['/policies/rate-limits', { ...common, type: 'requests', unit: 'concurrent', value: 10 }];
    default:
      return ['/policies/usage-limits', { ...common, type: 'tokens', credit_limit: 1_000_000 }];
  }
}

async function makeAll(client: LimitsClient): Promise<string[]> {
  const budgets: string[] = [];
  for (let from = 0; from < MOST_POLICIES; from += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, MOST_POLICIES - from) }, async (_, i) => {
      const [path, body] = policyOf(from + i);
      const { id } = await client.admin('POST', path, body);
      if (path.endsWith('usage-limits')) budgets.push(String(id));
    });
    await Promise.all(some);
  }
  return budgets;
}

const headers = { 'x-gateway-metadata': JSON.stringify({ all: 'of-them' }) };

for (const [name, env] of [
  ['embedded', {}],
  ['redis', redis && { REDIS_URL: redis.url }],
] as const) {
  if (env === undefined) continue;
  test.serial(`${name}: nine hundred policies on one call`, async (t) => {
    t.timeout(120_000);
    const gateway: TestGateway = await startGateway(env);
    t.teardown(() => gateway.close());
    const client = limitsClient(gateway, provider);
    const budgets = await makeAll(client);
    const more = await fetch(`${gateway.origin}/v1${policyOf(0)[0]}`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(policyOf(0)[1]),
    });
    t.is(more.status, 400, 'one more than fits is refused where it is made');
    t.regex(await more.text(), /the organisation has 900 policies/);
    const started = performance.now();
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await client.chat(headers)).status);
    t.deepEqual(statuses, [200, 200, 429], 'the last of them counts as the first');
    t.log(`${Math.round((performance.now() - started) / 3)} ms a call`);
    for (const id of [budgets[0], budgets.at(-1)]) {
      const used = await until(
        async () => {
          const { data } = await client.admin('GET', `/policies/usage-limits/${id}/entities`);
          return (data as Json[])[0]?.current_usage;
        },
        (usage) => usage === 36,
      );
      t.is(used, 36);
    }
    t.is((await client.chat()).status, 200, 'others pass');
  });
}
