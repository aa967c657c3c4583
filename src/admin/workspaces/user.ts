// Members of a workspace as the workspace shows them.
import { create } from '@bufbuild/protobuf';
import { type WorkspaceUser, WorkspaceUserSchema } from '../../../gen/gateway/admin/v2/workspaces_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { MemberBody } from '../../access/identity-collections.ts';
import { roleAllows } from '../../access/roles.ts';
import { scopesOf } from '../../access/scopes.ts';
import type { Document } from '../../store/documents.ts';
import { timeText } from '../kit/time.ts';

/** The records of members; users who were removed have none. */
export function workspaceUsers(
  directory: Directory,
  members: readonly Document<MemberBody>[],
): readonly WorkspaceUser[] {
  // A thousand members share three roles, and each role is checked for every scope.
  const scopes = new Map<string, readonly string[]>();
  return members.flatMap((member) => {
    const { organisationId, workspaceId = '', body } = member;
    const user = directory.user(organisationId, body.userId);
    if (user === undefined) return [];
    const role = `${workspaceId} ${body.role}`;
    const held = scopes.get(role) ?? scopesIn(directory, member);
    scopes.set(role, held);
    return create(WorkspaceUserSchema, {
      id: user.id,
      firstName: user.body.firstName,
      lastName: user.body.lastName,
      orgRole: user.body.role,
      role: body.role,
      createdAt: timeText(member.createdAt),
      lastUpdatedAt: timeText(member.updatedAt),
      status: 'active',
      workspaceId,
      email: user.body.email,
      object: 'workspace-user',
      scopes: [...held],
    });
  });
}

/** The member's record; undefined when the user was removed. */
export function workspaceUser(directory: Directory, member: Document<MemberBody>): WorkspaceUser | undefined {
  return workspaceUsers(directory, [member])[0];
}

function scopesIn(
  directory: Directory,
  { organisationId, workspaceId, body }: Document<MemberBody>,
): readonly string[] {
  const setting = (name: Parameters<Directory['setting']>[0]) =>
    directory.setting(name, organisationId, workspaceId);
  return scopesOf('workspace-user').filter((scope) => roleAllows(body.role, scope, setting));
}
