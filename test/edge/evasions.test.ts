// Ways round a mandatory guardrail and round a restriction of models: names in other capitals, types that say how bytes
// are to be read, models beside the model, words in a query. All are refused, and the provider is not called.
import test from 'ava';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';

type Json = Record<string, unknown>;

let gateway: TestGateway;
let provider: ScriptedProvider;
/** Headers of a workspace whose guardrail must see every request. */
let guarded: Record<string, string>;
/** Headers of a stored provider that allows one model. */
const restricted = { 'x-gateway-api-key': WORKSPACE_KEY, 'x-gateway-provider': '@narrow' };

async function admin(method: string, path: string, body: Json): Promise<Json> {
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method,
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Json;
}

test.before(async () => {
  const message = { role: 'assistant', content: 'Hi' };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  [gateway, provider] = await Promise.all([
    startGateway(),
    startScriptedProvider({
      json: { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage },
    }),
  ]);
  const guardrail = await admin('POST', '/guardrails', {
    name: 'no forbidden words',
    checks: [{ id: 'default.contains', parameters: { words: ['forbidden'], operator: 'none' } }],
    actions: { deny: true },
  });
  await admin('POST', '/admin/workspaces', { name: 'asked', slug: 'asked' });
  await admin('PUT', '/admin/workspaces/asked', { defaults: { input_guardrails: [guardrail.id] } });
  const { key } = await admin('POST', '/api-keys/workspace/service', {
    name: 'asked',
    workspace_id: 'asked',
    scopes: ['completions.write'],
  });
  guarded = {
    'x-gateway-api-key': String(key),
    'x-gateway-provider': 'openai',
    'x-gateway-custom-host': provider.origin,
    authorization: 'Bearer sk-of-the-provider',
  };
  await admin('POST', '/integrations', {
    name: 'narrow',
    slug: 'narrow',
    ai_provider_id: 'openai',
    key: 'sk-kept',
    configurations: { custom_host: provider.origin },
  });
  await admin('PUT', '/integrations/narrow/workspaces', { workspaces: [{ id: 'default', enabled: true }] });
  await admin('PUT', '/integrations/narrow/models', {
    allow_all_models: false,
    models: [{ slug: 'gpt-ok', enabled: true, is_custom: true }],
  });
});
test.after.always(async () => {
  provider?.close();
  await gateway?.close();
});

async function send(
  path: string,
  headers: Record<string, string>,
  body: Json | string | undefined,
  method = 'POST',
): Promise<{ readonly status: number; readonly text: string; readonly sent: number }> {
  const before = provider.asked.length;
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text(), sent: provider.asked.length - before };
}

const hi = [{ role: 'user', content: 'hi' }];
const RAW = '/proxy/chat/completions';

test.serial('the calls that are varied here go through, and so do members that only resemble', async (t) => {
  for (const path of [RAW, '/chat/completions'])
    for (const headers of [guarded, restricted]) {
      const { status, sent, text } = await send(path, headers, { model: 'gpt-ok', messages: hi });
      t.deepEqual([status, sent], [200, 1], `${path} ${text}`);
    }
  const tools = [
    { type: 'function', function: { name: 'f', parameters: { properties: { Content: {}, model: {} } } } },
  ];
  const metadata = { Prompt: 'p' };
  for (const path of [RAW, '/chat/completions'])
    for (const headers of [guarded, restricted]) {
      const { status, text } = await send(path, headers, { model: 'gpt-ok', messages: hi, tools, metadata });
      t.is(status, 200, `${path} ${text}`);
    }
  const latin = { ...guarded, 'content-type': 'application/json; charset=UTF-8' };
  t.is((await send(RAW, latin, { model: 'gpt-ok', messages: hi })).status, 200);
  t.is((await send('/proxy/files?limit=5', guarded, undefined, 'GET')).status, 200);
});

