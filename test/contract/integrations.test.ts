// Integrations over REST, Connect and gRPC: levels, secrets, models and workspaces.
import { Code } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { IntegrationsService } from '../../gen/gateway/admin/v2/integrations_pb.ts';
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

const KEY = 'sk-integration-secret-0123456789';
const { method } = IntegrationsService;

let bench: Bench;
let workspaceKey = '';
let otherWorkspace = '';
let count = 0;

test.before(async () => {
  bench = await startBench({ LOG_LEVEL: 'trace' });
  workspaceKey = await keyOf('default');
  otherWorkspace = String((await rest('POST', '/admin/workspaces', { name: 'Other' })).json.id);
  await rest('POST', '/integrations', { name: 'Shared', slug: 'shared', ai_provider_id: 'openai', key: KEY });
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
  key = ADMIN_KEY,
): Promise<JsonObject> {
  const { status, json } = await rest(verb, path, body, key);
  t.is(status, 200, JSON.stringify(json));
  return json;
}

async function keyOf(workspace: string): Promise<string> {
  const verbs = ['create', 'read', 'update', 'delete', 'list'];
  const scopes = [
    ...verbs.flatMap((verb) => [`workspace_integrations.${verb}`, `providers.${verb}`]),
    'organisation_integrations.list',
    'completions.write',
  ];
  const { json } = await rest('POST', '/api-keys/workspace/service', {
    name: 'k',
    workspace_id: workspace,
    scopes,
  });
  return String(json.key);
}

const admin = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
const openai = (more: JsonObject = {}): JsonObject => ({
  name: 'OpenAI',
  slug: `openai-${++count}`,
  ai_provider_id: 'openai',
  key: KEY,
  ...more,
});
const refusal = (param: string, message: RegExp) =>
  ({
    status: 400,
    code: Code.InvalidArgument,
    reason: 'validation_failed',
    param,
    message,
  }) as const;

const cases: Case[] = [
  {
    name: 'an integration is made',
    method: method.createIntegration,
    get body() {
      return openai();
    },
    headers: admin,
    check: (t, { json }) => {
      t.regex(String(json.id), UUID);
      t.regex(String(json.slug), /^openai-\d+$/);
      t.is(json.object, 'integration');
    },
  },
  {
    name: 'a slug is made of the name',
    method: method.createIntegration,
    body: { name: 'My Provider!', ai_provider_id: 'anthropic', key: KEY },
    headers: admin,
    check: (t, { json }) => void t.regex(String(json.slug), /^my-provider-[0-9a-f]{6}$/),
  },
  {
    name: 'a slug that is taken is a conflict',
    method: method.createIntegration,
    body: { name: 'x', slug: 'shared', ai_provider_id: 'openai', key: KEY },
    headers: admin,
    refused: { status: 409, code: Code.AlreadyExists, reason: 'conflict' },
  },
  {
    name: 'an unknown provider is named',
    method: method.createIntegration,
    body: { name: 'x', ai_provider_id: 'nobody', key: KEY },
    headers: admin,
    refused: refusal('ai_provider_id', /no provider that the gateway knows: nobody/),
  },
  {
    name: 'a key is needed where the provider needs one',
    method: method.createIntegration,
    body: { name: 'x', ai_provider_id: 'openai' },
    headers: admin,
    refused: refusal('key', /is required for openai/),
  },
  {
    name: 'an option that the provider has not is named',
    method: method.createIntegration,
    body: { name: 'x', ai_provider_id: 'openai', key: KEY, configurations: { azure_resource_name: 'r' } },
    headers: admin,
    refused: refusal('configurations.azure_resource_name', /is no option of openai/),
  },
  {
    name: 'options are typed',
    method: method.createIntegration,
    body: {
      name: 'x',
      ai_provider_id: 'openai',
      key: KEY,
      configurations: { custom_headers: { host: 'x' } },
    },
    headers: admin,
    refused: refusal('configurations.custom_headers.host', /not for custom headers/),
  },
  {
    name: 'what a provider needs is needed',
    method: method.createIntegration,
    body: {
      name: 'x',
      ai_provider_id: 'azure-openai',
      key: KEY,
      configurations: { azure_resource_name: 'r' },
    },
    headers: admin,
    refused: refusal('configurations.azure_auth_mode', /azure_deployment_config: is required/),
  },
  {
    name: 'a host that may not be called is refused',
    method: method.createIntegration,
    body: {
      name: 'x',
      ai_provider_id: 'openai',
      key: KEY,
      configurations: { custom_host: 'http://169.254.169.254/v1' },
    },
    headers: admin,
    refused: {
      status: 400,
      code: Code.InvalidArgument,
      reason: 'host_refused',
      param: 'configurations.custom_host',
    },
  },
  {
    name: 'factors on prices are closed and not negative',
    method: method.createIntegration,
    body: {
      name: 'x',
      ai_provider_id: 'openai',
      key: KEY,
      pricing_adjustments: { multiplier: { default: -1 } },
    },
    headers: admin,
    refused: {
      status: 400,
      code: Code.InvalidArgument,
      reason: 'validation_failed',
      param: 'pricing_adjustments.multiplier.default',
    },
  },
  {
    name: 'a provider without an address needs one',
    method: method.createIntegration,
    body: { name: 'x', ai_provider_id: 'openai-compatible', key: KEY },
    headers: admin,
    refused: refusal('configurations.custom_host', /is required for openai-compatible/),
  },
  {
    name: 'an unknown integration is not there',
    method: method.getIntegration,
    body: { slug: 'nobody' },
    headers: admin,
    refused: { status: 404, code: Code.NotFound, reason: 'not_found' },
  },
  {
    name: 'a workspace does not see what is not shared with it',
    method: method.getIntegration,
    body: { slug: 'shared' },
    headers: {
      get 'x-gateway-api-key'() {
        return workspaceKey;
      },
      authorization: undefined,
    },
    refused: { status: 404, code: Code.NotFound, reason: 'not_found' },
  },
  {
    name: 'a filter by tags is an object',
    method: method.listIntegrations,
    body: { tags: '[1]' },
    headers: admin,
    refused: refusal('tags', /must be a JSON object/),
  },
];
runCases(test, () => bench, cases);

for (const protocol of PROTOCOLS) {
  test(`an integration lives [${protocol}]`, async (t) => {
    const call = async (name: keyof typeof method, body: JsonObject) => {
      const { error, json } = await exchange(bench, { method: method[name], body, headers: admin }, protocol);
      t.is(error, undefined, `${name}: ${JSON.stringify(error)}`);
      return json;
    };
    const slug = `life-${protocol}`;
    await call('createIntegration', {
      name: 'Life',
      slug,
      ai_provider_id: 'openai',
      key: KEY,
      description: 'd',
      tags: { team: slug, tier: 'a' },
      configurations: { openai_project: 'p', custom_headers: { 'x-team': 'secret-header-value' } },
      pricing_adjustments: {
        multiplier: {
          default: 1.5,
          request_token: 2,
          image: { default: 1 },
          additional_units: { search: 3 },
        },
      },
    });
    const made = await call('getIntegration', { slug });
    t.is(made.masked_key, 'sk*****789');
    t.is(made.type, 'organisation');
    t.is(made.workspace_id, null);
    t.deepEqual(made.configurations, {
      openai_project: 'p',
      masked_custom_headers: { 'x-team': 'se*****lue' },
    });
    t.deepEqual(made.tags, { team: slug, tier: 'a' });
    t.deepEqual((made.pricing_adjustments as JsonObject).multiplier, {
      default: 1.5,
      request_token: 2,
      image: { default: 1 },
      additional_units: { search: 3 },
    });
    t.is(made.allow_all_models, true);
    t.false(JSON.stringify(made).includes(KEY));

    await call('updateIntegration', {
      slug,
      name: 'Changed',
      key: `${KEY}x`,
      configurations: made.configurations ?? {},
    });
    const changed = await call('getIntegration', { slug });
    t.is(changed.name, 'Changed');
    t.is(changed.masked_key, 'sk*****89x');
    t.deepEqual(changed.configurations, made.configurations, 'what was shown changes nothing');

    const listed = await call('listIntegrations', { tags: JSON.stringify({ team: slug, tier: 'a' }) });
    t.is(Number(listed.total), 1);
    t.is((listed.data as JsonObject[])[0]?.slug, slug);
    t.is(
      Number((await call('listIntegrations', { tags: JSON.stringify({ team: slug, tier: 'b' }) })).total),
      0,
    );

    await call('updateIntegrationModels', {
      slug,
      allow_all_models: false,
      models: [
        { slug: 'gpt-4.1', enabled: true },
        {
          slug: 'own',
          enabled: true,
          is_custom: true,
          base_model_slug: 'gpt-4.1',
          configurations: {
            custom_host: 'https://models.example.com/v1',
            custom_headers: { 'x-own': 'own-header-value' },
          },
          pricing_config: {
            type: 'static',
            pay_as_you_go: { request_token: { price: 0.00001 }, response_token: { price: 0.00002 } },
          },
        },
      ],
    });
    const models = await call('listIntegrationModels', { slug });
    t.is(Number(models.total), 2);
    t.is(models.allow_all_models, false);
    const own = (models.models as JsonObject[]).find((one) => one.slug === 'own')!;
    t.is(own.base_model_slug, 'gpt-4.1');
    t.deepEqual(own.configurations, {
      custom_host: 'https://models.example.com/v1',
      custom_headers: { 'x-own': 'ow*****lue' },
    });
    t.deepEqual(own.pricing_config, {
      type: 'static',
      pay_as_you_go: { request_token: { price: 0.00001 }, response_token: { price: 0.00002 } },
    });
    await call('deleteIntegrationModels', { slug, slugs: 'own,gpt-4.1' });
    const left = (await call('listIntegrationModels', { slug })).models as JsonObject[];
    t.deepEqual(
      left.map(({ slug: model, enabled }) => [model, enabled]),
      [['gpt-4.1', false]],
    );

    await call('updateIntegrationWorkspaces', {
      slug,
      workspaces: [
        {
          id: 'default',
          enabled: true,
          usage_limits: [{ type: 'cost', credit_limit: 5 }],
          rate_limits: [{ type: 'requests', unit: 'rpm', value: 9 }],
        },
      ],
      global_workspace_access: { enabled: false },
    });
    const shared = await call('listIntegrationWorkspaces', { slug });
    const [entry] = shared.workspaces as JsonObject[];
    t.is(entry?.id, 'default');
    t.is(entry?.enabled, true);
    t.deepEqual(entry?.rate_limits, [{ type: 'requests', unit: 'rpm', value: 9 }]);
    t.is((shared.global_workspace_access as JsonObject).enabled, false);
    t.is(Number((await call('getIntegration', { slug })).workspace_count), 1);

    const conflict = await exchange(
      bench,
      { method: method.deleteIntegration, body: { slug }, headers: admin },
      protocol,
    );
    t.not(conflict.error, undefined, 'it has a stored provider now');
    await ok(t, 'DELETE', `/providers/${slug}?workspace_id=default`);
    await call('deleteIntegration', { slug });
    const gone = await exchange(
      bench,
      { method: method.getIntegration, body: { slug }, headers: admin },
      protocol,
    );
    t.not(gone.error, undefined);
  });
}

test('null and empty take away, absent leaves', async (t) => {
  await ok(
    t,
    'POST',
    '/integrations',
    openai({
      slug: 'nulls',
      description: 'd',
      tags: { a: 'b' },
      configurations: {
        custom_host: 'https://x.example.com',
        custom_headers: { 'x-a': 'some-header-value' },
      },
    }),
  );
  await ok(t, 'PUT', '/integrations/nulls', { description: null, tags: {} });
  const one = await ok(t, 'GET', '/integrations/nulls');
  t.is(one.description, null);
  t.is(one.tags, null);
  t.is(one.masked_key, 'sk*****789');
  await ok(t, 'PUT', '/integrations/nulls', { configurations: { custom_host: 'https://x.example.com/v2' } });
  t.deepEqual((await ok(t, 'GET', '/integrations/nulls')).configurations, {
    custom_host: 'https://x.example.com/v2',
    masked_custom_headers: { 'x-a': 'so*****lue' },
  });
  await ok(t, 'PUT', '/integrations/nulls', {
    configurations: { custom_host: 'https://x.example.com/v2', custom_headers: null },
  });
  t.deepEqual((await ok(t, 'GET', '/integrations/nulls')).configurations, {
    custom_host: 'https://x.example.com/v2',
  });
  const { status } = await rest('PUT', '/integrations/nulls', { name: null });
  t.is(status, 400);
});

test('a new address asks for the secrets again', async (t) => {
  const x = { custom_host: 'https://x.example.com' };
  const y = { custom_host: 'https://y.example.com' };
  const headers = { custom_headers: { 'x-a': 'some-header-value' } };
  await ok(t, 'POST', '/integrations', openai({ slug: 'moved', configurations: { ...x, ...headers } }));
  const put = async (body: JsonObject) => {
    const { status, json } = await rest('PUT', '/integrations/moved', body);
    return status === 200 ? 200 : (json.error as JsonObject).param;
  };
  t.is(await put({ configurations: y }), 'key');
  t.is(await put({ configurations: null }), 'key');
  t.is(await put({ configurations: y, key: KEY }), 'configurations.custom_headers');
  t.is(await put({ configurations: { ...y, ...headers }, key: KEY }), 200);
  t.is(await put({ configurations: y }), 200, 'the same one');
  await ok(t, 'POST', '/virtual-keys', {
    name: 'v',
    slug: 'moved',
    provider: 'openai',
    key: KEY,
    workspace_id: 'default',
  });
  const moved = await rest('PUT', '/virtual-keys/moved?workspace_id=default', y);
  t.is((moved.json.error as JsonObject).param, 'key');
});

test('a workspace has integrations of its own, with a stored provider each', async (t) => {
  await ok(
    t,
    'POST',
    '/integrations',
    openai({ slug: 'mine', default_provider_slug: 'mine-p' }),
    workspaceKey,
  );
  const mine = await ok(t, 'GET', '/integrations/mine', undefined, workspaceKey);
  t.is(mine.type, 'workspace');
  t.is((await ok(t, 'GET', '/providers/mine-p', undefined, workspaceKey)).integration_id, mine.id);
  const taken = await rest(
    'POST',
    '/integrations',
    openai({ default_provider_slug: 'mine-p' }),
    workspaceKey,
  );
  t.is(taken.status, 409, JSON.stringify(taken.json));
  const refused = await rest('PUT', '/integrations/mine/workspaces', {
    workspaces: [{ id: otherWorkspace, enabled: true }],
  });
  t.is(refused.status, 400);
  const other = await keyOf(otherWorkspace);
  for (const path of ['', '/models', '/workspaces'])
    t.is((await rest('GET', `/integrations/mine${path}`, undefined, other)).status, 404);
  t.is((await rest('PUT', '/integrations/mine', { name: 'theirs' }, other)).status, 404);
  t.is((await rest('DELETE', '/integrations/mine', undefined, other)).status, 404);
});

test('what is shared is listed, and changed by organisation keys alone', async (t) => {
  await ok(t, 'POST', '/integrations', openai({ slug: 'seen' }));
  const slugs = async (query: string, key: string) =>
    ((await ok(t, 'GET', `/integrations${query}`, undefined, key)).data as JsonObject[]).map(
      ({ slug }) => slug,
    );
  t.false((await slugs('', workspaceKey)).includes('seen'));
  await ok(t, 'PUT', '/integrations/seen/workspaces', {
    global_workspace_access: { enabled: true },
    create_default_provider: false,
  });
  t.true((await slugs('', workspaceKey)).includes('seen'));
  t.is((await rest('GET', '/providers/seen?workspace_id=default')).status, 404, 'none was asked for');
  t.true((await slugs('?type=organisation', workspaceKey)).includes('seen'));
  t.false((await slugs('?type=workspace', workspaceKey)).includes('seen'));
  t.true((await slugs(`?workspace_id=${otherWorkspace}`, ADMIN_KEY)).includes('seen'));
  t.is((await rest('PUT', '/integrations/seen', { name: 'x' }, workspaceKey)).status, 403);
  t.is((await rest('GET', '/integrations/seen', undefined, workspaceKey)).status, 403);
  // All but one, and then what was said before is forgotten, in both spellings of the flag.
  await ok(t, 'PUT', '/integrations/seen/workspaces', { workspaces: [{ id: 'default', enabled: false }] });
  t.false((await slugs('', workspaceKey)).includes('seen'));
  await ok(t, 'PUT', '/integrations/seen/workspaces', {
    workspaces: [],
    override_existing_workspaces_access: true,
  });
  t.true((await slugs('', workspaceKey)).includes('seen'));
  await ok(t, 'PUT', '/integrations/seen/workspaces', {
    workspaces: [],
    global_workspace_access: { enabled: false },
    override_existing_workspace_access: true,
  });
  t.false((await slugs('', workspaceKey)).includes('seen'));
});

test('models: each named once, and what is deleted must be there', async (t) => {
  await ok(t, 'POST', '/integrations', openai({ slug: 'models' }));
  const put = (body: JsonObject) => rest('PUT', '/integrations/models/models', body);
  const twice = await put({
    models: [
      { slug: 'a', enabled: true },
      { slug: 'a', enabled: false },
    ],
  });
  t.is((twice.json.error as JsonObject).param, 'models[1].slug');
  t.is((await put({ models: [{ slug: 'a' }] })).status, 400, 'enabled is needed');
  t.is((await put({})).status, 400);
  const host = await put({
    models: [
      { slug: 'a', enabled: true, is_custom: true, configurations: { custom_host: 'http://10.0.0.1' } },
    ],
  });
  t.is((host.json.error as JsonObject).param, 'models[0].configurations.custom_host');
  t.is((await put({ models: [{ slug: 'a', enabled: true, is_custom: true }] })).status, 200);
  t.is((await rest('DELETE', '/integrations/models/models')).status, 400);
  t.is((await rest('DELETE', '/integrations/models/models?slugs=nobody')).status, 404);
  t.is((await rest('DELETE', '/integrations/models/models?slugs=a')).status, 200);
  await put({ models: [{ slug: 'b', enabled: true, is_custom: true }] });
  t.is((await rest('DELETE', '/integrations/models/models', { models: ['b'] })).status, 200);
  t.is((await ok(t, 'GET', '/integrations/models/models')).total, 0);
});

test('no secret is in the log or the audit log', async (t) => {
  await ok(
    t,
    'POST',
    '/integrations',
    openai({
      slug: 'quiet',
      key: 'not-a-known-prefix-98765',
      configurations: { custom_headers: { 'x-h': 'quiet-header-value' } },
    }),
  );
  await ok(t, 'PUT', '/integrations/quiet', { key: 'another-unknown-form-98765' });
  const audit = JSON.stringify(await ok(t, 'GET', '/audit-logs'));
  t.true(audit.includes('quiet') || audit.includes('integration'));
  for (const secret of [
    'not-a-known-prefix-98765',
    'another-unknown-form-98765',
    'quiet-header-value',
    KEY,
  ]) {
    t.false(audit.includes(secret));
    t.false(bench.gateway.logLines.some((line) => line.includes(secret)));
  }
});
