// API keys as they live: partial updates, rotation, expiry, people and their roles, and nobody locked out.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { scopesOf } from '../../src/access/scopes.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import type { JsonObject } from './runner.ts';

const DAY = 86_400_000;
const KEY_SCOPES = ['create', 'read', 'update', 'delete', 'list', 'rotate'].flatMap((verb) => [
  `workspace_service_api_keys.${verb}`,
  `workspace_user_api_keys.${verb}`,
]);

interface Answer {
  readonly status: number;
  readonly json: JsonObject;
}

type Rest = (key: string, verb: string, path: string, body?: JsonObject) => Promise<Answer>;

const restOf =
  (gateway: TestGateway): Rest =>
  async (key, verb, path, body) => {
    const response = await fetch(`${gateway.origin}/v1${path}`, {
      method: verb,
      headers: { 'x-gateway-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, json: (await response.json()) as JsonObject };
  };

let gateway: TestGateway;
let rest: Rest;
const secrets: string[] = [];

test.before(async () => {
  gateway = await startGateway({ LOG_LEVEL: 'trace' });
  rest = restOf(gateway);
});
test.after.always(async () => {
  await gateway?.close();
});

interface Key {
  readonly id: string;
  readonly key: string;
}

async function ok(t: ExecutionContext, answer: Promise<Answer>): Promise<JsonObject> {
  const { status, json } = await answer;
  t.is(status, 200, JSON.stringify(json));
  return json;
}

async function refused(
  t: ExecutionContext,
  answer: Promise<Answer>,
  status: number,
  text: RegExp,
): Promise<void> {
  const got = await answer;
  t.is(got.status, status, JSON.stringify(got.json));
  t.regex(String((got.json.error as JsonObject).message), text);
}

async function make(t: ExecutionContext, path: string, body: JsonObject, by = ADMIN_KEY): Promise<Key> {
  const json = await ok(t, rest(by, 'POST', `/api-keys/${path}`, { name: t.title.slice(0, 100), ...body }));
  secrets.push(String(json.key));
  return { id: String(json.id), key: String(json.key) };
}

const get = (t: ExecutionContext, id: string): Promise<JsonObject> =>
  ok(t, rest(ADMIN_KEY, 'GET', `/api-keys/${id}`));
const put = (t: ExecutionContext, id: string, body: JsonObject): Promise<JsonObject> =>
  ok(t, rest(ADMIN_KEY, 'PUT', `/api-keys/${id}`, body));
const LOGS = { scopes: ['logs.list'] };
const works = async (key: string): Promise<boolean> => (await rest(key, 'GET', '/logs')).status === 200;

let places = 0;
async function workspace(t: ExecutionContext, settings: JsonObject = {}): Promise<string> {
  const name = `${t.title.slice(0, 40)} ${++places}`;
  const json = await ok(t, rest(ADMIN_KEY, 'POST', '/admin/workspaces', { name, settings }));
  return String(json.id);
}

let people = 0;
/** A person with a place in a workspace, and the person's own key there. */
async function person(
  t: ExecutionContext,
  workspaceId: string,
  role: string,
  scopes = [...KEY_SCOPES, 'logs.list', 'configs.create'],
): Promise<Key & { readonly userId: string }> {
  const invite = await ok(
    t,
    rest(ADMIN_KEY, 'POST', '/admin/users/invites', {
      email: `person-${++people}@home.test`,
      role: 'member',
      workspaces: [{ id: workspaceId, role }],
    }),
  );
  const [, id, token] = /id=([^&]+)&token=(.+)$/.exec(String(invite.invite_link)) ?? [];
  const accepted = await ok(t, rest('', 'POST', `/admin/users/invites/${id}/accept`, { token: token ?? '' }));
  const userId = String(accepted.user_id);
  return {
    userId,
    ...(await make(t, 'workspace/user', { workspace_id: workspaceId, user_id: userId, scopes })),
  };
}

test('an update changes what is given; null and empty lists take away', async (t) => {
  const content = { name: 'c', config: { retry: { attempts: 1 } } };
  const config = String((await ok(t, rest(ADMIN_KEY, 'POST', '/configs', content))).slug);
  const { id } = await make(t, 'organisation/service', {
    ...LOGS,
    description: 'd',
    alert_emails: ['a@b.co'],
  });
  await put(t, id, {
    id,
    rate_limits: [{ type: 'requests', unit: 'rps', value: 3 }],
    usage_limits: { type: 'cost', credit_limit: 2.5, periodic_reset: 'monthly' },
    defaults: { metadata: { a: '1' }, config_id: config, allow_config_override: false },
    rotation_policy: { rotation_period_days: 30, key_transition_period_ms: 3_600_000 },
    expires_at: '2099-01-01T02:00:00+02:00',
  });
  const full = await get(t, id);
  t.like(full, {
    name: t.title,
    description: 'd',
    alert_emails: ['a@b.co'],
    rate_limits: [{ type: 'requests', unit: 'rps', value: 3 }],
    usage_limits: { type: 'cost', credit_limit: 2.5, periodic_reset: 'monthly' },
    defaults: { metadata: { a: '1' }, config_id: config, allow_config_override: false },
    allow_config_override: 0,
    expires_at: '2099-01-01T00:00:00.000Z',
  });
  const first = new Date();
  const nextMonth = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1)).toISOString();
  t.is(full.next_usage_reset_at, nextMonth);
  const midnight = Math.floor(Date.now() / DAY) * DAY;
  t.deepEqual(full.rotation_policy, {
    rotation_period: null,
    rotation_period_days: 30,
    next_rotation_at: new Date(midnight + 30 * DAY).toISOString(),
    key_transition_period_ms: 3_600_000,
    status: 'ACTIVE',
    rotation_due: false,
  });
  t.is(full.last_reset_at, null);

  await put(t, id, { defaults: { config_id: null }, reset_usage: true });
  const unpinned = await get(t, id);
  t.deepEqual(unpinned.defaults, { metadata: { a: '1' }, config_id: null, allow_config_override: false });
  t.regex(String(unpinned.last_reset_at), /^\d{4}-.*Z$/);

  await put(t, id, {
    description: null,
    rate_limits: [],
    usage_limits: null,
    defaults: null,
    alert_emails: [],
    rotation_policy: null,
    expires_at: null,
  });
  t.like(await get(t, id), {
    description: null,
    rate_limits: [],
    usage_limits: null,
    defaults: null,
    alert_emails: null,
    rotation_policy: null,
    expires_at: null,
    next_usage_reset_at: null,
    scopes: ['logs.list'],
  });
});

test('a scope that is taken away counts at once', async (t) => {
  const { id, key } = await make(t, 'organisation/service', { scopes: ['logs.list', 'logs.view'] });
  t.true(await works(key));
  await put(t, id, { scopes: ['logs.view'] });
  await refused(t, rest(key, 'GET', '/logs'), 403, /lacks the scope/);
});

test('a rotated key has two secrets until the transition is over, and no third', async (t) => {
  const { id, key } = await make(t, 'organisation/service', LOGS);
  const before = Date.now();
  const rotated = await ok(t, rest(ADMIN_KEY, 'POST', `/api-keys/${id}/rotate`));
  secrets.push(String(rotated.key));
  t.deepEqual(Object.keys(rotated), ['id', 'key', 'key_transition_expires_at']);
  t.is(rotated.id, id);
  const until = Date.parse(String(rotated.key_transition_expires_at));
  t.true(until >= before + 1_800_000 && until <= Date.now() + 1_800_000, 'half an hour when nothing is said');
  t.true(await works(key));
  t.true(await works(String(rotated.key)));
  const record = await get(t, id);
  t.is(record.key, `sl*****${String(rotated.key).slice(-3)}`);
  t.is(record.key_transition_expires_at, rotated.key_transition_expires_at);
  await refused(t, rest(ADMIN_KEY, 'POST', `/api-keys/${id}/rotate`, {}), 409, /two at the most/);
  await ok(t, rest(ADMIN_KEY, 'DELETE', `/api-keys/${id}`));
  t.false(await works(key), 'the old secret of a deleted key');
  t.false(await works(String(rotated.key)), 'the new secret of a deleted key');
});

test('a key rotates and deletes itself', async (t) => {
  const { id, key } = await make(t, 'organisation/service', {
    scopes: ['organisation_service_api_keys.rotate', 'organisation_service_api_keys.delete'],
  });
  const rotated = await ok(
    t,
    rest(key, 'POST', `/api-keys/${id}/rotate`, { id, key_transition_period_ms: 7_200_000 }),
  );
  secrets.push(String(rotated.key));
  await ok(t, rest(String(rotated.key), 'DELETE', `/api-keys/${id}`, { id }));
  await refused(t, rest(key, 'GET', `/api-keys/${id}`), 401, /not known/);
});

test('a key ends when it expires, and cannot be rotated then', async (t) => {
  const { id, key } = await make(t, 'organisation/service', LOGS);
  t.true(await works(key));
  await put(t, id, { expires_at: new Date(Date.now() + 1500).toISOString() });
  t.is((await get(t, id)).status, 'active');
  await eventually('the end of the key', async () => !(await works(key)));
  await refused(t, rest(key, 'GET', '/logs'), 401, /expired/);
  t.is((await get(t, id)).status, 'expired');
  await refused(t, rest(ADMIN_KEY, 'POST', `/api-keys/${id}/rotate`), 409, /expired/);
  await put(t, id, { expires_at: null });
  t.true(await works(key), 'a new expiry brings it back');
});

test('user keys are held to the workspace’s terms, services’ are not', async (t) => {
  const place = await workspace(t, { user_api_key_ttl: 30, user_api_key_max_ttl: 90 });
  const ann = await person(t, place, 'member');
  const given = await get(t, ann.id);
  const left = Date.parse(String(given.expires_at)) - Date.parse(String(given.created_at));
  t.is(left, 30 * DAY);
  t.is(given.expiry_enforced, 1);
  const user = { workspace_id: place, user_id: ann.userId, ...LOGS, name: 'n' };
  const beyond = new Date(Date.now() + 90 * DAY + 60_000).toISOString();
  const within = new Date(Date.now() + 90 * DAY - 60_000).toISOString();
  await refused(
    t,
    rest(ADMIN_KEY, 'POST', '/api-keys/workspace/user', { ...user, expires_at: beyond }),
    400,
    /90 days/,
  );
  const { id } = await make(t, 'workspace/user', { ...user, expires_at: within });
  await refused(t, rest(ADMIN_KEY, 'PUT', `/api-keys/${id}`, { expires_at: null }), 400, /90 days/);
  await refused(t, rest(ADMIN_KEY, 'PUT', `/api-keys/${id}`, { expires_at: beyond }), 400, /90 days/);
  const service = await make(t, 'workspace/service', { workspace_id: place, ...LOGS });
  t.like(await get(t, service.id), { expires_at: null, expiry_enforced: 0 });
});

test('a user key may be nobody’s, as the specification has it', async (t) => {
  const maker = await make(t, 'workspace/service', {
    workspace_id: 'default',
    scopes: ['workspace_user_api_keys.create', 'virtual_keys.create'],
  });
  const body = { name: 'n', workspace_id: 'default', scopes: ['virtual_keys.create'] };
  const { status, json } = await rest(maker.key, 'POST', '/api-keys/workspace/user', body);
  t.is(status, 200);
  t.like(await get(t, String(json.id)), { type: 'workspace-user', user_id: null });
});

test('a user holds no more keys than the workspace allows, not even at once', async (t) => {
  const place = await workspace(t, { user_api_key_count: 4 });
  const ann = await person(t, place, 'member');
  const bob = await person(t, place, 'member');
  const ask = () =>
    rest(ADMIN_KEY, 'POST', '/api-keys/workspace/user', {
      name: 'n',
      workspace_id: place,
      user_id: ann.userId,
      ...LOGS,
    });
  const answers = await Promise.all(Array.from({ length: 8 }, ask));
  const statuses = answers.map(({ status }) => status).sort();
  t.deepEqual(statuses, [200, 200, 200, 409, 409, 409, 409, 409]);
  await refused(t, ask(), 409, /as many API keys as the workspace allows: 4/);
  await make(t, 'workspace/user', { workspace_id: place, user_id: bob.userId, ...LOGS });
});

test('a member sees and writes the member’s own keys alone', async (t) => {
  const place = await workspace(t);
  const ann = await person(t, place, 'member');
  const bob = await person(t, place, 'member');
  const service = await make(t, 'workspace/service', { workspace_id: place, ...LOGS });
  await refused(
    t,
    rest(ann.key, 'POST', '/api-keys/workspace/user', { name: 'n', ...LOGS }),
    403,
    /role member/,
  );
  const settings = { security_settings: { membersWriteApiKeys: true } };
  await ok(t, rest(ADMIN_KEY, 'PUT', `/admin/workspaces/${place}`, settings));
  const own = await make(t, 'workspace/user', LOGS, ann.key);
  t.like(await get(t, own.id), { user_id: ann.userId, workspace_id: place });
  const listed = await ok(t, rest(ann.key, 'GET', '/api-keys'));
  t.deepEqual(
    (listed.data as JsonObject[]).map((key) => key.id),
    [own.id, ann.id],
  );
  t.is(listed.total, 2);
  const others = await ok(t, rest(ann.key, 'GET', `/api-keys?user_id=${bob.userId}`));
  t.like(others, { total: 0, data: [] });
  for (const id of [bob.id, service.id]) {
    await refused(t, rest(ann.key, 'GET', `/api-keys/${id}`), 404, /no such/);
    await refused(t, rest(ann.key, 'PUT', `/api-keys/${id}`, { name: 'mine' }), 404, /no such/);
    await refused(t, rest(ann.key, 'DELETE', `/api-keys/${id}`), 404, /no such/);
    await refused(t, rest(ann.key, 'POST', `/api-keys/${id}/rotate`), 404, /no such/);
  }
  const ask = (path: string, body: JsonObject) =>
    rest(ann.key, 'POST', `/api-keys/${path}`, { name: 'n', ...LOGS, ...body });
  await refused(t, ask('workspace/user', { user_id: bob.userId }), 403, /themselves/);
  await refused(t, ask('workspace/service', {}), 403, /role member/);
  await refused(t, ask('workspace/user', { scopes: ['configs.create'] }), 403, /configs\.create/);
  await refused(t, ask('workspace/user', { scopes: ['prompts.read'] }), 403, /prompts\.read/);
  await refused(t, ask('organisation/service', {}), 403, /organisation_service_api_keys/);
  const rotated = await ok(t, rest(ann.key, 'POST', `/api-keys/${own.id}/rotate`));
  secrets.push(String(rotated.key));
  await ok(t, rest(ann.key, 'PUT', `/api-keys/${own.id}`, { name: 'renamed' }));
  await ok(t, rest(ann.key, 'DELETE', `/api-keys/${own.id}`));
});

test('a manager makes keys for others, and none above the manager’s role', async (t) => {
  const place = await workspace(t);
  const elsewhere = await workspace(t);
  const manager = await person(t, place, 'manager');
  const admin = await person(t, place, 'admin');
  const member = await person(t, place, 'member');
  const stranger = await person(t, elsewhere, 'member');
  const made = await make(t, 'workspace/user', { user_id: member.userId, ...LOGS }, manager.key);
  t.is((await get(t, made.id)).user_id, member.userId);
  await make(t, 'workspace/service', { scopes: ['configs.create'] }, manager.key);
  const ask = (path: string, body: JsonObject) =>
    rest(manager.key, 'POST', `/api-keys/${path}`, { name: 'n', ...LOGS, ...body });
  await refused(t, ask('workspace/user', { user_id: admin.userId }), 403, /above the role manager/);
  await refused(t, ask('workspace/user', { user_id: stranger.userId }), 400, /names no user/);
  await refused(t, ask('workspace/service', { workspace_id: elsewhere }), 400, /names no workspace/);
  await refused(t, ask('workspace/service', { scopes: ['configs.delete'] }), 403, /configs\.delete/);
  await refused(t, rest(manager.key, 'POST', `/api-keys/${admin.id}/rotate`), 403, /above the role manager/);
  await refused(t, rest(manager.key, 'GET', `/api-keys/${stranger.id}`), 404, /no such/);

  // What the settings take from managers, their keys lose and cannot give.
  await ok(
    t,
    rest(ADMIN_KEY, 'PUT', `/admin/workspaces/${place}`, {
      security_settings: { managersWriteConfigs: false },
    }),
  );
  await refused(t, ask('workspace/service', { scopes: ['configs.create'] }), 403, /configs\.create/);
  await ok(
    t,
    rest(ADMIN_KEY, 'PUT', `/admin/workspaces/${place}`, {
      security_settings: { managersWriteApiKeys: false },
    }),
  );
  await refused(t, ask('workspace/service', {}), 403, /role manager/);
  await ok(t, rest(manager.key, 'GET', '/api-keys'));
});

test('a key that comes with an invitation is held to the same rules', async (t) => {
  const place = await workspace(t, { user_api_key_max_ttl: 5 });
  const invitation = (email: string, scopes: string[]): JsonObject => ({
    email,
    role: 'member',
    workspaces: [{ id: place, role: 'member' }],
    workspace_api_key_details: { scopes },
  });
  const inviter = await make(t, 'organisation/service', {
    scopes: ['organisation_users.create', 'workspace_user_api_keys.create', 'logs.list'],
  });
  const narrow = await make(t, 'organisation/service', {
    scopes: ['organisation_users.create', 'logs.list'],
  });
  const invite = (key: Key, scopes: string[]) =>
    rest(key.key, 'POST', '/admin/users/invites', invitation('invited@home.test', scopes));
  await refused(t, invite(narrow, ['logs.list']), 403, /workspace_user_api_keys\.create/);
  await refused(t, invite(inviter, ['configs.create']), 403, /configs\.create/);
  const made = await ok(t, invite(inviter, ['logs.list', 'completions.write']));
  const [, id, token] = /id=([^&]+)&token=(.+)$/.exec(String(made.invite_link)) ?? [];
  const accepted = await ok(t, rest('', 'POST', `/admin/users/invites/${id}/accept`, { token: token ?? '' }));
  const [key] = accepted.api_keys as JsonObject[];
  secrets.push(String(key?.key));
  const record = await get(t, String(key?.id));
  t.is(Date.parse(String(record.expires_at)) - Date.parse(String(record.created_at)), 5 * DAY);
  t.like(record, { expiry_enforced: 1, user_id: accepted.user_id });
});

test('odd texts are kept as they are or refused, and break nothing', async (t) => {
  for (const odd of ['\u202e right to left', 'é'.repeat(100), '🗝'.repeat(100)]) {
    const { id } = await make(t, 'organisation/service', { ...LOGS, name: odd, description: odd });
    t.is((await get(t, id)).name, odd);
    const found = await ok(t, rest(ADMIN_KEY, 'GET', `/api-keys?exact_name=${encodeURIComponent(odd)}`));
    t.deepEqual(
      (found.data as JsonObject[]).map((key) => key.id),
      [id],
    );
  }
  const body = {
    name: 'n',
    ...LOGS,
    defaults: JSON.parse('{"metadata":{"__proto__":"x","constructor":"y"}}'),
  };
  const { id } = await make(t, 'organisation/service', body);
  const { metadata } = (await get(t, id)).defaults as { metadata: JsonObject };
  t.deepEqual(Object.entries(metadata), [
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ]);
  for (const path of ['%00', '%ff', 'a%2Fb', '..', `${'x'.repeat(64)}`]) {
    const { status } = await rest(ADMIN_KEY, 'GET', `/api-keys/${path}`);
    t.true(status >= 400 && status < 500, `${path}: ${status}`);
  }
  for (const name of ['null \0 byte', '\ud800', 7, null, {}, 'x'.repeat(101)]) {
    const { status } = await rest(ADMIN_KEY, 'POST', '/api-keys/organisation/service', {
      ...LOGS,
      name,
    } as JsonObject);
    t.is(status, 400, String(name));
  }
});

test.serial('the last key that may make organisation keys stays', async (t) => {
  const own = await startGateway();
  t.teardown(() => own.close());
  const call = restOf(own);
  const admin = String(
    ((await call(ADMIN_KEY, 'GET', '/api-keys?type=organisation-service')).json.data as JsonObject[])[0]?.id,
  );
  const last = /last organisation key/;
  await refused(t, call(ADMIN_KEY, 'DELETE', `/api-keys/${admin}`), 409, last);
  await refused(t, call(ADMIN_KEY, 'PUT', `/api-keys/${admin}`, { scopes: ['logs.list'] }), 409, last);
  await refused(
    t,
    call(ADMIN_KEY, 'PUT', `/api-keys/${admin}`, { expires_at: '2099-01-01T00:00:00Z' }),
    409,
    last,
  );
  await ok(t, call(ADMIN_KEY, 'PUT', `/api-keys/${admin}`, { name: 'renamed' }));
  const body = { name: 'n', scopes: [...scopesOf('organisation-service')] };
  const passing = await call(ADMIN_KEY, 'POST', '/api-keys/organisation/service', {
    ...body,
    expires_at: '2099-01-01T00:00:00Z',
  });
  t.is(passing.status, 200);
  await refused(t, call(ADMIN_KEY, 'DELETE', `/api-keys/${admin}`), 409, last);
  const second = await ok(t, call(ADMIN_KEY, 'POST', '/api-keys/organisation/service', body));
  const answers = await Promise.all([
    call(ADMIN_KEY, 'DELETE', `/api-keys/${second.id}`),
    call(String(second.key), 'DELETE', `/api-keys/${admin}`),
  ]);
  // The second of the two may find its own key gone before it is asked for the rule.
  const [won, lost] = answers.map(({ status }) => status).sort();
  t.is(won, 200, 'two that delete each other at once');
  t.true(lost === 409 || lost === 401, `two that delete each other at once: ${String(lost)}`);
  const left = won === answers[0].status ? ADMIN_KEY : String(second.key);
  t.is(
    (await call(left, 'GET', '/api-keys?type=organisation-service')).status,
    200,
    'the one that is left works',
  );
});

test.serial('every change is in the audit log, and no secret is anywhere', async (t) => {
  // Clients say the path's parts once more: the path's count.
  const { id, key } = await make(t, 'organisation/service', {
    ...LOGS,
    type: 'workspace',
    'sub-type': 'user',
  });
  await put(t, id, { name: 'after', scopes: ['logs.view'] });
  const rotated = await ok(t, rest(ADMIN_KEY, 'POST', `/api-keys/${id}/rotate`));
  secrets.push(String(rotated.key));
  await ok(t, rest(ADMIN_KEY, 'DELETE', `/api-keys/${id}`));
  const audit = await ok(t, rest(ADMIN_KEY, 'GET', '/audit-logs?resource_type=api-key&page_size=100'));
  const entries = (audit.records as JsonObject[]).filter((entry) => (entry.target as JsonObject).id === id);
  t.deepEqual(
    entries.map(({ action }) => action),
    ['delete', 'rotate', 'update', 'create'],
  );
  const first = (audit.records as JsonObject[]).at(-1);
  t.like(first, { action: 'create', user_type: 'system', target: { name: 'First admin key' } });
  const changes = entries.map((entry) => entry.changes as JsonObject[]);
  const change = (at: number, path: string) => changes[at]?.find((one) => one.path === path);
  t.like(change(2, 'name'), { before: t.title, after: 'after' });
  t.deepEqual(change(2, 'scopes'), { path: 'scopes', before: ['logs.list'], after: ['logs.view'] });
  t.is(change(1, 'old_key_masked')?.after, `sl*****${key.slice(-3)}`);
  t.is(change(1, 'transition_expires_at')?.after, rotated.key_transition_expires_at);
  t.is(change(0, 'name')?.before, 'after');
  const everything = [JSON.stringify(audit), ...gateway.logLines].join('\n');
  for (const secret of secrets) t.false(everything.includes(secret), 'a secret in the log or the audit log');
  t.false(/[0-9a-f]{64}/.test(JSON.stringify(changes)), 'a hash in the audit log');
});

test.serial('a first key that was deleted does not come back by itself', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-first-key-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const env = { GATEWAY_DATA_DIR: dataDir, GATEWAY_ADMIN_API_KEY: '', GATEWAY_API_KEY: '' };
  const first = await startGateway(env);
  const { admin, workspace } = first.app.firstKeys;
  const [newAdminKey, newWorkspaceKey] = [admin?.secret ?? '', workspace?.secret ?? ''];
  const call = restOf(first);
  const body = { name: 'n', scopes: [...scopesOf('organisation-service')] };
  const mine = String((await ok(t, call(newAdminKey, 'POST', '/api-keys/organisation/service', body))).key);
  const all = (await ok(t, call(mine, 'GET', '/api-keys'))).data as JsonObject[];
  for (const { id, name } of all)
    if (String(name).startsWith('First')) await ok(t, call(mine, 'DELETE', `/api-keys/${id}`));
  await first.close();
  const again = await startGateway(env);
  t.deepEqual(again.app.firstKeys, { admin: undefined, workspace: undefined });
  t.is((await restOf(again)(newAdminKey, 'GET', '/logs')).status, 401);
  t.is((await restOf(again)(newWorkspaceKey, 'GET', '/logs')).status, 401);
  await ok(t, restOf(again)(mine, 'GET', '/logs'));
  await again.close();
  const given = await startGateway({ ...env, GATEWAY_ADMIN_API_KEY: ADMIN_KEY });
  t.teardown(() => given.close());
  t.is((await restOf(given)(ADMIN_KEY, 'GET', '/logs')).status, 200, 'one that the environment gives does');
});
