// Saved configs over every protocol: how they are kept, and how calls run on them.
import test, { type ExecutionContext } from 'ava';
import { ApiKeysService } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { AuditLogsService } from '../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { ConfigsService } from '../../gen/gateway/admin/v2/configs_pb.ts';
import { UserInvitesService } from '../../gen/gateway/admin/v2/user_invites_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, type JsonObject, startBench, UUID } from './runner.ts';
import { type Caller, refusedOf, storiesOf } from './story.ts';

const {
  createConfig,
  listConfigs,
  getConfig,
  updateConfig,
  deleteConfig,
  listConfigVersions,
  getConfigUsage,
} = ConfigsService.method;
const { createApiKey, updateApiKey, deleteApiKey } = ApiKeysService.method;
const { createWorkspace, updateWorkspace } = WorkspacesService.method;
const { createUserInvite, acceptUserInvite } = UserInvitesService.method;
const { createChatCompletion } = ChatService.method;
const { listAuditLogs } = AuditLogsService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);
let count = 0;
const fresh = (word: string): string => `${word}-${++count}`;
const data = (list: JsonObject): JsonObject[] => list.data as JsonObject[];
const SECRET = 'sk-config-secret-0123456789abcd';

/** A config for the fake provider; calls of it are told by the prefix. */
const target = (prefix: string, more: JsonObject = {}): JsonObject => ({
  provider: 'openai',
  api_key: SECRET,
  custom_host: bench.provider.origin + prefix,
  ...more,
});

async function keyFor(
  admin: Caller,
  workspace: string,
  defaults?: JsonObject,
): Promise<{ id: string; key: string }> {
  const made = await admin.ok(createApiKey, {
    type: 'workspace',
    sub_type: 'service',
    name: fresh('key'),
    workspace_id: workspace,
    scopes: [
      'completions.write',
      'configs.create',
      'configs.read',
      'configs.update',
      'configs.delete',
      'configs.list',
    ],
    ...(defaults ? { defaults } : {}),
  });
  return { id: String(made.id), key: String(made.key) };
}

const chat = (caller: Caller, headers: Record<string, string | undefined> = {}, model = 'gpt-4o-mini') =>
  caller.exchange(
    createChatCompletion,
    { model, messages: [{ role: 'user', content: 'hi' }] },
    { 'x-gateway-provider': undefined, 'x-gateway-custom-host': undefined, ...headers },
  );

async function served(t: ExecutionContext, caller: Caller, prefix: string, headers = {}): Promise<void> {
  const before = bench.sentTo(prefix).length;
  const { error } = await chat(caller, headers);
  t.is(error, undefined, JSON.stringify(error));
  t.is(bench.sentTo(prefix).length, before + 1);
}

