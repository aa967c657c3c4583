// Pages of MCP servers.
import { create } from '@bufbuild/protobuf';
import {
  type ListMcpServersRequest,
  type McpServerList,
  McpServerListSchema,
} from '../../../gen/gateway/admin/v2/mcp_servers_pb.ts';
import { mcpServers } from '../../access/mcp/mcp-collections.ts';
import type { Principal } from '../../call/principal.ts';
import { invalidField } from '../../lib/errors.ts';
import type { Condition } from '../../store/documents.ts';
import { targetScope } from '../kit/caller.ts';
import { newestFirst } from '../kit/lists.ts';
import type { McpDeps } from '../mcp-integrations/deps.ts';
import { mcpServerRecord } from './record.ts';

const MOST_IDS = 100;

/** @throws GatewayError validation_failed. */
export async function listMcpServers(
  deps: McpDeps,
  caller: Principal,
  request: ListMcpServersRequest,
): Promise<McpServerList> {
  const filter: Condition[] = [];
  if (request.id !== undefined) {
    const ids = request.id.split(',').map((id) => id.trim());
    if (ids.length > MOST_IDS || ids.some((id) => id === '' || id.length > 255))
      throw invalidField('id', `must be 1 to ${MOST_IDS} ids, separated by commas`);
    filter.push({ field: 'id', op: 'in', value: ids });
  }
  if (request.search !== undefined)
    filter.push({ field: 'searchText', op: 'contains', value: request.search.toLowerCase() });
  const query = newestFirst(request);
  const scope = targetScope(deps.directory, caller, request.workspaceId);
  const page = await deps.documents.page(scope, mcpServers, { ...query, filter });
  return create(McpServerListSchema, {
    object: 'list',
    total: BigInt(page.total),
    hasMore: ((query.page ?? 0) + 1) * query.pageSize < page.total,
    data: page.documents.map((document) => mcpServerRecord(deps, caller, document)),
  });
}
