// Users over SCIM. They are the users of the organisation: who came by an invitation is among them.
import { randomUUID } from 'node:crypto';
import { UserSchema } from '../../../gen/gateway/admin/v2/users_pb.ts';
import type { AuditTarget } from '../../access/audit/changes.ts';
import { type MemberBody, members, type UserBody, users } from '../../access/identity-collections.ts';
import { scimGroups } from '../../access/scim/scim-collections.ts';
import { sessions } from '../../access/sessions/session-collection.ts';
import type { TenantScope } from '../../call/scope.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { archiveFound, type Wanted } from '../kit/archive-found.ts';
import { keysOf, placesOf } from '../users/keys.ts';
import { userRecord } from '../users/service.ts';
import type { ScimCaller, ScimDeps, ScimResource } from './deps.ts';
import { syncScimGrants } from './grants.ts';
import { metaOf } from './meta.ts';
import { USERS } from './schemas.ts';
import { ScimError } from './scim-error.ts';
import { attributesOf, bodyOf, schemasOf } from './user-attributes.ts';

export function scimUsers(deps: ScimDeps): ScimResource<UserBody> {
  return {
    show: (document) => shownUser(deps, document),
    make: (caller, given) => madeUser(deps, caller, bodyOf(given, undefined)),
    replace: (caller, before, given) => replacedUser(deps, caller, before, bodyOf(given, before.body)),
    remove: (caller, before) => removeUser(deps, caller, before),
  };
}

function shownUser(deps: ScimDeps, document: Document<UserBody>): JsonObject {
  const { organisationId, id } = document;
  const attributes = attributesOf(document);
  const groups = deps.scimGroups.of(organisationId, id).map((group) => ({
    value: group.id,
    $ref: `${deps.publicUrl()}/scim/v2/Groups/${group.id}`,
    display: group.name,
    type: 'direct',
  }));
  return {
    schemas: schemasOf(attributes),
    id,
    ...attributes,
    ...(groups.length === 0 ? {} : { groups }),
    meta: metaOf(deps, USERS, document),
  };
}

/** What the audit log shows. */
function auditedUser({ directory }: ScimDeps, document: Document<UserBody>): JsonObject {
  const user = codec.encode(UserSchema, userRecord(directory, document)) as JsonObject;
  return { ...user, active: document.body.inactive !== true };
}

async function madeUser(deps: ScimDeps, caller: ScimCaller, body: UserBody): Promise<Document<UserBody>> {
  await refuseTaken(deps, caller, body, undefined);
  const id = randomUUID();
  const [written] = await deps.systemChanges.commit(
    { verb: 'create', resource: 'user', by: caller.by },
    scopeOf(caller),
    [insertOperation(users, { id, createdAt: deps.now(), body })],
    { id, name: body.email, after: { email: body.email, active: body.inactive !== true } },
  );
  return written as Document<UserBody>;
}

async function replacedUser(
  deps: ScimDeps,
  caller: ScimCaller,
  before: Document<UserBody>,
  body: UserBody,
): Promise<Document<UserBody>> {
  await refuseTaken(deps, caller, body, before.id);
  if (body.inactive) await refuseLastOwner(deps, before);
  const updatedAt = deps.now();
  const commit = committer(deps, caller, 'update', {
    id: before.id,
    name: body.email,
    before: auditedUser(deps, before),
    after: auditedUser(deps, { ...before, body, updatedAt }),
  });
  const ended: Wanted[] = body.inactive ? [keysOf(before.id), sessionsOf(before.id)] : [];
  const written = await commit([
    updateOperation(users, before.id, before.version, { body, updatedAt }),
    ...(body.email === before.body.email ? [] : await renamedPlaces(deps, before, body.email)),
    ...(await archiveFound({ ...deps, scope: scopeOf(caller), updatedAt, commit }, ended)),
  ]);
  if (before.body.inactive && !body.inactive) await syncScimGrants(deps, caller, [before.id]);
  return written[0] as Document<UserBody>;
}

