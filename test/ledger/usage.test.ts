// What budgets stand at, in the records of what carries them, and how they start again.
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type Json, type LimitsClient, limitsClient, until } from '../support/limits-client.ts';

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

/** 8 tokens at 2.5, 3 cached at 1.25 and 7 out at 10 millionths of a dollar. */
const CALL = 0.00009375;

/** The next call's answer tells so many tokens. */
function answerWith(tokens: number): void {
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
}

const limitOf = (record: Json): Json => record.usage_limits as Json;

test.serial('a key tells what it used, exhausts, goes on when it is raised, and is reset', async (t) => {
  const tokens = { type: 'tokens', credit_limit: 100, alert_threshold: 30 };
  const { id, key } = await client.key({ usage_limits: tokens });
  const used = (wanted: number) => client.keyUntil(id, (record) => limitOf(record).current_usage === wanted);
  t.like(limitOf(await used(0)), { current_usage: 0, free_usage: 100, status: 'active' });
  t.is((await client.chat({}, {}, key)).status, 200);
  t.like(limitOf(await used(18)), { current_usage: 18, is_threshold_alerts_sent: false });
  answerWith(150);
  t.is((await client.chat({}, {}, key)).status, 200);
  await used(168);
  // Both are told behind the call, each by itself.
  const told = ['is_threshold_alerts_sent', 'is_exhausted_alerts_sent'];
  const spent = await client.keyUntil(id, (record) => told.every((flag) => limitOf(record)[flag] === true));
  t.is(spent.status, 'exhausted');
  t.is(spent.last_reset_at, null);
  t.like(limitOf(spent), { free_usage: 0, is_threshold_alerts_sent: true, is_exhausted_alerts_sent: true });
  t.is((await client.chat({}, {}, key)).status, 412);
  const [listed] = ((await client.admin('GET', '/api-keys?page_size=1')) as { data: Json[] }).data;
  t.like(listed, { id, status: 'exhausted' });

  // What was answered may be sent back: what it stands at is left out of account.
  await client.admin('PUT', `/api-keys/${id}`, {
    usage_limits: { ...limitOf(spent), credit_limit: 1000, alert_threshold: 500 },
  });
  const raised = await used(168);
  t.is(raised.status, 'active');
  t.like(limitOf(raised), { is_threshold_alerts_sent: false, is_exhausted_alerts_sent: false });
  const again = () => client.chat({}, {}, key);
  t.is((await until(again, ({ status }) => status === 200)).status, 200);
  await used(186);

  await client.admin('PUT', `/api-keys/${id}`, { reset_usage: true });
  const reset = await used(0);
  t.truthy(reset.last_reset_at);
  t.is(limitOf(reset).free_usage, 1000);
  t.is((await again()).status, 200);
  await used(18);
  const now = new Date(Date.now() + 60_000).toISOString();
  const { records } = (await client.admin(
    'GET',
    `/audit-logs?start_time=2020-01-01T00:00:00Z&end_time=${now}&method=PUT`,
  )) as { records: Json[] };
  t.true(
    records.some((record) => JSON.stringify(record).includes('last_reset_at')),
    'the reset is audited',
  );
});

test.serial('money is told in dollars, and what is held while a call runs', async (t) => {
  const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 1 } });
  const running = client.chat({}, { model: 'gpt-4o', max_tokens: 1000 }, key);
  await running;
  const record = await client.keyUntil(id, (own) => limitOf(own).current_usage === CALL);
  t.like(limitOf(record), { current_usage: CALL, held_usage: 0, free_usage: 1 - CALL });
  const slow = client.chat({}, { model: 'slow-400', max_tokens: 1000 }, key);
  const held = await client.keyUntil(id, (own) => Number(limitOf(own).held_usage) > 0);
  t.true(Number(limitOf(held).held_usage) > 0);
  await slow;
  t.is(limitOf(await client.keyUntil(id, (own) => limitOf(own).held_usage === 0)).held_usage, 0);
});

