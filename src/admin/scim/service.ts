// Tokens for SCIM, and the mappings of groups to roles.
import { randomUUID } from 'node:crypto';
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
import { archiveOperation, type Document, insertOperation } from '../../store/documents.ts';
import { authorOf, callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
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
  const { documents, changes, now } = deps;
  const tokensOf = async (call: Call) => {
    const page = await documents.page(organisationOf(callerOf(call)), scimTokens, {
      sort: { field: 'createdAt', order: 'desc' },
      pageSize: 100,
    });
    return page.documents;
  };

  return withConflictRetries({
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
      const id = randomUUID();
      await changes.commit(
        call,
        organisationOf(caller),
        [insertOperation(scimTokens, { id, createdAt: now(), body })],
        { id, name, after: { name, expires_at: ends === undefined ? null : timeText(ends) } },
      );
      const baseUrl = `${deps.publicUrl()}/scim/v2`;
      return create(CreateScimTokenResponseSchema, { id, token, baseUrl, object: 'scim-token' });
    },

    async listScimTokens(_: object, call: Call) {
      const data = (await tokensOf(call)).map(tokenRecord);
      return create(ScimTokenListSchema, { object: 'list', total: BigInt(data.length), data });
    },

    async deleteScimToken({ scimTokenId }: DeleteScimTokenRequest, call: Call) {
      const scope = organisationOf(callerOf(call));
      const found = await documents.get(scope, scimTokens, scimTokenId);
      if (found === undefined) throw fail('not_found', `there is no SCIM token ${scimTokenId}`);
      const order = { version: found.version, updatedAt: now() };
      await changes.commit(call, scope, [archiveOperation(scimTokens, found.id, order)], {
        id: found.id,
        name: found.body.name,
        before: { name: found.body.name },
      });
      return create(DeleteScimTokenResponseSchema);
    },

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
      const mappings = await Promise.all(
        found.slice(page * pageSize, (page + 1) * pageSize).map((mapping) => mappingRecord(deps, mapping)),
      );
      return create(ScimMappingListSchema, { mappings, totalCount: BigInt(found.length), page, pageSize });
    },

    async createScimMapping(request: CreateScimMappingRequest, call: Call): Promise<ScimMapping> {
      const caller = callerOf(call);
      needScopes(caller, ['organisation_users.update']);
      const { organisationId } = caller;
      const place = placeOf(deps, organisationId, request.workspaceId);
      const role = roleOf(request.role, place);
      const group = await groupOf(deps, organisationId, request);
      const mappings = await mappingsOf(deps, organisationId);
      refuseMapping(mappings, group, place, role);
      const id = randomUUID();
      const createdAt = now();
      const body: ScimMappingBody = {
        groupId: group.id,
        ...(place === undefined ? {} : { place }),
        role,
        pair: `${group.id} ${place ?? ''}`,
      };
      const made = {
        id,
        workspaceId: place ?? '',
        scimGroup: group.body.displayName,
        scimGroupId: group.id,
        role,
      };
      const mapping = create(ScimMappingSchema, made);
      const isNew = group.version === 0;
      const written = await changes.commit(
        call,
        organisationOf(caller),
        [
          insertOperation(scimMappings, { id, createdAt, body }),
          ...(isNew ? [insertOperation(scimGroups, { id: group.id, createdAt, body: group.body })] : []),
        ],
        {
          id,
          name: group.body.displayName,
          workspaceId: place,
          after: codec.encode(ScimMappingSchema, mapping) as JsonObject,
        },
      );
      if (isNew) deps.scimGroups.replica.apply(written[1] as Document<ScimGroupBody>);
      await syncScimGrants(deps, { organisationId, by: {} }, group.body.members);
      return mapping;
    },

    async deleteScimMapping({ scimMappingId }: DeleteScimMappingRequest, call: Call) {
      const caller = callerOf(call);
      const scope = organisationOf(caller);
      const found = await documents.get(scope, scimMappings, scimMappingId);
      if (found === undefined) throw fail('not_found', `there is no SCIM mapping ${scimMappingId}`);
      const before = await mappingRecord(deps, found);
      const order = { version: found.version, updatedAt: now() };
      await changes.commit(call, scope, [archiveOperation(scimMappings, found.id, order)], {
        id: found.id,
        name: before.scimGroup,
        workspaceId: found.body.place,
        before: codec.encode(ScimMappingSchema, before) as JsonObject,
      });
      const group = await documents.get(scope, scimGroups, found.body.groupId);
      const { organisationId } = caller;
      await syncScimGrants(deps, { organisationId, by: {} }, group?.body.members ?? [], true);
      return create(DeleteScimMappingResponseSchema, { success: true });
    },

    async listScimGroups(request: ListScimGroupsRequest, call: Call) {
      const { page = 0, pageSize = DEFAULT_PAGE_SIZE, search = '' } = request;
      const rows = [...deps.scimGroups.replica.of(callerOf(call).organisationId).values()].reverse();
      const found = rows.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
      const groups = found
        .slice(page * pageSize, (page + 1) * pageSize)
        .map(({ id, name }) => ({ id, name }));
      return create(ScimGroupListSchema, { groups, totalCount: BigInt(found.length) });
    },
  });
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

async function mappingRecord({ documents }: ScimDeps, mapping: Document<ScimMappingBody>) {
  const { id, organisationId, body } = mapping;
  const scope = { organisationId, workspaceId: undefined };
  const group = await documents.get(scope, scimGroups, body.groupId, { archived: true });
  return create(ScimMappingSchema, {
    id,
    workspaceId: body.place ?? '',
    scimGroup: group?.body.displayName ?? '',
    scimGroupId: body.groupId,
    role: body.role,
  });
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
  { documents }: ScimDeps,
  organisationId: string,
  { scimGroupId, scimGroupName }: CreateScimMappingRequest,
): Promise<Pick<Document<ScimGroupBody>, 'id' | 'body' | 'version'>> {
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
  return page.documents[0] ?? { id: randomUUID(), version: 0, body: { displayName, nameKey, members: [] } };
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
