// Secret references over REST, Connect and gRPC: made, masked, merged, found, tested, archived.
import test from 'ava';
import { SecretReferencesService } from '../../gen/gateway/admin/v2/secret_references_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { fakeManager } from '../secrets/fake-manager.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, type JsonObject, startBench, UUID } from './runner.ts';
import { storiesOf } from './story.ts';

const { method } = SecretReferencesService;
const SECRET = 'sk-from-the-environment';
const TOKEN = 'hvs.CAESIJ-very-secret-token';

let bench: Bench;
let count = 0;
test.before(async () => {
  bench = await startBench({
    LOG_LEVEL: 'trace',
    GATEWAY_SECRET_ENV_ALLOW: 'MODEL_KEY,ABSENT',
    MODEL_KEY: SECRET,
    PRIVATE: 'private',
  });
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);
const slug = (): string => `ref-${++count}`;
const vault = (more: JsonObject = {}): JsonObject => ({
  vault_auth_type: 'token',
  vault_addr: 'https://vault.example.com:8200',
  vault_token: TOKEN,
  ...more,
});

story(
  'a reference is made, shown with its credentials masked, changed member by member, archived',
  async (t, admin) => {
    const own = slug();
    const made = await admin.ok(method.createSecretReference, {
      name: 'OpenAI',
      slug: own,
      manager_type: 'hashicorp_vault',
      auth_config: vault({ vault_namespace: 'team' }),
      secret_path: 'secret/data/openai',
      secret_key: 'key',
      tags: { team: 'search' },
    });
    t.deepEqual(Object.keys(made).sort(), ['id', 'object', 'slug']);
    t.regex(String(made.id), UUID);
    t.is(made.object, 'secret-reference');
    const get = (id = own) => admin.ok(method.getSecretReference, { secret_reference_id: id });
    const shown = await get(String(made.id));
    const { vault_namespace, masked_vault_token, ...rest } = shown.auth_config as JsonObject;
    t.is(masked_vault_token, 'hv*****ken');
    t.deepEqual(rest, { vault_auth_type: 'token', vault_addr: 'https://vault.example.com:8200' });
    t.is(vault_namespace, 'team');
    t.is(shown.status, 'ACTIVE');
    t.true(shown.allow_all_workspaces);
    t.is(shown.secret_path, 'secret/data/openai');
    t.deepEqual(shown.tags, { team: 'search' });

    const update = (body: JsonObject) =>
      admin.ok(method.updateSecretReference, { secret_reference_id: own, ...body });
    // What was shown may come back, another manager is ignored.
    t.deepEqual(
      await update({
        name: 'Renamed',
        auth_config: { masked_vault_token: masked_vault_token! },
        manager_type: 'aws_sm',
      }),
      {},
    );
    // A token goes to no other address than it was given for.
    const elsewhere = { vault_addr: 'https://other.example.com' };
    const kept = { secret_reference_id: own, auth_config: elsewhere };
    t.is((await admin.refused(method.updateSecretReference, kept)).param, 'auth_config.vault_token');
    await update({ auth_config: { ...elsewhere, vault_token: 'hvs.another-long-token' } });
    const changed = await get();
    t.is(changed.name, 'Renamed');
    t.is(changed.manager_type, 'hashicorp_vault');
    t.deepEqual(changed.auth_config, {
      vault_auth_type: 'token',
      vault_addr: 'https://other.example.com',
      vault_namespace: 'team',
      masked_vault_token: 'hv*****ken',
    });
    await update({
      auth_config: { vault_auth_type: 'approle', vault_role_id: 'role', vault_secret_id: 'a-long-secret-id' },
    });
    t.deepEqual((await get()).auth_config, {
      vault_auth_type: 'approle',
      vault_addr: 'https://other.example.com',
      vault_namespace: 'team',
      vault_role_id: 'role',
      masked_vault_secret_id: 'a-*****-id',
    });

    t.deepEqual(await admin.ok(method.deleteSecretReference, { secret_reference_id: own }), {});
    for (const gone of [own, String(made.id)])
      t.is((await admin.refused(method.getSecretReference, { secret_reference_id: gone })).status, 404);
  },
);

story('what cannot work is refused, naming the member', async (t, admin) => {
  const refused = async (more: JsonObject, param: string) => {
    const body = {
      name: 'x',
      manager_type: 'hashicorp_vault',
      auth_config: vault(),
      secret_path: 'p',
      ...more,
    };
    const error = await admin.refused(method.createSecretReference, body);
    t.is(error.param, param, error.message);
    t.is(error.status, 400);
    t.notRegex(error.message, /hvs\./);
  };
  const aws = { manager_type: 'aws_sm' };
  await refused({ manager_type: 'keychain' }, 'manager_type');
  await refused({ name: ' ' }, 'name');
  await refused({ secret_path: '' }, 'secret_path');
  await refused({ secret_path: 'a\nb' }, 'secret_path');
  await refused({ slug: 'a b' }, 'slug');
  await refused({ slug: '0b8e4f0e-6f0a-4b47-9a52-3c1d3ea9d6a1' }, 'slug');
  await refused({ auth_config: {} }, 'auth_config.vault_auth_type');
  await refused({ auth_config: vault({ vault_auth_type: 'toString' }) }, 'auth_config.vault_auth_type');
  await refused({ auth_config: vault({ vault_token: '' }) }, 'auth_config.vault_token');
  await refused({ auth_config: vault({ vault_token: 7 }) }, 'auth_config.vault_token');
  await refused({ auth_config: vault({ vault_token: 'a\r\nb: c' }) }, 'auth_config.vault_token');
  await refused({ auth_config: vault({ vault_role: 'r' }) }, 'auth_config.vault_role');
  await refused({ auth_config: vault({ masked_vault_token: 'x' }) }, 'auth_config.masked_vault_token');
  await refused({ auth_config: vault({ vault_addr: 'ftp://x' }) }, 'auth_config.vault_addr');
  await refused({ auth_config: vault({ vault_addr: 'http://169.254.169.254' }) }, 'auth_config.vault_addr');
  await refused({ auth_config: vault({ vault_addr: 'https://v.example.com/x' }) }, 'auth_config.vault_addr');
  await refused({ ...aws, auth_config: { aws_auth_type: 'serviceRole' } }, 'auth_config.aws_auth_type');
  await refused(
    { ...aws, auth_config: { aws_auth_type: 'accessKey', aws_access_key_id: 'a', aws_region: 'r' } },
    'auth_config.aws_secret_access_key',
  );
  await refused({ manager_type: 'env', auth_config: {}, secret_path: 'PRIVATE' }, 'secret_path');
  await refused({ manager_type: 'file', auth_config: {}, secret_path: '/key' }, 'manager_type');
  await refused({ allowed_workspaces: ['nobody'] }, 'allowed_workspaces[0]');
  await refused({ allowed_workspaces: ['default'], allow_all_workspaces: true }, 'allowed_workspaces');
  await refused({ allow_all_workspaces: false }, 'allowed_workspaces');
  await refused({ organisation_id: '0b8e4f0e-6f0a-4b47-9a52-3c1d3ea9d6a1' }, 'organisation_id');
  if (admin.protocol === 'rest') await refused({ allowed_workspaces: [] }, 'allowed_workspaces');
});

story('slugs are one of a kind, updates need something, unknown ones are 404', async (t, admin) => {
  const body = {
    name: 'Twice',
    slug: slug(),
    manager_type: 'env',
    auth_config: {},
    secret_path: 'MODEL_KEY',
  };
  const { slug: _, ...unnamed } = body;
  const made = await admin.ok(method.createSecretReference, body);
  t.is((await admin.refused(method.createSecretReference, body)).status, 409);
  const secret_reference_id = made.id!;
  t.is((await admin.refused(method.updateSecretReference, { secret_reference_id })).status, 400);
  t.regex(String((await admin.ok(method.createSecretReference, unnamed)).slug), /^twice-[0-9a-f]{6}$/);
  for (const one of [method.getSecretReference, method.testSecretReference, method.deleteSecretReference])
    t.is((await admin.refused(one, { secret_reference_id: 'nothing' })).status, 404);
  const stranger = await admin.as(WORKSPACE_KEY).refused(method.getSecretReference, { secret_reference_id });
  t.is(stranger.status, 403);
});

story('visibility is all workspaces or those that are named', async (t, admin) => {
  const workspace = await admin.ok(WorkspacesService.method.createWorkspace, { name: `Secrets ${++count}` });
  const own = slug();
  await admin.ok(method.createSecretReference, {
    name: 'Some',
    slug: own,
    manager_type: 'env',
    secret_path: 'MODEL_KEY',
    allowed_workspaces: [workspace.slug!, workspace.id!],
  });
  const get = () => admin.ok(method.getSecretReference, { secret_reference_id: own });
  t.deepEqual((await get()).allowed_workspaces, [workspace.id!]);
  t.false((await get()).allow_all_workspaces);
  const update = (body: JsonObject) =>
    admin.ok(method.updateSecretReference, { secret_reference_id: own, ...body });
  await update({ description: 'kept' });
  t.deepEqual((await get()).allowed_workspaces, [workspace.id!]);
  await update({ allow_all_workspaces: true });
  t.is((await get()).allowed_workspaces ?? null, null);
  t.is((await get()).description, 'kept');
});

story('lists are narrowed by manager, tags and words', async (t, admin) => {
  const mark = `mark${++count}`;
  const make = (name: string, more: JsonObject) =>
    admin.ok(method.createSecretReference, {
      name,
      manager_type: 'env',
      auth_config: {},
      secret_path: 'MODEL_KEY',
      ...more,
    });
  await make(`First ${mark}`, { tags: { mark, tier: 'a' } });
  await make('Second', { slug: `${mark}-second`, tags: { mark } });
  await make('Third', {
    manager_type: 'hashicorp_vault',
    auth_config: vault(),
    secret_path: 'p',
    tags: { mark, tier: 'a' },
  });
  const names = async (query: JsonObject): Promise<unknown> => {
    const list = await admin.ok(method.listSecretReferences, query);
    t.is(list.object, 'list');
    const data = list.data as JsonObject[];
    for (const item of data) t.false('auth_config' in item);
    return [Number(list.total), data.map(({ name }) => name)];
  };
  const tags = JSON.stringify({ mark });
  t.deepEqual(await names({ tags }), [3, ['Third', 'Second', `First ${mark}`]]);
  t.deepEqual(await names({ tags, page_size: 1, current_page: 1 }), [3, ['Second']]);
  t.deepEqual(await names({ tags: JSON.stringify({ mark, tier: 'a' }) }), [2, ['Third', `First ${mark}`]]);
  t.deepEqual(await names({ tags, manager_type: 'hashicorp_vault' }), [1, ['Third']]);
  t.deepEqual(await names({ search: mark.toUpperCase() }), [2, ['Second', `First ${mark}`]]);
  t.is((await admin.refused(method.listSecretReferences, { tags: '[1]' })).param, 'tags');
  t.is((await admin.refused(method.listSecretReferences, { page_size: 101 })).param, 'page_size');
});

story('a test says whether the secret can be read, and never the secret', async (t, admin) => {
  const manager = await fakeManager(t, ({ headers, url }) =>
    headers['x-vault-token'] === TOKEN && url.pathname === '/v1/kv/good'
      ? { body: { data: { key: 'sk-in-the-vault' } } }
      : { status: 403, body: { errors: ['sk-in-the-vault'] } },
  );
  const tested = async (body: JsonObject) => {
    const { id } = await admin.ok(method.createSecretReference, { name: 'Tested', ...body });
    const answer = await admin.ok(method.testSecretReference, { secret_reference_id: id! });
    t.is(answer.object, 'secret-reference-test');
    t.notRegex(JSON.stringify(answer), /sk-|hvs\./);
    return [answer.success, answer.reason ?? null];
  };
  const at = (path: string, more: JsonObject = {}): JsonObject => ({
    manager_type: 'hashicorp_vault',
    secret_path: path,
    secret_key: 'key',
    auth_config: vault({ vault_addr: manager.url }),
    ...more,
  });
  t.deepEqual(await tested(at('kv/good')), [true, null]);
  t.deepEqual(await tested(at('kv/good', { secret_key: 'other' })), [false, 'missing']);
  t.deepEqual(await tested(at('kv/bad')), [false, 'denied']);
  t.deepEqual(await tested({ manager_type: 'env', secret_path: 'MODEL_KEY' }), [true, null]);
  t.deepEqual(await tested({ manager_type: 'env', secret_path: 'ABSENT' }), [false, 'missing']);
});

test.after('no secret is in the log or the audit log', async (t) => {
  const response = await fetch(`${bench.gateway.origin}/v1/audit-logs?page_size=100`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  const audit = await response.text();
  t.regex(audit, /secret-reference/);
  for (const secret of [SECRET, TOKEN, 'sk-in-the-vault', 'a-long-secret-id']) {
    t.false(audit.includes(secret), 'audit');
    t.false(
      bench.gateway.logLines.some((line) => line.includes(secret)),
      'log',
    );
  }
});
