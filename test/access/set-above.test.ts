// What a higher level set, a lower one may tighten, and neither loosen nor remove.
import test, { type ExecutionContext } from 'ava';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type People, type Person, peopleOf } from '../support/people.ts';

let gateway: TestGateway;
let people: People;
let place: string;
let member: Person;
let manager: Person;
let admin: Person;
let service: string;

test.before(async () => {
  gateway = await startGateway();
  people = peopleOf(gateway);
  // Members may write their own keys here.
  await people.ok('PUT', '/admin/organisation', { security_settings: { membersWriteApiKeys: true } });
  place = await people.workspace();
  member = await people.person(place, 'member');
  manager = await people.person(place, 'manager');
  admin = await people.admin(place);
  service = await people.service(place);
});
test.after.always(() => gateway?.close());

const put = (path: string, body: object, key?: string) => people.send('PUT', path, { ...body }, key);

/** A refusal that names the field and who set it. */
function theirs(
  t: ExecutionContext,
  { status, json }: Awaited<ReturnType<typeof put>>,
  field: string,
  who = /the organisation \(/,
): void {
  t.is(status, 403, JSON.stringify(json));
  const { message = '', param } = json.error as { message?: string; param?: string };
  t.is(param, field);
  t.regex(message, who);
}

const usage = (credit_limit: number, more: object = {}) => ({
  usage_limits: [{ type: 'cost', credit_limit, periodic_reset: 'monthly', ...more }],
});
const rates = (value: number, unit = 'rpm') => ({ rate_limits: [{ type: 'requests', unit, value }] });

test('limits of a workspace that the organisation set', async (t) => {
  const { id } = await people.ok('POST', '/admin/workspaces', {
    name: 'Bounded',
    ...usage(100),
    ...rates(10),
  });
  const path = `/admin/workspaces/${id}`;
  const boss = await people.person(String(id), 'admin');
  for (const key of [boss.key, (await people.person(String(id), 'manager')).key]) {
    for (const body of [
      { usage_limits: null },
      usage(101),
      usage(100, { periodic_reset: 'weekly' }),
      { usage_limits: [{ type: 'cost', credit_limit: 100 }], ...rates(10) },
      { usage_limits: [{ type: 'tokens', credit_limit: 100 }] },
    ]) {
      theirs(t, await put(path, body, key), 'usage_limits');
    }
    for (const body of [{ rate_limits: null }, rates(11), rates(10, 'rph')])
      theirs(t, await put(path, body, key), 'rate_limits');
    t.is((await put(path, { ...usage(50), ...rates(5), description: 'x' }, key)).status, 200);
    t.is((await put(path, { ...usage(80) }, key)).status, 200, 'back, below what was set');
    t.is(
      (await put(path, { rate_limits: [...rates(5).rate_limits, ...rates(7, 'rph').rate_limits] }, key))
        .status,
      200,
    );
    t.is((await put(path, { name: 'Bounded' }, key)).status, 200);
  }
  t.is((await put(path, { ...usage(500), rate_limits: null })).status, 200);
  t.is((await put(path, usage(400), boss.key)).status, 200);
  t.is((await put(path, rates(99), boss.key)).status, 200, 'what nobody above set is theirs');
  t.is((await put(path, { usage_limits: null })).status, 200);
  t.is((await put(path, { ...usage(9999) }, boss.key)).status, 200);
});

test('a policy that an admin of the organisation made', async (t) => {
  const common = { conditions: [{ key: 'metadata.team', value: '*' }], group_by: [{ key: 'metadata.team' }] };
  const at = { ...common, workspace_id: place };
  const rate = (
    await people.ok(
      'POST',
      '/policies/rate-limits',
      { ...at, type: 'requests', unit: 'rpm', value: 10 },
      undefined,
    )
  ).id;
  const budget = (
    await people.ok('POST', '/policies/usage-limits', {
      ...at,
      type: 'cost',
      credit_limit: 10,
      periodic_reset: 'weekly',
    })
  ).id;
  for (const key of [manager.key, service]) {
    theirs(t, await put(`/policies/rate-limits/${rate}`, { value: 11 }, key), 'value');
    theirs(t, await put(`/policies/rate-limits/${rate}`, { unit: 'rpd' }, key), 'unit');
    const other = { conditions: [{ key: 'metadata.team', value: 'nobody' }] };
    theirs(t, await put(`/policies/rate-limits/${rate}`, other, key), 'conditions');
    theirs(t, await people.send('DELETE', `/policies/rate-limits/${rate}`, undefined, key), 'policy_id');
    t.is((await put(`/policies/rate-limits/${rate}`, { value: 9, name: 'x' }, key)).status, 200);
    theirs(t, await put(`/policies/usage-limits/${budget}`, { credit_limit: 11 }, key), 'credit_limit');
    theirs(t, await put(`/policies/usage-limits/${budget}`, { periodic_reset: null }, key), 'periodic_reset');
    theirs(
      t,
      await put(`/policies/usage-limits/${budget}`, { periodic_reset_days: 1 }, key),
      'periodic_reset',
    );
    theirs(
      t,
      await put(`/policies/usage-limits/${budget}`, { on_store_outage: 'allow' }, key),
      'on_store_outage',
    );
    theirs(
      t,
      await put(`/policies/usage-limits/${budget}`, { assumed_output_tokens: 1 }, key),
      'assumed_output_tokens',
    );
    theirs(
      t,
      await put(`/policies/usage-limits/${budget}`, { reset_usage_for_value: 'x' }, key),
      'reset_usage_for_value',
    );
    const reset = `/policies/usage-limits/${budget}/entities/00000000-0000-4000-8000-000000000000/reset`;
    theirs(t, await put(reset, {}, key), 'entity_id');
    theirs(t, await people.send('DELETE', `/policies/usage-limits/${budget}`, undefined, key), 'policy_id');
    t.is((await put(`/policies/usage-limits/${budget}`, { credit_limit: 5 }, key)).status, 200);
  }
  t.is((await people.send('DELETE', `/policies/usage-limits/${budget}`, undefined, admin.key)).status, 200);
  const { id: own } = await people.ok(
    'POST',
    '/policies/rate-limits',
    { ...common, type: 'requests', unit: 'rpm', value: 1 },
    manager.key,
  );
  t.is((await put(`/policies/rate-limits/${own}`, { value: 100 }, manager.key)).status, 200);
  t.is((await people.send('DELETE', `/policies/rate-limits/${own}`, undefined, manager.key)).status, 200);
});

test('limits and expiry of virtual keys, and their usage', async (t) => {
  const later = new Date(Date.now() + 86_400_000 * 30).toISOString();
  const sooner = new Date(Date.now() + 86_400_000 * 10).toISOString();
  const body = {
    name: 'v',
    slug: 'bounded-vk',
    provider: 'openai',
    key: 'sk-0123456789abcdef',
    workspace_id: place,
  };
  const limits = { usage_limits: { type: 'cost', credit_limit: 10 }, ...rates(10), expires_at: later };
  await people.ok('POST', '/virtual-keys', { ...body, ...limits });
  for (const [view, key] of [
    ['/virtual-keys/bounded-vk', member.key],
    ['/virtual-keys/bounded-vk', manager.key],
    ['/providers/bounded-vk', service],
  ] as const) {
    theirs(t, await put(view, { usage_limits: null }, key), 'usage_limits');
    theirs(t, await put(view, { usage_limits: { type: 'cost', credit_limit: 11 } }, key), 'usage_limits');
    theirs(t, await put(view, { rate_limits: [] }, key), 'rate_limits');
    theirs(t, await put(view, { expires_at: null }, key), 'expires_at');
    theirs(t, await put(view, { reset_usage: true }, key), 'reset_usage');
    t.is(
      (await put(view, { usage_limits: { type: 'cost', credit_limit: 9 }, expires_at: sooner }, key)).status,
      200,
    );
  }
  t.is(
    (await put('/virtual-keys/bounded-vk', { usage_limits: null, reset_usage: true }, admin.key)).status,
    200,
  );
});

test('limits, expiry and defaults of keys: of the organisation, and of a manager for a member', async (t) => {
  const config = await people.ok('POST', '/configs', {
    name: 'c',
    config: { retry: { attempts: 1 } },
    workspace_id: place,
  });
  const other = await people.ok('POST', '/configs', {
    name: 'd',
    config: { retry: { attempts: 2 } },
    workspace_id: place,
  });
  const later = new Date(Date.now() + 86_400_000 * 30).toISOString();
  const terms = {
    usage_limits: { type: 'cost', credit_limit: 10 },
    ...rates(10),
    expires_at: later,
    defaults: { config_id: config.slug, allow_config_override: false, metadata: { team: 'a' } },
  };
  const make = (key?: string) =>
    people.ok(
      'POST',
      '/api-keys/workspace/user',
      {
        name: 'k',
        user_id: member.id,
        workspace_id: place,
        scopes: ['completions.write'],
        ...terms,
      },
      key,
    );
  const loose = [
    [{ usage_limits: null }, 'usage_limits'],
    [rates(11), 'rate_limits'],
    [{ expires_at: null }, 'expires_at'],
    [{ defaults: { config_id: other.slug } }, 'defaults.config_id'],
    [{ defaults: { config_id: null } }, 'defaults.config_id'],
    [{ defaults: { allow_config_override: true } }, 'defaults.allow_config_override'],
    [{ defaults: { metadata: { team: 'b' } } }, 'defaults.metadata'],
    [{ defaults: null }, 'defaults.metadata'],
    [{ reset_usage: true }, 'reset_usage'],
  ] as const;
  const above = (await make()).id;
  for (const key of [member.key, manager.key])
    for (const [body, field] of loose) theirs(t, await put(`/api-keys/${above}`, body, key), field);
  t.is(
    (
      await put(
        `/api-keys/${above}`,
        { ...rates(1), defaults: { metadata: { team: 'a', x: 'y' } } },
        member.key,
      )
    ).status,
    200,
  );
  const beside = (await make(manager.key)).id;
  for (const [body, field] of loose)
    theirs(t, await put(`/api-keys/${beside}`, body, member.key), field, /the workspace's admins \(person/);
  t.is((await put(`/api-keys/${beside}`, { usage_limits: null }, manager.key)).status, 200);
  t.is(
    (await put(`/api-keys/${beside}`, { usage_limits: { type: 'cost', credit_limit: 5 } }, member.key))
      .status,
    200,
  );
  t.is((await put(`/api-keys/${beside}`, { usage_limits: null }, member.key)).status, 200, 'their own');
});

test('default guardrails, metadata and settings of a workspace', async (t) => {
  const home = await people.workspace();
  const boss = await people.person(home, 'admin');
  const guardrail = async (key?: string) =>
    String(
      (
        await people.ok(
          'POST',
          '/guardrails',
          {
            name: 'g',
            checks: [{ id: 'default.contains', parameters: { words: ['x'], operator: 'none' } }],
            actions: { deny: true, async: false, on_success: {}, on_fail: {} },
            ...(key === undefined ? { workspace_id: home } : {}),
          },
          key,
        )
      ).slug,
    );
  const [first, second] = [await guardrail(), await guardrail(boss.key)];
  const path = `/admin/workspaces/${home}`;
  const settings = {
    debug_log: 0,
    user_api_key_count: 3,
    user_api_key_ttl: 10,
    user_api_key_max_ttl: 10,
    log_retention_days: 7,
  };
  await people.ok('PUT', path, {
    defaults: { input_guardrails: [first], metadata: { team: 'a' } },
    settings,
  });
  const by = (body: object) => put(path, body, boss.key);
  theirs(t, await by({ defaults: { metadata: { team: 'a' } } }), 'defaults.input_guardrails');
  theirs(t, await by({ defaults: null }), 'defaults.input_guardrails');
  theirs(
    t,
    await by({ defaults: { input_guardrails: [second], metadata: { team: 'a' } } }),
    'defaults.input_guardrails',
  );
  theirs(
    t,
    await by({ defaults: { input_guardrails: [first], metadata: { team: 'b' } } }),
    'defaults.metadata',
  );
  t.is(
    (await by({ defaults: { input_guardrails: [second, first], metadata: { team: 'a', x: 'y' } } })).status,
    200,
  );
  const looser = {
    checks: [{ id: 'default.contains', parameters: { words: ['none-of-it'], operator: 'none' } }],
  };
  theirs(t, await put(`/guardrails/${first}`, looser, boss.key), 'checks');
  t.is((await put(`/guardrails/${second}`, looser, boss.key)).status, 200, 'the workspace’s own');
  for (const [name, value] of [
    ['debug_log', 1],
    ['user_api_key_count', -1],
    ['user_api_key_count', 4],
    ['log_retention_days', 30],
  ] as const)
    theirs(t, await by({ settings: { [name]: value } }), `settings.${name}`);
  theirs(
    t,
    await by({ settings: { user_api_key_ttl: 20, user_api_key_max_ttl: 30 } }),
    'settings.user_api_key_ttl',
  );
  t.is((await by({ settings: { user_api_key_count: 2, user_api_key_ttl: 5 } })).status, 200);
});

test('models and prices of an integration that the organisation restricted', async (t) => {
  const body = {
    name: 'i',
    slug: 'bounded-i',
    ai_provider_id: 'openai',
    key: 'sk-0123456789abcdef',
    workspace_id: place,
  };
  await people.ok('POST', '/integrations', { ...body, pricing_adjustments: { multiplier: { default: 2 } } });
  const models = '/integrations/bounded-i/models';
  await people.ok('PUT', models, {
    allow_all_models: false,
    models: [
      { slug: 'a', enabled: true },
      { slug: 'b', enabled: false },
    ],
  });
  theirs(t, await put(models, { allow_all_models: true }, manager.key), 'models');
  theirs(t, await put(models, { models: [{ slug: 'b', enabled: true }] }, manager.key), 'models');
  t.is((await put(models, { models: [{ slug: 'a', enabled: false }] }, manager.key)).status, 200);
  t.is((await put(models, { models: [{ slug: 'a', enabled: true }] }, manager.key)).status, 200);
  theirs(
    t,
    await put('/integrations/bounded-i', { pricing_adjustments: null }, manager.key),
    'pricing_adjustments',
  );
});

test('limits of an integration for a workspace are the organisation’s alone', async (t) => {
  const slug = 'shared-i';
  await people.ok('POST', '/integrations', {
    name: slug,
    slug,
    ai_provider_id: 'openai',
    key: 'sk-0123456789abcdef',
  });
  const path = `/integrations/${slug}/workspaces`;
  await people.ok('PUT', path, { workspaces: [{ id: place, enabled: true, ...usage(1) }] });
  for (const key of [member.key, manager.key, service])
    t.is(
      (await put(path, { workspaces: [{ id: place, enabled: true, usage_limits: null }] }, key)).status,
      403,
    );
});
