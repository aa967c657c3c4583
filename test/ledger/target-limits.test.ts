// Limits of stored providers, virtual keys and integrations through the front door: held for each attempt, settled on
// what it used, and a reason to move on like any failure of its target.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import {
  type Answered,
  type Json,
  type LimitsClient,
  limitsClient,
  until,
} from '../support/limits-client.ts';
import { withSlack } from '../support/slack.ts';

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

let count = 0;

/** A virtual key with limits; its calls go to a path of their own at the provider. */
async function virtualKey(limits: Json): Promise<string> {
  const slug = `vk-${++count}`;
  await client.admin('POST', '/virtual-keys', {
    name: slug,
    slug,
    provider: 'openai',
    key: 'sk-of-the-provider',
    workspace_id: 'default',
    custom_host: `${provider.origin}/${slug}/v1`,
    ...limits,
  });
  return slug;
}

const recordOf = (slug: string): Promise<Json> =>
  client.admin('GET', `/virtual-keys/${slug}?workspace_id=default`);

/** The record once what it says of its usage is so. */
const usageOf = (slug: string, wanted: number): Promise<Json> =>
  until(
    () => recordOf(slug),
    ({ usage_limits: limits }) => {
      const { current_usage: current, held_usage: held } = limits as Json;
      return current === wanted && held === 0;
    },
  );

/** What a stored provider's path was asked. */
const asked = (slug: string): number => provider.seen.filter(({ url }) => url.startsWith(`/${slug}/`)).length;

async function chat(headers: Record<string, string>, body: Json = {}): Promise<Answered> {
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': WORKSPACE_KEY, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 10,
      ...body,
    }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    json: text.startsWith('{') ? (JSON.parse(text) as Json) : { text },
  };
}

const by = (slug: string, body: Json = {}, headers: Record<string, string> = {}): Promise<Answered> =>
  chat({ 'x-gateway-provider': `@${slug}`, ...headers }, body);

const message = ({ json }: Answered): string => String((json.error as Json).message);

/** A call by a config. */
const configured = (config: Json, body: Json = {}, headers: Record<string, string> = {}): Promise<Answered> =>
  chat({ 'x-gateway-config': JSON.stringify(config), ...headers }, body);

function refusedByRate(t: ExecutionContext, answer: Answered, name: RegExp): void {
  t.is(answer.status, 429);
  t.true(Number(answer.headers.get('retry-after')) > 0);
  t.is((answer.json.error as Json).code, 'rate_limited');
  t.regex(message(answer), name);
}

test('a rate of a virtual key lets so many through, and names it', async (t) => {
  const slug = await virtualKey({ rate_limits: [{ type: 'requests', unit: 'rpm', value: 3 }] });
  const answers = await Promise.all(Array.from({ length: 12 }, () => by(slug)));
  const passed = answers.filter(({ status }) => status === 200);
  t.is(passed.length, 3);
  t.is(asked(slug), 3, 'the provider saw no more');
  t.deepEqual(passed.map((answer) => answer.headers.get('x-ratelimit-remaining-requests')).toSorted(), [
    '0',
    '1',
    '2',
  ]);
  t.is(passed[0]?.headers.get('x-ratelimit-limit-requests'), '3');
  refusedByRate(t, await by(slug), new RegExp(`the stored provider ${slug} of 3 requests per minute`));
  refusedByRate(t, await by(slug, { stream: true }), /per minute/);
  const other = await virtualKey({});
  t.is((await by(other)).status, 200, 'others are not limited');
});

test('a budget counts what attempts used, streams too, ends with 412 and starts again when it is reset', async (t) => {
  const slug = await virtualKey({ usage_limits: { type: 'tokens', credit_limit: 100 } });
  t.is((await by(slug)).status, 200);
  await usageOf(slug, 18);
  t.is((await by(slug, { stream: true })).status, 200);
  t.like((await usageOf(slug, 36)).usage_limits as Json, {
    current_usage: 36,
    held_usage: 0,
    free_usage: 64,
  });
  t.is((await recordOf(slug)).status, 'active');
  const spent = await until(
    async () => {
      const { status } = await by(slug);
      await usageOf(slug, asked(slug) * 18);
      return status;
    },
    (status) => status !== 200,
  );
  t.is(spent, 412);
  const refused = await by(slug);
  t.is((refused.json.error as Json).code, 'budget_exhausted');
  t.regex(message(refused), new RegExp(`the usage limit of the stored provider ${slug}`));
  await client.admin('PUT', `/virtual-keys/${slug}`, { workspace_id: 'default', reset_usage: true });
  const record = await recordOf(slug);
  t.is((record.usage_limits as Json).current_usage, 0);
  t.is(typeof record.last_reset_at, 'string');
  t.is(
    (
      await until(
        () => by(slug),
        ({ status }) => status === 200,
      )
    ).status,
    200,
  );
});

