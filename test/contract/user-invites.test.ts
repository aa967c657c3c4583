// Invitations over every protocol.
import test from 'ava';
import { UserInvitesService } from '../../gen/gateway/admin/v2/user_invites_pb.ts';
import { FOREIGN, fresh, gone, ids, invalid, openStories, runRefused } from './identity-stories.ts';

const {
  createUserInvite,
  listUserInvites,
  getUserInvite,
  cancelUserInvite,
  resendUserInvite,
  acceptUserInvite,
} = UserInvitesService.method;
const { bench, story } = openStories(test);

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

runRefused(test, bench, [
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
]);
