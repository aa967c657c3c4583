// Which workspaces may use an MCP integration, and which users a server.
import type { Document } from '../../store/documents.ts';
import type { McpIntegrationBody, McpServerBody } from './mcp-collections.ts';

type Owned = Pick<Document<McpIntegrationBody>, 'workspaceId' | 'body'>;

/** Whether a workspace may use an integration: by its own setting, or else by the one for all others. */
export function isShared({ workspaceId: own, body }: Owned, workspaceId: string): boolean {
  if (body.level === 'workspace') return own === workspaceId;
  const { workspaces = {}, globalAccess } = body;
  const named = Object.hasOwn(workspaces, workspaceId) ? workspaces[workspaceId] : undefined;
  return (named ?? globalAccess)?.enabled ?? false;
}

/**
 * Whether a user may use a server. Service keys are not users: these settings are not about them.
 * @param userId undefined: a service key
 */
export function allowsUser(body: McpServerBody, userId: string | undefined): boolean {
  if (userId === undefined) return true;
  const own = body.userAccess?.find((one) => one.userId === userId);
  return own?.enabled ?? body.defaultUserAccess !== 'deny';
}
