// Model calls by stored providers: four ways to name one, and where its credential never goes.
import { inspect } from 'node:util';
import { Code } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import {
  type Bench,
  type Case,
  exchange,
  type JsonObject,
  PROTOCOLS,
  runCases,
  startBench,
} from './runner.ts';

const KEY = 'sk-kept-by-the-gateway-0123456789';
const chat = ChatService.method.createChatCompletion;
const messages = [{ role: 'user', content: 'Hi' }];

let bench: Bench;
let otherKey = '';

test.before(async () => {
  bench = await startBench({ LOG_LEVEL: 'trace' });
  const { origin } = bench.provider;
  await rest('POST', '/admin/workspaces', { name: 'Other', slug: 'other' });
  otherKey = String(
    (
      await rest('POST', '/api-keys/workspace/service', {
        name: 'k',
        workspace_id: 'other',
        scopes: ['completions.write'],
      })
    ).json.key,
  );
  const integration = async (slug: string, more: JsonObject = {}) => {
    const configurations = {
      custom_host: `${origin}/${slug}/v1`,
      custom_headers: { 'x-operator': `header-of-${slug}` },
    };
    await made('POST', '/integrations', {
      name: slug,
      slug,
      ai_provider_id: 'openai',
      key: KEY,
      configurations,
      ...more,
    });
    await made('PUT', `/integrations/${slug}/workspaces`, { workspaces: [{ id: 'default', enabled: true }] });
  };
  await integration('plain');
  await integration('narrow');
  await made('PUT', '/integrations/narrow/models', {
    allow_all_models: false,
    models: [
      { slug: 'gpt-4o', enabled: true },
      {
        slug: 'own',
        enabled: true,
        is_custom: true,
        configurations: { custom_host: `${origin}/own-host/v1`, custom_headers: { 'x-own': 'of-the-model' } },
      },
    ],
  });
  await integration('unshared');
  await made('PUT', '/integrations/unshared/workspaces', { workspaces: [{ id: 'default', enabled: false }] });
  await made('POST', '/virtual-keys', {
    name: 'v',
    slug: 'legacy',
    provider: 'openai',
    key: `${KEY}-legacy`,
    custom_host: `${origin}/legacy/v1`,
    workspace_id: 'default',
  });
  await made('POST', '/virtual-keys', {
    name: 'v',
    slug: 'theirs',
    provider: 'openai',
    key: KEY,
    custom_host: `${origin}/theirs/v1`,
    workspace_id: 'other',
  });
  await made('POST', '/virtual-keys', {
    name: 'a',
    slug: 'azure',
    provider: 'azure-openai',
    key: KEY,
    workspace_id: 'default',
    custom_host: `${origin}/azure/openai`,
    deployment_config: [
      { apiVersion: '2024-10-21', deploymentName: 'dep-mini', alias: 'mini', is_default: true },
      { apiVersion: '2024-06-01', deploymentName: 'dep-big', alias: 'big' },
    ],
  });
});
test.after.always(() => bench?.close());

async function rest(verb: string, path: string, body?: JsonObject, key = ADMIN_KEY) {
  const response = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, json: (await response.json()) as JsonObject };
}