test('a budget that is used up says exhausted in every view, and of its integration', async (t) => {
  const slug = 'int-exhausted';
  await client.admin('POST', '/integrations', {
    name: slug,
    slug,
    ai_provider_id: 'openai',
    key: 'sk-x',
    configurations: { custom_host: `${provider.origin}/${slug}/v1` },
  });
  const access = { id: 'default', enabled: true, usage_limits: [{ type: 'tokens', credit_limit: 100 }] };
  await client.admin('PUT', `/integrations/${slug}/workspaces`, { workspaces: [access] });
  // It exceeds its estimate, and the budget with it.
  provider.next(`/${slug}/v1/chat/completions`, (_req, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'gpt-4o',
        choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 90, completion_tokens: 60, total_tokens: 150 },
      }),
    );
  });
  t.is((await by(slug)).status, 200);
  const own = async (): Promise<Json> => {
    const { workspaces } = await client.admin('GET', `/integrations/${slug}/workspaces`);
    return (workspaces as Json[])[0] as Json;
  };
  const record = await until(own, ({ status }) => status === 'exhausted');
  t.is(record.status, 'exhausted');
  t.like((record.usage_limits as Json[])[0] as Json, { current_usage: 150, status: 'exhausted' });
  const refused = await by(slug);
  t.is(refused.status, 412);
  t.regex(message(refused), new RegExp(`the integration ${slug} in this workspace`));
  // The same limit again does not bring back what was used; a reset does.
  await client.admin('PUT', `/integrations/${slug}/workspaces`, { workspaces: [access] });
  t.is((await by(slug)).status, 412);
  await client.admin('PUT', `/integrations/${slug}/workspaces`, {
    workspaces: [{ ...access, reset_usage: true }],
  });
  t.is(
    (
      await until(
        () => by(slug),
        ({ status }) => status === 200,
      )
    ).status,
    200,
  );
});

test('a virtual key whose budget is used up is shown as exhausted, in lists too', async (t) => {
  const slug = await virtualKey({ usage_limits: { type: 'tokens', credit_limit: 100 } });
  provider.next(`/${slug}/v1/chat/completions`, (_req, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(
      JSON.stringify({ choices: [], usage: { prompt_tokens: 90, completion_tokens: 60, total_tokens: 150 } }),
    );
  });
  t.is((await by(slug)).status, 200);
  t.is(
    (
      await until(
        () => recordOf(slug),
        ({ status }) => status === 'exhausted',
      )
    ).status,
    'exhausted',
  );
  for (const path of ['/virtual-keys', '/providers']) {
    const { data } = await client.admin('GET', `${path}?workspace_id=default&page_size=1000`);
    t.is((data as Json[]).find((one) => one.slug === slug)?.status, 'exhausted', path);
  }
});