story('a config is saved, shown, listed, changed and archived', async (t, admin) => {
  const own = String((await admin.ok(createWorkspace, { name: fresh('ws') })).id);
  const made = await admin.ok(createConfig, {
    name: 'Chat config',
    workspace_id: own,
    config: target('/a', { retry: { attempts: 2 } }),
  });
  t.deepEqual(Object.keys(made).sort(), ['id', 'object', 'slug', 'version_id']);
  t.regex(String(made.id), UUID);
  t.regex(String(made.slug), /^pc-chat-c-[0-9a-f]{6}$/);
  t.is(made.object, 'config');

  for (const slug of [made.slug!, made.id!]) {
    const shown = await admin.ok(getConfig, { slug });
    t.like(shown, {
      id: made.id,
      slug: made.slug,
      name: 'Chat config',
      workspace_id: own,
      is_default: 0,
      status: 'active',
      object: 'config',
      format: 'json',
      type: 'ORG_CONFIG',
      version_id: made.version_id,
      organisation_id: bench.gateway.app.tenancy.organisationId,
    });
    t.regex(String(shown.created_at), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    t.deepEqual(JSON.parse(String(shown.config)), {
      ...target('/a', { retry: { attempts: 2 } }),
      api_key: 'sk-******abcd',
    });
  }

  const renamed = await admin.ok(updateConfig, { slug: made.slug!, name: 'Other' });
  t.deepEqual(renamed, { version_id: made.version_id!, object: 'config' });
  // Read, changed a little, written: the mask stands for the credential.
  const content = JSON.parse(String((await admin.ok(getConfig, { slug: made.slug! })).config));
  const changed = await admin.ok(updateConfig, {
    slug: made.slug!,
    config: { ...content, request_timeout: 5000 },
  });
  t.not(changed.version_id, made.version_id);
  t.is(
    (
      await admin.ok(updateConfig, {
        slug: made.slug!,
        config: JSON.stringify({ ...content, request_timeout: 5000 }),
      })
    ).version_id,
    changed.version_id,
  );

  const versions = await admin.ok(listConfigVersions, { slug: made.slug! });
  t.is(versions.object, 'list');
  t.is(versions.total, 2);
  t.deepEqual(
    data(versions)
      .map(({ version_id }) => version_id)
      .sort(),
    [made.version_id!, changed.version_id!].sort(),
  );
  t.true(
    data(versions).every(({ id, config }) => id === made.id && String(config).includes('sk-******abcd')),
  );
  t.false(JSON.stringify(versions).includes(SECRET));

  const second = await admin.ok(createConfig, {
    name: 'Second one',
    workspace_id: own,
    config: { cache: { mode: 'simple' } },
  });
  const list = await admin.ok(listConfigs, { workspace_id: own });
  t.deepEqual(
    data(list)
      .map(({ id }) => id)
      .sort(),
    [made.id!, second.id!].sort(),
  );
  t.true(data(list).every((one) => one.object === 'config' && !('config' in one)));
  t.is((await admin.ok(listConfigs, { workspace_id: own, page_size: 1, current_page: 1 })).total, 2);
  t.deepEqual(
    data(await admin.ok(listConfigs, { workspace_id: own, name: 'Sec' })).map(({ id }) => id),
    [second.id!],
  );

  t.deepEqual(await admin.ok(deleteConfig, { slug: second.slug! }), {});
  t.is((await admin.refused(getConfig, { slug: second.slug! })).status, 404);
  t.is((await admin.refused(updateConfig, { slug: second.id!, name: 'x' })).status, 404);
  t.deepEqual(
    data(await admin.ok(listConfigs, { workspace_id: own, status: 'archived' })).map(({ id }) => id),
    [second.id!],
  );
  await admin.ok(updateConfig, { slug: made.slug!, status: 'archived' });
  t.is((await admin.refused(deleteConfig, { slug: made.slug! })).status, 404);
});

story('a config is refused with every fault and its path', async (t, admin) => {
  const refused = await admin.refused(createConfig, {
    name: 'Faulty',
    config: {
      strategy: { mode: 'fallback' },
      retry: { attempts: 9 },
      targets: [
        { provider: 'nobody' },
        { provider: 'openai', weight: -1, request_timeout: 0 },
        { provider: 'openai', surprise: true },
        { config: 'pc-none-000000' },
      ],
    },
  });
  t.is(refused.status, 400);
  t.deepEqual(refused.fields, [
    'config.retry.attempts',
    'config.targets[0].provider',
    'config.targets[1].request_timeout',
    'config.targets[1].weight',
    'config.targets[2].surprise',
    'config.targets[3].config',
  ]);
  for (const [config, field] of [
    ['{"a"', 'config'],
    ['[]', 'config'],
    [{}, 'config'],
    [{ api_key: 'sk-******abcd', provider: 'openai' }, 'config.api_key'],
    [{ custom_host: 'http://169.254.169.254/', provider: 'openai' }, 'config.custom_host'],
    [{ override_params: { text: 'x'.repeat(262_144) } }, 'config'],
  ] as const) {
    const { status, fields } = await admin.refused(createConfig, { name: 'n', config: config as JsonObject });
    t.deepEqual([status, fields], [400, [field]]);
  }
  t.is((await admin.refused(createConfig, { name: 'n' })).param, 'config');
  t.is(
    (await admin.refused(createConfig, { name: ' ', config: { cache: { mode: 'simple' } } })).param,
    'name',
  );
  const other = await admin.refused(createConfig, {
    name: 'n',
    workspace_id: 'nowhere',
    config: { cache: { mode: 'simple' } },
  });
  t.deepEqual([other.status, other.param], [400, 'workspace_id']);
});

story('configs refer to each other, and never back', async (t, admin) => {
  const prefix = bench.mark();
  const inner = await admin.ok(createConfig, { name: 'inner', config: target(prefix) });
  const outer = await admin.ok(createConfig, {
    name: 'outer',
    config: { strategy: { mode: 'fallback' }, targets: [{ config: String(inner.slug) }] },
  });
  for (const back of [outer.slug!, outer.id!]) {
    const refused = await admin.refused(updateConfig, {
      slug: inner.slug!,
      config: { strategy: { mode: 'fallback' }, targets: [{ config: back }] },
    });
    t.is(refused.status, 400);
    t.regex(refused.message, /leads back to itself/);
  }
  const workspace = admin.as(WORKSPACE_KEY);
  await served(t, workspace, prefix, { 'x-gateway-config': String(outer.slug) });
  // What the inner one says from now on counts for the outer one.
  const other = bench.mark();
  await admin.ok(updateConfig, { slug: inner.slug!, config: target(other) });
  await served(t, workspace, other, { 'x-gateway-config': String(outer.slug) });

  const usage = await admin.ok(getConfigUsage, { slug: inner.slug! });
  t.like(usage, {
    object: 'config-usage',
    total: 1,
    data: [{ object: 'config', id: outer.id, name: 'outer' }],
  });
  const refused = await admin.refused(deleteConfig, { slug: inner.slug! });
  t.is(refused.status, 409);
  t.true(refused.message.includes(String(outer.id)));
  await admin.ok(deleteConfig, { slug: outer.slug! });
  await admin.ok(deleteConfig, { slug: inner.slug! });
});

story('calls name a config by slug or id, in their own workspace alone', async (t, admin) => {
  const first = await admin.ok(createWorkspace, { name: fresh('ws') });
  const second = await admin.ok(createWorkspace, { name: fresh('ws') });
  const { key } = await keyFor(admin, String(first.id));
  const { key: foreign } = await keyFor(admin, String(second.slug));
  const prefix = bench.mark();
  const caller = admin.as(key);
  const made = await caller.ok(createConfig, { name: 'mine', config: target(prefix) });
  for (const id of [String(made.slug), String(made.id)])
    await served(t, caller, prefix, { 'x-gateway-config': id });
  t.is(bench.sentTo(prefix).at(-1)?.headers.authorization, `Bearer ${SECRET}`);

  const stranger = admin.as(foreign);
  const unknown = refusedOf(await chat(stranger, { 'x-gateway-config': String(made.slug) }));
  t.deepEqual([unknown.status, unknown.param], [400, 'x-gateway-config']);
  t.is((await stranger.refused(getConfig, { slug: made.slug! })).status, 404);
  t.is((await stranger.refused(deleteConfig, { slug: made.slug! })).status, 404);
  t.is((await stranger.refused(listConfigVersions, { slug: made.id! })).status, 404);
  t.deepEqual(data(await stranger.ok(listConfigs)), []);
  t.is(
    (await stranger.refused(createConfig, { name: 'x', workspace_id: first.id!, config: target('/x') }))
      .param,
    'workspace_id',
  );
  const through = await stranger.refused(createConfig, {
    name: 'x',
    config: { strategy: { mode: 'fallback' }, targets: [{ config: made.slug! }] },
  });
  t.deepEqual(through.fields, ['config.targets[0].config']);

  await caller.ok(deleteConfig, { slug: made.slug! });
  t.is(refusedOf(await chat(caller, { 'x-gateway-config': String(made.slug) })).status, 400);
});

story('a workspace has one default, for calls that select nothing', async (t, admin) => {
  const { id } = await admin.ok(createWorkspace, { name: fresh('ws') });
  const { key } = await keyFor(admin, String(id));
  const caller = admin.as(key);
  t.is(refusedOf(await chat(caller)).status, 400);
  const [one, two] = [bench.mark(), bench.mark()];
  // The published clients spell it either way.
  const first = await caller.ok(createConfig, { name: 'one', isDefault: 1, config: target(one) });
  await served(t, caller, one);
  const second = await caller.ok(createConfig, { name: 'two', is_default: 1, config: target(two) });
  await served(t, caller, two);
  t.is((await caller.ok(getConfig, { slug: first.slug! })).is_default, 0);
  t.is((await caller.ok(getConfig, { slug: second.slug! })).is_default, 1);
  await caller.ok(updateConfig, { slug: first.slug!, is_default: 1, name: 'uno' });
  await served(t, caller, one);
  await served(t, caller, two, { 'x-gateway-config': String(second.slug) });
  await caller.ok(updateConfig, { slug: first.slug!, isDefault: 0 });
  t.is(refusedOf(await chat(caller)).status, 400);
  t.is(
    (await caller.refused(updateConfig, { slug: first.slug!, is_default: 1, isDefault: 0 })).param,
    'isDefault',
  );
});

story('of configs that become the default at the same time, one is', async (t, admin) => {
  const { id } = await admin.ok(createWorkspace, { name: fresh('ws') });
  const made = await Promise.all(
    Array.from({ length: 4 }, (_, i) =>
      admin.ok(createConfig, { name: `c${i}`, workspace_id: id!, is_default: 1, config: target('/d') }),
    ),
  );
  const defaults = async (): Promise<number> =>
    data(await admin.ok(listConfigs, { workspace_id: id! })).filter((one) => one.is_default === 1).length;
  t.is(await defaults(), 1);
  await Promise.all(made.map(({ slug }) => admin.ok(updateConfig, { slug: slug!, is_default: 1 })));
  t.is(await defaults(), 1);
});

story("a key's own config counts where a call names none, and alone where it says so", async (t, admin) => {
  const { id } = await admin.ok(createWorkspace, { name: fresh('ws') });
  const [one, two] = [bench.mark(), bench.mark()];
  const own = await admin.ok(createConfig, { name: 'own', workspace_id: id!, config: target(one) });
  const other = await admin.ok(createConfig, { name: 'other', workspace_id: id!, config: target(two) });
  const made = await keyFor(admin, String(id), { config_id: own.slug! });
  const caller = admin.as(made.key);
  await served(t, caller, one);
  await served(t, caller, two, { 'x-gateway-config': String(other.slug) });
  // A request's own provider goes before it, too.
  await served(t, caller, two, {
    'x-gateway-provider': 'openai',
    'x-gateway-custom-host': bench.provider.origin + two,
    authorization: 'Bearer sk-mine',
  });

  const elsewhere = await admin.ok(createConfig, { name: 'elsewhere', config: target('/x') });
  for (const config_id of ['pc-none', String(elsewhere.id)]) {
    const unknown = await admin.refused(updateApiKey, { id: made.id, defaults: { config_id } });
    t.deepEqual([unknown.status, unknown.param], [400, 'defaults.config_id']);
  }
  await admin.ok(updateApiKey, { id: made.id, defaults: { allow_config_override: false } });
  await served(t, caller, one);
  const refused = refusedOf(await chat(caller, { 'x-gateway-config': String(other.slug) }));
  t.deepEqual([refused.status, refused.param], [400, 'x-gateway-config']);
  t.is(refusedOf(await chat(caller, { 'x-gateway-config': JSON.stringify(target(two)) })).status, 400);
  const provider = { 'x-gateway-provider': 'anthropic', authorization: 'Bearer sk-mine' };
  t.is(refusedOf(await chat(caller, provider)).status, 400);

  const usage = await admin.ok(getConfigUsage, { slug: own.slug! });
  t.like(usage, { total: 1, data: [{ object: 'api-key', id: made.id }] });
  t.is((await admin.refused(deleteConfig, { slug: own.slug! })).status, 409);
  t.is((await admin.refused(updateConfig, { slug: own.slug!, status: 'archived' })).status, 409);
  await admin.ok(deleteApiKey, { id: made.id });
  await admin.ok(deleteConfig, { slug: own.slug! });
});

story('the config of a workspace counts for its user keys', async (t, admin) => {
  const { id: workspace } = await admin.ok(createWorkspace, { name: fresh('ws') });
  const prefix = bench.mark();
  const config = await admin.ok(createConfig, {
    name: 'people',
    workspace_id: workspace!,
    config: target(prefix),
  });
  const elsewhere = await admin.ok(createConfig, { name: 'elsewhere', config: target('/x') });
  const invite = await admin.ok(createUserInvite, {
    email: `${fresh('ann')}.${admin.protocol}@home.test`,
    role: 'member',
    workspaces: [{ id: workspace!, role: 'member' }],
  });
  const given = new URLSearchParams(new URL(String(invite.invite_link)).hash.slice(1));
  const { user_id: user } = await admin.ok(acceptUserInvite, {
    invite_id: String(given.get('id')),
    token: String(given.get('token')),
  });
  const { key } = await admin.ok(createApiKey, {
    type: 'workspace',
    sub_type: 'user',
    name: 'k',
    workspace_id: workspace!,
    user_id: user!,
    scopes: ['completions.write'],
  });
  const person = admin.as(String(key));
  t.is(refusedOf(await chat(person)).status, 400);
  for (const unknown of ['pc-none', String(elsewhere.slug)]) {
    const refused = await admin.refused(updateWorkspace, {
      workspace_id: workspace!,
      defaults: { user_api_key_config: unknown },
    });
    t.deepEqual([refused.status, refused.param], [400, 'defaults.user_api_key_config']);
  }
  await admin.ok(updateWorkspace, {
    workspace_id: workspace!,
    defaults: { user_api_key_config: config.slug! },
  });
  await served(t, person, prefix);
  t.is(refusedOf(await chat(admin.as((await keyFor(admin, String(workspace))).key))).status, 400);
  const usage = await admin.ok(getConfigUsage, { slug: config.id! });
  t.like(usage, { total: 1, data: [{ object: 'workspace', id: workspace! }] });
  t.is((await admin.refused(deleteConfig, { slug: config.slug! })).status, 409);
  await admin.ok(updateWorkspace, { workspace_id: workspace!, defaults: null });
  await admin.ok(deleteConfig, { slug: config.slug! });
});

story('no credential of a config is told', async (t, admin) => {
  const made = await admin.ok(createConfig, { name: fresh('told'), config: target('/told') });
  await admin.ok(updateConfig, {
    slug: made.slug!,
    config: target('/told2', { api_key: 'sk-another-secret-987654321' }),
  });
  const entries = await admin
    .ok(listAuditLogs, { resource_id: made.id! } as JsonObject)
    .catch(() => admin.ok(listAuditLogs));
  const text = JSON.stringify(entries);
  t.true(text.includes(String(made.id)));
  t.false(text.includes(SECRET));
  t.false(text.includes('sk-another-secret'));
  t.false(bench.gateway.logLines.join('\n').includes(SECRET));
});
