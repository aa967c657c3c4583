// Tokens for SCIM, and the mappings of groups to roles.
import { create } from '@bufbuild/protobuf';
import {
  type CreateScimMappingRequest,
  type CreateScimTokenRequest,
  CreateScimTokenResponseSchema,
  type DeleteScimMappingRequest,
  DeleteScimMappingResponseSchema,
  type DeleteScimTokenRequest,
  DeleteScimTokenResponseSchema,
  type ListScimGroupsRequest,
  type ListScimMappingsRequest,
  ScimGroupListSchema,
  type ScimMapping,
  ScimMappingListSchema,
  ScimMappingSchema,
  ScimTokenListSchema,
  ScimTokenSchema,
} from '../../../gen/gateway/admin/v2/scim_pb.ts';
import type { Changes } from '../../access/audit/changes.ts';
import type { WorkspaceRole } from '../../access/identity-collections.ts';
import {
  type ScimGroupBody,
  type ScimMappingBody,
  type ScimTokenBody,
  scimGroups,
  scimMappings,
  scimTokens,
} from '../../access/scim/scim-collections.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { authorOf, callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import { insertOf, newDocument, resource } from '../kit/resource.ts';
import { optionalTime, timeText } from '../kit/time.ts';
import { namedPlace } from './automatic-name.ts';
import type { ScimDeps } from './deps.ts';
import { MOST_MAPPINGS, mappingsOf, syncScimGrants } from './grants.ts';
import { newToken } from './token.ts';

export interface ScimServiceDeps extends ScimDeps {
  readonly changes: Changes;
}

const MOST_TOKENS = 10;
const DEFAULT_PAGE_SIZE = 100;
const ROLES: readonly string[] = ['admin', 'manager', 'member'];
const USER_SCOPES = ['create', 'read', 'update', 'delete', 'list'].map(
  (verb) => `organisation_users.${verb}`,
);

/** The methods of ScimService. */
export function scimService(deps: ScimServiceDeps) {
  return withConflictRetries({ ...tokenMethods(deps), ...mappingMethods(deps), ...groupMethods(deps) });
}

function tokenMethods(deps: ScimServiceDeps) {
  const { now } = deps;
  const tokens = resource(deps, {
    collection: scimTokens,
    noun: 'SCIM token',
    shown: ({ body }) => ({ name: body.name }),
  });
  const tokensOf = async (call: Call) => (await tokens.page(organisationOf(callerOf(call)), {})).documents;

  return {
    async createScimToken({ name, expiresAt }: CreateScimTokenRequest, call: Call) {
      const caller = callerOf(call);
      needScopes(caller, USER_SCOPES);
      const ends = optionalTime('expires_at', expiresAt);
      if (ends !== undefined && ends <= now()) throw invalidField('expires_at', 'must be in the future');
      if ((await tokensOf(call)).length >= MOST_TOKENS)
        throw fail('conflict', `an organisation has at most ${MOST_TOKENS} tokens: revoke one first`);
      const { token, hash, mask } = newToken(deps.hasher);
      const end = ends === undefined ? {} : { expiresAt: ends };
      const body: ScimTokenBody = { name, hash, mask, createdBy: authorOf(caller), ...end };
      const after = { name, expires_at: ends === undefined ? null : timeText(ends) };
      const { id } = await tokens.create(call, tokens.draft(organisationOf(caller), body), { after });
      const baseUrl = `${deps.publicUrl()}/scim/v2`;
      return create(CreateScimTokenResponseSchema, { id, token, baseUrl, object: 'scim-token' });
    },

    async listScimTokens(_: object, call: Call) {
      const data = (await tokensOf(call)).map(tokenRecord);
      return create(ScimTokenListSchema, { object: 'list', total: BigInt(data.length), data });
    },

    async deleteScimToken({ scimTokenId }: DeleteScimTokenRequest, call: Call) {
      await tokens.archive(call, await tokens.find(organisationOf(callerOf(call)), scimTokenId));
      return create(DeleteScimTokenResponseSchema);
    },
  };
}