test('limits of the provider and of its integration hold together, for all of the workspace', async (t) => {
  const slug = 'int-shared';
  await client.admin('POST', '/integrations', {
    name: slug,
    slug,
    ai_provider_id: 'openai',
    key: 'sk-x',
    configurations: { custom_host: `${provider.origin}/${slug}/v1` },
  });
  await client.admin('PUT', `/integrations/${slug}/workspaces`, {
    global_workspace_access: {
      enabled: true,
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 3 }],
    },
  });
  const { id } = await client.admin('GET', `/integrations/${slug}`);
  await client.admin('POST', '/providers', {
    name: 'second',
    slug: `${slug}-2`,
    integration_id: id,
    workspace_id: 'default',
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 1 }],
  });
  await until(
    () => by(`${slug}-2`, { model: 'gpt-4o' }),
    ({ status }) => status === 200,
  );
  refusedByRate(t, await by(`${slug}-2`), new RegExp(`the stored provider ${slug}-2 of 1 `));
  // What the one provider's limit refused took nothing of the integration's.
  t.is((await by(slug)).status, 200);
  t.is((await by(slug)).status, 200);
  refusedByRate(t, await by(slug), new RegExp(`the integration ${slug} in this workspace of 3 `));
  // Another workspace counts apart.
  await client.admin('POST', '/admin/workspaces', { name: 'Apart', slug: 'apart' });
  await client.admin('POST', '/providers', {
    name: 'third',
    slug: `${slug}-3`,
    integration_id: id,
    workspace_id: 'apart',
  });
  const { key } = await client.admin('POST', '/api-keys/workspace/service', {
    name: 'k',
    workspace_id: 'apart',
    scopes: ['completions.write'],
  });
  const apart = await until(
    () => by(`${slug}-3`, {}, { 'x-gateway-api-key': String(key) }),
    ({ status }) => status === 200,
  );
  t.is(apart.status, 200);
});

test('a target at its limit is one that failed: a fallback moves on, and retries do not hammer it', async (t) => {
  const [first, second] = [
    await virtualKey({ rate_limits: [{ type: 'requests', unit: 'rph', value: 1 }] }),
    await virtualKey({}),
  ];
  const config = {
    strategy: { mode: 'fallback', on_status_codes: [429] },
    targets: [
      { provider: `@${first}`, retry: { attempts: 3, on_status_codes: [429] } },
      { provider: `@${second}` },
    ],
  };
  t.is((await configured(config)).status, 200);
  t.deepEqual([asked(first), asked(second)], [1, 0]);
  const trace = randomUUID();
  const started = performance.now();
  t.is((await configured(config, {}, { 'x-gateway-trace-id': trace })).status, 200);
  t.true(performance.now() - started < withSlack(1500), 'no wait for a retry');
  t.deepEqual([asked(first), asked(second)], [1, 1]);
  const [entry] = await client.logs(trace);
  t.deepEqual(
    ((entry?.attempts ?? []) as Json[]).map((attempt) => [
      attempt.status_code,
      (attempt.error as Json | null)?.reason,
    ]),
    [
      [429, 'rate_limited'],
      [200, undefined],
    ],
  );
  // A list of codes without its own stops there, and its refusal is the answer.
  const stops = { ...config, strategy: { mode: 'fallback', on_status_codes: [500] } };
  refusedByRate(t, await configured(stops), new RegExp(`the stored provider ${first}`));
  t.is(asked(second), 1);
});

test('each attempt of retries, fallbacks and hedges is held and settled by itself', async (t) => {
  const limits = { usage_limits: { type: 'tokens', credit_limit: 100_000 } };
  const [first, second] = [await virtualKey(limits), await virtualKey(limits)];
  // Two of three calls of the first fail: they use nothing.
  const retried = await configured(
    { provider: `@${first}`, retry: { attempts: 3, on_status_codes: [429] } },
    { model: `flaky-2-${randomUUID()}` },
  );
  t.is(retried.status, 200);
  t.is(asked(first), 3);
  t.like((await usageOf(first, 18)).usage_limits as Json, { current_usage: 18, held_usage: 0 });
  // The hedge answers first; what was given up is charged as the books say.
  const trace = randomUUID();
  const hedged = await configured(
    {
      strategy: { mode: 'fallback', hedge: { after_ms: 50, max: 1 } },
      targets: [
        { provider: `@${first}`, override_params: { model: 'slow-2000' } },
        { provider: `@${second}` },
      ],
    },
    {},
    { 'x-gateway-trace-id': trace },
  );
  t.is(hedged.status, 200);
  await usageOf(second, 18);
  const [entry] = await client.logs(trace);
  const attempts = entry?.attempts as Json[];
  t.is(attempts.length, 2);
  const cut = attempts.find(({ model }) => model === 'slow-2000');
  const { total_tokens: estimate } = (cut?.usage ?? {}) as { total_tokens: number };
  t.true(cut?.usage_estimated === true && estimate > 0);
  t.like((await usageOf(first, 18 + estimate)).usage_limits as Json, {
    current_usage: 18 + estimate,
    held_usage: 0,
  });
});

