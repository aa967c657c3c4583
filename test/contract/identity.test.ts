// Organisations, workspaces, members, users, invitations and deployments, over every protocol.
import type { DescMethod } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { DeploymentsService } from '../../gen/gateway/admin/v2/deployments_pb.ts';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { OrganisationsService } from '../../gen/gateway/admin/v2/organisations_pb.ts';
import { UserInvitesService } from '../../gen/gateway/admin/v2/user_invites_pb.ts';
import { UsersService } from '../../gen/gateway/admin/v2/users_pb.ts';
import { WorkspaceMembersService } from '../../gen/gateway/admin/v2/workspace_members_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import {
  type Bench,
  type Case,
  exchange,
  type JsonObject,
  type Outcome,
  PROTOCOLS,
  type Protocol,
  type Refusal,
  runCases,
  startBench,
} from './runner.ts';

const ADMIN = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
const { createWorkspace, listWorkspaces, getWorkspace, updateWorkspace, deleteWorkspace } =
  WorkspacesService.method;
const { addWorkspaceMembers, listWorkspaceMembers, getWorkspaceMember } = WorkspaceMembersService.method;
const { updateWorkspaceMember, removeWorkspaceMember } = WorkspaceMembersService.method;
const { listUsers, getUser, updateUser, deleteUser } = UsersService.method;
const { createUserInvite, listUserInvites, getUserInvite } = UserInvitesService.method;
const { cancelUserInvite, resendUserInvite, acceptUserInvite } = UserInvitesService.method;
const { getOrganisation, updateOrganisation } = OrganisationsService.method;
const { getOrganisationDefaults, updateOrganisationDefaults } = OrganisationsService.method;
const { createDeployment, listDeployments, getDeployment, updateDeployment, deleteDeployment } =
  DeploymentsService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

let count = 0;
const fresh = (word: string): string => `${word}-${++count}`;

/** Calls one protocol as one caller. */
class Caller {
  readonly protocol: Protocol;
  readonly #key: string;

  constructor(protocol: Protocol, key: string = ADMIN_KEY) {
    this.protocol = protocol;
    this.#key = key;
  }

