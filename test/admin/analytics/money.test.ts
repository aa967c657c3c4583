// Money that is counted in three places comes to the same: the entries, the analytics over them, the key's budget.
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts';
import { type Json, ok } from '../../support/front-door.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { chatHeaders, type LimitsClient, limitsClient } from '../../support/limits-client.ts';
import { listed } from './door.ts';

const CALLS = 500;
const LANES = 20;
/** US cents a token, down to the finest there is: 1e-10. */
const PRICES = [
  [0.0000000001, 0.0000000003],
  [0.0001234567, 0.0007654321],
  [0.0333333333, 0.0666666667],
  [1.2345678901, 9.8765432109],
  [0.00015, 0.0006],
] as const;

let gateway: TestGateway;
let provider: FakeProvider;
let client: LimitsClient;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway(), startFakeProvider()]);
  client = limitsClient(gateway, provider);
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

test(`${CALLS} calls at odd prices: entries, analytics and the key's usage are one sum`, async (t) => {
  t.timeout(240_000);
  const from = new Date(Date.now() - 60_000).toISOString();
  for (const [i, [request, response]] of PRICES.entries())
    await ok(gateway, 'POST', '/model-configs/pricing', {
      body: {
        provider: 'openai',
        model: `odd-${i}`,
        pay_as_you_go: { request_token: { price: request }, response_token: { price: response } },
      },
    });
  const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 1_000_000 } });
  const numbers = Array.from({ length: CALLS }, (_, i) => i).values();
  const lane = async (): Promise<void> => {
    for (const i of numbers) await call(key, i);
  };
  await Promise.all(Array.from({ length: LANES }, lane));

  const record = await client.keyUntil(id, ({ usage_limits: limit }) => (limit as Json).held_usage === 0);
  const entries = await listed(gateway, `&api_key_ids=${id}`);
  t.is(entries.length, CALLS);
  const sum = entries.reduce((all, { cost_exact }) => all + BigInt(cost_exact ?? '0'), 0n);
  t.true(sum > 10n ** 12n, 'more than a dollar');
  t.not(sum % 1000n, 0n, 'to the last digit');

  const query = new URLSearchParams({
    time_of_generation_min: from,
    time_of_generation_max: new Date(Date.now() + 60_000).toISOString(),
    api_key_ids: id,
  });
  const { summary, data_points } = await ok(gateway, 'GET', `/analytics/graphs/cost?${query}`);
  t.is((summary as Json).total_exact, String(sum));
  t.is((summary as Json).total, Number(`${sum}e-10`));
  t.is(exact(data_points, 'total_exact'), sum);
  for (const group of ['model', 'status_code', 'api_key', 'ai_service']) {
    const { data } = await ok(gateway, 'GET', `/analytics/groups/${group}?columns=cost&${query}`);
    t.is(exact(data, 'cost_exact'), sum, group);
  }
  const models = await ok(gateway, 'GET', `/analytics/groups/ai-models?${query}`);
  t.is(exact(models.data, 'cost_exact'), sum);
  const users = await ok(gateway, 'GET', `/analytics/groups/users?${query}`);
  const cents = (users.data as Json[]).map(({ cost }) => String(cost).split('.'));
  const all = cents.reduce((so, [whole = '0', part = '']) => so + BigInt(whole + part.padEnd(10, '0')), 0n);
  t.is(all, sum, 'US cents as text are exact');

  t.is((record.usage_limits as Json).current_usage, Number(`${sum}e-12`));
});

/** Whole, streamed and failed answers. */
async function call(key: string, i: number): Promise<void> {
  const model = i % 50 === 7 ? 'status-500' : `odd-${i % PRICES.length}`;
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      ...chatHeaders(provider, key),
      'x-gateway-metadata': JSON.stringify({ _user: `user-${i % 7}` }),
    },
    body: JSON.stringify({
      model,
      stream: i % 3 === 0,
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
    }),
  });
  await answer.text();
}

function exact(rows: unknown, member: string): bigint {
  return (rows as Json[]).reduce((sum, row) => sum + BigInt(String(row[member])), 0n);
}
