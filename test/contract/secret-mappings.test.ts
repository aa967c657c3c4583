// Values of stored providers that secret references hold: put in their places for a call, and shown nowhere.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { IntegrationsService } from '../../gen/gateway/admin/v2/integrations_pb.ts';
import { VirtualKeysService } from '../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import {
  type Bench,
  type Case,
  exchange,
  type JsonObject,
  PROTOCOLS,
  runCases,
  startBench,
} from './runner.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-secrets-'));
const SECRET = 'sk-of-the-manager-0123456789';
const chat = ChatService.method.createChatCompletion;
const body = { messages: [{ role: 'user', content: 'Hi' }], model: 'gpt-4o' };
let bench: Bench;

test.before(async () => {
  writeFileSync(join(folder, 'plain'), SECRET);
  writeFileSync(join(folder, 'json'), JSON.stringify({ openai: `${SECRET}-member`, project: 'proj-1' }));
  bench = await startBench({ LOG_LEVEL: 'trace', GATEWAY_SECRET_FILE_ALLOW: folder });
  await made('POST', '/admin/workspaces', { name: 'Other', slug: 'other' });
  const reference = (slug: string, file: string, more: JsonObject = {}) =>
    made('POST', '/secret-references', {
      name: slug,
      slug,
      manager_type: 'file',
      secret_path: join(folder, file),
      auth_config: {},
      ...more,
    });
  await reference('plain', 'plain');
  await reference('json', 'json', { secret_key: 'openai' });
  await reference('gone', 'gone');
  await reference('others', 'plain', { allowed_workspaces: ['other'] });
});
test.after.always(async () => {
  await bench?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function rest(verb: string, path: string, json?: JsonObject) {
  const response = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': ADMIN_KEY, ...(json ? { 'content-type': 'application/json' } : {}) },
    ...(json ? { body: JSON.stringify(json) } : {}),
  });
  return { status: response.status, json: (await response.json()) as JsonObject };
}

