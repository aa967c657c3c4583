// Roles that groups give: places in workspaces, and the role of an admin. What was given by hand stays, and is the least
// that a user has; what groups gave goes when the groups do.
import { randomUUID } from 'node:crypto';
import type { SystemAction, SystemChanges } from '../../access/audit/system-changes.ts';
import type { Directory } from '../../access/directory.ts';
import {
  apiKeys,
  type GroupSource,
  type MemberBody,
  members,
  type UserBody,
  users,
  type WorkspaceRole,
} from '../../access/identity-collections.ts';
import { outranks } from '../../access/roles.ts';
import type { Collection, JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  type DocumentStore,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { allDocuments } from '../../store/every-document.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

/** What a user's groups give. */
export interface Grants {
  /** Role by workspace id. */
  readonly places: ReadonlyMap<string, WorkspaceRole>;
  /** Whether the user is an admin of the organisation. */
  readonly admin: boolean;
}

export interface GrantDeps {
  readonly documents: DocumentStore;
  readonly systemChanges: SystemChanges;
  readonly directory: Directory;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Whose groups changed. */
export interface GrantOrder {
  readonly organisationId: string;
  readonly source: GroupSource;
  readonly userIds: readonly string[];
  readonly grantsOf: (userIds: readonly string[]) => Promise<(userId: string) => Grants>;
  /** What groups gave and give no more stays as if it was given by hand. */
  readonly keep?: boolean;
  /** The audit entry's. */
  readonly by?: SystemAction['by'];
}

/** Users of one commit. */
const BATCH = 100;
const LOST = new Set(['version_conflict', 'not_found', 'conflict'] as const);

/** Gives and takes what the groups of the users say. Deactivated users keep what they have. */
export async function syncGrants(deps: GrantDeps, order: GrantOrder): Promise<void> {
  for (let at = 0; at < order.userIds.length; at += BATCH) {
    const batch = order.userIds.slice(at, at + BATCH);
    await retryOnConflict(() => syncBatch(deps, order, batch), LOST);
  }
}

async function syncBatch(deps: GrantDeps, order: GrantOrder, userIds: readonly string[]): Promise<void> {
  const { organisationId, source, keep = false, by } = order;
  const scope = { organisationId, workspaceId: undefined };
  const found = await everyOne(deps, organisationId, users, { field: 'id', op: 'in', value: userIds });
  const places = await everyOne(deps, organisationId, members, { field: 'userId', op: 'in', value: userIds });
  const grantsOf = await order.grantsOf(userIds);
  const updatedAt = deps.now();
  const operations: WriteOperation[] = [];
  const told: JsonObject[] = [];
  const left = new Set<string>();
  for (const user of found) {
    if (user.body.inactive) continue;
    const grants = grantsOf(user.id);
    const own = places.filter(({ body }) => body.userId === user.id);
    for (const { place, role, operation } of placeChanges(deps, user, own, grants, {
      source,
      keep,
      updatedAt,
    })) {
      operations.push(operation);
      told.push({ user_id: user.id, workspace_id: place, role: role ?? null });
      if (role === undefined) left.add(`${user.id} ${place}`);
    }
    const body = roleChange(user.body, grants, { source, keep });
    if (body === undefined) continue;
    operations.push(updateOperation(users, user.id, user.version, { body, updatedAt }));
    told.push({ user_id: user.id, role: body.role });
  }
  if (operations.length === 0) return;
  if (left.size > 0) operations.push(...(await keysOfLeavers(deps, organisationId, userIds, left)));
  const action = { verb: 'update', resource: 'workspace-member', ...(by === undefined ? {} : { by }) };
  const [first] = found;
  const name = found.length === 1 && first !== undefined ? first.body.email : `${found.length} users`;
  const target = { id: first?.id ?? '', name, after: { roles: told } };
  await deps.systemChanges.commit(action, scope, operations, target);
}

interface Terms {
  readonly source: GroupSource;
  readonly keep: boolean;
  readonly updatedAt: number;
}

/** @returns by workspace; without a role the user leaves it */
function* placeChanges(
  { directory }: GrantDeps,
  user: Document<UserBody>,
  own: readonly Document<MemberBody>[],
  { places }: Grants,
  { source, keep, updatedAt }: Terms,
): Generator<{ place: string; role: WorkspaceRole | undefined; operation: WriteOperation }> {
  for (const member of own) {
    const place = member.workspaceId ?? '';
    const after = placeAfter(member.body, places.get(place), source, keep);
    if (after === member.body) continue;
    const operation =
      after === undefined
        ? archiveOperation(members, member.id, { version: member.version, updatedAt }, place)
        : updateOperation(members, member.id, member.version, { body: after, updatedAt }, place);
    yield { place, role: after?.role, operation };
  }
  for (const [place, role] of places) {
    const isThere = own.some(({ workspaceId }) => workspaceId === place);
    if (isThere || directory.workspace(user.organisationId, place) === undefined) continue;
    const body: MemberBody = { userId: user.id, role, email: user.body.email, fromGroups: { source } };
    const document = { id: randomUUID(), workspaceId: place, createdAt: updatedAt, body };
    yield { place, role, operation: insertOperation(members, document) };
  }
}

/** The same body: nothing changes; undefined: the place goes. */
function placeAfter(
  body: MemberBody,
  given: WorkspaceRole | undefined,
  source: GroupSource,
  keep: boolean,
): MemberBody | undefined {
  const { fromGroups, ...plain } = body;
  if (fromGroups === undefined)
    return given !== undefined && outranks(given, body.role)
      ? { ...plain, role: given, fromGroups: { source, own: body.role } }
      : body;
  if (fromGroups.source !== source) return body;
  const { own } = fromGroups;
  if (given === undefined) {
    if (keep) return plain;
    return own === undefined ? undefined : { ...plain, role: own };
  }
  const role = own !== undefined && outranks(own, given) ? own : given;
  return role === body.role ? body : { ...body, role };
}

function roleChange(body: UserBody, { admin }: Grants, { source, keep }: Omit<Terms, 'updatedAt'>) {
  const { roleFrom, ...plain } = body;
  if (admin)
    return body.role === 'member' ? { ...body, role: 'admin' as const, roleFrom: source } : undefined;
  if (roleFrom !== source) return undefined;
  return keep || body.role !== 'admin' ? plain : { ...plain, role: 'member' as const };
}

/** A user's keys in a workspace go with the place there. */
async function keysOfLeavers(
  deps: GrantDeps,
  organisationId: string,
  userIds: readonly string[],
  left: ReadonlySet<string>,
): Promise<WriteOperation[]> {
  const keys = await everyOne(deps, organisationId, apiKeys, { field: 'userId', op: 'in', value: userIds });
  const updatedAt = deps.now();
  return keys
    .filter(({ workspaceId, body }) => left.has(`${body.userId} ${workspaceId}`))
    .map(({ id, workspaceId }) => archiveOperation(apiKeys, id, { updatedAt }, workspaceId));
}

function everyOne<B extends object>(
  { documents }: GrantDeps,
  organisationId: string,
  collection: Collection<B>,
  condition: Condition,
): Promise<Document<B>[]> {
  const scope = { organisationId, workspaceId: undefined };
  return allDocuments(documents, scope, collection, { filter: [condition] });
}
