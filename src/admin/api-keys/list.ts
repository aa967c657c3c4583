// Which keys a list shows: those that the caller may list, narrowed by its filters.
import type { ListApiKeysRequest } from '../../../gen/gateway/admin/v2/api_keys_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { KeyKind, Principal } from '../../call/principal.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { Condition, PageQuery } from '../../store/documents.ts';
import { targetWorkspace } from '../kit/caller.ts';
import { newestFirst } from '../kit/lists.ts';
import { KEY_KINDS, listedKinds, ownUser } from './access.ts';

const MAX_IDS = 100;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The query; undefined when nothing can match.
 * @throws GatewayError validation_failed for filters that are none, forbidden for a kind that the caller may not list.
 */
export function listQuery(
  directory: Directory,
  caller: Principal,
  request: ListApiKeysRequest,
): { readonly scope: TenantScope; readonly page: PageQuery } | undefined {
  const workspaceId = targetWorkspace(directory, caller, request.workspaceId);
  const filter: Condition[] = kindFilter(directory, caller, workspaceId, request.type as KeyKind | undefined);
  const own = ownUser(directory, caller);
  if (own !== undefined && request.userId !== undefined && request.userId !== own) return undefined;
  const userId = own ?? request.userId;
  if (userId !== undefined) filter.push({ field: 'userId', op: 'eq', value: userId });
  if (request.exactName !== undefined) filter.push({ field: 'name', op: 'eq', value: request.exactName });
  if (request.name !== undefined) filter.push({ field: 'name', op: 'contains', value: request.name });
  if (request.ids !== undefined) filter.push({ field: 'id', op: 'in', value: idsOf(request.ids) });
  const scope = { organisationId: caller.organisationId, workspaceId };
  return { scope, page: { ...newestFirst(request), filter } };
}

/** No condition when the caller may list everything that is there: most may. */
function kindFilter(
  directory: Directory,
  caller: Principal,
  workspaceId: string | undefined,
  kind: KeyKind | undefined,
): Condition[] {
  const listed = listedKinds(directory, caller);
  if (kind !== undefined) {
    if (!listed.includes(kind)) throw fail('forbidden', `the caller may not list keys of the kind ${kind}`);
    return [{ field: 'kind', op: 'eq', value: kind }];
  }
  const there = KEY_KINDS.filter((one) => workspaceId === undefined || one !== 'organisation-service');
  const shown = there.filter((one) => listed.includes(one));
  return shown.length === there.length ? [] : [{ field: 'kind', op: 'in', value: shown }];
}

function idsOf(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim().toLowerCase());
  if (ids.length > MAX_IDS) throw invalidField('ids', `must be ${MAX_IDS} at the most`);
  if (!ids.every((id) => UUID.test(id))) throw invalidField('ids', 'must be UUIDs, separated by commas');
  return ids;
}