async function made(verb: string, path: string, given: JsonObject): Promise<JsonObject> {
  const { status, json } = await rest(verb, path, given);
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`);
  return json;
}

const configurations = (prefix: string): JsonObject => ({
  custom_host: `${bench.provider.origin}/${prefix}/v1`,
});
const integration = (slug: string, mappings: JsonObject[], more: JsonObject = {}) =>
  made('POST', '/integrations', {
    name: slug,
    slug,
    ai_provider_id: 'openai',
    workspace_id: 'default',
    secret_mappings: mappings,
    configurations: { ...configurations(slug), ...more },
  });
const call = (slug: string, protocol: (typeof PROTOCOLS)[number] = 'rest', config?: JsonObject) =>
  exchange(
    bench,
    {
      method: chat,
      body,
      headers: {
        'x-gateway-custom-host': undefined,
        authorization: undefined,
        'x-gateway-provider': config ? undefined : `@${slug}`,
        'x-gateway-config': config && JSON.stringify(config),
      },
    },
    protocol,
  );
const last = (t: ExecutionContext, prefix: string) => {
  const seen = bench.provider.seen.findLast(({ url }) => url.startsWith(`/${prefix}/`));
  t.truthy(seen, 'the provider was called');
  return seen!.headers;
};

const admin = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
const refused = (param: string) =>
  ({ status: 400, code: Code.InvalidArgument, reason: 'validation_failed', param }) as const;
const create = (mappings: JsonObject[]): JsonObject => ({
  name: 'x',
  ai_provider_id: 'openai',
  workspace_id: 'default',
  secret_mappings: mappings,
});
const toKey = (secret_reference_id: string) => ({ target_field: 'key', secret_reference_id });

const cases: Case[] = [
  {
    name: 'an unknown reference',
    method: IntegrationsService.method.createIntegration,
    body: create([toKey('nobody')]),
    headers: admin,
    refused: refused('secret_mappings[0].secret_reference_id'),
  },
  {
    name: 'a reference that the workspace does not see',
    method: IntegrationsService.method.createIntegration,
    body: create([toKey('others')]),
    headers: admin,
    refused: refused('secret_mappings[0].secret_reference_id'),
  },
  {
    name: 'a target named twice',
    method: IntegrationsService.method.createIntegration,
    body: create([toKey('plain'), toKey('json')]),
    headers: admin,
    refused: refused('secret_mappings[1].target_field'),
  },
  {
    name: 'an address as a target',
    method: IntegrationsService.method.createIntegration,
    body: create([
      toKey('plain'),
      { target_field: 'configurations.custom_host', secret_reference_id: 'plain' },
    ]),
    headers: admin,
    refused: refused('secret_mappings[1].target_field'),
  },
  {
    name: 'an option that the provider has not',
    method: VirtualKeysService.method.createVirtualKey,
    body: {
      name: 'x',
      provider: 'openai',
      workspace_id: 'default',
      secret_mappings: [{ target_field: 'model_config.nothing', secret_reference_id: 'plain' }],
    },
    headers: admin,
    refused: refused('secret_mappings[0].target_field'),
  },
];
runCases(test, () => bench, cases);

for (const protocol of PROTOCOLS)
  test(`a key and an option from references [${protocol}]`, async (t) => {
    const slug = `mapped-${protocol}`;
    await integration(slug, [
      { ...toKey('json') },
      { target_field: 'openai_project', secret_reference_id: 'json', secret_key: 'project' },
    ]);
    t.is((await call(slug, protocol)).error, undefined);
    t.is(last(t, slug).authorization, `Bearer ${SECRET}-member`);
    t.is(last(t, slug)['openai-project'], 'proj-1');
    const { json } = await rest('GET', `/integrations/${slug}`);
    const mappings = json.secret_mappings as JsonObject[];
    t.deepEqual(
      mappings.map(({ target_field }) => target_field),
      ['key', 'configurations.openai_project'],
    );
    t.is(json.masked_key, null);
    t.deepEqual(json.configurations, configurations(slug));
  });

test('a virtual key’s key may be mapped, changed and taken away', async (t) => {
  await made('POST', '/virtual-keys', {
    name: 'v',
    slug: 'vk',
    provider: 'openai',
    workspace_id: 'default',
    secret_mappings: [toKey('plain')],
    custom_host: `${bench.provider.origin}/vk/v1`,
  });
  t.is((await call('vk')).error, undefined);
  t.is(last(t, 'vk').authorization, `Bearer ${SECRET}`);
  await made('PUT', '/virtual-keys/vk?workspace_id=default', { note: 'n' });
  t.is(
    ((await rest('GET', '/virtual-keys/vk?workspace_id=default')).json.secret_mappings as JsonObject[])
      .length,
    1,
  );
  await made('PUT', '/virtual-keys/vk?workspace_id=default', {
    secret_mappings: [],
    key: 'sk-own-key-0123456789',
  });
  t.is((await call('vk')).error, undefined);
  t.is(last(t, 'vk').authorization, 'Bearer sk-own-key-0123456789');
});

test('a secret that cannot be had stops its provider alone', async (t) => {
  await integration('broken', [toKey('gone')]);
  await integration('whole', [toKey('plain')]);
  t.is((await call('broken')).status, 503);
  const config = {
    strategy: { mode: 'fallback' },
    targets: [{ provider: '@broken' }, { provider: '@whole' }],
  };
  t.is((await call('', 'rest', config)).error, undefined);
  t.is(last(t, 'whole').authorization, `Bearer ${SECRET}`);
});

test('a reference in use stays', async (t) => {
  const { id } = await made('POST', '/secret-references', {
    name: 'used',
    slug: 'used',
    manager_type: 'file',
    secret_path: join(folder, 'plain'),
    auth_config: {},
  });
  await integration('user', [toKey('used')]);
  const kept = await rest('DELETE', `/secret-references/${id}`);
  t.is(kept.status, 409, JSON.stringify(kept.json));
  t.regex(JSON.stringify(kept.json), /the integration user/);
  await made('PUT', '/integrations/user', { secret_mappings: null });
  t.is((await rest('DELETE', `/secret-references/${id}`)).status, 200);
});

test('no value is in a log', async (t) => {
  const logs = JSON.stringify([(await rest('GET', '/logs')).json, (await rest('GET', '/audit-logs')).json]);
  t.false(logs.includes(SECRET));
  t.false(bench.gateway.logLines.some((line) => line.includes(SECRET)));
});
