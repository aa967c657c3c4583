// The roles that SCIM groups give by the mappings of the organisation.
import type { WorkspaceRole } from '../../access/identity-collections.ts';
import { outranks } from '../../access/roles.ts';
import { type ScimMappingBody, scimGroups, scimMappings } from '../../access/scim/scim-collections.ts';
import type { Document } from '../../store/documents.ts';
import { type Grants, syncGrants } from '../kit/group-grants.ts';
import type { ScimCaller, ScimDeps } from './deps.ts';

/** Mappings of an organisation. */
export const MOST_MAPPINGS = 500;
/** Groups that are read at once: each may have 10,000 members. */
const GROUPS_AT_ONCE = 20;

/** @param keep what mappings gave and give no more stays as if it was given by hand */
export function syncScimGrants(
  deps: ScimDeps,
  { organisationId, by }: ScimCaller,
  userIds: readonly string[],
  keep = false,
): Promise<void> {
  const grantsOf = (ids: readonly string[]) => scimGrants(deps, organisationId, ids);
  return syncGrants(deps, { organisationId, source: 'scim', userIds, grantsOf, keep, by });
}

/** All mappings of an organisation, newest first. */
export async function mappingsOf(
  { documents }: Pick<ScimDeps, 'documents'>,
  organisationId: string,
): Promise<readonly Document<ScimMappingBody>[]> {
  const page = await documents.page({ organisationId, workspaceId: undefined }, scimMappings, {
    sort: { field: 'createdAt', order: 'desc' },
    pageSize: 1000,
  });
  return page.documents;
}

/** Read from the store: of two changes at once the one that reads last sees both. */
async function scimGrants(
  deps: ScimDeps,
  organisationId: string,
  userIds: readonly string[],
): Promise<(userId: string) => Grants> {
  const mappings = await mappingsOf(deps, organisationId);
  const groupsOf = new Map<string, Set<string>>(userIds.map((id) => [id, new Set()]));
  const mapped = [...new Set(mappings.map(({ body }) => body.groupId))];
  for (let at = 0; at < mapped.length; at += GROUPS_AT_ONCE) {
    const value = mapped.slice(at, at + GROUPS_AT_ONCE);
    const page = await deps.documents.page({ organisationId, workspaceId: undefined }, scimGroups, {
      filter: [{ field: 'id', op: 'in', value }],
      pageSize: GROUPS_AT_ONCE,
    });
    for (const { id, body } of page.documents)
      for (const member of body.members) groupsOf.get(member)?.add(id);
  }
  return (userId) => {
    const groups = groupsOf.get(userId);
    const places = new Map<string, WorkspaceRole>();
    let admin = false;
    for (const { body } of mappings) {
      if (!groups?.has(body.groupId)) continue;
      if (body.place === undefined) admin ||= body.role === 'admin';
      else {
        const held = places.get(body.place);
        if (held === undefined || outranks(body.role, held)) places.set(body.place, body.role);
      }
    }
    return { places, admin };
  };
}