function mappingMethods(deps: ScimServiceDeps) {
  const { documents } = deps;
  const mappings = resource(deps, { collection: scimMappings, noun: 'SCIM mapping' });

  return {
    async listScimMappings(request: ListScimMappingsRequest, call: Call) {
      const caller = callerOf(call);
      const { page = 0, pageSize = DEFAULT_PAGE_SIZE, workspaceId, scimGroupId, role } = request;
      const place = placeOf(deps, caller.organisationId, workspaceId);
      const found = (await mappingsOf(deps, caller.organisationId)).filter(
        ({ body }) =>
          (!place || body.place === place) &&
          (!scimGroupId || body.groupId === scimGroupId) &&
          (!role || body.role === role.toLowerCase()),
      );
      const shown = await Promise.all(
        found.slice(page * pageSize, (page + 1) * pageSize).map((mapping) => namedMapping(deps, mapping)),
      );
      return create(ScimMappingListSchema, {
        mappings: shown,
        totalCount: BigInt(found.length),
        page,
        pageSize,
      });
    },

    async createScimMapping(request: CreateScimMappingRequest, call: Call): Promise<ScimMapping> {
      const caller = callerOf(call);
      needScopes(caller, ['organisation_users.update']);
      const { organisationId } = caller;
      const place = placeOf(deps, organisationId, request.workspaceId);
      const role = roleOf(request.role, place);
      const group = await groupOf(deps, organisationId, request);
      refuseMapping(await mappingsOf(deps, organisationId), group, place, role);
      const { displayName } = group.body;
      const made = mappings.draft(organisationOf(caller), {
        groupId: group.id,
        ...(place === undefined ? {} : { place }),
        role,
        pair: `${group.id} ${place ?? ''}`,
      });
      const mapping = mappingRecord(made, displayName);
      const isNew = group.version === 0;
      await mappings.create(call, made, {
        target: { id: made.id, name: displayName, workspaceId: place },
        after: codec.encode(ScimMappingSchema, mapping) as JsonObject,
        also: isNew ? [insertOf(scimGroups, group)] : [],
      });
      if (isNew) deps.scimGroups.replica.apply({ ...group, version: 1 });
      await syncScimGrants(deps, { organisationId, by: {} }, group.body.members);
      return mapping;
    },

    async deleteScimMapping({ scimMappingId }: DeleteScimMappingRequest, call: Call) {
      const caller = callerOf(call);
      const scope = organisationOf(caller);
      const found = await mappings.find(scope, scimMappingId);
      const before = await namedMapping(deps, found);
      await mappings.archive(call, found, {
        target: { id: found.id, name: before.scimGroup, workspaceId: found.body.place },
        before: codec.encode(ScimMappingSchema, before) as JsonObject,
      });
      const group = await documents.get(scope, scimGroups, found.body.groupId);
      const { organisationId } = caller;
      await syncScimGrants(deps, { organisationId, by: {} }, group?.body.members ?? [], true);
      return create(DeleteScimMappingResponseSchema, { success: true });
    },
  };
}

function groupMethods(deps: ScimServiceDeps) {
  return {
    async listScimGroups(request: ListScimGroupsRequest, call: Call) {
      const { page = 0, pageSize = DEFAULT_PAGE_SIZE, search = '' } = request;
      const rows = [...deps.scimGroups.replica.of(callerOf(call).organisationId).values()].reverse();
      const found = rows.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
      const groups = found
        .slice(page * pageSize, (page + 1) * pageSize)
        .map(({ id, name }) => ({ id, name }));
      return create(ScimGroupListSchema, { groups, totalCount: BigInt(found.length) });
    },
  };
}

/** @throws GatewayError forbidden: a token or a mapping does what its maker could not do. */
function needScopes({ scopes }: Principal, needed: readonly string[]): void {
  const lacking = needed.filter((scope) => !scopes.has(scope));
  if (lacking.length > 0) throw fail('forbidden', `the key lacks the scope ${lacking.join(' and ')}`);
}

