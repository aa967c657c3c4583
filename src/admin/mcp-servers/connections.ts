// Users' connections to an MCP server's upstream, and their tokens: each is seen by its own user alone.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type DeleteMcpServerConnectionsRequest,
  type ListMcpServerConnectionsRequest,
  type McpServerConnectionList,
  McpServerConnectionListSchema,
  McpServerConnectionSchema,
  type McpServerTokens,
  McpServerTokensSchema,
  type SetMcpServerTokensRequest,
} from '../../../gen/gateway/admin/v2/mcp_servers_pb.ts';
import { allowsUser } from '../../access/mcp/mcp-access.ts';
import { type McpConnectionBody, mcpConnections } from '../../access/mcp/mcp-collections.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { archiveOperation, type Document, insertOperation, updateOperation } from '../../store/documents.ts';
import { callerOf, organisationOf, targetWorkspace } from '../kit/caller.ts';
import { defined } from '../kit/patch.ts';
import { retryUntilFree } from '../kit/retry-until-free.ts';
import { optionalTime, timeText } from '../kit/time.ts';
import type { McpDeps } from '../mcp-integrations/deps.ts';
import { findMcpServer, type Served, seesAll, userOf } from './find.ts';

/** The connection as it is stored now: the replica may be a moment behind. */
async function connectionOf({ documents }: McpDeps, { organisationId, id }: Served, userId: string) {
  const page = await documents.page({ organisationId, workspaceId: undefined }, mcpConnections, {
    filter: [
      { field: 'serverId', op: 'eq', value: id },
      { field: 'userId', op: 'eq', value: userId },
    ],
    pageSize: 1,
  });
  return page.documents[0] as Document<McpConnectionBody> | undefined;
}

/** A page of connections; users see their own alone. @throws GatewayError validation_failed, not_found, forbidden. */
export async function connectionList(
  deps: McpDeps,
  caller: Principal,
  request: ListMcpServerConnectionsRequest,
): Promise<McpServerConnectionList> {
  const { documents, directory } = deps;
  const server = await serverIn(deps, caller, request);
  const all = seesAll({ directory }, caller, 'mcp_servers.read');
  const own = all ? request.userId : userOf(caller);
  if (!all && request.userId !== undefined && request.userId !== own)
    throw fail('forbidden', "user_id: other users' connections are for admins and managers", {
      param: 'user_id',
    });
  const { currentPage: page = 0, pageSize = 100 } = request;
  const found = await documents.page(organisationOf(caller), mcpConnections, {
    filter: [
      { field: 'serverId', op: 'eq', value: server.id },
      ...(own === undefined ? [] : [{ field: 'userId', op: 'eq' as const, value: own }]),
    ],
    sort: { field: 'createdAt', order: 'desc' },
    page,
    pageSize,
  });
  return create(McpServerConnectionListSchema, {
    object: 'list',
    data: found.documents.map(({ body, createdAt, updatedAt }) =>
      create(McpServerConnectionSchema, {
        userId: body.userId,
        connected: body.isStale !== true,
        createdAt: timeText(createdAt),
        lastUpdatedAt: timeText(updatedAt),
      }),
    ),
    total: BigInt(found.total),
    hasMore: (page + 1) * pageSize < found.total,
  });
}

/** Ends a connection. @throws GatewayError validation_failed, not_found, forbidden. */
export async function endConnection(
  deps: McpDeps,
  call: Call,
  request: DeleteMcpServerConnectionsRequest,
): Promise<void> {
  const caller = callerOf(call);
  const server = await serverIn(deps, caller, request);
  const { userId } = request;
  if (caller.userId === undefined && userId === undefined)
    throw invalidField('user_id', 'is needed: the key belongs to no user', 'required');
  const meant = userId ?? userOf(caller);
  const others = seesAll(deps, caller, 'mcp_servers.update') || seesAll(deps, caller, 'mcp_servers.delete');
  if (meant !== caller.userId && !others)
    throw fail('forbidden', "user_id: other users' connections are for admins and managers", {
      param: 'user_id',
    });
  await forget(deps, call, server, meant);
}

