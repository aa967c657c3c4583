// Users over every protocol: invited, members of workspaces with roles, changed and gone, their keys with them.
import test from 'ava';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { UsersService } from '../../gen/gateway/admin/v2/users_pb.ts';
import { WorkspaceMembersService } from '../../gen/gateway/admin/v2/workspace_members_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import {
  FOREIGN,
  forbidden,
  fresh,
  gone,
  ids,
  invalid,
  join,
  openStories,
  runRefused,
} from './identity-stories.ts';

const {
  addWorkspaceMembers,
  listWorkspaceMembers,
  getWorkspaceMember,
  updateWorkspaceMember,
  removeWorkspaceMember,
} = WorkspaceMembersService.method;
const { listUsers, getUser, updateUser, deleteUser } = UsersService.method;
const { createWorkspace, getWorkspace, updateWorkspace } = WorkspacesService.method;
const { bench, story } = openStories(test);

story('people are invited, join, change roles and leave; their keys go with them', async (t, admin) => {
  const slug = fresh('crew');
  await admin.ok(createWorkspace, { name: `Crew ${slug}`, slug });
  const scopes = ['workspaces.read', 'workspaces.update', 'workspace_users.create', 'workspace_users.list'];
  const manager = await join(admin, slug, 'manager', [...scopes, 'workspace_users.update']);
  const member = await join(admin, slug, 'member', scopes);
  const asManager = admin.as(manager.key);
  const asMember = admin.as(member.key);

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
  const asReader = admin.as(reader.key);
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

runRefused(test, bench, [
  ['an unknown user’s page', getUser, { user_id: FOREIGN }, gone],
  ['an unknown role', updateUser, { user_id: FOREIGN, role: 'owner' }, invalid('role')],
  ['a workspace key lists no users', listUsers, {}, forbidden, WORKSPACE_KEY],
]);
