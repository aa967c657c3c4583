// Declared state over REST: what is planned is applied, once; what is wrong is told at once.
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts';
import { ok, send } from '../../support/front-door.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';

let provider: FakeProvider;
let gateway: TestGateway;

test.before(async () => {
  provider = await startFakeProvider();
  gateway = await startGateway();
});

test.after.always(async () => {
  await gateway.close();
  await provider.close();
});

const SECRET = 'sk-declared-0123456789abcdef';
const KEY = 'slk_declared_key_0123456789abcdef';

const document = () => ({
  version: 1,
  workspaces: [
    { slug: 'team-a', name: 'Team A', rate_limits: [{ type: 'requests', unit: 'rpm', value: 600 }] },
  ],
  integrations: [
    {
      slug: 'openai-main',
      name: 'OpenAI',
      ai_provider_id: 'openai',
      key: { env: 'OPENAI_API_KEY' },
      configurations: { custom_host: `${provider.origin}/v1` },
      workspaces: ['default', 'team-a'],
    },
  ],
  providers: [{ slug: 'oai', name: 'OpenAI for A', integration: 'openai-main', workspace: 'team-a' }],
  guardrails: [
    {
      slug: 'no-secrets',
      name: 'No secrets',
      workspace: 'team-a',
      checks: [{ id: 'default.contains', parameters: { words: ['hunter2'], operator: 'none' } }],
      actions: { deny: true },
    },
  ],
  configs: [
    {
      slug: 'outer',
      name: 'Outer',
      workspace: 'team-a',
      config: { strategy: { mode: 'fallback' }, targets: [{ config: 'inner' }] },
    },
    {
      slug: 'inner',
      name: 'Inner',
      workspace: 'team-a',
      is_default: true,
      config: { provider: '@oai', override_params: { model: 'gpt-4o' } },
    },
  ],
  prompts: [
    {
      slug: 'greet',
      name: 'Greet',
      workspace: 'team-a',
      string: 'Say hello to {{name}}',
      model: 'gpt-4o',
      virtual_key: 'oai',
      parameters: {},
    },
  ],
  policies: [
    {
      kind: 'rate-limits',
      name: 'Everybody',
      workspace: 'team-a',
      conditions: [{ key: 'api_key', value: '*' }],
      group_by: [{ key: 'api_key' }],
      type: 'requests',
      unit: 'rpm',
      value: 100,
    },
    {
      kind: 'usage-limits',
      name: 'Everybody',
      workspace: 'team-a',
      conditions: [{ key: 'api_key', value: '*' }],
      group_by: [{ key: 'api_key' }],
      type: 'cost',
      credit_limit: 10,
    },
  ],
  prices: [
    {
      provider: 'openai',
      model: 'gpt-own',
      pay_as_you_go: { request_token: { price: 0.001 }, response_token: { price: 0.002 } },
    },
  ],
  aliases: [{ name: 'fast', config: 'inner', workspace: 'team-a' }],
  keys: [{ name: 'app', workspace: 'team-a', scopes: ['completions.write'], key: { env: 'APP_KEY' } }],
});

const secrets = { OPENAI_API_KEY: SECRET, APP_KEY: KEY };
const body = (doc: object, extra = {}) => ({
  source: 'sluice.yaml',
  files: [{ name: 'sluice.yaml', document: doc }],
  secrets,
  ...extra,
});
const apply = (doc: object, extra = {}) =>
  ok(gateway, 'POST', '/declared-state/apply', { body: body(doc, extra) });

test.serial('a plan tells all that would be made, and makes nothing', async (t) => {
  const plan = await ok(gateway, 'POST', '/declared-state/plan', { body: body(document()) });
  const changes = plan.changes as { action: string; kind: string; name: string }[];
  t.true(changes.every(({ action }) => action === 'create'));
  t.deepEqual(
    changes.map(({ kind, name }) => `${kind} ${name}`),
    [
      'workspaces team-a',
      'integrations openai-main',
      'providers oai',
      'guardrails no-secrets',
      'prompts greet',
      'configs inner',
      'configs outer',
      'policies Everybody',
      'policies Everybody',
      'prices openai/gpt-own',
      'aliases fast',
      'keys app',
    ],
  );
  t.false(JSON.stringify(plan).includes(SECRET));
  const { data } = await ok(gateway, 'GET', '/integrations');
  t.deepEqual(data, []);
});

