// The published npm SDK against the gateway: what models are called with, and what calls must pass.
import test from 'ava';
import { type Stage, startStage } from './portkey/clients.ts';
import { promised, Watched } from './portkey/watched.ts';

let stage: Stage;
let watched: Watched;
test.before(async () => {
  stage = await startStage();
  watched = new Watched(stage.exchanges);
});
test.after.always(() => stage?.close());

const messages = [{ role: 'user' as const, content: 'hi' }];
const statusOf = (error: Error | undefined): unknown => (error as { status?: number } | undefined)?.status;

test.serial('configs', async (t) => {
  const { configs } = stage.workspace;
  const made = await watched.call(t, 'configs.create', () =>
    configs.create({ name: 'c', config: { retry: { attempts: 2 } }, isDefault: 0 }),
  );
  promised(t, 'configs.ConfigsAddResponse', made);
  const slug = String(made.slug);
  t.regex(slug, /^pc-c-[0-9a-f]{6}$/);
  const one = await watched.call(t, 'configs.retrieve', () => configs.retrieve({ slug }));
  // On the wire of the product the config is its JSON text and the organisation is spelt with an s.
  promised(t, 'configs.ConfigsGetResponse', one, ['config', 'organization_id']);
  t.like(one, {
    name: 'c',
    is_default: 0,
    status: 'active',
    object: 'config',
    config: '{"retry":{"attempts":2}}',
  });
  const changed = await watched.call(t, 'configs.update', () =>
    configs.update({ slug, name: 'cc', config: { cache: { mode: 'simple' } }, status: 'active' }),
  );
  promised(t, 'configs.ConfigsUpdateResponse', changed);
  t.not(changed.version_id, made.version_id);
  const list = await watched.call(t, 'configs.list', () => configs.list());
  promised(t, 'configs.ConfigsListResponse', list, ['object']);
  t.true(list.data?.some((item) => item.slug === slug && item.name === 'cc'));
  const seen = await stage.admin.configs.list({ workspace_id: stage.workspaceId });
  t.true(seen.data?.some((item) => item.slug === slug));
  const admins = await stage.admin.configs.create({
    name: 'a',
    config: { provider: 'openai' },
    workspace_id: stage.workspaceId,
  });
  await watched.done(t, 'configs.delete', () => configs.delete({ slug }));
  // By its id; configs.delete({ id }) does the same and warns.
  await stage.workspace.delete(`/configs/${admins.id}`);
  t.is(statusOf(await t.throwsAsync(async () => configs.retrieve({ slug }))), 404);
  const wrong = await t.throwsAsync(async () =>
    configs.create({ name: 'x', config: { retry: { attempts: -1 } } }),
  );
  t.is(statusOf(wrong), 400);
  t.regex(String(wrong?.message), /attempts/);
  t.deepEqual(watched.missed('configs', configs), []);
});

