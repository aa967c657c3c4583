// A member of a workspace as the workspace shows it.
import { create } from '@bufbuild/protobuf';
import { type WorkspaceUser, WorkspaceUserSchema } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import type { MemberBody } from '../access/collections.ts';
import type { Directory } from '../access/directory.ts';
import { roleAllows } from '../access/roles.ts';
import { scopesOf } from '../access/scopes.ts';
import type { Document } from '../store/documents.ts';
import { timeText } from './time.ts';

/** The member's record; undefined when the user is gone. */
export function workspaceUser(directory: Directory, member: Document<MemberBody>): WorkspaceUser | undefined {
  const { organisationId, workspaceId = '', body } = member;
  const user = directory.user(organisationId, body.userId);
  if (user === undefined) return undefined;
  const setting = (name: Parameters<Directory['setting']>[0]) =>
    directory.setting(name, organisationId, workspaceId);
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
    scopes: scopesOf('workspace-user').filter((scope) => roleAllows(body.role, scope, setting)),
  });
}
