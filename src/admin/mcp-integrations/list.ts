// Pages of MCP integrations: of a whole organisation from the store, of one workspace's view from memory, because that
// is its own and the shared ones, which no one condition finds.
import type { ListMcpIntegrationsRequest } from '../../../gen/gateway/admin/v2/mcp_integrations_pb.ts';
import { type McpIntegrationBody, mcpIntegrations } from '../../access/mcp/mcp-collections.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { Condition, Document } from '../../store/documents.ts';
import { organisationOf, targetWorkspace } from '../kit/caller.ts';
import { newestFirst } from '../kit/lists.ts';
import { type McpLevel, mayOnLevel } from './access.ts';
import { paged } from './capabilities.ts';
import type { McpDeps } from './deps.ts';
import { mcpIntegrationRecord } from './record.ts';

/** The members of the answer. @throws GatewayError validation_failed, forbidden. */
export async function listMcpIntegrations(
  deps: McpDeps,
  caller: Principal,
  request: ListMcpIntegrationsRequest,
) {
  const { documents, directory, mcp } = deps;
  const { organisationId } = caller;
  if ((request.organisationId ?? organisationId) !== organisationId)
    throw invalidField('organisation_id', "must be the caller's organisation");
  const levels = levelsOf(deps, caller, request.type);
  const workspaceId = targetWorkspace(directory, caller, request.workspaceId);
  const search = request.search?.toLowerCase();
  const shown = (document: Document<McpIntegrationBody>) =>
    mcpIntegrationRecord(directory, document, mcp.catalogue(organisationId, document.id)?.body);
  if (workspaceId !== undefined) {
    const all = mcp
      .integrationsOf(organisationId, workspaceId)
      .filter(({ body }) => levels.includes(body.level) && (body.searchText ?? '').includes(search ?? ''));
    const { data, ...head } = paged(all, request);
    return { object: 'list' as const, ...head, data: data.map(shown) };
  }
  const filter: Condition[] = [];
  const [only] = levels;
  if (levels.length === 1 && only !== undefined) filter.push({ field: 'level', op: 'eq', value: only });
  if (search !== undefined) filter.push({ field: 'searchText', op: 'contains', value: search });
  const query = newestFirst(request);
  const found = await documents.page(organisationOf(caller), mcpIntegrations, { ...query, filter });
  return {
    object: 'list' as const,
    total: BigInt(found.total),
    hasMore: ((query.page ?? 0) + 1) * query.pageSize < found.total,
    data: found.documents.map(shown),
  };
}

/** The levels that are asked for and may be listed. @throws GatewayError forbidden for one that may not. */
function levelsOf({ directory }: McpDeps, caller: Principal, type: string | undefined): readonly McpLevel[] {
  const listed = (['organisation', 'workspace'] as const).filter((level) =>
    mayOnLevel(directory, caller, level, 'list'),
  );
  if (type === undefined || type === 'all') return listed;
  const level = type as McpLevel;
  if (!listed.includes(level))
    throw fail('forbidden', `the caller may not list MCP integrations of the ${level}`);
  return [level];
}
