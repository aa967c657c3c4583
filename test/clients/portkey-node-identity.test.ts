// The published npm SDK against the gateway: workspaces, people and keys.
import test, { type ExecutionContext } from 'ava';
import { type Stage, startStage } from './portkey/clients.ts';
import { plain, promised, Watched } from './portkey/watched.ts';

let stage: Stage;
let watched: Watched;
test.before(async () => {
  stage = await startStage();
  watched = new Watched(stage.exchanges);
});
test.after.always(() => stage?.close());

/** Accepts an invitation as the link's page does, and answers with the user's id. */
async function accept(t: ExecutionContext, id: string, link: string): Promise<string> {
  const token = /token=(.+)$/.exec(link)?.[1];
  const answer = await fetch(`${stage.gateway.origin}/v1/admin/users/invites/${id}/accept`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  t.is(answer.status, 200);
  return ((await answer.json()) as { user_id: string }).user_id;
}

test.serial('admin.workspaces', async (t) => {
  const { workspaces } = stage.admin.admin;
  const made = await watched.call(t, 'workspaces.create', () =>
    workspaces.create({ name: 'From the SDK', description: 'first', defaults: { metadata: { team: 'a' } } }),
  );
  // The members of a new workspace are of its record, which a get gives.
  promised(t, 'admin.WorkspacesAddResponse', made, ['users']);
  t.like(made, {
    name: 'From the SDK',
    description: 'first',
    object: 'workspace',
    defaults: { metadata: { team: 'a' } },
  });
  const workspaceId = String(made.id);
  const one = await watched.call(t, 'workspaces.retrieve', () => workspaces.retrieve({ workspaceId }));
  // Nobody is in it yet.
  promised(t, 'admin.WorkspacesGetResponse', one, ['users']);
  const bySlug = await workspaces.retrieve({ workspaceId: String(made.slug) });
  t.is(bySlug.id, workspaceId);
  const list = await watched.call(t, 'workspaces.list', () =>
    workspaces.list({ page_size: 1, current_page: 0, exact_name: 'From the SDK' }),
  );
  promised(t, 'admin.WorkspacesListResponse', { ...list, data: [] });
  t.like(list, { object: 'list', total: 1 });
  t.is(list.data?.[0]?.id, workspaceId);
  // The declarations promise the record, every member of it optional; the product answers with nothing.
  await watched.done(t, 'workspaces.update', () =>
    workspaces.update({ workspaceId, name: 'Renamed', defaults: { metadata: { team: 'b' } } }),
  );
  const changed = await workspaces.retrieve({ workspaceId });
  t.like(changed, { name: 'Renamed', description: 'first', defaults: { metadata: { team: 'b' } } });
  await t.throwsAsync(async () => workspaces.delete({ workspaceId, name: 'Another' }), {
    name: 'Error',
    message: /name/,
  });
  await watched.done(t, 'workspaces.delete', () => workspaces.delete({ workspaceId, name: 'Renamed' }));
  const gone = await t.throwsAsync(async () => workspaces.retrieve({ workspaceId }));
  t.is((gone as { status?: number }).status, 404);
});

test.serial('admin.users, their invites and memberships', async (t) => {
  const { users, workspaces } = stage.admin.admin;
  const { workspaceId } = stage;
  const invited = await watched.call(t, 'invites.create', () =>
    users.invites.create({
      email: 'ann@example.com',
      role: 'member',
      workspaces: [{ id: 'default', role: 'member' }],
      workspace_api_key_details: { scopes: ['completions.write'] },
    }),
  );
  promised(t, 'admin.UserInviteResponse', invited);
  const inviteId = String(invited.id);
  const invite = await watched.call(t, 'invites.retrieve', () => users.invites.retrieve({ inviteId }));
  promised(t, 'admin.UserInviteGetResponse', invite);
  t.like(invite, { object: 'invite', status: 'pending', email: 'ann@example.com' });
  const pending = await watched.call(t, 'invites.list', () =>
    users.invites.list({ pageSize: 5, currentPage: 0, status: 'pending', email: 'ann@example.com' }),
  );
  promised(t, 'admin.UserInviteListResponse', pending);
  t.is((await users.invites.list()).total, 1);
  const again = await watched.call(t, 'invites.resend', () => users.invites.resend({ inviteId }));
  t.deepEqual(Object.keys(plain(again)), ['inviteLink']);
  const userId = await accept(t, inviteId, String(again.inviteLink));

  const other = await users.invites.create({ email: 'bob@example.com', role: 'admin', workspaces: [] });
  await watched.done(t, 'invites.delete', () => users.invites.delete({ inviteId: String(other.id) }));
  t.is((await users.invites.retrieve({ inviteId: String(other.id) })).status, 'cancelled');

  const user = await watched.call(t, 'users.retrieve', () => users.retrieve({ userId }));
  promised(t, 'admin.UsersGetResponse', user);
  t.like(user, { object: 'user', email: 'ann@example.com', role: 'member', workspace_ids: [workspaceId] });
  const list = await watched.call(t, 'users.list', () =>
    users.list({ pageSize: '10', currentPage: 0, email: 'ann@example.com', role: 'member' }),
  );
  promised(t, 'admin.UsersListResponse', list);
  t.is(list.total, 1);
  await watched.done(t, 'users.update', () => users.update({ userId, role: 'admin' }));
  t.is((await users.retrieve({ userId })).role, 'admin');
  await users.update({ userId, role: 'member' });

  const members = workspaces.users;
  await watched.done(t, 'members.update', () => members.update({ workspaceId, userId, role: 'admin' }));
  const member = await watched.call(t, 'members.retrieve', () => members.retrieve({ workspaceId, userId }));
  promised(t, 'admin.WorkspaceMemberGetResponse', member);
  t.like(member, { object: 'workspace-user', role: 'admin', org_role: 'member', workspace_id: workspaceId });
  const place = await workspaces.retrieve({ workspaceId });
  promised(t, 'admin.WorkspacesGetResponse', place);
  t.like(place.users, [{ id: userId, role: 'admin', email: 'ann@example.com' }]);
  const page = await watched.call(t, 'members.list', () =>
    members.list({ workspaceId, page_size: 10, current_page: 0, role: 'admin', email: 'ann@example.com' }),
  );
  promised(t, 'admin.WorkspaceMemberListResponse', page);
  t.is(page.total, 1);
  await watched.done(t, 'members.delete', () => members.delete({ workspaceId, userId }));
  t.is((await members.list({ workspaceId })).total, 0);
  await watched.done(t, 'members.create', () =>
    members.create({ workspaceId, users: [{ id: userId, role: 'member' }] }),
  );
  t.is((await members.retrieve({ workspaceId, userId })).role, 'member');
  await watched.done(t, 'users.delete', () => users.delete({ userId }));
  t.is((await users.list({ email: 'ann@example.com' })).total, 0);
});

test.serial('apiKeys', async (t) => {
  const { apiKeys, admin } = stage.admin;
  const { workspaceId } = stage;
  const made = await watched.call(t, 'apiKeys.create', () =>
    apiKeys.create({
      type: 'workspace',
      'sub-type': 'service',
      name: 'k',
      description: 'd',
      workspace_id: workspaceId,
      scopes: ['completions.write'],
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 100 }],
      usage_limits: { type: 'cost', credit_limit: 10, alert_threshold: 5, periodic_reset: 'monthly' },
      defaults: { metadata: { team: 'a' } },
      expires_at: '2040-01-01T00:00:00.000Z',
    }),
  );
  promised(t, 'apiKeys.ApiKeysAddResponse', made);
  t.is(made.object, 'api-key');
  const id = String(made.id);
  const key = await watched.call(t, 'apiKeys.retrieve', () => apiKeys.retrieve({ id }));
  promised(t, 'apiKeys.ApiKeysGetResponse', key);
  t.like(key, {
    name: 'k',
    description: 'd',
    status: 'active',
    creation_mode: 'api',
    workspace_id: workspaceId,
    scopes: ['completions.write'],
    defaults: { metadata: { team: 'a' } },
    usage_limits: { type: 'cost', credit_limit: 10, alert_threshold: 5, periodic_reset: 'monthly' },
  });
  t.regex(String(key.key), /^..\*{5}...$/);
  const list = await watched.call(t, 'apiKeys.list', () =>
    apiKeys.list({ page_size: 1, current_page: 0, workspace_id: workspaceId }),
  );
  promised(t, 'apiKeys.ApiKeysListResponse', list);
  t.is(list.data?.[0]?.id, id);
  await watched.done(t, 'apiKeys.update', () =>
    apiKeys.update({ id, name: 'k2', rate_limits: [], scopes: ['completions.write', 'logs.view'] }),
  );
  t.like(await apiKeys.retrieve({ id }), { name: 'k2', rate_limits: [], description: 'd' });
  const caller = stage.client({
    apiKey: String(made.key),
    provider: 'openai',
    Authorization: 'sk-1',
    customHost: stage.provider.origin,
  });
  const messages = [{ role: 'user' as const, content: 'hi' }];
  await t.notThrowsAsync(async () => caller.chat.completions.create({ model: 'gpt-ok', messages }));
  await watched.done(t, 'apiKeys.delete', () => apiKeys.delete({ id }));
  const refused = await t.throwsAsync(async () =>
    caller.chat.completions.create({ model: 'gpt-ok', messages }),
  );
  t.is((refused as { status?: number }).status, 401);

  const organisation = await apiKeys.create({
    type: 'organisation',
    'sub-type': 'service',
    name: 'o',
    scopes: ['logs.list'],
  });
  const record = await apiKeys.retrieve({ id: String(organisation.id) });
  t.like(record, { type: 'organisation-service', workspace_id: null, user_id: null, usage_limits: null });

  const invite = await admin.users.invites.create({
    email: 'cy@example.com',
    role: 'member',
    workspaces: [],
  });
  const userId = await accept(t, String(invite.id), String(invite.invite_link));
  const users = { type: 'workspace', 'sub-type': 'user', name: 'u', user_id: userId };
  const stranger = await t.throwsAsync(async () =>
    apiKeys.create({ ...users, workspace_id: workspaceId, scopes: ['completions.write'] }),
  );
  t.is((stranger as { status?: number }).status, 400);
  await admin.workspaces.users.create({ workspaceId, users: [{ id: userId, role: 'member' }] });
  const personal = await apiKeys.create({ ...users, workspace_id: 'default', scopes: ['completions.write'] });
  t.like(await apiKeys.retrieve({ id: String(personal.id) }), { type: 'workspace-user', user_id: userId });
});