async function removeUser(deps: ScimDeps, caller: ScimCaller, before: Document<UserBody>): Promise<void> {
  await refuseLastOwner(deps, before);
  const updatedAt = deps.now();
  const commit = committer(deps, caller, 'delete', {
    id: before.id,
    name: before.body.email,
    before: auditedUser(deps, before),
  });
  const wanted = [keysOf(before.id), placesOf(before.id), sessionsOf(before.id)];
  const groups = await leavingGroups(deps, before);
  const written = await commit([
    ...(await archiveFound({ ...deps, scope: scopeOf(caller), updatedAt, commit }, wanted)),
    archiveOperation(users, before.id, { version: before.version, updatedAt }),
    ...groups,
  ]);
  for (const document of written.slice(written.length - groups.length))
    deps.scimGroups.replica.apply(document as never);
}

/** Writes operations of one change, with its audit entry. */
function committer(
  { systemChanges }: ScimDeps,
  caller: ScimCaller,
  verb: 'update' | 'delete',
  target: AuditTarget,
) {
  return (operations: readonly WriteOperation[]) =>
    systemChanges.commit({ verb, resource: 'user', by: caller.by }, scopeOf(caller), operations, target);
}

function scopeOf({ organisationId }: ScimCaller): TenantScope {
  return { organisationId, workspaceId: undefined };
}

function sessionsOf(userId: string): Wanted {
  return { collection: sessions, filter: [{ field: 'userId', op: 'eq', value: userId }] };
}

/** @throws ScimError uniqueness for a name or an address that another user has */
async function refuseTaken(
  { documents }: ScimDeps,
  { organisationId }: ScimCaller,
  { scim, email }: UserBody,
  id: string | undefined,
): Promise<void> {
  const scope = { organisationId, workspaceId: undefined };
  const key = scim?.userNameKey ?? email;
  const conditions = [
    { field: 'userNameKey', op: 'eq', value: key },
    { field: 'email', op: 'in', value: [email, key] },
  ] as const;
  for (const condition of conditions) {
    const { documents: found } = await documents.page(scope, users, { filter: [condition], pageSize: 3 });
    // An address that another user's name repeats is that user's.
    const other = found.find(
      (user) => user.id !== id && (user.body.email === email || nameOf(user.body) === key),
    );
    if (other !== undefined)
      throw new ScimError(409, `userName or email address is taken by the user ${other.id}`, 'uniqueness');
  }
}

function nameOf({ scim, email }: UserBody): string {
  return scim?.userNameKey ?? email;
}

/** @throws ScimError 403 */
async function refuseLastOwner({ documents }: ScimDeps, user: Document<UserBody>): Promise<void> {
  if (user.body.role !== 'owner' || user.body.inactive) return;
  const scope = { organisationId: user.organisationId, workspaceId: undefined };
  const owners = await documents.page(scope, users, {
    filter: [{ field: 'role', op: 'eq', value: 'owner' }],
    pageSize: 100,
  });
  if (owners.documents.filter(({ body }) => !body.inactive).length < 2)
    throw new ScimError(403, 'the last owner of the organisation stays its owner', 'mutability');
}

/** Places repeat the address of their user. */
async function renamedPlaces(
  { documents, now }: ScimDeps,
  { organisationId, id }: Document<UserBody>,
  email: string,
): Promise<WriteOperation[]> {
  const scope = { organisationId, workspaceId: undefined };
  const { documents: found } = await documents.page(scope, members, {
    filter: [{ field: 'userId', op: 'eq', value: id }],
    pageSize: 1000,
  });
  return found.map(({ id, version, workspaceId, body }) => {
    const renamed: MemberBody = { ...body, email };
    return updateOperation(members, id, version, { body: renamed, updatedAt: now() }, workspaceId);
  });
}

async function leavingGroups(
  { documents, scimGroups: groups, now }: ScimDeps,
  { organisationId, id }: Document<UserBody>,
): Promise<WriteOperation[]> {
  const scope = { organisationId, workspaceId: undefined };
  const operations: WriteOperation[] = [];
  for (const group of groups.of(organisationId, id)) {
    const found = await documents.get(scope, scimGroups, group.id);
    if (found === undefined) continue;
    const body = { ...found.body, members: found.body.members.filter((member) => member !== id) };
    operations.push(updateOperation(scimGroups, found.id, found.version, { body, updatedAt: now() }));
  }
  return operations;
}
