// Pages of integrations: of a whole organisation from the store, of one workspace's view from memory, because that
// is its own and the shared ones, which no one condition finds.
import type { ListIntegrationsRequest } from '../../../gen/gateway/admin/v2/integrations_pb.ts';
import { integrations } from '../../access/providers/provider-collections.ts';
import { carries, tagConditions } from '../../access/providers/tags.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import type { Condition } from '../../store/documents.ts';
import { organisationOf, targetWorkspace } from '../kit/caller.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { wantedTags } from '../kit/tags.ts';
import type { ProviderDeps } from '../providers/deps.ts';
import { type IntegrationLevel, listedLevels } from './access.ts';
import { integrationSummary } from './record.ts';

/** The members of the answer. @throws GatewayError validation_failed, forbidden. */
export async function listIntegrations(
  deps: ProviderDeps,
  caller: Principal,
  request: ListIntegrationsRequest,
) {
  const { documents, directory, replica } = deps;
  const wanted = wantedTags(request.tags);
  const levels = levelsOf(deps, caller, request.type);
  const workspaceId = targetWorkspace(directory, caller, request.workspaceId);
  const { page = 0, pageSize, sort } = newestFirst(request);
  if (workspaceId !== undefined) {
    const all = replica
      .integrationsOf(caller.organisationId, workspaceId)
      .filter(({ body }) => levels.includes(body.level) && carries(body, wanted));
    return {
      object: 'list' as const,
      total: BigInt(all.length),
      totalCapped: false,
      data: all.slice(page * pageSize, (page + 1) * pageSize).map(integrationSummary),
    };
  }
  const filter: Condition[] = tagConditions(wanted);
  const [only] = levels;
  if (levels.length === 1 && only !== undefined) filter.push({ field: 'level', op: 'eq', value: only });
  const found = await documents.page(organisationOf(caller), integrations, {
    page,
    pageSize,
    filter,
    ...(sort === undefined ? {} : { sort }),
  });
  return { ...listHead(found), data: found.documents.map(integrationSummary) };
}

/** The levels that are asked for and may be listed. @throws GatewayError forbidden for one that may not. */
function levelsOf(
  { directory }: ProviderDeps,
  caller: Principal,
  type: string | undefined,
): readonly IntegrationLevel[] {
  const listed = listedLevels(directory, caller);
  if (type === undefined || type === 'all') return listed;
  const level = type as IntegrationLevel;
  if (!listed.includes(level))
    throw fail('forbidden', `the caller may not list integrations of the ${level}`);
  return [level];
}