  exchange(method: DescMethod, body: JsonObject): Promise<Outcome> {
    const headers = { 'x-gateway-api-key': this.#key, authorization: undefined };
    return exchange(bench, { method, body, headers }, this.protocol);
  }

  async ok(method: DescMethod, body: JsonObject = {}): Promise<JsonObject> {
    const { error, json } = await this.exchange(method, body);
    if (error) throw new Error(`${method.name}: ${JSON.stringify(error)}`);
    return json;
  }

  async refused(
    t: ExecutionContext,
    method: DescMethod,
    body: JsonObject,
    status: number,
    param?: string,
  ): Promise<void> {
    const { error } = await this.exchange(method, body);
    if (error === undefined) return t.fail(`${method.name} is not refused`);
    if (error.kind === 'rest') {
      t.is((error.body.errorStatus as number | undefined) ?? statusOf(error.body), status, method.name);
      if (param !== undefined) t.is((error.body.error as JsonObject).param, param);
    } else {
      t.is(error.details[0]?.httpStatus, status, method.name);
      if (param !== undefined) t.is(error.details[0]?.param, param);
    }
  }
}

const AB_STATUS: Readonly<Record<string, number>> = { AB01: 400, AB03: 403, AB05: 401, AB07: 409, AB08: 404 };
function statusOf(body: JsonObject): number {
  return AB_STATUS[String((body.data as JsonObject | undefined)?.errorCode)] ?? 0;
}

const story = (name: string, tell: (t: ExecutionContext, admin: Caller) => Promise<void>): void => {
  for (const protocol of PROTOCOLS) test(`${name} [${protocol}]`, (t) => tell(t, new Caller(protocol)));
};

const ids = (list: JsonObject): unknown[] => (list.data as JsonObject[]).map(({ id }) => id);

/** Invites, accepts, and answers with the user and their key in the workspace. */
async function join(
  admin: Caller,
  workspace: string,
  role: string,
  scopes: string[],
): Promise<{ id: string; key: string; email: string }> {
  const email = `${fresh(role)}.${admin.protocol}@people.test`;
  const { invite_link: link } = await admin.ok(createUserInvite, {
    email,
    role: 'member',
    workspaces: [{ id: workspace, role }],
    workspace_api_key_details: { scopes },
  });
  const given = new URLSearchParams(new URL(String(link)).hash.slice(1));
  const accepted = await admin.ok(acceptUserInvite, {
    invite_id: String(given.get('id')),
    token: String(given.get('token')),
    first_name: 'Ada',
  });
  const [made] = accepted.api_keys as JsonObject[];
  return { id: String(accepted.user_id), key: String(made?.key), email };
}

story('a workspace is made, found by id and slug, changed in part, and archived', async (t, admin) => {
  const slug = fresh('team');
  const made = await admin.ok(createWorkspace, {
    name: `Team ${slug}`,
    slug,
    description: 'd',
    icon: '🚀',
    usage_limits: [{ type: 'cost', credit_limit: 10.5, alert_threshold: 5, periodic_reset: 'monthly' }],
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 100 }],
    defaults: { metadata: { team: 'a' } },
  });
  t.like(made, {
    slug,
    name: `Team ${slug}`,
    description: 'd',
    status: 'active',
    object: 'workspace',
    is_default: 0,
  });
  const [limit] = made.usage_limits as JsonObject[];
  t.like(limit, { type: 'cost', credit_limit: 10.5, periodic_reset: 'monthly' });
  t.regex(String(limit?.next_usage_reset_at), /^\d{4}-\d\d-01T00:00:00\.000Z$/);
  const workspaceId = String(made.id);

  const byId = await admin.ok(getWorkspace, { workspace_id: workspaceId });
  const bySlug = await admin.ok(getWorkspace, { workspace_id: slug, name_format: 'display' });
  t.is(byId.id, bySlug.id);
  t.is(bySlug.name, `🚀 Team ${slug}`);

  t.deepEqual(await admin.ok(updateWorkspace, { workspace_id: slug, name: `Other ${slug}` }), {});
  const renamed = await admin.ok(getWorkspace, { workspace_id: slug });
  t.like(renamed, { name: `Other ${slug}`, description: 'd', icon: '🚀' });
  t.deepEqual(renamed.usage_limits, made.usage_limits, 'what is not given stays');

  await admin.ok(updateWorkspace, clearing(admin, { workspace_id: slug }, ['description', 'usage_limits']));
  const cleared = await admin.ok(getWorkspace, { workspace_id: slug });
  t.like(cleared, { description: null, usage_limits: [], icon: '🚀' });

  const listed = await admin.ok(listWorkspaces, { exact_name: `Other ${slug}`, page_size: 1000 });
  t.true(ids(listed).includes(workspaceId));
  await admin.refused(t, deleteWorkspace, { workspace_id: slug, name: `Team ${slug}` }, 400, 'name');
  await admin.ok(deleteWorkspace, { workspace_id: slug, name: `Other ${slug}` });
  await admin.refused(t, getWorkspace, { workspace_id: slug }, 404);
  const archived = await admin.ok(listWorkspaces, { status: 'archived', page_size: 1000 });
  t.true(ids(archived).includes(workspaceId));
  // The slug is free again.
  await admin.ok(createWorkspace, { name: `Third ${slug}`, slug });
  await admin.refused(t, createWorkspace, { name: `Fourth ${slug}`, slug }, 409);
});

/** Null in JSON; over Protobuf the field is named in `clear`. The codec reads JSON for all three. */
function clearing(_: Caller, body: JsonObject, names: string[]): JsonObject {
  return { ...body, ...Object.fromEntries(names.map((name) => [name, null])) };
}