test.serial('integrations, their models and workspaces; providers', async (t) => {
  const { integrations, providers } = stage.admin;
  const { workspaceId } = stage;
  const slug = 'sdk-integration';
  const made = await watched.call(t, 'integrations.create', () =>
    integrations.create({
      name: 'I',
      description: 'd',
      key: 'sk-1234567890',
      ai_provider_id: 'openai',
      slug,
      configurations: { custom_host: stage.provider.origin },
    }),
  );
  t.like(made, { slug });
  const one = await watched.call(t, 'integrations.retrieve', () => integrations.retrieve({ slug }));
  t.like(one, {
    id: made.id,
    slug,
    name: 'I',
    description: 'd',
    ai_provider_id: 'openai',
    status: 'active',
    masked_key: 'sk*****890',
    object: 'integration',
    type: 'organisation',
    workspace_id: null,
    allow_all_models: true,
    configurations: { custom_host: stage.provider.origin },
  });
  t.false('key' in one);
  const list = await watched.call(t, 'integrations.list', () =>
    integrations.list({ current_page: 0, page_size: 10, type: 'organisation' }),
  );
  t.like(list, { object: 'list', total: 1, data: [{ slug }] });
  t.is((await integrations.list()).total, 1);
  await watched.done(t, 'integrations.update', () =>
    integrations.update({ slug, name: 'J', description: 'e', key: 'sk-0987654321' }),
  );
  t.like(await integrations.retrieve({ slug }), { name: 'J', description: 'e', masked_key: 'sk*****321' });

  await watched.done(t, 'integrations.workspaces.update', () =>
    integrations.workspaces.update({
      slug,
      global_workspace_access: { enabled: true },
      override_existing_workspaces_access: true,
      workspaces: [{ id: workspaceId, enabled: true, usage_limits: [{ type: 'cost', credit_limit: 10 }] }],
    }),
  );
  const access = await watched.call(t, 'integrations.workspaces.list', () =>
    integrations.workspaces.list({ slug }),
  );
  t.like(access, { total: 1, global_workspace_access: { enabled: true } });
  t.like(access.workspaces, [{ id: 'default', enabled: true, usage_limits: [{ credit_limit: 10 }] }]);
  await watched.done(t, 'integrations.models.update', () =>
    integrations.models.update({
      slug,
      allow_all_models: true,
      models: [{ slug: 'own-model', enabled: true, is_custom: true, base_model_slug: 'gpt-4o' }],
    }),
  );
  const models = await watched.call(t, 'integrations.models.list', () => integrations.models.list({ slug }));
  t.like(models, { allow_all_models: true });
  t.true(models.models.some((model: { slug: string }) => model.slug === 'own-model'));
  await watched.done(t, 'integrations.models.delete', () =>
    integrations.models.delete({ slug, slugs: 'own-model' }),
  );
  const left = await integrations.models.list({ slug });
  t.false(left.models.some((model: { slug: string }) => model.slug === 'own-model'));

  const provider = await watched.call(t, 'providers.create', () =>
    providers.create({
      name: 'P',
      integration_id: slug,
      workspace_id: workspaceId,
      slug: 'sdk-provider',
      note: 'n',
      usage_limits: { type: 'cost', credit_limit: 5 },
      // The SDK types one limit, the product's other clients send a list.
      rate_limits: { type: 'requests', unit: 'rpm', value: 60 },
      expires_at: '2040-01-01T00:00:00.000Z',
    }),
  );
  promised(t, 'providers.ProvidersCreateResponse', provider);
  const key = { slug: 'sdk-provider', workspace_id: workspaceId };
  const record = await watched.call(t, 'providers.retrieve', () => providers.retrieve(key));
  promised(t, 'providers.ProvidersResponse', record);
  t.like(record, {
    name: 'P',
    note: 'n',
    usage_limits: { credit_limit: 5 },
    status: 'active',
    object: 'provider',
  });
  const page = await watched.call(t, 'providers.list', () =>
    providers.list({ current_page: 0, page_size: 50, workspace_id: workspaceId }),
  );
  promised(t, 'providers.ProvidersListResponse', page);
  const updated = await watched.call(t, 'providers.update', () =>
    providers.update({ ...key, name: 'Q', note: 'm', reset_usage: true }),
  );
  promised(t, 'providers.ProvidersUpdateResponse', updated);
  t.like(await stage.workspace.providers.retrieve({ slug: 'sdk-provider' }), { name: 'Q', note: 'm' });
  const chat = await stage
    .client({ provider: '@sdk-provider' })
    .chat.completions.create({ model: 'gpt-ok', messages });
  t.is(chat.choices[0]?.message?.content, 'Hello, wörld! 👋');
  t.is(stage.provider.seen.at(-1)?.headers.authorization, 'Bearer sk-0987654321');
  await watched.done(t, 'providers.delete', () => providers.delete(key));
  t.is(statusOf(await t.throwsAsync(async () => providers.retrieve(key))), 404);
  // Opening the integration to every workspace has made a provider there, which goes first.
  for (const { slug: other = '', integration_id } of (await stage.workspace.providers.list()).data ?? [])
    if (integration_id === made.id) await stage.workspace.providers.delete({ slug: other });
  await watched.done(t, 'integrations.delete', () => integrations.delete({ slug }));
  t.deepEqual(
    [
      ...watched.missed('integrations', integrations),
      ...watched.missed('integrations.workspaces', integrations.workspaces),
      ...watched.missed('integrations.models', integrations.models),
      ...watched.missed('providers', providers),
    ],
    [],
  );
});

