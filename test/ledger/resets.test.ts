// Budgets at the turn of their period, through the front door, with the gateway's clock in the test's hands: usage
// starts again from zero, what was exhausted goes on, and both dates move on, on the embedded stores and on servers.
import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway } from '../support/gateway.ts';
import { type Json, limitsClient, until } from '../support/limits-client.ts';
import { mongoServer, redisServer, reportMissing } from '../support/servers.ts';

const DAY = 86_400_000;
const systemNow = Date.now;
let offset = 0;
// The gateway takes Date.now at its start; this file has a process of its own.
Date.now = () => systemNow() + offset;

const limitOf = (record: Json): Json => (record.usage_limits as Json) ?? {};
const mondayAfter = (ms: number): number => {
  const day = Math.floor(ms / DAY) * DAY;
  return day + ((8 - new Date(day).getUTCDay()) % 7 || 7) * DAY;
};
const firstAfter = (ms: number): number => {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
};
const daysAfter = (ms: number, days: number): number => Math.floor(ms / DAY) * DAY + days * DAY;

async function turn(t: ExecutionContext, env: Readonly<Record<string, string>>): Promise<void> {
  offset = 0;
  const provider = await startFakeProvider();
  const gateway = await startGateway(env);
  t.teardown(async () => {
    await gateway.close();
    await provider.close();
  });
  const client = limitsClient(gateway, provider);
  const answerWith = (tokens: number): void =>
    provider.next('/chat/completions', (_, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(
        JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          created: 1,
          model: 'gpt-4o',
          choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: tokens - 1, completion_tokens: 1, total_tokens: tokens },
        }),
      );
    });
  const cases = [
    [{ periodic_reset: 'weekly' }, mondayAfter],
    [{ periodic_reset: 'monthly' }, firstAfter],
    [{ periodic_reset_days: 3 }, (ms: number) => daysAfter(ms, 3)],
  ] as const;
  for (const [reset, nextAfter] of cases) {
    const name = JSON.stringify(reset);
    const tokens = { type: 'tokens', credit_limit: 100, alert_threshold: 50, ...reset };
    const { id, key } = await client.key({ usage_limits: tokens });
    const read = () => client.admin('GET', `/api-keys/${id}`);
    const first = nextAfter(Date.now());
    const made = await read();
    t.like(limitOf(made), { status: 'active', next_usage_reset_at: new Date(first).toISOString() }, name);
    t.is(made.last_reset_at, null, name);
    answerWith(150);
    t.is((await client.chat({}, {}, key)).status, 200, name);
    const spent = await client.keyUntil(id, (own) => limitOf(own).is_exhausted_alerts_sent === true);
    t.like(spent, { status: 'exhausted', last_reset_at: null }, name);
    t.is((await client.chat({}, {}, key)).status, 412, name);

    // A moment before the turn nothing has changed; at the turn everything has.
    offset = first - systemNow() - 2000;
    t.is((await client.chat({}, {}, key)).status, 412, name);
    offset = first - systemNow() + 1;
    const turned = await read();
    t.like(turned, { status: 'active', last_reset_at: new Date(first).toISOString() }, name);
    t.like(limitOf(turned), {
      current_usage: 0,
      free_usage: 100,
      status: 'active',
      is_threshold_alerts_sent: false,
      is_exhausted_alerts_sent: false,
      next_usage_reset_at: new Date(nextAfter(first)).toISOString(),
    });
    t.is((await client.chat({}, {}, key)).status, 200, name);
    await client.keyUntil(id, (own) => limitOf(own).current_usage === 18);
    // Over a whole period without a call as well.
    const second = nextAfter(nextAfter(first));
    offset = second - systemNow() + 1;
    const later = await until(read, (own) => limitOf(own).current_usage === 0);
    t.like(later, { last_reset_at: new Date(second).toISOString() }, name);
    t.like(limitOf(later), {
      current_usage: 0,
      next_usage_reset_at: new Date(nextAfter(second)).toISOString(),
    });
    offset = 0;
  }

  const { id: policy } = await client.admin('POST', '/policies/usage-limits', {
    name: 'turns',
    type: 'requests',
    credit_limit: 1,
    periodic_reset: 'monthly',
    conditions: [{ key: 'metadata.team', value: 'turns' }],
    group_by: [{ key: 'metadata._user' }],
  });
  const headers = { 'x-gateway-metadata': JSON.stringify({ team: 'turns', _user: 'a' }) };
  const call = async () => (await client.chat(headers)).status;
  await until(call, (status) => status === 412);
  const usage = async () => {
    const record = await client.admin('GET', `/policies/usage-limits/${policy}?include_usage=true`);
    return { record, own: (record.value_key_usage_map as Record<string, Json>)['metadata._user:a'] };
  };
  t.like((await usage()).own, { current_usage: 1, status: 'exhausted' });
  const next = firstAfter(Date.now());
  offset = next - systemNow() + 1;
  const { record, own } = await usage();
  t.like(own, { current_usage: 0, status: 'active', is_exhausted_alerts_sent: false });
  t.like(record, {
    last_reset_at: new Date(next).toISOString(),
    next_usage_reset_at: new Date(firstAfter(next)).toISOString(),
  });
  t.is(await call(), 200);
}

test.serial('on the embedded stores', (t) => turn(t, {}));

const mongo = await mongoServer();
const redis = await redisServer();
if (!mongo || !redis) reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
else
  test.serial('on MongoDB and Redis', (t) => {
    const url = new URL(mongo.uri);
    url.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    return turn(t, {
      MONGODB_URI: url.href,
      REDIS_URL: redis.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
  });