test.serial('applied, it works: the key calls the alias through the integration', async (t) => {
  const { changes } = await apply(document());
  t.is((changes as unknown[]).length, 12);
  const { status, json } = await send(gateway, 'POST', '/chat/completions', {
    key: KEY,
    body: { model: 'fast', messages: [{ role: 'user', content: 'Hi' }] },
  });
  t.is(status, 200, JSON.stringify(json));
  t.is(provider.seen.at(-1)!.headers.authorization, `Bearer ${SECRET}`);
  const config = await ok(gateway, 'GET', '/configs/inner');
  t.is(config.slug, 'inner');
  t.is(config.managed_by, 'sluice.yaml');
});

test.serial('a second apply changes nothing, and no entry of the audit log is added', async (t) => {
  const before = await ok(gateway, 'GET', '/audit-logs');
  const { changes } = await apply(document());
  t.deepEqual(changes, []);
  const after = await ok(gateway, 'GET', '/audit-logs');
  t.is(after.total, before.total);
  const { changes: again } = await apply(document(), {
    source: 'other.yaml',
    files: [{ name: 'other.yaml', document: document() }],
  });
  t.deepEqual(again, []);
  await apply(document());
});

test.serial('each change has its entry in the audit log', async (t) => {
  const { records } = await ok(gateway, 'GET', '/audit-logs?page_size=100');
  const told = JSON.stringify(records);
  for (const name of ['Team A', 'OpenAI for A', 'Inner', 'fast', 'app']) t.true(told.includes(name), name);
  t.false(told.includes(SECRET));
  t.false(told.includes(KEY));
});

test.serial('a change by hand is a 409 that names the file', async (t) => {
  for (const [verb, path, json] of [
    ['PUT', '/configs/inner', { name: 'Mine' }],
    ['DELETE', '/configs/inner', undefined],
    ['PUT', '/integrations/openai-main', { name: 'Mine' }],
    ['PUT', '/model-aliases/fast', { description: 'x' }],
    ['PUT', '/providers/oai?workspace_id=team-a', { note: 'x' }],
    ['PUT', '/admin/workspaces/team-a', { description: 'x' }],
  ] as const) {
    const { status, json: answer } = await send(
      gateway,
      verb,
      path,
      json === undefined ? {} : { body: json },
    );
    t.is(status, 409, `${verb} ${path} ${JSON.stringify(answer)}`);
    t.regex(JSON.stringify(answer), /sluice\.yaml/);
  }
});

test.serial(
  'what changes in the file changes, what goes is archived, members that go are taken away',
  async (t) => {
    const next = document();
    next.configs[1]!.config = { provider: '@oai', override_params: { model: 'gpt-4o-mini' } };
    const { rate_limits: _, ...rest } = next.workspaces[0]!;
    const { changes } = await apply({ ...next, workspaces: [rest], prices: [], guardrails: [] });
    t.deepEqual(
      (changes as { action: string; kind: string }[]).map(({ action, kind }) => `${action} ${kind}`),
      ['update workspaces', 'update configs', 'archive prices', 'archive guardrails'],
    );
    const workspace = await ok(gateway, 'GET', '/admin/workspaces/team-a');
    t.deepEqual(workspace.rate_limits, []);
  },
);

test.serial('an export is the same each time, and applied it changes nothing', async (t) => {
  const first = await ok(gateway, 'GET', '/declared-state');
  const second = await ok(gateway, 'GET', '/declared-state');
  t.is(JSON.stringify(first), JSON.stringify(second));
  t.false(JSON.stringify(first).includes(SECRET));
  const { changes } = await apply(first.document as object, {
    source: 'export.yaml',
    files: [{ name: 'export.yaml', document: first.document }],
  });
  t.deepEqual(changes, []);
});