async function made(verb: string, path: string, body: JsonObject): Promise<JsonObject> {
  const { status, json } = await rest(verb, path, body);
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`);
  return json;
}

/** Headers that select as given, with no credential of the caller's. */
const select = (headers: Record<string, string> = {}): Record<string, string | undefined> => ({
  'x-gateway-provider': undefined,
  'x-gateway-custom-host': undefined,
  authorization: undefined,
  ...headers,
});
const config = (json: JsonObject) => select({ 'x-gateway-config': JSON.stringify(json) });

/** What the provider was sent under a prefix since it was last asked. */
function sent(prefix: string) {
  return bench.provider.seen.filter(({ url }) => url.startsWith(`/${prefix}/`));
}

for (const protocol of PROTOCOLS) {
  const call = (headers: Record<string, string | undefined>, body: JsonObject = { model: 'gpt-4o' }) =>
    exchange(bench, { method: chat, headers, body: { messages, ...body } }, protocol);
  const reaches = async (
    t: ExecutionContext,
    prefix: string,
    headers: Record<string, string | undefined>,
    body?: JsonObject,
  ) => {
    const before = sent(prefix).length;
    const { error } = await call(headers, body);
    t.is(error, undefined, JSON.stringify(error));
    const [seen, ...more] = sent(prefix).slice(before);
    t.deepEqual(more, []);
    return { ...seen!, json: JSON.parse(String(seen!.body)) as JsonObject };
  };

  test.serial(`each way of naming a stored provider reaches it [${protocol}]`, async (t) => {
    const ways: [Record<string, string | undefined>, JsonObject?][] = [
      [select({ 'x-gateway-provider': '@plain' })],
      [select({ 'x-gateway-virtual-key': 'plain' })],
      [select({ 'x-gateway-virtual-key': '@plain' })],
      [select(), { model: '@plain/gpt-4o' }],
      [config({ provider: '@plain' })],
      [config({ virtual_key: 'plain' })],
      [
        config({
          strategy: { mode: 'fallback' },
          targets: [{ provider: '@plain' }, { provider: '@legacy' }],
        }),
      ],
    ];
    for (const [headers, body] of ways) {
      const seen = await reaches(t, 'plain', headers, body);
      t.is(seen.headers.authorization, `Bearer ${KEY}`);
      t.is(seen.headers['x-operator'], 'header-of-plain');
      t.is(seen.json.model, 'gpt-4o');
      t.is(seen.url, '/plain/v1/chat/completions');
    }
    t.is(
      (await reaches(t, 'legacy', select({ 'x-gateway-virtual-key': 'legacy' }))).headers.authorization,
      `Bearer ${KEY}-legacy`,
    );
  });

  test.serial(
    `a model that names a stored provider, next to a config with targets [${protocol}]`,
    async (t) => {
      const fallback = config({
        strategy: { mode: 'fallback' },
        targets: [{ provider: '@plain' }, { provider: '@legacy' }],
      });
      // Of several targets all are asked for the model without its slug.
      for (const model of ['@plain/gpt-4o', '@legacy/gpt-4o']) {
        const seen = await reaches(t, 'plain', fallback, { model });
        t.is(seen.json.model, 'gpt-4o');
      }
      // A target that sets the model itself asks for no other.
      const set = config({ provider: '@plain', override_params: { model: 'gpt-4o' } });
      for (const model of ['@legacy/x', '@plain/x', 'x'])
        t.is((await reaches(t, 'plain', set, { model })).json.model, 'gpt-4o');
      const slugged = config({ provider: '@plain', override_params: { model: '@plain/gpt-4o' } });
      t.is((await reaches(t, 'plain', slugged, { model: 'x' })).json.model, 'gpt-4o');
      // Names that are those of no stored provider are the provider's own.
      const own = await reaches(t, 'plain', config({ provider: '@plain' }), { model: '@cf/meta/llama' });
      t.is(own.json.model, '@cf/meta/llama');

      const before = bench.provider.seen.length;
      const refused = await call(config({ provider: '@plain' }), { model: '@legacy/gpt-4o' });
      t.regex(
        inspect(refused, { depth: 9 }),
        /model: names the stored provider legacy, and the config goes to others/,
      );
      t.is(bench.provider.seen.length, before);
    },
  );

  test.serial(`a caller's credential and headers do not replace the stored ones [${protocol}]`, async (t) => {
    const seen = await reaches(t, 'plain', {
      ...select({ 'x-gateway-provider': '@plain' }),
      authorization: 'Bearer of-the-caller',
      'x-operator': 'of-the-caller',
      'x-gateway-forward-headers': 'x-operator',
    });
    t.is(seen.headers.authorization, `Bearer ${KEY}`);
    t.is(seen.headers['x-operator'], 'header-of-plain');
  });

  test.serial(`a custom model has its own host and headers [${protocol}]`, async (t) => {
    const seen = await reaches(t, 'own-host', select({ 'x-gateway-provider': '@narrow' }), { model: 'own' });
    t.is(seen.headers['x-own'], 'of-the-model');
    t.is(seen.headers['x-operator'], 'header-of-narrow');
  });

  test.serial(`a model picks the deployment [${protocol}]`, async (t) => {
    const by = async (model: string) =>
      (await reaches(t, 'azure', select({ 'x-gateway-provider': '@azure' }), { model })).url;
    t.is(await by('big'), '/azure/openai/deployments/dep-big/chat/completions?api-version=2024-06-01');
    t.is(await by('mini'), '/azure/openai/deployments/dep-mini/chat/completions?api-version=2024-10-21');
    t.is(
      await by('something-else'),
      '/azure/openai/deployments/dep-mini/chat/completions?api-version=2024-10-21',
    );
  });
}