test.serial('virtualKeys', async (t) => {
  const { virtualKeys } = stage.workspace;
  const made = await watched.call(t, 'virtualKeys.create', () =>
    virtualKeys.create({
      name: 'V',
      provider: 'openai',
      key: 'sk-abcdefghijk',
      note: null,
      usage_limits: { type: 'cost', credit_limit: 5 },
    }),
  );
  promised(t, 'virtualKeys.VirtualKeysAddResponse', made);
  const slug = String(made.slug);
  const one = await watched.call(t, 'virtualKeys.retrieve', () => virtualKeys.retrieve({ slug }));
  promised(t, 'virtualKeys.VirtualKeysGetResponse', one);
  t.like(one, { ai_provider_name: 'openai', key: '', masked_api_key: 'sk*****ijk', object: 'virtual-key' });
  const list = await watched.call(t, 'virtualKeys.list', () => virtualKeys.list({}));
  promised(t, 'virtualKeys.VirtualKeysListResponse', list);
  t.is((await stage.admin.virtualKeys.list({ workspace_id: stage.workspaceId })).total, list.total);
  const changed = await watched.call(t, 'virtualKeys.update', () =>
    virtualKeys.update({
      slug,
      name: 'W',
      key: 'sk-222222222',
      note: 'x',
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 60 }],
    }),
  );
  promised(t, 'virtualKeys.VirtualKeysUpdateResponse', changed);
  t.like(await virtualKeys.retrieve({ slug }), { name: 'W', note: 'x', masked_api_key: 'sk*****222' });
  // The SDK turns the first level of names into snake_case, and leaves what is inside.
  const azure = await virtualKeys.create({
    name: 'A',
    provider: 'azure-openai',
    key: 'az-abcdefghijk',
    resourceName: 'my-resource',
    deploymentConfig: [{ apiVersion: '2024-10-21', deploymentName: 'd', alias: 'gpt', is_default: true }],
  });
  t.like((await virtualKeys.retrieve({ slug: String(azure.slug) })).model_config, {
    azure_resource_name: 'my-resource',
    azure_deployment_config: [{ azure_api_version: '2024-10-21', azure_deployment_name: 'd' }],
  });
  await virtualKeys.delete({ slug: String(azure.slug) });
  await watched.done(t, 'virtualKeys.delete', () => virtualKeys.delete({ slug }));
  t.is(statusOf(await t.throwsAsync(async () => virtualKeys.retrieve({ slug }))), 404);
  t.deepEqual(watched.missed('virtualKeys', virtualKeys), []);
});

