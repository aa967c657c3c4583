// Stored providers over REST, Connect and gRPC, in both views: /providers and /virtual-keys.
import { Code } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { ProvidersService } from '../../gen/gateway/admin/v2/providers_pb.ts';
import { VirtualKeysService } from '../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import {
  type Bench,
  type Case,
  exchange,
  type JsonObject,
  PROTOCOLS,
  runCases,
  startBench,
  UUID,
} from './runner.ts';

const KEY = 'sk-stored-provider-secret-0123456789';
const providers = ProvidersService.method;
const keys = VirtualKeysService.method;

let bench: Bench;
let workspaceKey = '';
let otherKey = '';

test.before(async () => {
  bench = await startBench({ LOG_LEVEL: 'trace' });
  await rest('POST', '/admin/workspaces', { name: 'Other', slug: 'other' });
  [workspaceKey, otherKey] = [await keyOf('default'), await keyOf('other')];
  await rest('POST', '/integrations', { name: 'Shared', slug: 'shared', ai_provider_id: 'openai', key: KEY });
  await rest('PUT', '/integrations/shared/workspaces', {
    workspaces: [{ id: 'default', enabled: true }],
    create_default_provider: false,
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

async function ok(
  t: ExecutionContext,
  verb: string,
  path: string,
  body?: JsonObject,
  key = workspaceKey,
): Promise<JsonObject> {
  const { status, json } = await rest(verb, path, body, key);
  t.is(status, 200, JSON.stringify(json));
  return json;
}

async function keyOf(workspace: string): Promise<string> {
  const scopes = ['create', 'read', 'update', 'delete', 'list'].flatMap((verb) => [
    `providers.${verb}`,
    `virtual_keys.${verb}`,
  ]);
  return String(
    (await rest('POST', '/api-keys/workspace/service', { name: 'k', workspace_id: workspace, scopes })).json
      .key,
  );
}

const admin = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
const invalid = (param: string, message?: RegExp) => ({
  ...({ status: 400, code: Code.InvalidArgument, reason: 'validation_failed', param } as const),
  ...(message ? { message } : {}),
});

const cases: Case[] = [
  {
    name: 'a stored provider is made',
    method: providers.createProvider,
    body: { name: 'My Provider', integration_id: 'shared', workspace_id: 'default' },
    headers: admin,
    check: (t, { json }) => {
      t.regex(String(json.id), UUID);
      t.regex(String(json.slug), /^my-provider-[0-9a-f]{6}$/);
      t.is(json.object, 'provider');
    },
  },
  {
    name: 'an organisation key names the workspace',
    method: providers.createProvider,
    body: { name: 'x', integration_id: 'shared' },
    headers: admin,
    refused: invalid('workspace_id', /needed with an organisation key/),
  },
  {
    name: 'and so for lists',
    method: providers.listProviders,
    body: {},
    headers: admin,
    refused: invalid('workspace_id'),
  },
  {
    name: 'the integration must be enabled for the workspace',
    method: providers.createProvider,
    body: { name: 'x', integration_id: 'shared', workspace_id: 'other' },
    headers: admin,
    refused: invalid('integration_id', /names no integration that the workspace may use/),
  },
  {
    name: 'an expiry lies ahead',
    method: providers.createProvider,
    body: {
      name: 'x',
      integration_id: 'shared',
      workspace_id: 'default',
      expires_at: '2020-01-01T00:00:00Z',
    },
    headers: admin,
    refused: invalid('expires_at', /in the future/),
  },
  {
    name: 'units of rates are the common ones',
    method: providers.createProvider,
    body: {
      name: 'x',
      integration_id: 'shared',
      workspace_id: 'default',
      rate_limits: [{ type: 'requests', unit: 'rps', value: 1 }],
    },
    headers: admin,
    refused: invalid('rate_limits[0].unit'),
  },
  {
    name: 'slugs have letters, digits, _ and -',
    method: providers.createProvider,
    body: { name: 'x', integration_id: 'shared', workspace_id: 'default', slug: 'a/b' },
    headers: admin,
    refused: invalid('slug'),
  },
  {
    name: 'an unknown stored provider is not there',
    method: providers.getProvider,
    body: { slug: 'nobody', workspace_id: 'default' },
    headers: admin,
    refused: { status: 404, code: Code.NotFound, reason: 'not_found' },
  },
  {
    name: 'a virtual key names a provider',
    method: keys.createVirtualKey,
    body: { name: 'x', provider: 'nobody', key: KEY, workspace_id: 'default' },
    headers: admin,
    refused: invalid('provider'),
  },
  {
    name: 'a virtual key has a credential',
    method: keys.createVirtualKey,
    body: { name: 'x', provider: 'openai', workspace_id: 'default' },
    headers: admin,
    refused: invalid('key'),
  },
  {
    name: 'options of another provider are named',
    method: keys.createVirtualKey,
    body: { name: 'x', provider: 'openai', key: KEY, workspace_id: 'default', resource_name: 'r' },
    headers: admin,
    refused: invalid('resource_name', /is no option of openai/),
  },
];
runCases(test, () => bench, cases);

for (const protocol of PROTOCOLS) {
  const caller =
    (t: ExecutionContext, headers: Record<string, string | undefined>) =>
    async (method: Case['method'], body: JsonObject) => {
      const { error, json } = await exchange(bench, { method, body, headers }, protocol);
      t.is(error, undefined, `${method.name}: ${JSON.stringify(error)}`);
      return json;
    };

  test(`a stored provider lives [${protocol}]`, async (t) => {
    const call = caller(t, admin);
    const slug = `life-${protocol}`;
    const named = { slug, workspace_id: 'default' };
    const { id } = await call(providers.createProvider, {
      name: 'Life',
      integration_id: 'shared',
      ...named,
      note: 'n',
      tags: { team: slug },
      usage_limits: { type: 'cost', credit_limit: 10, alert_threshold: 5 },
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 100 }],
      expires_at: '2999-01-01T00:00:00Z',
    });
    const one = await call(providers.getProvider, named);
    t.like(one, {
      id,
      slug,
      name: 'Life',
      note: 'n',
      status: 'active',
      ai_provider_name: 'openai',
      object: 'provider',
      reset_usage: null,
      last_reset_at: null,
    });
    t.regex(String(one.integration_id), UUID);
    t.like(one.usage_limits, { type: 'cost', credit_limit: 10, alert_threshold: 5, current_usage: 0 });
    t.deepEqual(one.rate_limits, [{ type: 'requests', unit: 'rpm', value: 100 }]);
    t.is(one.expires_at, '2999-01-01T00:00:00.000Z');
    t.deepEqual(await call(providers.updateProvider, { ...named, name: 'Changed', reset_usage: true }), {
      id,
      slug,
    });
    const changed = await call(providers.getProvider, { slug: id ?? '', workspace_id: 'default' });
    t.is(changed.name, 'Changed');
    t.is(changed.note, 'n');
    t.regex(String(changed.last_reset_at), /^\d{4}-/);
    const listed = await call(providers.listProviders, {
      workspace_id: 'default',
      tags: JSON.stringify({ team: slug }),
    });
    t.is(Number(listed.total), 1);
    const view = await call(keys.getVirtualKey, named);
    t.like(view, {
      id,
      slug,
      provider: 'openai',
      key: '',
      masked_api_key: null,
      object: 'virtual-key',
      integration_id: one.integration_id,
    });
    await call(providers.deleteProvider, named);
    const gone = await exchange(
      bench,
      { method: providers.getProvider, body: named, headers: admin },
      protocol,
    );
    t.not(gone.error, undefined);
  });

  test(`a virtual key lives [${protocol}]`, async (t) => {
    const call = caller(t, { 'x-gateway-api-key': workspaceKey, authorization: undefined });
    const made = await call(keys.createVirtualKey, {
      name: `Life ${protocol}`,
      provider: 'openai',
      key: KEY,
      tags: { of: protocol },
    });
    const slug = String(made.slug);
    t.like(made, { object: 'virtual-key', success: true, data: { slug } });
    const one = await call(keys.getVirtualKey, { slug });
    t.like(one, {
      slug,
      provider: 'openai',
      masked_api_key: 'sk*****789',
      key: '',
      integration_id: null,
      status: 'active',
      note: null,
      model_config: {},
    });
    await call(keys.updateVirtualKey, {
      slug,
      key: `${KEY}x`,
      note: 'n',
      custom_host: 'https://own.example.com/v1',
    });
    t.like(await call(keys.getVirtualKey, { slug }), {
      masked_api_key: 'sk*****89x',
      note: 'n',
      model_config: { custom_host: 'https://own.example.com/v1' },
    });
    t.is(Number((await call(keys.listVirtualKeys, { tags: JSON.stringify({ of: protocol }) })).total), 1);
    t.is((await call(providers.getProvider, { slug })).integration_id, null);
    await call(keys.deleteVirtualKey, { slug });
    const gone = await exchange(
      bench,
      {
        method: keys.getVirtualKey,
        body: { slug },
        headers: { 'x-gateway-api-key': workspaceKey, authorization: undefined },
      },
      protocol,
    );
    t.not(gone.error, undefined);
  });
}

test('options come in snake and in camel case', async (t) => {
  const snake = await ok(t, 'POST', '/virtual-keys', {
    name: 'snake',
    slug: 'snake',
    provider: 'azure-openai',
    key: KEY,
    resource_name: 'res',
    deployment_config: [
      { apiVersion: '2024-10-21', deploymentName: 'dep', alias: 'gpt-4o', is_default: true },
    ],
  });
  const camel = await ok(t, 'POST', '/virtual-keys', {
    name: 'camel',
    slug: 'camel',
    provider: 'azure-openai',
    key: KEY,
    resourceName: 'res',
    deploymentConfig: [
      { api_version: '2024-10-21', deployment_name: 'dep', alias: 'gpt-4o', is_default: true },
    ],
  });
  const config = async (slug: unknown) => (await ok(t, 'GET', `/virtual-keys/${slug}`)).model_config;
  const expected = {
    azure_auth_mode: 'default',
    azure_resource_name: 'res',
    azure_deployment_config: [
      {
        azure_api_version: '2024-10-21',
        azure_deployment_name: 'dep',
        azure_model_slug: 'gpt-4o',
        alias: 'gpt-4o',
        is_default: true,
      },
    ],
  };
  t.deepEqual(await config(snake.slug), expected);
  t.deepEqual(await config(camel.slug), expected);
  const single = await ok(t, 'POST', '/virtual-keys', {
    name: 'single',
    provider: 'azure-openai',
    key: KEY,
    resourceName: 'res',
    deploymentName: 'dep',
    apiVersion: '2024-10-21',
  });
  t.like(await config(single.slug), { azure_deployment_id: 'dep', azure_api_version: '2024-10-21' });
});

test('one limit alone, lists, null and empty lists', async (t) => {
  const limit = { type: 'tokens', unit: 'rpd', value: 7 };
  await ok(t, 'POST', '/providers', {
    name: 'l',
    slug: 'limits',
    integration_id: 'shared',
    rate_limits: limit,
    usage_limits: { type: 'tokens', credit_limit: 100 },
  });
  const get = () => ok(t, 'GET', '/providers/limits');
  t.deepEqual((await get()).rate_limits, [limit]);
  await ok(t, 'PUT', '/providers/limits', { rate_limits: [] });
  t.is((await get()).rate_limits, null);
  await ok(t, 'PUT', '/providers/limits', { rate_limits: [limit] });
  await ok(t, 'PUT', '/providers/limits', { rate_limits: null, usage_limits: null, expires_at: null });
  t.like(await get(), { rate_limits: null, usage_limits: null });
  await ok(t, 'PUT', '/providers/limits?workspace_id=default', { note: 'by query' }, ADMIN_KEY);
  await ok(t, 'PUT', '/providers/limits', { note: 'by body', workspace_id: 'default' }, ADMIN_KEY);
  t.is((await get()).note, 'by body');
  t.is((await rest('PUT', '/providers/limits', { note: 'x' }, ADMIN_KEY)).status, 400);
});

test('slugs are the workspace’s own, and nobody else sees them', async (t) => {
  const body = { name: 'same', slug: 'same', provider: 'openai', key: KEY };
  await ok(t, 'POST', '/virtual-keys', body);
  await ok(t, 'POST', '/virtual-keys', body, otherKey);
  t.is((await rest('POST', '/virtual-keys', body, otherKey)).status, 409);
  const mine = await ok(t, 'GET', '/virtual-keys/same');
  const theirs = await ok(t, 'GET', '/virtual-keys/same', undefined, otherKey);
  t.not(mine.id, theirs.id);
  for (const path of ['/virtual-keys', '/providers']) {
    for (const verb of ['GET', 'DELETE'])
      t.is((await rest(verb, `${path}/${mine.id}`, undefined, otherKey)).status, 404);
    t.is((await rest('PUT', `${path}/${mine.id}`, { name: 'x' }, otherKey)).status, 404);
    t.is((await rest('GET', `${path}?workspace_id=default`, undefined, otherKey)).status, 400);
  }
  t.is((await rest('GET', '/virtual-keys/same')).status, 400, 'two workspaces have one');
  t.is((await rest('GET', '/virtual-keys/same?workspace_id=other')).json.id, theirs.id);
});

test('a credential of an integration is changed there', async (t) => {
  await ok(t, 'POST', '/providers', { name: 'i', slug: 'byint', integration_id: 'shared' });
  const { status, json } = await rest('PUT', '/virtual-keys/byint', { key: 'new-key' }, workspaceKey);
  t.is(status, 400);
  t.is((json.error as JsonObject).param, 'key');
  await ok(t, 'PUT', '/virtual-keys/byint', { note: 'fine' });
});

test('a workspace with stored providers is archived with force only', async (t) => {
  await rest('POST', '/admin/workspaces', { name: 'Full', slug: 'full' });
  await ok(
    t,
    'POST',
    '/virtual-keys',
    { name: 'v', provider: 'openai', key: KEY, workspace_id: 'full' },
    ADMIN_KEY,
  );
  t.is((await rest('DELETE', '/admin/workspaces/full', { name: 'Full' })).status, 409);
  t.is((await rest('DELETE', '/admin/workspaces/full', { name: 'Full', force_delete: true })).status, 200);
});

test('no credential is in an answer, the log or the audit log', async (t) => {
  const secret = 'no-known-prefix-4711-secret';
  await ok(t, 'POST', '/virtual-keys', { name: 'quiet', slug: 'quiet', provider: 'openai', key: secret });
  await ok(t, 'PUT', '/virtual-keys/quiet', { key: `${secret}-2`, name: 'quieter' });
  const shown = [
    await ok(t, 'GET', '/virtual-keys'),
    await ok(t, 'GET', '/providers'),
    await ok(t, 'GET', '/audit-logs', undefined, ADMIN_KEY),
  ];
  t.true(JSON.stringify(shown).includes('quieter'));
  t.false(JSON.stringify(shown).includes(secret));
  t.false(bench.gateway.logLines.some((line) => line.includes(secret)));
});
