// Refusals name the next step: the nearest names, the kind of key, the setting that opens an address.
import test from 'ava';
import { type Json, ok, send } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const key = WORKSPACE_KEY;
let gateway: TestGateway;
let saved: string;

test.before(async () => {
  gateway = await startGateway({ GATEWAY_EGRESS_ALLOW: '' });
  const { slug } = await ok(gateway, 'POST', '/configs', {
    body: { name: 'fast', workspace_id: 'default', config: { provider: 'openai', api_key: 'k' } },
  });
  saved = String(slug);
});

test.after.always(() => gateway?.close());

const chat = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] };
const ask = (headers: Readonly<Record<string, string>>, body: Json = chat) =>
  send(gateway, 'POST', '/chat/completions', {
    key,
    headers: { authorization: 'Bearer sk-x', ...headers },
    body,
  });

const GUARDRAIL = {
  name: 'g',
  workspace_id: 'default',
  checks: [{ id: 'default.wordCont', parameters: {} }],
  actions: {},
};

const REFUSALS: readonly (readonly [string, () => ReturnType<typeof send>, number, RegExp])[] = [
  [
    'a private address',
    () => ask({ 'x-gateway-provider': 'openai', 'x-gateway-custom-host': 'http://10.1.2.3:9000/v1' }),
    400,
    /adds 10\.1\.2\.3:9000 to GATEWAY_EGRESS_ALLOW/,
  ],
  ['a provider', () => ask({ 'x-gateway-provider': 'opnai' }), 400, /the nearest: openai/],
  [
    'a provider of a config',
    () => ask({ 'x-gateway-config': '{"provider":"antropic","api_key":"k"}' }),
    400,
    /provider: is not a known provider: antropic; the nearest: anthropic/,
  ],
  [
    'a provider of an integration',
    () => send(gateway, 'POST', '/integrations', { body: { name: 'n', ai_provider_id: 'gorq', key: 'k' } }),
    400,
    /gorq; the nearest: groq/,
  ],
  [
    'a member of a config',
    () => ask({ 'x-gateway-config': '{"provider":"openai","api_key":"k","rettry":{"attempts":1}}' }),
    400,
    /rettry: is not known; the nearest: retry/,
  ],
  [
    'a member of a strategy',
    () => ask({ 'x-gateway-config': '{"strategy":{"moode":"fallback"},"targets":[{"provider":"openai"}]}' }),
    400,
    /moode: is not known; the nearest: mode/,
  ],
  [
    'a check',
    () => send(gateway, 'POST', '/guardrails', { body: GUARDRAIL }),
    400,
    /no check called \\"default\.wordCont\\"; the nearest: default\.wordCount/,
  ],
  [
    'a check of a config',
    () =>
      ask({
        'x-gateway-config':
          '{"provider":"openai","api_key":"k","input_guardrails":[{"regexMach":{"rule":"x"}}]}',
      }),
    400,
    /the nearest: default\.regexMatch/,
  ],
  [
    'a member of a body',
    () => send(gateway, 'POST', '/configs', { body: { nmae: 'x', config: {} } }),
    400,
    /nmae.*is not a member of this object; the nearest: name/,
  ],
  [
    'a parameter',
    () => send(gateway, 'GET', '/logs?page_sise=1'),
    400,
    /page_sise.*; the nearest: page_size/,
  ],
  [
    'an option',
    () =>
      send(gateway, 'POST', '/integrations', {
        body: { name: 'n', ai_provider_id: 'openai', key: 'k', configurations: { openai_organisation: 'o' } },
      }),
    400,
    /is no option of openai; the nearest: openai_organization/,
  ],
  [
    'an admin key for a model call',
    () => send(gateway, 'POST', '/chat/completions', { body: chat }),
    403,
    /an admin key \(organisation-service\) may not call this operation: it takes a workspace key/,
  ],
  [
    'a workspace key for the control plane',
    () =>
      send(gateway, 'POST', '/integrations', {
        key,
        body: { name: 'n', ai_provider_id: 'openai', key: 'k' },
      }),
    403,
    /workspace key \(workspace-service\)/,
  ],
  [
    'a provider’s key as the gateway’s',
    () => send(gateway, 'GET', '/models', { key: 'sk-proj-0123456789abcdef' }),
    401,
    /looks like a provider's\. The gateway's own key goes into x-gateway-api-key/,
  ],
];

for (const [what, call, status, told] of REFUSALS)
  test(`${what}: the refusal names what was meant`, async (t) => {
    const answer = await call();
    const text = JSON.stringify(answer.json);
    t.is(answer.status, status, text);
    t.regex(text, told);
    t.false(text.includes('sk-proj-0123456789abcdef'));
  });