/** The caller's own tokens. @throws GatewayError forbidden, not_found. */
export async function tokensOf(deps: McpDeps, caller: Principal, id: string): Promise<McpServerTokens> {
  const userId = userOf(caller);
  const connection = await connectionOf(deps, await findMcpServer(deps, caller, id), userId);
  if (connection === undefined) throw fail('not_found', 'you are not connected to this MCP server');
  const { tokens, expiresAt } = connection.body;
  return create(McpServerTokensSchema, {
    accessToken: tokens.accessToken,
    ...(tokens.refreshToken === undefined ? {} : { refreshToken: tokens.refreshToken }),
    ...(expiresAt === undefined ? {} : { expiresAt: timeText(expiresAt) }),
  });
}

/** Keeps the caller's own tokens. @throws GatewayError validation_failed, forbidden, not_found. */
export async function keepTokens(
  deps: McpDeps,
  call: Call,
  { id, accessToken, refreshToken, expiresAt }: SetMcpServerTokensRequest,
): Promise<void> {
  const caller = callerOf(call);
  const userId = userOf(caller);
  const server = await findMcpServer(deps, caller, id);
  if (!allowsUser(server.body, userId)) throw fail('forbidden', 'you may not use this MCP server');
  const expires = optionalTime('expires_at', expiresAt);
  const { now, changes } = deps;
  await retryUntilFree(['serverId', 'userId'], async () => {
    const before = await connectionOf(deps, server, userId);
    const updatedAt = now();
    const body = defined<McpConnectionBody>({
      serverId: server.id,
      userId,
      tokens: defined<McpConnectionBody['tokens']>({ accessToken, refreshToken }),
      expiresAt: expires,
      url: deps.mcp.server(server.organisationId, server.id)?.integration.body.url,
    });
    const place = server.workspaceId === undefined ? {} : { workspaceId: server.workspaceId };
    const operation =
      before === undefined
        ? insertOperation(mcpConnections, { id: randomUUID(), ...place, createdAt: updatedAt, body })
        : updateOperation(mcpConnections, before.id, before.version, { body, updatedAt });
    await changes.commit(call, organisationOf(caller), [operation], targetOf(server, userId));
  });
}

/** Forgets the caller's own tokens. @throws GatewayError forbidden, not_found. */
export async function forgetTokens(deps: McpDeps, call: Call, id: string): Promise<void> {
  const caller = callerOf(call);
  const userId = userOf(caller);
  await forget(deps, call, await findMcpServer(deps, caller, id), userId);
}

/** Without a connection nothing is written. */
async function forget(deps: McpDeps, call: Call, server: Served, userId: string): Promise<void> {
  const connection = await connectionOf(deps, server, userId);
  if (connection === undefined) return;
  const operation = archiveOperation(mcpConnections, connection.id, { updatedAt: deps.now() });
  const [written] = await deps.changes.commit(
    call,
    organisationOf(callerOf(call)),
    [operation],
    targetOf(server, userId),
  );
  deps.mcp.connectionChanged(written as Document<McpConnectionBody>);
  await deps.userTokens.revoke(connection);
}

/** The server, in the workspace that the request names, if it does. */
async function serverIn(
  deps: McpDeps,
  caller: Principal,
  { id, workspaceId }: { readonly id: string; readonly workspaceId?: string | undefined },
): Promise<Served> {
  const place = targetWorkspace(deps.directory, caller, workspaceId);
  const server = await findMcpServer(deps, caller, id);
  if (place !== undefined && server.workspaceId !== place)
    throw fail('not_found', 'there is no such MCP server');
  return server;
}

/** The audit log names the owner of the tokens and shows no part of them. */
function targetOf(server: Served, userId: string) {
  return {
    id: server.id,
    name: server.body.name,
    workspaceId: server.workspaceId,
    after: { user_id: userId },
  };
}
