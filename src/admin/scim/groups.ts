// Groups over SCIM.

import { randomUUID } from 'node:crypto';
import { type ScimGroupBody, scimGroups, scimMappings } from '../../access/scim/scim-collections.ts';
import type { TenantScope } from '../../call/scope.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { namedPlace } from './automatic-name.ts';
import type { ScimCaller, ScimDeps, ScimResource } from './deps.ts';
import { isObject } from './filter-match.ts';
import { mappingsOf, syncScimGrants } from './grants.ts';
import { metaOf } from './meta.ts';
import { GROUP_SCHEMA, GROUPS_KIND } from './schemas.ts';
import { ScimError, wrong } from './scim-error.ts';

/** Groups of an organisation. */
const MOST_GROUPS = 1000;
/** Members whose roles are looked at again with each change of a group; of larger groups those who changed. */
const ALL_AGAIN = 1000;

export function scimGroupResource(deps: ScimDeps): ScimResource<ScimGroupBody> {
  const { systemChanges, now } = deps;
  const keep = (document: Document<object> | undefined): Document<ScimGroupBody> => {
    const group = document as Document<ScimGroupBody>;
    deps.scimGroups.replica.apply(group);
    return group;
  };

  return {
    show: (document) => shownGroup(deps, document),

    async make(caller, given) {
      if (deps.scimGroups.count(caller.organisationId) >= MOST_GROUPS)
        throw new ScimError(409, `an organisation has at most ${MOST_GROUPS} groups`, 'tooMany');
      const body = bodyOf(given);
      const id = randomUUID();
      const createdAt = now();
      const written = await systemChanges
        .commit(
          { verb: 'create', resource: 'scim-group', by: caller.by },
          scopeOf(caller),
          [
            insertOperation(scimGroups, { id, createdAt, body }),
            ...automaticMapping(deps, caller, id, body, createdAt),
          ],
          { id, name: body.displayName, after: shown(body) },
        )
        .catch(tellTaken(body));
      const made = keep(written[0]);
      await syncScimGrants(deps, caller, body.members);
      return made;
    },

    async replace(caller, before, given) {
      const body = bodyOf(given);
      const had = new Set(before.body.members);
      const has = new Set(body.members);
      const updatedAt = now();
      const written = await systemChanges
        .commit(
          { verb: 'update', resource: 'scim-group', by: caller.by },
          scopeOf(caller),
          [updateOperation(scimGroups, before.id, before.version, { body, updatedAt })],
          { id: before.id, name: body.displayName, before: shown(before.body), after: shown(body) },
        )
        .catch(tellTaken(body));
      const replaced = keep(written[0]);
      const both = [...new Set([...before.body.members, ...body.members])];
      const changed = both.filter((member) => had.has(member) !== has.has(member));
      await syncScimGrants(deps, caller, both.length <= ALL_AGAIN ? both : changed);
      return replaced;
    },

    async remove(caller, before) {
      const updatedAt = now();
      const mappings = (await mappingsOf(deps, caller.organisationId)).filter(
        ({ body }) => body.groupId === before.id,
      );
      const written = await systemChanges.commit(
        { verb: 'delete', resource: 'scim-group', by: caller.by },
        scopeOf(caller),
        [
          archiveOperation(scimGroups, before.id, { version: before.version, updatedAt }),
          ...mappings.map(({ id }) => archiveOperation(scimMappings, id, { updatedAt })),
        ],
        { id: before.id, name: before.body.displayName, before: shown(before.body) },
      );
      keep(written[0]);
      await syncScimGrants(deps, caller, before.body.members);
    },
  };
}

function shownGroup(deps: ScimDeps, document: Document<ScimGroupBody>): JsonObject {
  const { id, body } = document;
  const members = body.members.map((value) => memberOf(deps, value));
  return {
    schemas: [GROUP_SCHEMA],
    id,
    displayName: body.displayName,
    ...(body.externalId === undefined ? {} : { externalId: body.externalId }),
    ...(members.length === 0 ? {} : { members }),
    meta: metaOf(deps, GROUPS_KIND, document),
  };
}

/** What the audit log shows. */
function shown({ displayName, externalId, members }: ScimGroupBody): JsonObject {
  return {
    name: displayName,
    external_id: externalId ?? null,
    members: members.slice(0, 100),
    member_count: members.length,
  };
}

function scopeOf({ organisationId }: ScimCaller): TenantScope {
  return { organisationId, workspaceId: undefined };
}

/** @throws ScimError invalidValue */
export function bodyOf({ displayName, externalId, members }: JsonObject): ScimGroupBody {
  if (typeof displayName !== 'string' || displayName.trim() === '')
    throw wrong('invalidValue', 'displayName is required');
  if (displayName.length > 255) throw wrong('invalidValue', 'displayName has more than 255 characters');
  if (typeof externalId === 'string' && externalId.length > 500)
    throw wrong('invalidValue', 'externalId has more than 500 characters');
  return {
    displayName,
    nameKey: displayName.toLowerCase(),
    ...(typeof externalId === 'string' ? { externalId } : {}),
    members: [...new Set((Array.isArray(members) ? members : []).map(idOf))],
  };
}

/** An id that no user has is kept and gives nothing: identity providers may name members before they make them. */
function idOf(member: Json): string {
  const value = isObject(member) ? member.value : undefined;
  if (typeof value !== 'string' || value === '' || value.length > 256)
    throw wrong('invalidValue', "members.value must be a user's id");
  if (isObject(member) && typeof member.type === 'string' && member.type.toLowerCase() !== 'user')
    throw wrong('invalidValue', 'members.type must be User: groups within groups are not supported');
  return value;
}

function memberOf({ publicUrl }: ScimDeps, value: string): JsonObject {
  return { value, $ref: `${publicUrl()}/scim/v2/Users/${value}`, type: 'User' };
}

/** A group that is named `ws-<workspace>-role-<role>` is mapped at once. */
function automaticMapping(
  { directory }: ScimDeps,
  { organisationId }: ScimCaller,
  groupId: string,
  { displayName }: ScimGroupBody,
  createdAt: number,
): WriteOperation[] {
  const named = namedPlace(displayName);
  const place = named && directory.workspace(organisationId, named.workspace)?.id;
  if (named === undefined || place === undefined) return [];
  const body = { groupId, place, role: named.role, pair: `${groupId} ${place}` };
  return [insertOperation(scimMappings, { id: randomUUID(), createdAt, body })];
}

function tellTaken({ displayName }: ScimGroupBody) {
  return (error: unknown): never => {
    if ((error as { reason?: string }).reason === 'conflict')
      throw new ScimError(409, `there is a group ${displayName} already`, 'uniqueness');
    throw error;
  };
}
