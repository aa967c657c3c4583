// Who asks, which server they reach, and in which session.
import type { McpServer } from '../access/mcp/mcp-server.ts';
import type { Principal } from '../call/principal.ts';
import { fail } from '../lib/errors.ts';
import { AllServers } from './all/all-servers.ts';
import { factsOf } from './bridge/client-session.ts';
import { declaresUrl } from './bridge/url-questions.ts';
import type { GatewayDeps, McpRequest } from './gateway-deps.ts';
import type { Asked } from './relay/asked.ts';
import type { SessionIds, SessionRef } from './session-ids.ts';
import { isRequest, type RpcMessage } from './wire/json-rpc.ts';
import { McpError, RPC } from './wire/mcp-error.ts';

/** The revision whose clients may open an address that an error names (-32042). */
const OPENS_BY_ERROR = '2025-11-25';

export class Admission {
  readonly #deps: Pick<GatewayDeps, 'admit' | 'replica' | 'workspaceId'>;
  readonly #ids: SessionIds;
  readonly #all: AllServers;

  constructor(
    deps: Pick<GatewayDeps, 'admit' | 'replica' | 'workspaceId'>,
    ids: SessionIds,
    all: AllServers,
  ) {
    this.#deps = deps;
    this.#ids = ids;
    this.#all = all;
  }

  /** @throws GatewayError */
  principal({ call }: McpRequest): Principal {
    const principal = call.identity?.principal;
    if (principal === undefined) throw fail('unauthenticated', 'an API key is needed');
    this.#deps.admit(principal);
    return principal;
  }

  /** @throws GatewayError, McpError */
  server(principal: Principal, { slug, workspace }: McpRequest): McpServer {
    const { organisationId, workspaceId, userId } = principal;
    if (workspaceId === undefined) throw fail('forbidden', 'a key of a workspace is needed');
    if (workspace !== undefined && this.#deps.workspaceId(organisationId, workspace) !== workspaceId)
      throw fail('forbidden', 'the key is not of this workspace');
    if (slug === undefined) return this.#all.standIn(principal);
    const server = this.#deps.replica.serverBySlug(organisationId, workspaceId, slug);
    if (server === undefined) throw noServer();
    if (!server.allowsUser(userId))
      throw fail('forbidden', 'the user of this key may not use this MCP server');
    return server;
  }

  /** The session that the client names; undefined: none. @throws McpError 404 for one that is not the caller's */
  session(
    { call }: McpRequest,
    principal: Principal,
    server: McpServer,
    method: string,
  ): SessionRef | undefined {
    const given = call.headers.plain('mcp-session-id');
    if (given === undefined || method === 'initialize') return undefined;
    const session = this.#ids.open(given, server.id, principal);
    if (session === undefined)
      throw new McpError(RPC.noSession, 'Session not found: initialize again', { status: 404 });
    return session;
  }

  /** Whether the server is still there for its caller. */
  isOpen(server: McpServer, { userId }: Principal): boolean {
    if (AllServers.isStandIn(server)) return true;
    const { organisationId, workspaceId, slug, id } = server;
    const now = this.#deps.replica.serverBySlug(organisationId, workspaceId, slug);
    return now?.id === id && now.allowsUser(userId);
  }
}

/** @param message the first one of a session says what the client can @param version of an older client */
export function sessionOf(
  session: SessionRef | undefined,
  message: RpcMessage | undefined,
  version: string | undefined,
): Pick<Asked, 'session' | 'bridge' | 'opensUrls'> {
  const params = message !== undefined && 'method' in message ? message.params : undefined;
  const isFirst = message !== undefined && isRequest(message) && message.method === 'initialize';
  const isNew = (isFirst ? params?.protocolVersion : version) === OPENS_BY_ERROR;
  const opens = (declared: boolean): Pick<Asked, 'opensUrls'> =>
    isNew && declared ? { opensUrls: true } : {};
  if (isFirst) return { session: undefined, ...opens(declaresUrl(params?.capabilities)) };
  if (session?.kind !== 'held') return { session: session?.id, ...opens(session?.opensUrls === true) };
  return { session: undefined, bridge: session.id, ...opens(declaresUrl(factsOf(session.id).capabilities)) };
}

function noServer(): McpError {
  return new McpError(RPC.refused, 'there is no such MCP server in this workspace', {
    status: 404,
    data: { reason: 'not_found' },
  });
}