test('the prefix of an SDK’s headers is named where it is not configured', async (t) => {
  for (const headers of [
    { 'x-portkey-api-key': key },
    { 'x-portkey-config': '{}', authorization: `Bearer ${key}` },
  ]) {
    const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(chat),
    });
    const text = await answer.text();
    t.true([400, 401].includes(answer.status), text);
    t.regex(text, /x-portkey-\w+(?:-key)? is not read.*GATEWAY_HEADER_PREFIXES=x-gateway-,x-portkey-/);
    t.false(text.includes(key));
  }
});

test('a saved config that there is not: the nearest one is named', async (t) => {
  const answer = await ask({ 'x-gateway-config': `${saved}x` });
  t.is(answer.status, 400);
  t.true(JSON.stringify(answer.json).includes(`no saved config ${saved}x; the nearest: ${saved}`));
});

test('is_default is taken as true, too', async (t) => {
  for (const [given, kept] of [
    [true, 1],
    [1, 1],
    [false, 0],
  ] as const) {
    const { id } = await ok(gateway, 'POST', '/configs', {
      body: { name: `d${given}`, workspace_id: 'default', is_default: given, config: { provider: 'openai' } },
    });
    t.is((await ok(gateway, 'GET', `/configs/${String(id)}`)).is_default, kept);
    await ok(gateway, 'PUT', `/configs/${String(id)}`, { body: { is_default: false } });
  }
  const wrong = await send(gateway, 'POST', '/configs', {
    body: { name: 'w', workspace_id: 'default', is_default: 'yes', config: {} },
  });
  t.is(wrong.status, 400);
});

test('analytics are those of the last day when no time is given', async (t) => {
  for (const path of ['/analytics/graphs/requests', '/analytics/summary', '/analytics/groups/ai-models']) {
    const answer = await send(gateway, 'GET', path);
    t.not(answer.status, 400, `${path}: ${JSON.stringify(answer.json)}`);
  }
  const end = await send(
    gateway,
    'GET',
    '/analytics/graphs/requests?time_of_generation_max=2026-01-02T00:00:00Z',
  );
  t.is(end.status, 200);
  const since = await send(gateway, 'GET', '/analytics/graphs/requests?time_of_generation_min=yesterday');
  t.is(since.status, 400);
});

test('JSON without a content type is JSON; a form’s type is told how to be one', async (t) => {
  const post = (headers: Readonly<Record<string, string>>) =>
    fetch(`${gateway.origin}/v1/configs`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': ADMIN_KEY, ...headers },
      body: new TextEncoder().encode(
        JSON.stringify({ name: 'bare', workspace_id: 'default', config: { provider: 'openai' } }),
      ),
    });
  const bare = await post({});
  t.is(bare.status, 200, await bare.text());
  const form = await post({ 'content-type': 'application/x-www-form-urlencoded' });
  t.is(form.status, 415);
  t.regex(await form.text(), /-H 'content-type: application\/json'/);
});

test('a model that is nearly of a stored provider is told its name; sizes of images are no models', async (t) => {
  // A provider of its own would answer calls of the other tests.
  const apart = await startGateway({ GATEWAY_EGRESS_ALLOW: '' });
  t.teardown(() => apart.close());
  const own = { name: 'Own', slug: 'own-openai', ai_provider_id: 'openai', key: 'sk-x' };
  await ok(apart, 'POST', '/integrations', { body: own });
  const workspaces = [{ id: 'default', enabled: true }];
  await ok(apart, 'PUT', '/integrations/own-openai/workspaces', { body: { workspaces } });
  const call = (model: string) => send(apart, 'POST', '/chat/completions', { key, body: { ...chat, model } });
  const near = await call('own-opnai/gpt-4o');
  t.is(near.status, 400);
  t.regex(JSON.stringify(near.json), /did you mean the model own-openai\/gpt-4o\?/);
  const far = await call('meta-llama/Llama-3');
  t.regex(JSON.stringify(far.json), /or the model as @own-openai\/meta-llama\/Llama-3/);
  const listed = await send(apart, 'GET', '/models', { key });
  t.is(listed.status, 200);
  const ids = (listed.json as { data: { id: string }[] }).data.map(({ id }) => id);
  t.true(ids.includes('@own-openai/gpt-4o'));
  t.deepEqual(
    ids.filter((id) => /\d-x-\d/.test(id)),
    [],
  );
});
