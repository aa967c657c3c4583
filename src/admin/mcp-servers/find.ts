// The MCP server that a caller names, and whose user the caller is.
import { type McpServerBody, mcpServers } from '../../access/mcp/mcp-collections.ts';
import { governs, roleOf } from '../../access/roles.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import type { Document } from '../../store/documents.ts';
import { found, scopeOf } from '../kit/caller.ts';
import type { McpDeps } from '../mcp-integrations/deps.ts';

export type Served = Document<McpServerBody>;

/** The active server of that id or slug in the caller's reach. @throws GatewayError not_found. */
export async function findMcpServer(
  { documents }: Pick<McpDeps, 'documents'>,
  caller: Principal,
  idOrSlug: string,
): Promise<Served> {
  return found(await documents.get(scopeOf(caller), mcpServers, idOrSlug), 'MCP server');
}

/** The person that the caller is. @throws GatewayError forbidden for service keys, which are not users. */
export function userOf({ userId }: Principal): string {
  if (userId === undefined)
    throw fail('forbidden', 'the key belongs to no user: connections and tokens are those of users');
  return userId;
}

/** Whether the caller sees and ends other users' connections: services with the scope, admins and managers. */
export function seesAll(
  { directory }: Pick<McpDeps, 'directory'>,
  caller: Principal,
  scope: string,
): boolean {
  if (!caller.scopes.has(scope)) return false;
  if (caller.userId === undefined && caller.token === undefined) return true;
  const role = roleOf(directory, caller);
  return governs(directory, caller) || role === 'admin' || role === 'manager';
}
