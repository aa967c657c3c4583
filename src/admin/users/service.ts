// Users: listed, changed, removed.
import { create } from '@bufbuild/protobuf';
import {
  type DeleteUserRequest,
  type DeleteUserResponse,
  DeleteUserResponseSchema,
  type GetUserRequest,
  type ListUsersRequest,
  type UpdateUserRequest,
  type UpdateUserResponse,
  UpdateUserResponseSchema,
  type User,
  type UserList,
  UserListSchema,
  UserSchema,
} from '../../../gen/gateway/admin/v2/users_pb.ts';
import type { Directory } from '../../access/directory.ts';
import { organisations, type UserBody, users } from '../../access/identity-collections.ts';
import { mcpConnections } from '../../access/mcp/mcp-collections.ts';
import type { Call } from '../../call/call.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import {
  type Condition,
  type Document,
  type DocumentStore,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import type { Wanted } from '../kit/archive-found.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { resource, shownAs } from '../kit/resource.ts';
import { timeText } from '../kit/time.ts';
import { keysOf, placesOf } from './keys.ts';

/** The methods of UsersService. */
export function usersService(deps: IdentityDeps) {
  const { documents, directory } = deps;
  const record = (document: Document<UserBody>) => userRecord(directory, document);
  const stored = resource(deps, {
    collection: users,
    noun: 'user',
    shown: shownAs(UserSchema, record),
    targetOf: ({ id, body }) => ({ id, name: body.email }),
  });
  const find = (call: Call, id: string) => stored.find(organisationOf(callerOf(call)), id);

  return withConflictRetries({
    async listUsers(request: ListUsersRequest, call: Call): Promise<UserList> {
      const filter: Condition[] = [];
      if (request.role !== undefined) filter.push({ field: 'role', op: 'eq', value: request.role });
      if (request.email !== undefined)
        filter.push({ field: 'email', op: 'eq', value: request.email.toLowerCase() });
      const page = await stored.page(organisationOf(callerOf(call)), request, { filter });
      return create(UserListSchema, { ...listHead(page), data: page.documents.map(record) });
    },

    async getUser({ userId }: GetUserRequest, call: Call): Promise<User> {
      return record(await find(call, userId));
    },

    async updateUser({ userId, role }: UpdateUserRequest, call: Call): Promise<UpdateUserResponse> {
      const before = await find(call, userId);
      if (before.body.role === role) throw invalidField('role', `is the user's role already`, 'no_change');
      const also = await ownerLeaves(documents, before);
      const after = stored.changed(before, { ...before.body, role: role as 'admin' | 'member' });
      await stored.update(call, before, after, { also });
      return create(UpdateUserResponseSchema);
    },

    async deleteUser({ userId }: DeleteUserRequest, call: Call): Promise<DeleteUserResponse> {
      const before = await find(call, userId);
      const also = await ownerLeaves(documents, before);
      const dependents = [keysOf(before.id), placesOf(before.id), connectionsOf(before.id)];
      await stored.archive(call, before, { dependents, also });
      return create(DeleteUserResponseSchema);
    },
  });
}

/**
 * Operations needed when an owner leaves: the organisation is written too, so that of two owners who leave at
 * once only one does. @throws GatewayError conflict when the organisation would have no owner left.
 */
async function ownerLeaves(
  documents: DocumentStore,
  user: Document<UserBody>,
): Promise<readonly WriteOperation[]> {
  if (user.body.role !== 'owner') return [];
  const scope = { organisationId: user.organisationId, workspaceId: undefined };
  const organisation = await documents.get(scope, organisations, scope.organisationId);
  const owners = await documents.page(scope, users, {
    filter: [{ field: 'role', op: 'eq', value: 'owner' }],
    pageSize: 2,
  });
  if (organisation === undefined || owners.documents.length < 2)
    throw fail('conflict', 'the last owner of the organisation stays its owner');
  const change = { body: organisation.body, updatedAt: organisation.updatedAt };
  return [updateOperation(organisations, organisation.id, organisation.version, change)];
}

/** A user's connections to MCP servers, with their tokens. */
function connectionsOf(userId: string): Wanted {
  return { collection: mcpConnections, filter: [{ field: 'userId', op: 'eq', value: userId }] };
}

/** What callers are shown of a user. */
export function userRecord(directory: Directory, document: Document<UserBody>): User {
  const { id, organisationId, createdAt, updatedAt, body } = document;
  const places = body.role === 'member' ? directory.placesOf(id).map(({ workspaceId }) => workspaceId) : [];
  return create(UserSchema, {
    object: 'user',
    id,
    firstName: body.firstName,
    lastName: body.lastName,
    role: body.role,
    email: body.email,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    workspaceIds: body.role === 'member' ? places : directory.workspaceIds(organisationId),
  });
}