story('people are invited, join, change roles and leave; their keys go with them', async (t, admin) => {
  const slug = fresh('crew');
  await admin.ok(createWorkspace, { name: `Crew ${slug}`, slug });
  const scopes = ['workspaces.read', 'workspaces.update', 'workspace_users.create', 'workspace_users.list'];
  const manager = await join(admin, slug, 'manager', [...scopes, 'workspace_users.update']);
  const member = await join(admin, slug, 'member', scopes);
  const asManager = new Caller(admin.protocol, manager.key);
  const asMember = new Caller(admin.protocol, member.key);

  t.like(await admin.ok(getUser, { user_id: manager.id }), {
    object: 'user',
    role: 'member',
    email: manager.email,
    first_name: 'Ada',
  });
  const found = await admin.ok(listUsers, { email: manager.email.toUpperCase() });
  t.deepEqual(ids(found), [manager.id]);
  const people = await asManager.ok(listWorkspaceMembers, { workspace_id: slug });
  t.deepEqual(ids(people).toSorted(), [manager.id, member.id].toSorted());

  // Roles: a member changes nothing, a manager nobody above, and grants nothing above.
  await asMember.refused(t, updateWorkspace, { workspace_id: slug, description: 'x' }, 403);
  await asManager.ok(updateWorkspace, { workspace_id: slug, description: 'x' });
  const promote = { workspace_id: slug, user_id: member.id };
  await asManager.refused(t, updateWorkspaceMember, { ...promote, role: 'admin' }, 403);
  await asManager.ok(updateWorkspaceMember, { ...promote, role: 'manager' });
  await asManager.refused(t, updateWorkspaceMember, { ...promote, role: 'manager' }, 400, 'role');
  await admin.ok(updateWorkspaceMember, { ...promote, role: 'admin' });
  await asManager.refused(t, updateWorkspaceMember, { ...promote, role: 'member' }, 403);

  // Whoever is to see the own calls alone sees none while none was made.
  const reader = await join(admin, slug, 'member', ['logs.list']);
  const asReader = new Caller(admin.protocol, reader.key);
  await asReader.ok(LogsService.method.listLogs);
  await admin.ok(updateWorkspace, { workspace_id: slug, security_settings: { membersViewAllData: false } });
  t.deepEqual((await asReader.ok(LogsService.method.listLogs)).data, []);

  // The workspace's setting closes what the organisation leaves open.
  await admin.ok(updateWorkspace, { workspace_id: slug, security_settings: { managersUpdateWs: false } });
  await asManager.refused(t, updateWorkspace, { workspace_id: slug, description: 'y' }, 403);

  await admin.ok(removeWorkspaceMember, promote);
  await asMember.refused(t, getWorkspace, { workspace_id: slug }, 401);
  await admin.refused(t, getWorkspaceMember, promote, 404);
  await admin.ok(addWorkspaceMembers, { workspace_id: slug, users: [{ id: member.id, role: 'member' }] });
  const again = { workspace_id: slug, users: [{ id: member.id, role: 'member' }] };
  await admin.refused(t, addWorkspaceMembers, again, 409);

  await admin.refused(t, updateUser, { user_id: manager.id, role: 'member' }, 400, 'role');
  await admin.ok(updateUser, { user_id: manager.id, role: 'admin' });
  await asManager.ok(updateWorkspace, { workspace_id: slug, description: 'as admin of the organisation' });
  await admin.ok(deleteUser, { user_id: manager.id });
  await asManager.refused(t, getWorkspace, { workspace_id: slug }, 401);
  await admin.refused(t, getUser, { user_id: manager.id }, 404);
});

