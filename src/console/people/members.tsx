// Who is in a workspace, and with which role. Which one stands in the address.
import { UsersService } from '../../../gen/gateway/admin/v2/users_pb.ts';
import { WorkspaceMembersService } from '../../../gen/gateway/admin/v2/workspace_members_pb.ts';
import { WorkspacesService, type WorkspaceUser } from '../../../gen/gateway/admin/v2/workspaces_pb.ts';
import { client, homeWorkspace, may, readSession, session } from '../api.ts';
import { FormDialog } from '../dialog.tsx';
import { Select } from '../fields.tsx';
import { Alert, Choice, Field, Table, useLoaded } from '../parts.tsx';
import { ask, query } from '../router.ts';
import { WORKSPACE_ROLES } from './roles.ts';

const members = () => client(WorkspaceMembersService);

/** Another workspace is shown anew: no row of one is under the name of another. */
export function Members({ round }: { readonly round: number }) {
  const workspaceId = query.value.get('workspace') ?? homeWorkspace();
  return <MembersOf key={workspaceId} round={round} workspaceId={workspaceId} />;
}

interface MembersOfProps {
  readonly round: number;
  readonly workspaceId: string;
}

function MembersOf({ round, workspaceId }: MembersOfProps) {
  const spaces = session.value?.workspaces ?? [];
  const { value, error, reload } = useLoaded(`members ${workspaceId} ${round}`, (signal) =>
    members().listWorkspaceMembers({ workspaceId, pageSize: 1000 }, { signal }),
  );
  const all = value?.data ?? [];
  const isOrganisation = session.value?.workspaceId === '';
  return (
    <section aria-label="Workspace members">
      <div class="head">
        <h2>Workspaces</h2>
        {isOrganisation && may('workspaces.create') && <NewWorkspace />}
      </div>
      <div class="filters">
        <Choice
          label="Workspace"
          value={workspaceId}
          options={spaces.map(({ id, name }) => [id, name] as const)}
          onChange={(workspace) => ask({ workspace })}
        />
        {isOrganisation && may('workspace_users.create') && (
          <AddMember workspaceId={workspaceId} known={new Set(all.map(({ id }) => id))} onAdded={reload} />
        )}
      </div>
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && (
        <Table
          label="Members"
          columns={['Name', 'Email', 'Role', '']}
          keys={all.map(({ id }) => id)}
          rows={all.map((member) => [
            <bdi key="name">{`${member.firstName} ${member.lastName}`.trim()}</bdi>,
            <bdi key="email">{member.email}</bdi>,
            member.role,
            <MemberActions key="actions" member={member} workspaceId={workspaceId} onChanged={reload} />,
          ])}
          empty="No person is in this workspace yet. Members see its logs and have keys in it; owners and admins of the organisation need not be members."
        />
      )}
    </section>
  );
}

function NewWorkspace() {
  const create = async ({ name = '' }: Readonly<Record<string, string>>): Promise<void> => {
    const { id } = await client(WorkspacesService).createWorkspace({ name });
    // The session's own list of workspaces has it then.
    await readSession();
    ask({ workspace: id });
  };
  return (
    <FormDialog name="New workspace" submit="Create" onSubmit={create}>
      <Field label="Name" name="name" required maxLength={255} />
      <p class="hint">A workspace has keys, providers, configs and people of its own.</p>
    </FormDialog>
  );
}

interface AddMemberProps {
  readonly workspaceId: string;
  readonly known: ReadonlySet<string>;
  readonly onAdded: () => void;
}

function AddMember({ workspaceId, known, onAdded }: AddMemberProps) {
  const { value } = useLoaded('users', (signal) =>
    client(UsersService).listUsers({ pageSize: 1000 }, { signal }),
  );
  const others = (value?.data ?? []).filter(({ id }) => !known.has(id));
  const add = async ({ user = '', role = 'member' }: Readonly<Record<string, string>>): Promise<void> => {
    await members().addWorkspaceMembers({ workspaceId, users: [{ id: user, role }] });
    onAdded();
  };
  return (
    <FormDialog name="Add member" submit="Add" disabled={others.length === 0} onSubmit={add}>
      <Select
        label="Person"
        name="user"
        required
        options={others.map(({ id, email }) => [id, email] as const)}
      />
      <Select label="Role" name="role" options={WORKSPACE_ROLES} />
    </FormDialog>
  );
}

interface MemberActionsProps {
  readonly member: WorkspaceUser;
  readonly workspaceId: string;
  readonly onChanged: () => void;
}

function MemberActions({ member, workspaceId, onChanged }: MemberActionsProps) {
  const { id: userId, email } = member;
  const change = async ({ role = 'member' }: Readonly<Record<string, string>>): Promise<void> => {
    await members().updateWorkspaceMember({ workspaceId, userId, role });
    onChanged();
  };
  const remove = async (): Promise<void> => {
    await members().removeWorkspaceMember({ workspaceId, userId });
    onChanged();
  };
  return (
    <span class="actions">
      {may('workspace_users.update') && (
        <FormDialog name="Role" label={`Workspace role of ${email}`} submit="Save" onSubmit={change}>
          <Select label="Role" name="role" defaultValue={member.role} options={WORKSPACE_ROLES} />
        </FormDialog>
      )}
      {may('workspace_users.delete') && (
        <FormDialog
          name="Remove"
          label={`Remove ${email} from the workspace`}
          submit="Remove"
          onSubmit={remove}
        >
          <p>Their keys in this workspace end within a second.</p>
        </FormDialog>
      )}
    </span>
  );
}
