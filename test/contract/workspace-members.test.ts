// Members of workspaces over every protocol: what is refused.
import test from 'ava';
import { WorkspaceMembersService } from '../../gen/gateway/admin/v2/workspace_members_pb.ts';
import { FOREIGN, gone, invalid, openStories, runRefused } from './identity-stories.ts';

const { addWorkspaceMembers, getWorkspaceMember } = WorkspaceMembersService.method;
const { bench } = openStories(test);

runRefused(test, bench, [
  ['nobody to add', addWorkspaceMembers, { workspace_id: 'default', users: [] }, invalid('users')],
  [
    'a stranger to add',
    addWorkspaceMembers,
    { workspace_id: 'default', users: [{ id: FOREIGN, role: 'member' }] },
    invalid('users[0].id'),
  ],
  ['an unknown member', getWorkspaceMember, { workspace_id: 'default', user_id: FOREIGN }, gone],
]);