story('an invitation is sent again, cancelled, and its token works once', async (t, admin) => {
  const email = `${fresh('guest')}@people.test`;
  const first = await admin.ok(createUserInvite, { email, role: 'member', workspaces: [] });
  await admin.refused(t, createUserInvite, { email, role: 'member', workspaces: [] }, 409, 'email');
  const invite_id = String(first.id);
  const token = (link: unknown): string =>
    String(new URLSearchParams(new URL(String(link)).hash.slice(1)).get('token'));
  const second = await admin.ok(resendUserInvite, { invite_id });
  await admin.refused(t, acceptUserInvite, { invite_id, token: token(first.invite_link) }, 404);
  t.is((await admin.ok(getUserInvite, { invite_id })).status, 'pending');
  await admin.ok(acceptUserInvite, { invite_id, token: token(second.inviteLink) });
  await admin.refused(t, acceptUserInvite, { invite_id, token: token(second.inviteLink) }, 409);
  t.is((await admin.ok(getUserInvite, { invite_id })).status, 'accepted');
  await admin.refused(t, cancelUserInvite, { invite_id }, 409);
  await admin.refused(t, createUserInvite, { email, role: 'member', workspaces: [] }, 409, 'email');

  const other = await admin.ok(createUserInvite, {
    email: `${fresh('other')}@people.test`,
    role: 'admin',
    workspaces: [],
  });
  await admin.ok(cancelUserInvite, { invite_id: String(other.id) });
  await admin.refused(
    t,
    acceptUserInvite,
    { invite_id: String(other.id), token: token(other.invite_link) },
    409,
  );
  const cancelled = await admin.ok(listUserInvites, { status: 'cancelled', page_size: 1000 });
  t.true(ids(cancelled).includes(String(other.id)));
});

story('deployments are made, changed and archived', async (t, admin) => {
  const slug = fresh('eu');
  const made = await admin.ok(createDeployment, {
    name: 'EU',
    slug,
    type: 'production',
    workspaces: ['default'],
  });
  t.deepEqual(made.workspaces, [bench.gateway.app.tenancy.workspaceId]);
  await admin.refused(t, createDeployment, { name: 'EU', slug, type: 'production', workspaces: [] }, 409);
  await admin.ok(updateDeployment, { deployment_id: slug, type: 'non-production', name: 'EU 2' });
  await admin.ok(updateDeployment, clearing(admin, { deployment_id: slug }, ['workspaces']));
  t.like(await admin.ok(getDeployment, { deployment_id: slug }), {
    name: 'EU 2',
    type: 'non-production',
    workspaces: [],
  });
  const listed = await admin.ok(listDeployments, { type: 'non-production' });
  t.true(ids(listed).includes(made.id));
  await admin.ok(deleteDeployment, { deployment_id: slug });
  await admin.refused(t, getDeployment, { deployment_id: slug }, 404);
});

test('a maximum of deployments holds for calls at the same time', async (t) => {
  const own = await startBench();
  try {
    const call = (method: DescMethod, body: JsonObject) =>
      exchange(own, { method, body, headers: ADMIN }, 'rest');
    await call(updateOrganisation, { settings: { max_production_deployments: 3 } });
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        call(createDeployment, { name: `d${i}`, type: 'production', workspaces: [] }),
      ),
    );
    t.true(outcomes.filter(({ status }) => status === 200).length <= 3);
    t.deepEqual([...new Set(outcomes.map(({ status }) => status))].toSorted(), [200, 409]);
    const { json } = await call(listDeployments, { type: 'production' });
    t.true(Number(json.total) <= 3);
  } finally {
    await own.close();
  }
});