test.serial('a workspace tells what it used', async (t) => {
  const { id } = await client.admin('POST', '/admin/workspaces', {
    name: 'Budgeted',
    slug: 'budgeted',
    usage_limits: [{ type: 'tokens', credit_limit: 1000 }],
  });
  const { key } = await client.admin('POST', '/api-keys/workspace/service', {
    name: 'k',
    workspace_id: 'budgeted',
    scopes: ['completions.write'],
  });
  t.is((await client.chat({}, {}, String(key))).status, 200);
  const read = () => client.admin('GET', `/admin/workspaces/${id}`);
  const usageOf = (record: Json) => (record.usage_limits as Json[])[0]?.current_usage;
  t.is(usageOf(await until(read, (record) => usageOf(record) === 18)), 18);
});

test.serial(
  'a policy tells what each of its groups used, and they are found, reset and exhausted apart',
  async (t) => {
    const { id } = await client.admin('POST', '/policies/usage-limits', {
      name: 'per user',
      type: 'tokens',
      credit_limit: 100,
      alert_threshold: 20,
      conditions: [{ key: 'metadata.team', value: 'usage' }],
      group_by: [{ key: 'metadata._user' }, { key: 'metadata.team' }],
    });
    const path = `/policies/usage-limits/${id}`;
    const headersOf = (user: string) => ({
      'x-gateway-metadata': JSON.stringify({ team: 'usage', _user: user }),
    });
    t.is((await client.chat(headersOf('alice'))).status, 200);
    answerWith(150);
    t.is((await client.chat(headersOf('bob'))).status, 200);
    const entities = async (query = '') =>
      (await client.admin('GET', `${path}/entities${query}`)) as { data: Json[] };
    const settled = ({ data }: { data: Json[] }) =>
      data.length === 2 && data.every(({ current_usage: usage }) => Number(usage) > 0);
    const all = await until(() => entities(), settled);
    t.deepEqual(
      all.data.map((entity) => [entity.value_key, entity.current_usage, entity.status]).toSorted(),
      [
        ['metadata._user:alice,metadata.team:usage', 18, 'active'],
        ['metadata._user:bob,metadata.team:usage', 150, 'exhausted'],
      ],
    );
    t.is((await client.chat(headersOf('bob'))).status, 412);
    const bobs = await entities('?status=exhausted');
    t.like(bobs, { total: 1 });
    t.regex(String(bobs.data[0]?.value_key), /bob/);
    t.like(await entities('?search=alice'), { total: 1 });
    t.like(await entities('?search=%25'), { total: 0 });
    t.is((await entities('?page_size=1&current_page=1')).data.length, 1);
    t.is((await client.admin('GET', path)).value_key_usage_map, undefined);
    const readMap = async () =>
      (await client.admin('GET', `${path}?include_usage=true`)).value_key_usage_map as Record<string, Json>;
    const map = await until(readMap, (own) =>
      Object.values(own).some(({ is_exhausted_alerts_sent: sent }) => sent === true),
    );
    t.deepEqual(map['metadata._user:alice,metadata.team:usage'], {
      current_usage: 18,
      status: 'active',
      is_threshold_alerts_sent: false,
      is_exhausted_alerts_sent: false,
    });
    t.like(map['metadata._user:bob,metadata.team:usage'], {
      status: 'exhausted',
      is_exhausted_alerts_sent: true,
    });

    await client.admin('PUT', `${path}/entities/${bobs.data[0]?.id}/reset`);
    const [bob] = (await entities('?search=bob')).data;
    t.like(bob, { current_usage: 0, status: 'active' });
    t.truthy(bob?.last_reset_at);
    t.is((await client.chat(headersOf('bob'))).status, 200);
    await client.admin('PUT', path, { reset_usage_for_value: 'metadata._user:alice,metadata.team:usage' });
    t.is((await entities('?search=alice')).data[0]?.current_usage, 0);
    for (const [verb, wrong, body] of [
      ['PUT', path, { reset_usage_for_value: 'metadata._user:carol' }],
      ['PUT', `${path}/entities/${id}/reset`, undefined],
      ['GET', `${path}/entities?status=archived`, undefined],
    ] as const) {
      const error = await t.throwsAsync(client.admin(verb, wrong, body));
      t.regex(error?.message ?? '', /AB0[18]/);
    }
  },
);