const conflict = { status: 400, code: Code.InvalidArgument, reason: 'selection_conflict' } as const;
const forbidden = { status: 403, code: Code.PermissionDenied, reason: 'forbidden' } as const;
const unknown = { status: 400, code: Code.InvalidArgument, reason: 'provider_unknown' } as const;
const invalid = { status: 400, code: Code.InvalidArgument, reason: 'config_invalid' } as const;
const elsewhere = (): string => `${bench.provider.origin}/elsewhere`;
const body = { messages, model: 'gpt-4o' };

const cases: Case[] = [
  {
    name: 'a host header beside @slug',
    method: chat,
    body,
    headers: {
      ...select({ 'x-gateway-provider': '@plain' }),
      get 'x-gateway-custom-host'() {
        return elsewhere();
      },
    },
    refused: conflict,
  },
  {
    name: 'a host header beside a virtual key',
    method: chat,
    body,
    headers: {
      ...select({ 'x-gateway-virtual-key': 'plain' }),
      get 'x-gateway-custom-host'() {
        return elsewhere();
      },
    },
    refused: conflict,
  },
  {
    name: 'a host header beside @slug/model',
    method: chat,
    body: { messages, model: '@plain/gpt-4o' },
    headers: {
      ...select(),
      get 'x-gateway-custom-host'() {
        return elsewhere();
      },
    },
    refused: conflict,
  },
  {
    name: 'a host in a config beside @slug',
    method: chat,
    body,
    config: (host) => ({ provider: '@plain', custom_host: host }),
    refused: { ...invalid, message: /custom_host/ },
  },
  {
    name: 'a host above a target with @slug',
    method: chat,
    body,
    config: (host) => ({
      custom_host: host,
      strategy: { mode: 'single' },
      targets: [{ provider: '@plain' }],
    }),
    refused: { ...invalid, message: /custom_host/ },
  },
  {
    name: 'a host in an open config whose provider is @slug by header',
    method: chat,
    body,
    headers: {
      ...select({ 'x-gateway-provider': '@plain' }),
      get 'x-gateway-config'() {
        return JSON.stringify({ custom_host: elsewhere() });
      },
    },
    refused: conflict,
  },
  {
    name: 'an option in a config that would lead the credential elsewhere',
    method: chat,
    body,
    headers: config({ provider: '@azure', resource_name: 'evil' }),
    refused: { ...invalid, message: /belongs to the stored provider/ },
  },
  {
    name: 'a slug that is none',
    method: chat,
    body,
    headers: select({ 'x-gateway-provider': '@nobody' }),
    refused: { ...unknown, param: 'x-gateway-provider' },
  },
  {
    name: 'a slug of another workspace',
    method: chat,
    body,
    headers: select({ 'x-gateway-provider': '@theirs' }),
    refused: { ...unknown, param: 'x-gateway-provider' },
  },
  {
    name: 'another workspace’s slug in a config',
    method: chat,
    body,
    headers: config({ provider: '@theirs' }),
    refused: { ...invalid, message: /no stored provider/ },
  },
  {
    name: 'a workspace that the integration is not shared with',
    method: chat,
    body,
    headers: select({ 'x-gateway-provider': '@unshared' }),
    refused: { ...forbidden, message: /not shared with this workspace/ },
  },
  {
    name: 'a model that is not allowed',
    method: chat,
    body: { messages, model: 'gpt-5' },
    headers: select({ 'x-gateway-provider': '@narrow' }),
    refused: { ...forbidden, param: 'model' },
  },
  {
    name: 'a model that is not allowed, as @slug/model',
    method: chat,
    body: { messages, model: '@narrow/gpt-5' },
    headers: select(),
    refused: { ...forbidden, param: 'model' },
  },
  {
    name: 'a model that is not allowed, by a config’s override',
    method: chat,
    body,
    headers: config({ provider: '@narrow', override_params: { model: 'gpt-5' } }),
    refused: { ...forbidden, param: 'model' },
  },
  {
    name: 'a model that is not allowed, streamed',
    method: chat,
    body: { messages, model: 'gpt-5', stream: true },
    headers: select({ 'x-gateway-provider': '@narrow' }),
    refused: { ...forbidden, param: 'model' },
  },
];
runCases(test, () => bench, cases);

