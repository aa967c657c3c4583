// The people of the organisation.
import { type User, UsersService } from '../../../gen/gateway/admin/v2/users_pb.ts';
import { client, may, session } from '../api.ts';
import { FormDialog } from '../dialog.tsx';
import { Select } from '../fields.tsx';
import { moment } from '../figures.ts';
import { Alert, Table, useLoaded } from '../parts.tsx';
import { ORGANISATION_ROLES } from './roles.ts';

interface UsersProps {
  readonly round: number;
  readonly onChanged: () => void;
}

export function Users({ round, onChanged }: UsersProps) {
  const { value, error } = useLoaded(`people ${round}`, (signal) =>
    client(UsersService).listUsers({ pageSize: 1000 }, { signal }),
  );
  const users = value?.data ?? [];
  if (error !== undefined) return <Alert>{error}</Alert>;
  if (value === undefined) return <p class="empty">Loading…</p>;
  return (
    <Table
      label="People"
      columns={['Name', 'Email', 'Role', 'Since', '']}
      keys={users.map(({ id }) => id)}
      rows={users.map((user) => [
        <bdi key="name">{`${user.firstName} ${user.lastName}`.trim()}</bdi>,
        <bdi key="email">{user.email}</bdi>,
        user.role,
        moment(user.createdAt),
        <UserActions key="actions" user={user} onChanged={onChanged} />,
      ])}
      empty="People see logs and costs here, and have keys of their own. They join by invitation: Invite makes a link for the first one."
    />
  );
}

function UserActions({ user, onChanged }: { readonly user: User; readonly onChanged: () => void }) {
  // The role of an owner does not change; the own one is not taken away by mistake.
  if (user.role === 'owner' || user.id === session.value?.userId) return null;
  const change = async ({ role = 'member' }: Readonly<Record<string, string>>): Promise<void> => {
    await client(UsersService).updateUser({ userId: user.id, role });
    onChanged();
  };
  const remove = async (): Promise<void> => {
    await client(UsersService).deleteUser({ userId: user.id });
    onChanged();
  };
  return (
    <span class="actions">
      {may('organisation_users.update') && (
        <FormDialog name="Role" label={`Role of ${user.email}`} submit="Save" onSubmit={change}>
          <Select label="Role" name="role" defaultValue={user.role} options={ORGANISATION_ROLES} />
        </FormDialog>
      )}
      {may('organisation_users.delete') && (
        <FormDialog name="Remove" label={`Remove ${user.email}`} submit="Remove" onSubmit={remove}>
          <p>Their sessions and keys end within a second.</p>
        </FormDialog>
      )}
    </span>
  );
}
