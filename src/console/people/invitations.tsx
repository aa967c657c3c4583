// Invitations: links by which people join.
import { type UserInvite, UserInvitesService } from '../../../gen/gateway/admin/v2/user_invites_pb.ts';
import { Action } from '../action.tsx';
import { client, homeWorkspace, may, session } from '../api.ts';
import { FormDialog } from '../dialog.tsx';
import { Check, Select } from '../fields.tsx';
import { moment } from '../figures.ts';
import { Alert, Field, Table, useLoaded } from '../parts.tsx';
import { Secret } from '../secret.tsx';
import { ORGANISATION_ROLES, WORKSPACE_ROLES } from './roles.ts';

/** What a person's first key holds, as far as who invites holds it. */
const FIRST_KEY = [
  'completions.write',
  'models.list',
  'prompts.render',
  'guardrails.invoke',
  'mcp.invoke',
  'logs.list',
  'logs.view',
  'analytics.view',
  'configs.list',
  'configs.read',
  'prompts.list',
  'prompts.read',
];

const invites = () => client(UserInvitesService);

export function InviteDialog({ onMade }: { readonly onMade: () => void }) {
  const spaces = session.value?.workspaces ?? [];
  const invite = async (texts: Readonly<Record<string, string>>) => {
    const { email = '', role = 'member', workspace, workspace_role = 'member', key } = texts;
    const scopes = FIRST_KEY.filter((scope) => session.value?.scopes.includes(scope));
    const { inviteLink } = await invites().createUserInvite({
      email,
      role,
      workspaces: workspace === undefined ? [] : [{ id: workspace, role: workspace_role }],
      // Without one they sign in by an identity provider or by mail, where the gateway has them.
      ...(workspace !== undefined && key !== undefined && { workspaceApiKeyDetails: { scopes } }),
    });
    onMade();
    return <Secret label="Link" value={inviteLink} />;
  };
  return (
    <FormDialog name="Invite" submit="Create" isPrimary onSubmit={invite}>
      <Field label="Email" name="email" required maxLength={320} />
      <Select label="Role" name="role" options={ORGANISATION_ROLES} />
      <Select
        label="Workspace"
        name="workspace"
        defaultValue={homeWorkspace()}
        options={[['', 'None'] as const, ...spaces.map(({ id, name }) => [id, name] as const)]}
      />
      <Select label="Role there" name="workspace_role" options={WORKSPACE_ROLES} />
      <Check label="Make an API key there, to sign in and to call with" name="key" checked />
      <p class="hint">Whom the link is given to joins with it, once.</p>
    </FormDialog>
  );
}

interface InvitationsProps {
  readonly round: number;
  readonly onChanged: () => void;
}

export function Invitations({ round, onChanged }: InvitationsProps) {
  const { value, error } = useLoaded(`invitations ${round}`, (signal) =>
    invites().listUserInvites({ pageSize: 100 }, { signal }),
  );
  const all = value?.data ?? [];
  return (
    <>
      <h2>Invitations</h2>
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && (
        <Table
          label="Invitations"
          columns={['Email', 'Role', 'Status', 'Expires', '']}
          keys={all.map(({ id }) => id)}
          rows={all.map((invite) => [
            <bdi key="email">{invite.email}</bdi>,
            invite.role,
            invite.status,
            moment(invite.expiresAt),
            invite.status === 'pending' && (
              <InvitationActions key="actions" invite={invite} onChanged={onChanged} />
            ),
          ])}
          empty="No invitation is open. An invitation is a link by which one person joins."
        />
      )}
    </>
  );
}

interface InvitationActionsProps {
  readonly invite: UserInvite;
  readonly onChanged: () => void;
}

function InvitationActions({ invite: { id, email }, onChanged }: InvitationActionsProps) {
  const resend = async () => {
    const { link } = await invites().resendUserInvite({ inviteId: id });
    onChanged();
    return <Secret label="Link" value={link} />;
  };
  const cancel = async (): Promise<void> => {
    await invites().cancelUserInvite({ inviteId: id });
    onChanged();
  };
  return (
    <span class="actions">
      {may('organisation_users.create') && (
        <FormDialog name="New link" label={`New link for ${email}`} submit="Create" onSubmit={resend}>
          <p>The former link ends.</p>
        </FormDialog>
      )}
      {may('organisation_users.delete') && (
        <Action name="Cancel" label={`Cancel the invitation of ${email}`} run={cancel} />
      )}
    </span>
  );
}
