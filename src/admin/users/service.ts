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
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { archiveFound, type Wanted } from '../kit/archive-found.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { timeText } from '../kit/time.ts';
import { keysOf, placesOf } from './keys.ts';

/** The methods of UsersService. */
export function usersService({ documents, changes, directory, now }: IdentityDeps) {
  const find = async (call: Call, id: string): Promise<Document<UserBody>> => {
    const found = await documents.get(organisationOf(callerOf(call)), users, id);
    if (found === undefined) throw fail('not_found', `there is no user ${id}`);
    return found;
  };
  const shown = (document: Document<UserBody>) =>
    codec.encode(UserSchema, userRecord(directory, document)) as JsonObject;

  /**
   * Operations needed when an owner leaves: the organisation is written too, so that of two owners who leave at
   * once only one does. @throws GatewayError conflict when the organisation would have no owner left.
   */
  const ownerLeaves = async (call: Call, user: Document<UserBody>): Promise<readonly WriteOperation[]> => {
    if (user.body.role !== 'owner') return [];
    const scope = organisationOf(callerOf(call));
    const organisation = await documents.get(scope, organisations, scope.organisationId);
    const owners = await documents.page(scope, users, {
      filter: [{ field: 'role', op: 'eq', value: 'owner' }],
      pageSize: 2,
    });
    if (organisation === undefined || owners.documents.length < 2)
      throw fail('conflict', 'the last owner of the organisation stays its owner');
    const change = { body: organisation.body, updatedAt: organisation.updatedAt };
    return [updateOperation(organisations, organisation.id, organisation.version, change)];
  };

  return withConflictRetries({
    async listUsers(request: ListUsersRequest, call: Call): Promise<UserList> {
      const filter: Condition[] = [];
      if (request.role !== undefined) filter.push({ field: 'role', op: 'eq', value: request.role });
      if (request.email !== undefined)
        filter.push({ field: 'email', op: 'eq', value: request.email.toLowerCase() });
      const page = await documents.page(organisationOf(callerOf(call)), users, {
        ...newestFirst(request),
        filter,
      });
      const data = page.documents.map((document) => userRecord(directory, document));
      return create(UserListSchema, { ...listHead(page), data });
    },

    async getUser({ userId }: GetUserRequest, call: Call): Promise<User> {
      return userRecord(directory, await find(call, userId));
    },

    async updateUser({ userId, role }: UpdateUserRequest, call: Call): Promise<UpdateUserResponse> {
      const before = await find(call, userId);
      if (before.body.role === role) throw invalidField('role', `is the user's role already`, 'no_change');
      const leaving = await ownerLeaves(call, before);
      const body: UserBody = { ...before.body, role: role as 'admin' | 'member' };
      const updatedAt = now();
      await changes.commit(
        call,
        organisationOf(callerOf(call)),
        [updateOperation(users, before.id, before.version, { body, updatedAt }), ...leaving],
        {
          id: before.id,
          name: body.email,
          before: shown(before),
          after: shown({ ...before, body, updatedAt }),
        },
      );
      return create(UpdateUserResponseSchema);
    },

    async deleteUser({ userId }: DeleteUserRequest, call: Call): Promise<DeleteUserResponse> {
      const scope = organisationOf(callerOf(call));
      const before = await find(call, userId);
      const leaving = await ownerLeaves(call, before);
      const target = { id: before.id, name: before.body.email, before: shown(before) };
      const updatedAt = now();
      const commit = (operations: readonly WriteOperation[]) =>
        changes.commit(call, scope, operations, target);
      const wanted = [keysOf(before.id), placesOf(before.id), connectionsOf(before.id)];
      const order = { version: before.version, updatedAt };
      await commit([
        ...(await archiveFound({ documents, scope, updatedAt, commit }, wanted)),
        archiveOperation(users, before.id, order),
        ...leaving,
      ]);
      return create(DeleteUserResponseSchema);
    },
  });
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