test('answers from the cache hold nothing', async (t) => {
  const slug = await virtualKey({
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 1 }],
    usage_limits: { type: 'tokens', credit_limit: 1000 },
  });
  const config = { provider: `@${slug}`, cache: { mode: 'simple', max_age: 60 } };
  t.is((await configured(config)).status, 200);
  for (let i = 0; i < 3; i++) {
    const hit = await configured(config);
    t.is(hit.status, 200);
    t.is(hit.headers.get('x-gateway-cache-status'), 'HIT');
  }
  t.is(asked(slug), 1);
  await usageOf(slug, 18);
  refusedByRate(t, await configured(config, { messages: [{ role: 'user', content: 'new' }] }), /1 requests/);
});

test('pass-through by a stored provider counts as well', async (t) => {
  const slug = await virtualKey({
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 2 }],
    usage_limits: { type: 'tokens', credit_limit: 10_000 },
  });
  const pass = (path: string): Promise<Response> =>
    fetch(`${gateway.origin}/v1/proxy${path}`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': WORKSPACE_KEY,
        'x-gateway-provider': `@${slug}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
    });
  for (let i = 0; i < 2; i++) {
    const answer = await pass('/chat/completions');
    t.is(answer.status, 200);
    await answer.text();
  }
  await usageOf(slug, 36);
  const refused = await pass('/chat/completions');
  t.is(refused.status, 429);
  t.true(Number(refused.headers.get('retry-after')) > 0);
  t.regex(await refused.text(), /the stored provider/);
  t.is(asked(slug), 2);
});

test('many calls at once: never more than the budget holds, and every one is charged once', async (t) => {
  const slug = await virtualKey({ usage_limits: { type: 'tokens', credit_limit: 500 } });
  const statuses = await Promise.all(Array.from({ length: 60 }, (_, i) => by(slug, { stream: i % 2 === 0 })));
  const passed = statuses.filter(({ status }) => status === 200).length;
  t.is(statuses.filter(({ status }) => status === 412).length, 60 - passed);
  t.is(asked(slug), passed);
  t.true(passed > 0 && passed * 18 <= 500);
  t.like((await usageOf(slug, passed * 18)).usage_limits as Json, {
    current_usage: passed * 18,
    held_usage: 0,
  });
});

test('a call that its target’s limit refused is no request of a budget, and its key’s tokens are free again', async (t) => {
  const slug = await virtualKey({ rate_limits: [{ type: 'requests', unit: 'rph', value: 0 }] });
  const { key, id } = await client.key({ usage_limits: { type: 'tokens', credit_limit: 1000 } });
  const policy = {
    conditions: [{ key: 'api_key', value: id }],
    group_by: [{ key: 'api_key' }],
    type: 'requests',
    credit_limit: 2,
  };
  const { id: policyId } = await client.admin('POST', '/policies/usage-limits', policy);
  for (let i = 0; i < 3; i++) {
    const refused = await by(slug, {}, { 'x-gateway-api-key': key });
    t.is(refused.status, 429);
    t.is(refused.headers.get('retry-after'), null, 'it would never pass');
    await client.keyUntil(id, (record) => (record.usage_limits as Json).held_usage === 0);
  }
  const record = await client.keyUntil(id, () => true);
  t.like(record.usage_limits as Json, { current_usage: 0, held_usage: 0 });
  const { data } = await client.admin('GET', `/policies/usage-limits/${policyId}/entities`);
  t.deepEqual(
    (data as Json[]).map((entity) => entity.current_usage),
    [0],
  );
});

test('keys of the administrator see the limits they set', async (t) => {
  const slug = await virtualKey({
    rate_limits: { type: 'requests', unit: 'concurrent', value: 4, on_store_outage: 'local' },
  });
  const { rate_limits: limits } = await recordOf(slug);
  t.deepEqual(limits, [{ type: 'requests', unit: 'concurrent', value: 4, on_store_outage: 'local' }]);
  const answer = await fetch(`${gateway.origin}/v1/virtual-keys/${slug}?workspace_id=default`, {
    method: 'PUT',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ rate_limits: [{ type: 'tokens', unit: 'concurrent', value: 4 }] }),
  });
  t.is(answer.status, 400);
  t.regex(await answer.text(), /must be requests for the unit concurrent/);
});