test.serial('guardrails', async (t) => {
  const { guardrails } = stage.workspace;
  const feedback = (value: number) => ({ feedback: { value, weight: 1, metadata: '' } });
  const body = {
    name: 'g',
    checks: [
      {
        id: 'default.contains',
        name: 'no x',
        is_enabled: true,
        parameters: { words: ['x'], operator: 'none' },
      },
    ],
    actions: { deny: true, async: false, on_success: feedback(5), on_fail: feedback(-5) },
  };
  const made = await watched.call(t, 'guardrails.create', () => guardrails.create(body));
  promised(t, 'guardrails.CreateGuardrailResponse', made);
  const guardrail_id = made.id;
  const one = await watched.call(t, 'guardrails.retrieve', () => guardrails.retrieve({ guardrail_id }));
  promised(t, 'guardrails.GuardrailDetails', one);
  t.like(one, { checks: body.checks, actions: body.actions, workspace_id: stage.workspaceId });
  const list = await watched.call(t, 'guardrails.list', () =>
    guardrails.list({ page_size: 10, current_page: 0 }),
  );
  promised(t, 'guardrails.ListGuardrailsResponse', list);
  const actions = { ...body.actions, deny: false };
  const changed = await watched.call(t, 'guardrails.update', () =>
    guardrails.update({ guardrail_id, name: 'h', actions }),
  );
  promised(t, 'guardrails.UpdateGuardrailResponse', changed);
  t.not(changed.version_id, made.version_id);
  t.like(await guardrails.retrieve({ guardrail_id: made.slug }), { name: 'h', actions });

  const { admin } = stage;
  const common = await admin.guardrails.create({ ...body, name: 'of the organisation' });
  const placed = { guardrail_id, workspace_id: stage.workspaceId };
  t.is((await admin.guardrails.update({ ...placed, name: 'i' })).slug, made.slug);
  const elsewhere = { guardrail_id: common.id, workspace_id: stage.workspaceId, name: 'j' };
  t.is(statusOf(await t.throwsAsync(async () => admin.guardrails.update(elsewhere))), 404);
  await admin.guardrails.delete({ guardrail_id: common.id });
  await watched.done(t, 'guardrails.delete', () => guardrails.delete({ guardrail_id }));
  t.is(statusOf(await t.throwsAsync(async () => guardrails.retrieve({ guardrail_id }))), 404);
  t.deepEqual(watched.missed('guardrails', guardrails), []);
});

const RECORDS = [
  {
    path: '/policies/rate-limits',
    object: 'policy_rate_limits',
    make: {
      name: 'r',
      type: 'requests',
      unit: 'rpm',
      value: 5,
      conditions: [{ key: 'api_key', value: '*' }],
      group_by: [{ key: 'api_key' }],
    },
    change: { value: 6 },
    ofWorkspace: true,
  },
  {
    path: '/policies/usage-limits',
    object: 'policy_usage_limits',
    make: {
      name: 'u',
      type: 'cost',
      credit_limit: 10,
      alert_threshold: 5,
      periodic_reset: 'monthly',
      conditions: [{ key: 'api_key', value: '*' }],
      group_by: [{ key: 'metadata._user' }],
    },
    change: { credit_limit: 20 },
    ofWorkspace: true,
  },
  {
    path: '/secret-references',
    object: 'secret-reference',
    make: {
      name: 's',
      slug: 'sdk-secret',
      manager_type: 'hashicorp_vault',
      secret_path: 'a/b',
      auth_config: { vault_auth_type: 'token', vault_addr: 'https://vault.example.com', vault_token: 't' },
    },
    change: { description: 'changed' },
    ofWorkspace: false,
  },
];

for (const { path, object, make, change, ofWorkspace } of RECORDS) {
  test.serial(`${path}, by the SDK's post, get, put and delete`, async (t) => {
    const { admin, workspaceId } = stage;
    const place = ofWorkspace ? { workspace_id: workspaceId } : {};
    const made = (await watched.call<unknown>(t, 'post', () =>
      admin.post(path, { ...make, ...place }),
    )) as Record<string, unknown>;
    t.is(made.object, object);
    const one = await watched.call(t, 'get', () => admin.get(`${path}/${made.id}`));
    t.like(one, { id: made.id, object, name: make.name });
    const list = await watched.call(t, 'get', () =>
      admin.get(ofWorkspace ? `${path}?workspace_id=${workspaceId}` : path),
    );
    t.like(list, { object: 'list', total: 1 });
    await watched.done(t, 'put', () => admin.put(`${path}/${made.id}`, change));
    t.like(await admin.get(`${path}/${made.id}`), change);
    if (object === 'policy_usage_limits') {
      const entities = await admin.get(`${path}/${made.id}/entities?page_size=10`);
      t.like(entities, { object: 'list', total: 0 });
    }
    await watched.done(t, 'delete', () => admin.delete(`${path}/${made.id}`));
    t.is(statusOf(await t.throwsAsync(async () => admin.get(`${path}/${made.id}`))), 404);
  });
}