test.serial('all faults are told at once, without a secret, and nothing is changed', async (t) => {
  const faulty = {
    version: 1,
    workspace: [],
    integrations: [
      { slug: 'plain', name: 'Plain', ai_provider_id: 'openai', key: 'sk-plain-0123456789abcdef' },
      { slug: 'none', name: 'None', ai_provider_id: 'opnai' },
      { slug: 'unset', name: 'Unset', ai_provider_id: 'openai', key: { env: 'NOT_SET' } },
      { slug: 'typo', name: 'Typo', ai_provider_id: 'openai', descripton: 'x' },
    ],
    providers: [{ slug: 'p', name: 'P', integration: 'plain' }],
    configs: [{ name: 'C', workspace: 'nowhere', config: { provider: 'openai' } }],
    policies: [{ name: 'K' }],
  };
  const { status, json } = await send(gateway, 'POST', '/declared-state/apply', { body: body(faulty) });
  t.is(status, 400);
  const fields = (json.errors as { field: string }[]).map(({ field }) =>
    field.replace('files[0].document.', ''),
  );
  t.deepEqual(fields, [
    'workspace',
    'integrations[0].key',
    'integrations[2].key.env',
    'integrations[3].descripton',
    'policies[0].kind',
    'integrations[1].ai_provider_id',
    'integrations[3].key',
    'configs[0].workspace',
  ]);
  t.false(JSON.stringify(json).includes('sk-plain'));
  const { status: found } = await send(gateway, 'GET', '/integrations/none');
  t.is(found, 404);
});

test.serial('one fault of a record hides no other of it, nor of those that name it', async (t) => {
  const faulty = {
    version: 1,
    integrations: [
      { slug: 'plain', name: 'Plain', ai_provider_id: 'opnai', key: 'sk-plain-0123456789abcdef' },
      { slug: 'none', name: 'None', ai_provider_id: 'opnai', descripton: 'x' },
    ],
    configs: [
      { name: 'A', workspace: 'default', config: { provider: '@plain', retri: { attempts: 2 } } },
      { name: 'B', workspace: 'default', config: { provider: '@plain' } },
    ],
  };
  const { status, json } = await send(gateway, 'POST', '/declared-state/apply', { body: body(faulty) });
  t.is(status, 400);
  const fields = (json.errors as { field: string }[]).map(({ field }) =>
    field.replace('files[0].document.', ''),
  );
  t.deepEqual(fields, [
    'integrations[0].key',
    'integrations[1].descripton',
    'integrations[0].ai_provider_id',
    'integrations[1].ai_provider_id',
    'configs[0].config.retri',
  ]);
  t.false(JSON.stringify(json).includes('sk-plain'));
});

test.serial('an empty file archives all that it declared', async (t) => {
  await apply({ version: 1 });
  const state = (await ok(gateway, 'GET', '/declared-state')).document as Record<string, unknown[]>;
  t.deepEqual(Object.keys(state), ['version', 'workspaces']);
});

test.serial('the texts of what was made by hand are exported, and no secret', async (t) => {
  const named = { name: 'By hand', description: 'made by hand' };
  await ok(gateway, 'POST', '/integrations', {
    body: {
      ...named,
      slug: 'hand',
      ai_provider_id: 'openai',
      key: SECRET,
    },
  });
  await ok(gateway, 'PUT', '/integrations/hand/workspaces', {
    body: { workspaces: [{ id: 'default', enabled: true }], create_default_provider: false },
  });
  await ok(gateway, 'POST', '/providers', {
    body: {
      name: 'By hand',
      slug: 'hand-oai',
      integration_id: 'hand',
      workspace_id: 'default',
      note: 'n',
      raw_paths: 'deny',
    },
  });
  const { document } = await ok(gateway, 'GET', '/declared-state');
  const { integrations, providers } = document as Record<string, object[]>;
  t.like(integrations, [{ ...named, slug: 'hand', ai_provider_id: 'openai', key: undefined }]);
  t.like(providers, [
    { name: 'By hand', slug: 'hand-oai', integration: 'hand', note: 'n', raw_paths: 'deny' },
  ]);
  t.false(JSON.stringify(document).includes(SECRET));
});
