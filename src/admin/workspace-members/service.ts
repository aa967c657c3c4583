// Members of workspaces: added, listed, changed, taken out.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type AddWorkspaceMembersRequest,
  type AddWorkspaceMembersResponse,
  AddWorkspaceMembersResponseSchema,
  type GetWorkspaceMemberRequest,
  type ListWorkspaceMembersRequest,
  type RemoveWorkspaceMemberRequest,
  type RemoveWorkspaceMemberResponse,
  RemoveWorkspaceMemberResponseSchema,
  type UpdateWorkspaceMemberRequest,
  type UpdateWorkspaceMemberResponse,
  UpdateWorkspaceMemberResponseSchema,
  type WorkspaceMemberList,
  WorkspaceMemberListSchema,
} from '../../../gen/gateway/admin/v2/workspace_members_pb.ts';
import { type WorkspaceUser, WorkspaceUserSchema } from '../../../gen/gateway/admin/v2/workspaces_pb.ts';
import {
  type MemberBody,
  members,
  type WorkspaceBody,
  type WorkspaceRole,
} from '../../access/identity-collections.ts';
import { outranks, roleOf } from '../../access/roles.ts';
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { archiveFound } from '../kit/archive-found.ts';
import { callerOf, workspaceNamed } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { tellingTaken } from '../kit/taken.ts';
import { keysOf } from '../users/keys.ts';
import { workspaceUser, workspaceUsers } from '../workspaces/user.ts';

/** The methods of WorkspaceMembersService. */
export function workspaceMembersService({ documents, changes, directory, now }: IdentityDeps) {
  const workspaceOf = (call: Call, idOrSlug: string) => workspaceNamed(directory, callerOf(call), idOrSlug);

  const find = async (scope: TenantScope, userId: string): Promise<Document<MemberBody>> => {
    const page = await documents.page(scope, members, {
      filter: [{ field: 'userId', op: 'eq', value: userId }],
      pageSize: 1,
    });
    const found: Document<MemberBody> | undefined = page.documents[0];
    if (found === undefined) throw fail('not_found', `the workspace has no member ${userId}`);
    return found;
  };

  /** A person grants no role above the own. @throws GatewayError forbidden. */
  const refuseAbove = (call: Call, role: WorkspaceRole): void => {
    const own = roleOf(directory, callerOf(call));
    if (own !== undefined && outranks(role, own))
      throw fail('forbidden', `the role ${role} is above the caller's own`);
  };

  /** A person manages no one above them: owners and admins of the organisation always are. @throws as refuseAbove */
  const refuseTouching = (
    call: Call,
    { organisationId, workspaceId = '', body }: Document<MemberBody>,
  ): void => {
    refuseAbove(call, body.role);
    refuseAbove(call, directory.roleIn(organisationId, workspaceId, body.userId) ?? body.role);
  };

  const shown = (member: Document<MemberBody>): JsonObject => {
    const record = workspaceUser(directory, member);
    return record === undefined ? {} : (codec.encode(WorkspaceUserSchema, record) as JsonObject);
  };

  return withConflictRetries({
    async addWorkspaceMembers(
      request: AddWorkspaceMembersRequest,
      call: Call,
    ): Promise<AddWorkspaceMembersResponse> {
      const workspace = workspaceOf(call, request.workspaceId);
      const scope = scopeOfWorkspace(workspace);
      const seen = new Set<string>();
      const operations = request.users.map(({ id, role }, i) => {
        const user = directory.user(workspace.organisationId, id);
        if (user === undefined) throw invalidField(`users[${i}].id`, 'is no user of the organisation');
        if (seen.has(id)) throw invalidField(`users[${i}].id`, 'is named twice');
        seen.add(id);
        refuseAbove(call, role as WorkspaceRole);
        return insertOperation<MemberBody>(members, {
          id: randomUUID(),
          createdAt: now(),
          body: { userId: id, role: role as WorkspaceRole, email: user.body.email },
        });
      });
      await tellingTaken(
        () =>
          changes.commit(call, scope, operations, {
            id: workspace.id,
            name: workspace.body.name,
            workspaceId: workspace.id,
            after: { users: request.users.map(({ id, role }) => ({ id, role })) },
          }),
        (at) => ({ field: `users[${at}].id`, message: 'is a member of the workspace already' }),
      );
      return create(AddWorkspaceMembersResponseSchema);
    },

    async listWorkspaceMembers(
      request: ListWorkspaceMembersRequest,
      call: Call,
    ): Promise<WorkspaceMemberList> {
      const scope = scopeOfWorkspace(workspaceOf(call, request.workspaceId));
      const filter: Condition[] = [];
      if (request.role !== undefined) filter.push({ field: 'role', op: 'eq', value: request.role });
      if (request.email !== undefined)
        filter.push({ field: 'email', op: 'eq', value: request.email.toLowerCase() });
      const page = await documents.page(scope, members, { ...newestFirst(request), filter });
      const data = [...workspaceUsers(directory, page.documents)];
      return create(WorkspaceMemberListSchema, { ...listHead(page), data });
    },

    async getWorkspaceMember(request: GetWorkspaceMemberRequest, call: Call): Promise<WorkspaceUser> {
      const scope = scopeOfWorkspace(workspaceOf(call, request.workspaceId));
      const record = workspaceUser(directory, await find(scope, request.userId));
      if (record === undefined) throw fail('not_found', `the workspace has no member ${request.userId}`);
      return record;
    },

    async updateWorkspaceMember(
      request: UpdateWorkspaceMemberRequest,
      call: Call,
    ): Promise<UpdateWorkspaceMemberResponse> {
      const workspace = workspaceOf(call, request.workspaceId);
      const scope = scopeOfWorkspace(workspace);
      const before = await find(scope, request.userId);
      const role = request.role as WorkspaceRole;
      refuseTouching(call, before);
      refuseAbove(call, role);
      if (before.body.role === role) throw invalidField('role', "is the member's role already", 'no_change');
      const change = { body: { ...before.body, role }, updatedAt: now() };
      await changes.commit(call, scope, [updateOperation(members, before.id, before.version, change)], {
        id: before.body.userId,
        name: before.body.email,
        workspaceId: workspace.id,
        before: shown(before),
        after: shown({ ...before, ...change }),
      });
      return create(UpdateWorkspaceMemberResponseSchema);
    },

    async removeWorkspaceMember(
      request: RemoveWorkspaceMemberRequest,
      call: Call,
    ): Promise<RemoveWorkspaceMemberResponse> {
      const workspace = workspaceOf(call, request.workspaceId);
      const scope = scopeOfWorkspace(workspace);
      const before = await find(scope, request.userId);
      refuseTouching(call, before);
      const { userId, email } = before.body;
      const target = { id: userId, name: email, workspaceId: workspace.id, before: shown(before) };
      const updatedAt = now();
      const commit = (operations: readonly WriteOperation[]) =>
        changes.commit(call, scope, operations, target);
      const order = { version: before.version, updatedAt };
      await commit([
        ...(await archiveFound({ documents, scope, updatedAt, commit }, [keysOf(userId)])),
        archiveOperation(members, before.id, order),
      ]);
      return create(RemoveWorkspaceMemberResponseSchema);
    },
  });
}

function scopeOfWorkspace({ organisationId, id }: Document<WorkspaceBody>): TenantScope {
  return { organisationId, workspaceId: id };
}
