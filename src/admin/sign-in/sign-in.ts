// A person whom an identity provider names: their account, the roles of their groups, and a new session.
import { randomUUID } from 'node:crypto';
import type { SystemAction, SystemChanges } from '../../access/audit/system-changes.ts';
import type { Directory } from '../../access/directory.ts';
import {
  type InviteBody,
  invites,
  type MemberBody,
  members,
  type UserBody,
  users,
  type WorkspaceRole,
} from '../../access/identity-collections.ts';
import { outranks } from '../../access/roles.ts';
import { scimGroups } from '../../access/scim/scim-collections.ts';
import { type SessionBody, sessions } from '../../access/sessions/session-collection.ts';
import { LONGEST_MS, type SessionRing } from '../../access/sessions/session-ring.ts';
import type { SignedIn } from '../../access/sign-in/oidc-client.ts';
import { fail } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import {
  archiveOperation,
  type Document,
  type DocumentStore,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { type Grants, syncGrants } from '../kit/group-grants.ts';
import { mappingsOf } from '../scim/grants.ts';

export interface SignInDeps {
  readonly documents: DocumentStore;
  readonly systemChanges: SystemChanges;
  readonly directory: Directory;
  readonly sessions: SessionRing;
  readonly organisationId: string;
  /** Who has neither an account nor an invitation gets an account. */
  readonly onFirstSight: boolean;
  /** How the person came; the audit log names it. */
  readonly protocol: 'oidc' | 'mail';
  /** Whose groups give roles; undefined: groups have no part in it. */
  readonly groupSource: string | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The browser that signs in. */
export interface Browser {
  readonly headers: GatewayHeaders;
  readonly address: string;
}

/** @returns the secret of the new session, for the cookie. @throws GatewayError forbidden */
export async function signIn(deps: SignInDeps, person: SignedIn, browser: Browser): Promise<string> {
  const { documents, organisationId } = deps;
  const scope = { organisationId, workspaceId: undefined };
  const find = async (): Promise<Document<UserBody> | undefined> => {
    const page = await documents.page(scope, users, {
      filter: [{ field: 'email', op: 'eq', value: person.email }],
      pageSize: 1,
    });
    return page.documents[0];
  };
  const by: SystemAction['by'] = {
    actor: { type: 'user', id: '', name: person.email, keyId: '', role: '' },
    protocol: deps.protocol,
    clientIp: browser.address,
  };
  let user = await find();
  if (user === undefined) {
    await join(deps, person, by);
    user = await find();
  }
  if (user === undefined || user.body.inactive)
    throw fail('forbidden', 'there is no account for this address: ask an admin of the organisation');
  if (deps.groupSource !== undefined)
    await syncGrants(deps, {
      organisationId,
      source: deps.groupSource,
      userIds: [user.id],
      grantsOf: async () => {
        const grants = await grantsOf(deps, person.groups);
        return () => grants;
      },
      by,
    });
  return startSession(deps, (await find()) ?? user, { ...browser, ...person }, by);
}

/** Makes an account: by the invitation of the address, or on first sight. @throws GatewayError forbidden */
async function join(deps: SignInDeps, person: SignedIn, by: SystemAction['by']): Promise<void> {
  const { documents, systemChanges, directory, organisationId, now } = deps;
  const scope = { organisationId, workspaceId: undefined };
  const { documents: found } = await documents.page(scope, invites, {
    filter: [{ field: 'pendingEmail', op: 'eq', value: person.email }],
    pageSize: 1,
  });
  const pending = found.find(({ body }) => body.expiresAt > now());
  if (pending === undefined && !deps.onFirstSight)
    throw fail('forbidden', 'there is no invitation for this address: ask an admin of the organisation');
  const id = randomUUID();
  const createdAt = now();
  const { email, firstName, lastName } = person;
  const body: UserBody = { email, firstName, lastName, role: pending?.body.role ?? 'member' };
  const operations: WriteOperation[] = [insertOperation(users, { id, createdAt, body })];
  if (pending !== undefined) {
    const { pendingEmail: _free, ...rest } = pending.body;
    const accepted: InviteBody = { ...rest, state: 'accepted', acceptedAt: createdAt };
    operations.push(
      updateOperation(invites, pending.id, pending.version, { body: accepted, updatedAt: createdAt }),
    );
    for (const { id: workspaceId, role } of pending.body.workspaces) {
      if (directory.workspace(organisationId, workspaceId) === undefined) continue;
      const member: MemberBody = { userId: id, role, email };
      operations.push(insertOperation(members, { id: randomUUID(), workspaceId, createdAt, body: member }));
    }
  }
  const action = { verb: 'create', resource: 'user', detail: 'sign-in', ...(by ? { by } : {}) };
  await systemChanges.commit(action, scope, operations, {
    id,
    name: email,
    after: { email, role: body.role },
  });
}

/** What the groups of the identity provider give, by the mappings of groups of the same names. */
async function grantsOf(deps: SignInDeps, groups: readonly string[]): Promise<Grants> {
  const { documents, organisationId } = deps;
  const places = new Map<string, WorkspaceRole>();
  let admin = false;
  const keys = [...new Set(groups.map((name) => name.toLowerCase().slice(0, 255)))];
  if (keys.length === 0) return { places, admin };
  const page = await documents.page({ organisationId, workspaceId: undefined }, scimGroups, {
    filter: [{ field: 'nameKey', op: 'in', value: keys }],
    pageSize: 1000,
  });
  const ids = new Set(page.documents.map(({ id }) => id));
  for (const { body } of await mappingsOf(deps, organisationId)) {
    if (!ids.has(body.groupId)) continue;
    if (body.place === undefined) admin ||= body.role === 'admin';
    else {
      const held = places.get(body.place);
      if (held === undefined || outranks(body.role, held)) places.set(body.place, body.role);
    }
  }
  return { places, admin };
}

/** Always a new secret: one that the browser had before ends. */
async function startSession(
  { sessions: ring, systemChanges, organisationId, now }: SignInDeps,
  user: Document<UserBody>,
  { headers, address, by: signedInBy, idToken }: Browser & Pick<SignedIn, 'by' | 'idToken'>,
  by: SystemAction['by'],
): Promise<string> {
  const { secret, hash } = ring.newSecret();
  const seenAt = now();
  const body: SessionBody = {
    hash,
    userId: user.id,
    role: user.body.role,
    by: signedInBy,
    ...(idToken === undefined ? {} : { idToken }),
    seenAt,
    expiresAt: seenAt + LONGEST_MS,
    address,
    userAgent: (headers.plain('user-agent') ?? '').slice(0, 200),
  };
  const id = randomUUID();
  const earlier = ring.callerOf(headers)?.principal;
  const replaced = earlier?.organisationId === organisationId ? earlier.sessionId : undefined;
  const operations: WriteOperation[] = [insertOperation(sessions, { id, createdAt: seenAt, body })];
  if (replaced !== undefined) operations.push(archiveOperation(sessions, replaced, { updatedAt: seenAt }));
  const [written] = await systemChanges.commit(
    { verb: 'create', resource: 'session', ...(by ? { by } : {}) },
    { organisationId, workspaceId: undefined },
    operations,
    { id, name: user.body.email, after: { user_id: user.id } },
  );
  ring.replica.apply(written as Document<SessionBody>);
  return secret;
}
