// What models the calling key may use, over every protocol: those of its workspace's stored providers.
import test, { type ExecutionContext } from 'ava';
import { ModelsService } from '../../gen/gateway/inference/v2/models_pb.ts';
import { openModelCatalogue } from '../../src/providers/catalog/models.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, exchange, type JsonObject, PROTOCOLS, type Protocol, startBench } from './runner.ts';

const KEY = 'sk-kept-by-the-gateway-0123456789';
const { listModels } = ModelsService.method;
const NOTHING = {
  'x-gateway-provider': undefined,
  'x-gateway-custom-host': undefined,
  authorization: undefined,
};

let bench: Bench;
let otherKey = '';

test.before(async () => {
  bench = await startBench();
  await made('POST', '/admin/workspaces', { name: 'Other', slug: 'other' });
  const key = await made('POST', '/api-keys/workspace/service', {
    name: 'k',
    workspace_id: 'other',
    scopes: ['completions.write'],
  });
  otherKey = String(key.key);
  const configurations = { custom_host: `${bench.provider.origin}/v1` };
  for (const slug of ['wide', 'narrow', 'unshared']) {
    await made('POST', '/integrations', {
      name: slug,
      slug,
      ai_provider_id: 'groq',
      key: KEY,
      configurations,
    });
    const workspaces = [{ id: 'default', enabled: slug !== 'unshared' }];
    await made('PUT', `/integrations/${slug}/workspaces`, { workspaces });
  }
  await made('PUT', '/integrations/wide/models', {
    models: [{ slug: 'llama-guard-3-8b', enabled: false }],
  });
  await made('PUT', '/integrations/narrow/models', {
    allow_all_models: false,
    models: [
      { slug: 'openai/gpt-oss-20b', enabled: true },
      { slug: 'ours', enabled: true, is_custom: true },
    ],
  });
  const azure = { name: 'a', slug: 'azure', provider: 'azure-openai', key: KEY, workspace_id: 'default' };
  await made('POST', '/virtual-keys', {
    ...azure,
    custom_host: `${bench.provider.origin}/azure/openai`,
    deployment_config: [
      { apiVersion: '2024-10-21', deploymentName: 'dep-mini', alias: 'mini', is_default: true },
      { apiVersion: '2024-06-01', deploymentName: 'dep-big' },
    ],
  });
});
test.after.always(() => bench?.close());

async function made(verb: string, path: string, body: JsonObject): Promise<JsonObject> {
  const response = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const json = (await response.json()) as JsonObject;
  if (response.status !== 200) throw new Error(`${verb} ${path}: ${JSON.stringify(json)}`);
  return json;
}

async function listed(
  t: ExecutionContext,
  protocol: Protocol,
  given: Readonly<Record<string, string | undefined>> = {},
  body: JsonObject = {},
) {
  const headers = { ...NOTHING, 'x-gateway-api-key': WORKSPACE_KEY, ...given };
  const { json, error } = await exchange(bench, { method: listModels, body, headers }, protocol);
  t.is(error, undefined, JSON.stringify(error));
  t.is(json.object, 'list');
  const data = json.data as JsonObject[];
  return { data, ids: data.map(({ id }) => String(id)), json };
}

for (const protocol of PROTOCOLS) {
  test(`who selects no provider is told what there is to select [${protocol}]`, async (t) => {
    const { ids, data } = await listed(t, protocol);
    const of = (slug: string) =>
      ids.filter((id) => id.startsWith(`@${slug}/`)).map((id) => id.slice(slug.length + 2));
    const groq = openModelCatalogue().modelsOf('groq');
    t.true(groq.includes('llama-guard-3-8b'));
    t.deepEqual(of('wide'), groq.filter((model) => model !== 'llama-guard-3-8b').sort());
    t.deepEqual(of('narrow'), ['openai/gpt-oss-20b', 'ours']);
    t.deepEqual(of('azure'), ['dep-big', 'mini']);
    t.deepEqual(of('unshared'), []);
    t.like(
      data.find(({ id }) => id === '@narrow/ours'),
      { object: 'model', provider: 'groq', owned_by: 'groq' },
    );
    t.deepEqual((await listed(t, protocol, { 'x-gateway-api-key': otherKey })).ids, []);
  });

  test(`the list has pages [${protocol}]`, async (t) => {
    const whole = await listed(t, protocol);
    const first = await listed(t, protocol, {}, { limit: 2 });
    t.deepEqual(first.ids, whole.ids.slice(0, 2));
    t.is(first.json.has_more ?? (first.json.extra as JsonObject | undefined)?.has_more, true);
    const rest = await listed(t, protocol, {}, { after: first.ids[1]! });
    t.deepEqual(rest.ids, whole.ids.slice(2));
    const headers = { ...NOTHING, 'x-gateway-api-key': WORKSPACE_KEY };
    const wrong = await exchange(bench, { method: listModels, body: { after: '@a/b' }, headers }, protocol);
    t.truthy(wrong.error);
  });

  test(`the header asks for it beside a provider, whose models alone are listed [${protocol}]`, async (t) => {
    const { ids } = await listed(t, protocol, {
      'x-gateway-provider': '@narrow',
      'x-gateway-fetch-integrated-models': 'true',
    });
    t.deepEqual(ids, ['@narrow/openai/gpt-oss-20b', '@narrow/ours']);
  });

  test(`a config that selects nothing is still refused [${protocol}]`, async (t) => {
    const headers = {
      ...NOTHING,
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-config': '{"retry":{"attempts":1}}',
    };
    const { error } = await exchange(bench, { method: listModels, headers }, protocol);
    t.truthy(error);
  });
}
