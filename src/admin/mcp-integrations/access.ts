// Which MCP integrations a caller sees and may change: each level has scopes of its own.
import type { Directory } from '../../access/directory.ts';
import { isShared } from '../../access/mcp/mcp-access.ts';
import { type McpIntegrationBody, mcpIntegrations } from '../../access/mcp/mcp-collections.ts';
import { checkRole } from '../../access/roles.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import type { Document } from '../../store/documents.ts';
import { isVisitor, organisationOf } from '../kit/caller.ts';
import type { McpDeps } from './deps.ts';

export type McpVerb = 'create' | 'list' | 'read' | 'update' | 'delete';
export type McpLevel = McpIntegrationBody['level'];

/** @throws GatewayError forbidden. */
export function requireMcpLevel(
  directory: Directory,
  caller: Principal,
  level: McpLevel,
  verb: McpVerb,
): void {
  const scope = `${level}_mcp_integrations.${verb}`;
  if (!caller.scopes.has(scope)) throw fail('forbidden', `the key lacks the scope ${scope}`);
  checkRole(directory, caller, [scope]);
}

/** Whether the caller may do so on a level. */
export function mayOnLevel(directory: Directory, caller: Principal, level: McpLevel, verb: McpVerb): boolean {
  try {
    requireMcpLevel(directory, caller, level, verb);
    return true;
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.reason === 'forbidden') return false;
    throw thrown;
  }
}

/** An organisation key that names a workspace sees that one's and the organisation's own. */
function isSeen(caller: Principal, document: Document<McpIntegrationBody>): boolean {
  const { workspaceId } = caller;
  if (workspaceId === undefined) return true;
  return (isVisitor(caller) && document.workspaceId === undefined) || isShared(document, workspaceId);
}

/** The stored integration that a caller names by id or slug, when it sees it. @throws GatewayError not_found. */
export async function seenMcpIntegration(
  { documents }: Pick<McpDeps, 'documents'>,
  caller: Principal,
  idOrSlug: string,
): Promise<Document<McpIntegrationBody>> {
  const found = await documents.get(organisationOf(caller), mcpIntegrations, idOrSlug);
  if (found === undefined || !isSeen(caller, found))
    throw fail('not_found', 'there is no such MCP integration');
  return found;
}

/** As `seenMcpIntegration`, when the caller may also do so. @throws GatewayError not_found, forbidden. */
export async function findMcpIntegration(
  deps: Pick<McpDeps, 'documents' | 'directory'>,
  caller: Principal,
  idOrSlug: string,
  verb: McpVerb,
): Promise<Document<McpIntegrationBody>> {
  const found = await seenMcpIntegration(deps, caller, idOrSlug);
  requireMcpLevel(deps.directory, caller, found.body.level, verb);
  return found;
}
