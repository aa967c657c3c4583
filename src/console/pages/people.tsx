// People: who is in the organisation, and who was invited.
import { UserInvitesService } from '../../../gen/gateway/admin/v2/user_invites_pb.ts';
import { UsersService } from '../../../gen/gateway/admin/v2/users_pb.ts';
import { client } from '../api.ts';
import { moment } from '../figures.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';

export default function People() {
  const { value, error } = useLoaded('people', async (signal) => {
    const [users, invites] = await Promise.all([
      client(UsersService).listUsers({ pageSize: 1000 }, { signal }),
      client(UserInvitesService).listUserInvites({ pageSize: 100 }, { signal }),
    ]);
    return { users: users.data, invites: invites.data };
  });
  return (
    <>
      <Head title="People" />
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && (
        <>
          <Table
            label="People"
            columns={['Name', 'Email', 'Role', 'Since']}
            rows={value.users.map((user) => [
              <bdi key="name">{`${user.firstName} ${user.lastName}`.trim()}</bdi>,
              <bdi key="email">{user.email}</bdi>,
              user.role,
              moment(user.createdAt),
            ])}
            empty="Nobody is here yet. People join by invitation: POST /v1/admin/users/invites makes a link."
          />
          <h2>Invitations</h2>
          <Table
            label="Invitations"
            columns={['Email', 'Role', 'Status', 'Expires']}
            rows={value.invites.map((invite) => [
              <bdi key="email">{invite.email}</bdi>,
              invite.role,
              invite.status,
              moment(invite.expiresAt),
            ])}
            empty="No invitation is open."
          />
        </>
      )}
    </>
  );
}
