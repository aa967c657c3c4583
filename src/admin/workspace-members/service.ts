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
import type { Directory } from '../../access/directory.ts';
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
import { type Condition, type Document, type DocumentStore, insertOperation } from '../../store/documents.ts';
import { callerOf, workspaceNamed } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { type Resource, resource } from '../kit/resource.ts';
import { tellingTaken } from '../kit/taken.ts';
import { keysOf } from '../users/keys.ts';
import { workspaceUser, workspaceUsers } from '../workspaces/user.ts';

/** The service's own parts. */
interface MembersRoom extends IdentityDeps {
  readonly stored: Resource<MemberBody>;
  readonly workspaceOf: (call: Call, request: { readonly workspaceId: string }) => Document<WorkspaceBody>;
}

/** The methods of WorkspaceMembersService. */
export function workspaceMembersService(deps: IdentityDeps) {
  const { directory } = deps;
  const room: MembersRoom = {
    ...deps,
    stored: resource(deps, {
      collection: members,
      noun: 'member',
      shown(member) {
        const record = workspaceUser(directory, member);
        return record === undefined ? {} : (codec.encode(WorkspaceUserSchema, record) as JsonObject);
      },
      targetOf: ({ workspaceId, body }) => ({ id: body.userId, name: body.email, workspaceId }),
    }),
    workspaceOf: (call, { workspaceId }) => workspaceNamed(directory, callerOf(call), workspaceId),
  };
  return { ...memberChanges(room), ...memberReads(room) };
}

function memberChanges({ documents, changes, directory, now, stored, workspaceOf }: MembersRoom) {
  return withConflictRetries({
    async addWorkspaceMembers(
      request: AddWorkspaceMembersRequest,
      call: Call,
    ): Promise<AddWorkspaceMembersResponse> {
      const workspace = workspaceOf(call, request);
      const scope = scopeOfWorkspace(workspace);
      const seen = new Set<string>();
      const operations = request.users.map(({ id, role }, i) => {
        const user = directory.user(workspace.organisationId, id);
        if (user === undefined) throw invalidField(`users[${i}].id`, 'is no user of the organisation');
        if (seen.has(id)) throw invalidField(`users[${i}].id`, 'is named twice');
        seen.add(id);
        refuseAbove(directory, call, role as WorkspaceRole);
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

    async updateWorkspaceMember(
      request: UpdateWorkspaceMemberRequest,
      call: Call,
    ): Promise<UpdateWorkspaceMemberResponse> {
      const before = await find(documents, scopeOfWorkspace(workspaceOf(call, request)), request.userId);
      const role = request.role as WorkspaceRole;
      refuseTouching(directory, call, before);
      refuseAbove(directory, call, role);
      if (before.body.role === role) throw invalidField('role', "is the member's role already", 'no_change');
      await stored.update(call, before, stored.changed(before, { ...before.body, role }));
      return create(UpdateWorkspaceMemberResponseSchema);
    },

    async removeWorkspaceMember(
      request: RemoveWorkspaceMemberRequest,
      call: Call,
    ): Promise<RemoveWorkspaceMemberResponse> {
      const { id: workspaceId, organisationId } = workspaceOf(call, request);
      const scope = { organisationId, workspaceId };
      const before = await find(documents, scope, request.userId);
      refuseTouching(directory, call, before);
      await stored.archive(call, before, { dependents: [keysOf(before.body.userId)] });
      return create(RemoveWorkspaceMemberResponseSchema);
    },
  });
}

function memberReads({ documents, directory, stored, workspaceOf }: MembersRoom) {
  return {
    async listWorkspaceMembers(
      request: ListWorkspaceMembersRequest,
      call: Call,
    ): Promise<WorkspaceMemberList> {
      const scope = scopeOfWorkspace(workspaceOf(call, request));
      const filter: Condition[] = [];
      if (request.role !== undefined) filter.push({ field: 'role', op: 'eq', value: request.role });
      if (request.email !== undefined)
        filter.push({ field: 'email', op: 'eq', value: request.email.toLowerCase() });
      const page = await stored.page(scope, request, { filter });
      const data = [...workspaceUsers(directory, page.documents)];
      return create(WorkspaceMemberListSchema, { ...listHead(page), data });
    },

    async getWorkspaceMember(request: GetWorkspaceMemberRequest, call: Call): Promise<WorkspaceUser> {
      const scope = scopeOfWorkspace(workspaceOf(call, request));
      const record = workspaceUser(directory, await find(documents, scope, request.userId));
      if (record === undefined) throw fail('not_found', `the workspace has no member ${request.userId}`);
      return record;
    },
  };
}

/** @throws GatewayError not_found */
async function find(
  documents: DocumentStore,
  scope: TenantScope,
  userId: string,
): Promise<Document<MemberBody>> {
  const page = await documents.page(scope, members, {
    filter: [{ field: 'userId', op: 'eq', value: userId }],
    pageSize: 1,
  });
  const found: Document<MemberBody> | undefined = page.documents[0];
  if (found === undefined) throw fail('not_found', `the workspace has no member ${userId}`);
  return found;
}

/** A person grants no role above the own. @throws GatewayError forbidden. */
function refuseAbove(directory: Directory, call: Call, role: WorkspaceRole): void {
  const own = roleOf(directory, callerOf(call));
  if (own !== undefined && outranks(role, own))
    throw fail('forbidden', `the role ${role} is above the caller's own`);
}

/** A person manages no one above them: owners and admins of the organisation always are. @throws as refuseAbove */
function refuseTouching(
  directory: Directory,
  call: Call,
  { organisationId, workspaceId = '', body }: Document<MemberBody>,
): void {
  refuseAbove(directory, call, body.role);
  refuseAbove(directory, call, directory.roleIn(organisationId, workspaceId, body.userId) ?? body.role);
}

function scopeOfWorkspace({ organisationId, id }: Document<WorkspaceBody>): TenantScope {
  return { organisationId, workspaceId: id };
}
