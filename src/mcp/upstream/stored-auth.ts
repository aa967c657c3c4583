// How the gateway proves itself to an upstream: by the integration's headers, or by the tokens of the user's connection.
import type { McpReplica } from '../../access/mcp/mcp-replica.ts';
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import type { UpstreamAuth } from '../deps.ts';

export function storedAuth(replica: Pick<McpReplica, 'connectionOf'>): UpstreamAuth {
  return {
    headersFor(server, principal) {
      if (!usesConnections(server)) return NONE;
      const { userId } = principal;
      const connection =
        userId === undefined ? undefined : replica.connectionOf(server.organisationId, server.id, userId);
      if (connection === undefined || connection.body.isStale) throw notConnected(server, principal);
      return ['authorization', `Bearer ${connection.body.tokens.accessToken}`];
    },
    refused(server, principal) {
      return usesConnections(server)
        ? notConnected(server, principal)
        : fail('upstream_status', `the MCP server ${server.slug} did not accept the gateway's credentials`);
    },
  };
}

const NONE: readonly string[] = [];

function usesConnections(server: McpServer): boolean {
  return server.integration.body.authType === 'oauth_auto';
}

function notConnected(server: McpServer, { userId }: Principal): Error {
  const who = userId === undefined ? 'a key of a user is needed' : 'the user must connect to it';
  return fail('upstream_status', `the MCP server ${server.slug} asks for a user's own consent: ${who}`);
}
