// Tokens for SCIM and mappings of its groups, over every protocol.
import test from 'ava';
import { ScimService } from '../../gen/gateway/admin/v2/scim_pb.ts';
import { WorkspaceMembersService } from '../../gen/gateway/admin/v2/workspace_members_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { ok } from '../support/front-door.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { newScimToken, ScimClient } from '../support/scim-client.ts';
import { FOREIGN, forbidden, fresh, gone, invalid, openStories, runRefused } from './identity-stories.ts';
import type { JsonObject } from './runner.ts';

const { createScimToken, listScimTokens, deleteScimToken } = ScimService.method;
const { createScimMapping, listScimMappings, deleteScimMapping, listScimGroups } = ScimService.method;
const { listWorkspaceMembers } = WorkspaceMembersService.method;
const { bench, story } = openStories(test);

story('a token is shown once, calls, and is revoked', async (t, admin) => {
  const name = fresh('okta');
  const made = await admin.ok(createScimToken, { name });
  t.regex(String(made.token), /^sct_[\w-]{43}$/);
  t.regex(String(made.base_url), /\/scim\/v2$/);
  const list = (await admin.ok(listScimTokens)).data as JsonObject[];
  const shown = list.find(({ id }) => id === made.id);
  t.like(shown, { name, object: 'scim-token' });
  t.false(JSON.stringify(list).includes(String(made.token)));
  const scim = new ScimClient(bench().gateway, String(made.token));
  t.is((await scim.send('GET', '/Users?count=1')).status, 200);
  await admin.ok(deleteScimToken, { scim_token_id: String(made.id) });
  const refused = await scim.send('GET', '/Users');
  t.is(refused.status, 401);
  t.is(refused.headers.get('content-type'), 'application/scim+json; charset=utf-8');
  t.like(refused.json, { status: '401', schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'] });
  await admin.refused(t, deleteScimToken, { scim_token_id: String(made.id) }, 404);
});

story('a mapped group gives its members a role in a workspace', async (t, admin) => {
  const slug = fresh('team');
  const workspace = await admin.ok(WorkspacesService.method.createWorkspace, { name: `Team ${slug}`, slug });
  const { id, token } = await newScimToken(bench().gateway);
  const scim = new ScimClient(bench().gateway, token);
  const email = `${slug}.${admin.protocol}@people.test`;
  const user = await scim.ok('POST', '/Users', { userName: email }, 201);
  const name = `Group ${slug} ${admin.protocol}`;
  const mapping = await admin.ok(createScimMapping, {
    workspace_id: slug,
    role: 'Manager',
    scim_group_name: name,
  });
  t.like(mapping, { workspace_id: workspace.id, scim_group: name, role: 'manager' });
  const groupId = String(mapping.scim_group_id);
  t.deepEqual((await admin.ok(listScimGroups, { search: name.toUpperCase() })).groups, [
    { id: groupId, name },
  ]);
  await admin.refused(
    t,
    createScimMapping,
    { workspace_id: slug, role: 'manager', scim_group_id: groupId },
    409,
  );
  const other = fresh('other');
  await admin.ok(WorkspacesService.method.createWorkspace, { name: `Other ${other}`, slug: other });
  const clash = { workspace_id: other, role: 'member', scim_group_id: groupId };
  await admin.refused(t, createScimMapping, clash, 400, 'role');

  const members = async () =>
    ((await admin.ok(listWorkspaceMembers, { workspace_id: slug })).data as JsonObject[]).map(
      ({ email, role }) => `${email} ${role}`,
    );
  const add = { op: 'Add', path: 'members', value: [{ value: user.id }] };
  t.is((await scim.patch(`/Groups/${groupId}`, add)).status, 200);
  t.deepEqual(await members(), [`${email} manager`]);
  await scim.patch(`/Groups/${groupId}`, { op: 'remove', path: `members[value eq "${user.id}"]` });
  t.deepEqual(await members(), []);
  await scim.patch(`/Groups/${groupId}`, add);

  const filter = { workspace_id: slug, role: 'MANAGER', scim_group_id: groupId };
  t.like(await admin.ok(listScimMappings, filter), { total_count: 1, page: 0, mappings: [mapping] });
  t.like(await admin.ok(listScimMappings, { scim_group_id: FOREIGN }), { total_count: 0 });
  t.deepEqual(await admin.ok(deleteScimMapping, { scim_mapping_id: String(mapping.id) }), { success: true });
  t.deepEqual(await members(), [`${email} manager`], 'the members stay');
  await scim.patch(`/Groups/${groupId}`, { op: 'remove', path: 'members' });
  t.deepEqual(await members(), [`${email} manager`], 'as if they were added by hand');
  await ok(bench().gateway, 'DELETE', `/scim/tokens/${id}`);
});

runRefused(test, bench, [
  [
    'an expiry in the past',
    createScimToken,
    { name: 'x', expires_at: '2020-01-01T00:00:00Z' },
    invalid('expires_at'),
  ],
  ['no name', createScimToken, { name: '' }, invalid('name')],
  ['a workspace key', createScimToken, { name: 'x' }, forbidden, WORKSPACE_KEY],
  ['an unknown token', deleteScimToken, { scim_token_id: FOREIGN }, gone],
  ['an unknown mapping', deleteScimMapping, { scim_mapping_id: FOREIGN }, gone],
  ['no group', createScimMapping, { workspace_id: 'default', role: 'admin' }, invalid('scim_group_id')],
  [
    'an unknown workspace',
    createScimMapping,
    { workspace_id: FOREIGN, role: 'admin', scim_group_name: 'g' },
    invalid('workspace_id'),
  ],
  [
    'an unknown group',
    createScimMapping,
    { workspace_id: 'default', role: 'admin', scim_group_id: FOREIGN },
    invalid('scim_group_id'),
  ],
  ['a role that is none', createScimMapping, { role: 'manager', scim_group_name: 'g' }, invalid('role')],
  [
    'a name of the automatic pattern',
    createScimMapping,
    { workspace_id: 'default', role: 'admin', scim_group_name: 'ws-default-role-admin' },
    invalid('scim_group_name'),
  ],
]);