const words = { role: 'user', content: 'forbidden' };
const UNSEEN: Readonly<Record<string, readonly [string, number, Json | string | undefined, Json?, string?]>> =
  {
    'capitals of the list': [RAW, 403, { model: 'm', messages: hi, Messages: [words] }],
    'capitals of the text': [RAW, 403, { model: 'm', messages: [{ ...hi[0], Content: 'forbidden' }] }],
    'capitals in a part': [
      RAW,
      403,
      { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', Text: 'forbidden' }] }] },
    ],
    'letters of UTF-7': [
      RAW,
      403,
      { model: 'm', messages: [{ role: 'user', content: '+AGYAbwByAGIAaQBkAGQAZQBu-' }] },
      { 'content-type': 'application/json; charset=utf-7' },
    ],
    'a form that is JSON, too': [
      RAW,
      403,
      { model: 'm', messages: hi, a: '&prompt=forbidden&' },
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
    'words in a query': ['/proxy/generate?prompt=forbidden', 403, undefined, {}, 'GET'],
    'another method': ['/proxy/models', 403, undefined, { 'x-http-method-override': 'POST' }, 'GET'],
    'chat: capitals of the list': ['/chat/completions', 400, { model: 'm', messages: hi, Messages: [words] }],
    'chat: a member of completions': [
      '/chat/completions',
      400,
      { model: 'm', messages: hi, prompt: 'forbidden' },
    ],
    'Responses: a member of chat': ['/responses', 400, { model: 'm', input: 'hi', messages: [words] }],
    'Responses: words for a stored prompt': [
      '/responses',
      446,
      { model: 'm', prompt: { id: 'pmpt_1', variables: { word: 'forbidden' } } },
    ],
    'Responses: parts for a stored prompt': [
      '/responses',
      446,
      {
        model: 'm',
        prompt: { id: 'pmpt_1', variables: { word: { type: 'input_text', text: 'forbidden' } } },
      },
    ],
    'Messages: a member of completions': [
      '/messages',
      400,
      { model: 'm', max_tokens: 5, messages: hi, prompt: 'forbidden' },
    ],
  };

for (const [name, [path, expected, body, headers, method]] of Object.entries(UNSEEN))
  test.serial(`a mandatory guardrail is not evaded by ${name}`, async (t) => {
    const { status, sent, text } = await send(
      path,
      { ...guarded, ...(headers as Record<string, string>) },
      body,
      method,
    );
    t.is(sent, 0, text);
    t.is(status, expected, text);
  });

const no = 'gpt-no';
const FURTHER: Readonly<Record<string, Json>> = {
  'capitals of the model': { Model: no },
  'models to fall back to': { models: [no] },
  'models as objects': { models: [{ model: no }] },
  fallbacks: { fallbacks: [{ model: no }] },
  'fallbacks by name': { fallback_models: [no] },
  'a tool’s own model': { tools: [{ type: 'image_generation', model: no }] },
  'a body in the body': { extra_body: { model: no } },
};

for (const [name, more] of Object.entries(FURTHER))
  test.serial(`a restriction of models is not evaded by ${name}`, async (t) => {
    for (const [path, body] of [
      [RAW, { messages: hi }],
      ['/chat/completions', { messages: hi }],
      ['/responses', { input: 'hi' }],
      ['/proxy/responses', { input: 'hi' }],
    ] as const) {
      const { status, sent, text } = await send(path, restricted, { model: 'gpt-ok', ...body, ...more });
      // What an operation's own contract does not allow is refused before.
      t.true(status === 403 || status === 400, `${path} ${status} ${text}`);
      t.is(sent, 0, path);
      t.regex(text, /gpt-no|tools|odel/, path);
    }
  });

test.serial('a restriction of models is not evaded by a query or a header', async (t) => {
  const body = { model: 'gpt-ok', messages: hi };
  t.like(await send(`${RAW}?Model=${no}`, restricted, body), { status: 403, sent: 0 });
  const header = { ...restricted, 'azureml-model-deployment': no };
  t.like(await send(RAW, header, body), { status: 403, sent: 0 });
});