test('the organisation has a name, settings, defaults, and categories that workspaces decide', async (t) => {
  const own = await startBench();
  try {
    const call = async (method: DescMethod, body: JsonObject = {}) => {
      const { status, json } = await exchange(own, { method, body, headers: ADMIN }, 'rest');
      return { status, json };
    };
    t.is((await call(updateOrganisation, { name: 'Acme', workspace_overrides: ['prompts'] })).status, 200);
    const { json } = await call(getOrganisation);
    t.like(json, { name: 'Acme', handle: 'default', workspace_overrides: ['prompts'] });
    const closed = { workspace_id: 'default', security_settings: { membersWriteConfigs: true } };
    t.is((await call(updateWorkspace, closed)).status, 400);
    const opened = { workspace_id: 'default', security_settings: { membersWritePrompts: true } };
    t.is((await call(updateWorkspace, opened)).status, 200);
    const shown = (await call(getWorkspace, { workspace_id: 'default' })).json
      .security_settings as JsonObject;
    t.true(shown.membersWritePrompts);
    t.is((await call(updateOrganisation, { workspace_overrides: [] })).status, 200);
    const after = (await call(getWorkspace, { workspace_id: 'default' })).json
      .security_settings as JsonObject;
    t.false(after.membersWritePrompts, 'a closed category is the organisation’s alone');
    const none = { input_guardrails: [], output_guardrails: [] };
    const given = { metadata: { env: 'x' }, ...none };
    t.deepEqual((await call(updateOrganisationDefaults, { metadata: { env: 'x' } })).json, given);
    t.deepEqual((await call(getOrganisationDefaults)).json, given);
    t.deepEqual((await call(updateOrganisationDefaults, { metadata: null })).json, { metadata: {}, ...none });
  } finally {
    await own.close();
  }
});

const invalid = (param: string): Refusal => ({
  status: 400,
  code: Code.InvalidArgument,
  reason: 'validation_failed',
  param,
});
const gone: Refusal = { status: 404, code: Code.NotFound, reason: 'not_found' };
const forbidden: Refusal = { status: 403, code: Code.PermissionDenied, reason: 'forbidden' };
const limits = (limit: JsonObject): JsonObject => ({ name: 'n', usage_limits: [limit] });
const FOREIGN = '00000000-0000-4000-8000-000000000000';