function tokenRecord({ id, createdAt, body }: Document<ScimTokenBody>) {
  const { name, mask, createdBy, expiresAt } = body;
  return create(ScimTokenSchema, {
    object: 'scim-token',
    id,
    name,
    token: mask,
    createdBy,
    createdAt: timeText(createdAt),
    ...(expiresAt === undefined ? {} : { expiresAt: timeText(expiresAt) }),
  });
}

/** A mapping with its group's name. */
async function namedMapping({ documents }: ScimDeps, mapping: Document<ScimMappingBody>) {
  const scope = { organisationId: mapping.organisationId, workspaceId: undefined };
  const group = await documents.get(scope, scimGroups, mapping.body.groupId, { archived: true });
  return mappingRecord(mapping, group?.body.displayName ?? '');
}

function mappingRecord({ id, body }: Document<ScimMappingBody>, scimGroup: string): ScimMapping {
  const { place = '', groupId, role } = body;
  return create(ScimMappingSchema, { id, workspaceId: place, scimGroup, scimGroupId: groupId, role });
}

function placeOf({ directory }: ScimDeps, organisationId: string, given: string | undefined) {
  if (given === undefined || given === '') return undefined;
  const found = directory.workspace(organisationId, given);
  if (found === undefined) throw invalidField('workspace_id', 'names no workspace of the organisation');
  return found.id;
}

function roleOf(given: string, place: string | undefined): WorkspaceRole {
  const role = given.toLowerCase();
  const allowed = place === undefined ? ['admin', 'member'] : ROLES;
  if (!allowed.includes(role)) throw invalidField('role', `must be ${allowed.join(', ')}`, 'in');
  return role as WorkspaceRole;
}

/** The group that is named: version 0 is a new one. */
async function groupOf(
  { documents, now }: ScimDeps,
  organisationId: string,
  { scimGroupId, scimGroupName }: CreateScimMappingRequest,
): Promise<Document<ScimGroupBody>> {
  if ((scimGroupId === undefined) === (scimGroupName === undefined))
    throw invalidField('scim_group_id', 'or scim_group_name is needed, and not both', 'exclusive');
  const scope = { organisationId, workspaceId: undefined };
  if (scimGroupId !== undefined) {
    const found = await documents.get(scope, scimGroups, scimGroupId);
    if (found === undefined) throw invalidField('scim_group_id', 'names no group of the organisation');
    return found;
  }
  const displayName = scimGroupName ?? '';
  if (namedPlace(displayName) !== undefined)
    throw invalidField('scim_group_name', 'has the form of names that are mapped without a mapping');
  const nameKey = displayName.toLowerCase();
  const page = await documents.page(scope, scimGroups, {
    filter: [{ field: 'nameKey', op: 'eq', value: nameKey }],
    pageSize: 1,
  });
  const [known] = page.documents;
  if (known !== undefined) return known;
  const body: ScimGroupBody = { displayName, nameKey, members: [] };
  return { ...newDocument(scimGroups, scope, body, now()), version: 0 };
}

/** @throws GatewayError conflict, validation_failed */
function refuseMapping(
  mappings: readonly Document<ScimMappingBody>[],
  group: { readonly id: string },
  place: string | undefined,
  role: WorkspaceRole,
): void {
  if (mappings.length >= MOST_MAPPINGS)
    throw fail('conflict', `an organisation has at most ${MOST_MAPPINGS} mappings`);
  const own = mappings.filter(({ body }) => body.groupId === group.id);
  if (own.some(({ body }) => body.place === place))
    throw fail('conflict', 'the group is mapped there already');
  const other = own.find(({ body }) => place !== undefined && body.place !== undefined && body.role !== role);
  if (other !== undefined)
    throw invalidField('role', `must be ${other.body.role}, as in the group's other workspaces`);
}