test('a fallback moves on from a stored provider that may not be called', async (t) => {
  const before = sent('plain').length;
  const targets: JsonObject[] = [
    { provider: '@unshared' },
    { provider: '@narrow', override_params: { model: 'gpt-5' } },
    { provider: '@plain' },
  ];
  const headers = config({ strategy: { mode: 'fallback' }, targets });
  const { error } = await exchange(bench, { method: chat, body, headers }, 'rest');
  t.is(error, undefined, JSON.stringify(error));
  t.true(sent('plain').length > before);
});

test('pass-through carries the stored credential, and no model past a restriction', async (t) => {
  const pass = (slug: string, init: RequestInit = {}, path = '/v1/chat/completions') =>
    fetch(`${bench.gateway.origin}/v1/proxy${path}`, {
      method: 'POST',
      ...init,
      headers: {
        'x-gateway-api-key': WORKSPACE_KEY,
        'x-gateway-provider': `@${slug}`,
        'content-type': 'application/json',
        'x-operator': 'mine',
      },
    });
  const text = JSON.stringify(body);
  const before = sent('plain').length;
  t.is((await pass('plain', { body: text })).status, 200);
  const [seen] = sent('plain').slice(before);
  t.is(seen?.headers.authorization, `Bearer ${KEY}`);
  t.is(seen?.headers['x-operator'], 'header-of-plain');
  const refused = await pass('narrow', { body: JSON.stringify({ ...body, model: 'gpt-5' }) });
  t.is(refused.status, 403);
  t.regex(await refused.text(), /gpt-5 is not allowed/);
  const unread = await pass('narrow', { body: text }, '/v1/any/path');
  t.is(unread.status, 403);
  t.regex(await unread.text(), /not passed through/);
  t.is(
    sent('narrow').some(({ url }) => url.includes('/v1/v1/')),
    false,
  );
});

test('changes count at once: sharing, expiry, archiving, keys', async (t) => {
  const { origin } = bench.provider;
  const status = async (slug: string) =>
    (
      await exchange(
        bench,
        { method: chat, body, headers: select({ 'x-gateway-provider': `@${slug}` }) },
        'rest',
      )
    ).status;
  await made('POST', '/virtual-keys', {
    name: 'v',
    slug: 'turns',
    provider: 'openai',
    key: 'first-key-0123456789',
    custom_host: `${origin}/turns/v1`,
    workspace_id: 'default',
  });
  t.is(await status('turns'), 200);
  await made('PUT', '/virtual-keys/turns?workspace_id=default', { key: 'second-key-0123456789' });
  t.is(await status('turns'), 200);
  t.deepEqual(
    sent('turns').map(({ headers }) => headers.authorization),
    ['Bearer first-key-0123456789', 'Bearer second-key-0123456789'],
  );
  const expiresAt = new Date(Date.now() + 400);
  await made('PUT', '/virtual-keys/turns?workspace_id=default', { expires_at: expiresAt.toISOString() });
  t.is(await status('turns'), 200);
  await new Promise((resolve) => setTimeout(resolve, expiresAt.getTime() - Date.now() + 5));
  t.is(await status('turns'), 403);
  t.is((await rest('GET', '/virtual-keys/turns?workspace_id=default')).json.status, 'expired');
  await made('PUT', '/virtual-keys/turns?workspace_id=default', { expires_at: null });
  t.is(await status('turns'), 200);
  await rest('DELETE', '/virtual-keys/turns?workspace_id=default');
  t.is(await status('turns'), 400);

  await made('PUT', '/integrations/unshared/workspaces', { workspaces: [{ id: 'other', enabled: true }] });
  const other = await exchange(
    bench,
    {
      method: chat,
      body,
      headers: { ...select({ 'x-gateway-provider': '@unshared' }), 'x-gateway-api-key': otherKey },
    },
    'rest',
  );
  t.is(other.status, 200, 'a provider came with it');
});