const REFUSED: readonly (readonly [string, DescMethod, JsonObject, Refusal, string?])[] = [
  ['no name', createWorkspace, { name: '' }, invalid('name')],
  ['a blank name', createWorkspace, { name: '  ' }, invalid('name')],
  ['a bad slug', createWorkspace, { name: 'n', slug: 'a b' }, invalid('slug')],
  ['an unknown user', createWorkspace, { name: 'n', users: [FOREIGN] }, invalid('users[0]')],
  [
    'an unknown setting',
    createWorkspace,
    { name: 'n', security_settings: { x: true } },
    invalid('security_settings.x'),
  ],
  ['no type of limit', createWorkspace, limits({ credit_limit: 5 }), invalid('usage_limits[0].type')],
  [
    'no credit',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 0 }),
    invalid('usage_limits[0].credit_limit'),
  ],
  [
    'few tokens',
    createWorkspace,
    limits({ type: 'tokens', credit_limit: 50 }),
    invalid('usage_limits[0].credit_limit'),
  ],
  [
    'days out of range',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, periodic_reset_days: 366 }),
    invalid('usage_limits[0].periodic_reset_days'),
  ],
  [
    'no days',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, periodic_reset_days: 0 }),
    invalid('usage_limits[0].periodic_reset_days'),
  ],
  [
    'both resets',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, periodic_reset: 'weekly', periodic_reset_days: 5 }),
    invalid('usage_limits[0].periodic_reset_days'),
  ],
  [
    'a reset in the past',
    createWorkspace,
    limits({
      type: 'cost',
      credit_limit: 5,
      periodic_reset: 'weekly',
      next_usage_reset_at: '2020-01-01T00:00:00Z',
    }),
    invalid('usage_limits[0].next_usage_reset_at'),
  ],
  [
    'a reset of nothing',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, next_usage_reset_at: '2099-01-01T00:00:00Z' }),
    invalid('usage_limits[0].next_usage_reset_at'),
  ],
  [
    'a threshold above',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, alert_threshold: 6 }),
    invalid('usage_limits[0].alert_threshold'),
  ],
  [
    'a rate per second',
    createWorkspace,
    { name: 'n', rate_limits: [{ type: 'requests', unit: 'rps', value: 1 }] },
    invalid('rate_limits[0].unit'),
  ],
  [
    'a negative rate',
    createWorkspace,
    { name: 'n', rate_limits: [{ type: 'requests', unit: 'rpm', value: -1 }] },
    invalid('rate_limits[0].value'),
  ],
  [
    'a rate twice',
    createWorkspace,
    {
      name: 'n',
      rate_limits: [
        { type: 'tokens', unit: 'rpm', value: 1 },
        { type: 'tokens', unit: 'rpm', value: 2 },
      ],
    },
    invalid('rate_limits[1]'),
  ],
  ['a page below', listWorkspaces, { current_page: -1 }, invalid('current_page')],
  ['no page', listWorkspaces, { page_size: 0 }, invalid('page_size')],
  ['a page too large', listWorkspaces, { page_size: 1001 }, invalid('page_size')],
  ['a status that is none', listWorkspaces, { status: 'gone' }, invalid('status')],
  ['an unknown workspace', getWorkspace, { workspace_id: FOREIGN }, gone],
  ['an unknown workspace to change', updateWorkspace, { workspace_id: FOREIGN, name: 'x' }, gone],
  ['an unknown workspace to archive', deleteWorkspace, { workspace_id: FOREIGN, name: 'x' }, gone],
  [
    'the default workspace',
    deleteWorkspace,
    { workspace_id: 'default', name: 'Default workspace' },
    invalid('workspace_id'),
  ],
  ['an unknown user’s page', getUser, { user_id: FOREIGN }, gone],
  ['an unknown role', updateUser, { user_id: FOREIGN, role: 'owner' }, invalid('role')],
  [
    'an address that is none',
    createUserInvite,
    { email: 'x', role: 'member', workspaces: [] },
    invalid('email'),
  ],
  [
    'an owner by invitation',
    createUserInvite,
    { email: 'a@b.c', role: 'owner', workspaces: [] },
    invalid('role'),
  ],
  [
    'a workspace that is not there',
    createUserInvite,
    { email: 'a@b.c', role: 'member', workspaces: [{ id: FOREIGN, role: 'member' }] },
    invalid('workspaces[0].id'),
  ],
  [
    'a scope of admin keys',
    createUserInvite,
    {
      email: 'a@b.c',
      role: 'member',
      workspaces: [],
      workspace_api_key_details: { scopes: ['audit_logs.list'] },
    },
    invalid('workspace_api_key_details.scopes[0]'),
  ],
  ['an unknown invitation', getUserInvite, { invite_id: FOREIGN }, gone],
  ['a token that is none', acceptUserInvite, { invite_id: FOREIGN, token: 'x' }, gone],
  ['nobody to add', addWorkspaceMembers, { workspace_id: 'default', users: [] }, invalid('users')],
  [
    'a stranger to add',
    addWorkspaceMembers,
    { workspace_id: 'default', users: [{ id: FOREIGN, role: 'member' }] },
    invalid('users[0].id'),
  ],
  ['an unknown member', getWorkspaceMember, { workspace_id: 'default', user_id: FOREIGN }, gone],
  ['a type of deployment', createDeployment, { name: 'n', type: 'test', workspaces: [] }, invalid('type')],
  ['an unknown deployment', getDeployment, { deployment_id: FOREIGN }, gone],
  ['a category', updateOrganisation, { workspace_overrides: ['all'] }, invalid('workspace_overrides[0]')],
  ['a workspace key makes no workspace', createWorkspace, { name: 'n' }, forbidden, WORKSPACE_KEY],
  ['a workspace key lists no users', listUsers, {}, forbidden, WORKSPACE_KEY],
];

runCases(
  test,
  () => bench,
  REFUSED.map(
    ([name, method, body, refused, key]): Case => ({
      name: `${method.name}: ${name}`,
      method,
      body,
      refused,
      headers: key === undefined ? ADMIN : { 'x-gateway-api-key': key, authorization: undefined },
    }),
  ),
);
