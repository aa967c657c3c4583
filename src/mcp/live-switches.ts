// The switches of a server as they are at the moment of asking: what waits for an answer, or holds a stream open,
// outlives changes of what its caller may see.
import type { McpReplica } from '../access/mcp/mcp-replica.ts';
import type { McpServer } from '../access/mcp/mcp-server.ts';
import type { Principal } from '../call/principal.ts';
import type { Switched } from './visibility.ts';

/** @param server as it was when the request came; one that is gone, or shut to the user, offers nothing any more */
export function liveSwitches(
  replica: Pick<McpReplica, 'serverBySlug'>,
  server: McpServer,
  { userId }: Principal,
): Switched {
  const { organisationId, workspaceId, slug, id } = server;
  const now = (): McpServer | undefined => {
    const found = replica.serverBySlug(organisationId, workspaceId, slug);
    return found?.id === id && found.allowsUser(userId) ? found : undefined;
  };
  return {
    isEnabled: (type, name, other) => now()?.isEnabled(type, name, other) ?? false,
    pinOf: (tool) => now()?.pinOf(tool),
    saw: (tool, item) => now()?.saw(tool, item),
    get holdsChanged() {
      return now()?.holdsChanged ?? false;
    },
    get capabilities() {
      return now()?.capabilities ?? [];
    },
  };
}