test('configs set options where the integration allows it, and never the host', async (t) => {
  await made('POST', '/integrations', {
    name: 'o',
    slug: 'open',
    ai_provider_id: 'openai',
    key: KEY,
    workspace_id: 'default',
    configurations: { custom_host: `${bench.provider.origin}/open/v1`, openai_project: 'kept' },
  });
  const call = (json: JsonObject) => exchange(bench, { method: chat, body, headers: config(json) }, 'rest');
  t.is((await call({ provider: '@open', openai_project: 'mine' })).status, 400);
  await made('PUT', '/integrations/open', { allow_config_override: true });
  t.is((await call({ provider: '@open', openai_project: 'mine' })).status, 200);
  t.is(sent('open').at(-1)?.headers['openai-project'], 'mine');
  t.is((await call({ provider: '@open', custom_host: elsewhere() })).status, 400);
  t.is((await call({ provider: '@open' })).status, 200);
  t.is(sent('open').at(-1)?.headers['openai-project'], 'kept');
  t.deepEqual(sent('elsewhere'), []);
});

test('an option that names another host is refused although options may be set', async (t) => {
  await made('POST', '/integrations', {
    name: 'az',
    slug: 'az',
    ai_provider_id: 'azure-openai',
    key: KEY,
    workspace_id: 'default',
    allow_config_override: true,
    configurations: {
      azure_auth_mode: 'default',
      azure_resource_name: 'ours',
      azure_deployment_config: [
        { azure_api_version: '2024-10-21', azure_deployment_name: 'dep', azure_model_slug: 'gpt-4o' },
      ],
    },
  });
  const headers = config({ provider: '@az', resource_name: 'theirs' });
  for (const protocol of PROTOCOLS) {
    const { error } = await exchange(bench, { method: chat, body, headers }, protocol);
    t.regex(inspect(error, { depth: 6 }), /selection_conflict/);
  }
  // Which of the deployments is meant is clear; a model that none of them serves is not.
  await made('PUT', '/integrations/az', {
    key: KEY,
    configurations: {
      azure_auth_mode: 'default',
      azure_resource_name: 'ours',
      custom_host: `${bench.provider.origin}/az`,
      azure_deployment_config: ['one', 'two'].map((name) => ({
        azure_api_version: '2024-10-21',
        azure_deployment_name: name,
        azure_model_slug: name,
      })),
    },
  });
  const asked = await exchange(bench, { method: chat, body, headers: config({ provider: '@az' }) }, 'rest');
  t.is(asked.status, 400);
  t.regex(JSON.stringify(asked.error), /model: names no deployment/);
});

test('no stored credential is in the log or the request log', async (t) => {
  await exchange(bench, { method: chat, body, headers: select({ 'x-gateway-provider': '@plain' }) }, 'rest');
  const logs = JSON.stringify((await rest('GET', '/logs')).json);
  for (const secret of [KEY, 'header-of-plain', 'of-the-model']) {
    t.false(logs.includes(secret));
    t.false(bench.gateway.logLines.some((line) => line.includes(secret)));
  }
});