test.serial('what is refused becomes the SDK’s classes, and says why', async (t) => {
  const { apiKeys, admin } = stage.admin;
  const dora = { email: 'dora@example.com', role: 'member', workspaces: [] };
  await admin.users.invites.create(dora);
  const cases = [
    [
      400,
      'AB01',
      async () => admin.users.invites.create({ email: 'no address', role: 'member', workspaces: [] }),
    ],
    [401, 'AB05', async () => stage.client({ apiKey: 'slk_wrong' }).apiKeys.list({})],
    [403, 'AB03', async () => stage.client().admin.users.list({})],
    [404, 'AB08', async () => apiKeys.retrieve({ id: '00000000-0000-4000-8000-000000000000' })],
    [409, 'AB07', async () => admin.users.invites.create(dora)],
  ] as const;
  for (const [status, code, call] of cases) {
    const error = (await t.throwsAsync(call as () => Promise<unknown>)) as Error & {
      readonly status?: number;
      readonly error?: { readonly success: boolean; readonly data: { message: string; errorCode: string } };
      readonly headers?: Record<string, string>;
    };
    t.is(error.status, status);
    t.like(error.error, { success: false, data: { errorCode: code } });
    t.is(error.message, String(error.error?.data.message));
    t.truthy(error.headers?.['x-portkey-request-id']);
  }
});

test.serial('no method was left out', (t) => {
  const { admin, apiKeys } = stage.admin;
  t.deepEqual(
    [
      ...watched.missed('workspaces', admin.workspaces),
      ...watched.missed('members', admin.workspaces.users),
      ...watched.missed('users', admin.users),
      ...watched.missed('invites', admin.users.invites),
      ...watched.missed('apiKeys', apiKeys),
    ],
    [],
  );
});
