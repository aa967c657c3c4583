// Which users may use an MCP server.
import { create } from '@bufbuild/protobuf';
import {
  type ListMcpServerUserAccessRequest,
  type McpServerUserAccessList,
  McpServerUserAccessListSchema,
  McpServerUserAccessSchema,
  type UpdateMcpServerUserAccessRequest,
} from '../../../gen/gateway/admin/v2/mcp_servers_pb.ts';
import { members } from '../../access/identity-collections.ts';
import { allowsUser } from '../../access/mcp/mcp-access.ts';
import type { McpServerBody, UserAccess } from '../../access/mcp/mcp-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import { everyDocument } from '../../store/every-document.ts';
import { defined, patch } from '../kit/patch.ts';
import { paged } from '../mcp-integrations/capabilities.ts';
import type { McpDeps } from '../mcp-integrations/deps.ts';
import type { Served } from './find.ts';

/** Users that a server has settings for, and members that are listed. */
const MOST_USERS = 5000;

/** A page of the workspace's members and of the users that settings name. */
export async function userAccessList(
  deps: McpDeps,
  server: Served,
  request: ListMcpServerUserAccessRequest,
): Promise<McpServerUserAccessList> {
  const { directory, mcp } = deps;
  const { organisationId, id, body } = server;
  const wanted = request.search?.toLowerCase();
  const people = (await memberIds(deps, server)).flatMap((userId) => {
    const user = directory.user(organisationId, userId);
    if (user === undefined) return [];
    const { firstName, lastName, email } = user.body;
    const text = `${firstName ?? ''} ${lastName ?? ''} ${email}`.toLowerCase();
    return wanted === undefined || text.includes(wanted) ? [{ userId, firstName, lastName, email }] : [];
  });
  const { data, total, hasMore } = paged(people, request);
  return create(McpServerUserAccessListSchema, {
    object: 'list',
    data: data.map(({ userId, firstName, lastName, email }) => {
      const connection = mcp.connectionOf(organisationId, id, userId);
      return create(McpServerUserAccessSchema, {
        userId,
        ...(firstName === undefined ? {} : { firstName }),
        ...(lastName === undefined ? {} : { lastName }),
        email,
        enabled: allowsUser(body, userId),
        hasOverride: body.userAccess?.some((one) => one.userId === userId) ?? false,
        connectionStatus: connection === undefined || connection.body.isStale ? 'not_connected' : 'connected',
        object: 'user-access',
      });
    }),
    defaultUserAccess: body.defaultUserAccess ?? 'allow',
    total,
    hasMore,
  });
}

/** The body with the changed access of users. @throws GatewayError validation_failed. */
export function withUserAccess(
  { directory }: Pick<McpDeps, 'directory'>,
  { organisationId, workspaceId = '', body }: Served,
  request: UpdateMcpServerUserAccessRequest,
): McpServerBody {
  const { userAccess, defaultUserAccess, clear } = request;
  if (userAccess.length === 0 && defaultUserAccess === undefined && clear.length === 0)
    throw invalidField(
      'user_access',
      'or default_user_access is needed: there is nothing to change',
      'required',
    );
  const fields = patch(clear, ['user_access']);
  const entries = new Map(
    fields.cleared('user_access') ? [] : (body.userAccess ?? []).map((one) => [one.userId, one.enabled]),
  );
  const named = new Set<string>();
  for (const [i, { userId, id, enabled = false }] of userAccess.entries()) {
    const field = `user_access[${i}].user_id`;
    const given = userId ?? id;
    if (given === undefined) throw invalidField(field, 'is required', 'required');
    const user = directory.user(organisationId, given) ?? directory.userByEmail(organisationId, given);
    if (user === undefined || directory.roleIn(organisationId, workspaceId, user.id) === undefined)
      throw invalidField(field, 'names no user of the workspace; service keys are not users');
    if (named.has(user.id)) throw invalidField(field, 'is named twice');
    named.add(user.id);
    entries.set(user.id, enabled);
  }
  if (entries.size > MOST_USERS)
    throw invalidField('user_access', `must be ${MOST_USERS} users at the most: take default_user_access`);
  const all = [...entries].map(([userId, enabled]): UserAccess => ({ userId, enabled }));
  return defined<McpServerBody>({
    ...body,
    userAccess: all.length > 0 ? all : undefined,
    defaultUserAccess: (defaultUserAccess as 'allow' | 'deny' | undefined) ?? body.defaultUserAccess,
  });
}

/** What the audit log shows of it. */
export function shownUserAccess({ defaultUserAccess = 'allow', userAccess = [] }: McpServerBody): JsonObject {
  return {
    default_user_access: defaultUserAccess,
    user_access: Object.fromEntries(userAccess.map(({ userId, enabled }) => [userId, enabled])),
  };
}

/** Members first, in the order in which they came; then users that settings name and that are no members. */
async function memberIds({ documents }: McpDeps, server: Served): Promise<readonly string[]> {
  const { organisationId, workspaceId, body } = server;
  const ids = new Set<string>();
  for await (const member of everyDocument(documents, { organisationId, workspaceId }, members)) {
    ids.add(member.body.userId);
    if (ids.size >= MOST_USERS) break;
  }
  for (const { userId } of body.userAccess ?? []) ids.add(userId);
  return [...ids];
}
