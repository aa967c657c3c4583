// Invitations: made, sent, listed, cancelled, accepted.
import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type AcceptUserInviteRequest,
  type AcceptUserInviteResponse,
  AcceptUserInviteResponseSchema,
  type CancelUserInviteRequest,
  type CancelUserInviteResponse,
  CancelUserInviteResponseSchema,
  type CreateUserInviteRequest,
  type CreateUserInviteResponse,
  CreateUserInviteResponseSchema,
  type GetUserInviteRequest,
  type ListUserInvitesRequest,
  type ResendUserInviteRequest,
  type ResendUserInviteResponse,
  ResendUserInviteResponseSchema,
  type UserInvite,
  type UserInviteList,
  UserInviteListSchema,
  UserInviteSchema,
} from '../../../gen/gateway/admin/v2/user_invites_pb.ts';
import type { Directory } from '../../access/directory.ts';
import {
  apiKeys,
  type InviteBody,
  invites,
  type MemberBody,
  members,
  type UserBody,
  users,
  type WorkspaceRole,
} from '../../access/identity-collections.ts';
import type { MadeKey, NewKey } from '../../access/keys.ts';
import { scopesOf } from '../../access/scopes.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { Mail } from '../../lib/mailer.ts';
import {
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { checkMaker, requireVerb } from '../api-keys/access.ts';
import { keyTerms, newExpiry } from '../api-keys/expiry.ts';
import { authorOf, callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { defined } from '../kit/patch.ts';
import { type Resource, resource, shownAs } from '../kit/resource.ts';
import { tellingTaken } from '../kit/taken.ts';
import { optionalTimeText, timeText } from '../kit/time.ts';
import { inviteFilter } from './filter.ts';

/** What the service needs in addition to what identity shares. */
export interface InvitesDeps extends IdentityDeps {
  /** Makes a key to be. */
  readonly makeKey: (key: NewKey) => MadeKey;
  /** Where people reach the gateway, e.g. `https://gateway.example.com`. */
  readonly publicUrl: () => string;
  /** Sends in the background; undefined: there is no mail server. */
  readonly mail: ((mail: Mail) => void) | undefined;
}

const DAY_MS = 86_400_000;
const DEFAULT_TTL_DAYS = 7;

/** The service's own parts. */
interface InvitesRoom extends InvitesDeps {
  readonly stored: Resource<InviteBody>;
  readonly find: (call: Call, request: { readonly inviteId: string }) => Promise<Document<InviteBody>>;
}

/** The methods of UserInvitesService. */
export function userInvitesService(deps: InvitesDeps) {
  const stored = resource(deps, {
    collection: invites,
    noun: 'invitation',
    shown: shownAs(UserInviteSchema, (document) => inviteRecord(document, deps.now())),
    targetOf: ({ id, body }) => ({ id, name: body.email }),
  });
  const room: InvitesRoom = {
    ...deps,
    stored,
    find: (call, { inviteId }) => stored.find(organisationOf(callerOf(call)), inviteId),
  };
  return withConflictRetries({
    createUserInvite: (request: CreateUserInviteRequest, call: Call) => newInvite(room, request, call),
    acceptUserInvite: (request: AcceptUserInviteRequest, call: Call) => accepted(room, request, call),
    ...inviteMethods(room),
  });
}

async function newInvite(
  room: InvitesRoom,
  request: CreateUserInviteRequest,
  call: Call,
): Promise<CreateUserInviteResponse> {
  const { directory, stored, publicUrl } = room;
  const caller = callerOf(call);
  const { organisationId } = caller;
  const email = request.email.toLowerCase();
  if (directory.userByEmail(organisationId, email))
    throw fail('conflict', `${email} is a user of the organisation already`, { param: 'email' });
  const token = newToken();
  const body = defined<InviteBody>({
    email,
    role: request.role as 'admin' | 'member',
    state: 'pending',
    pendingEmail: email,
    expiresAt: expiryOf(room, organisationId),
    acceptedAt: undefined,
    tokenHash: hashOf(token),
    invitedBy: authorOf(caller),
    workspaces: placesOf(room, organisationId, request),
    keyScopes: keyScopesOf(directory, caller, request),
  });
  const first = await takenOver(room, organisationId, email);
  const made = stored.draft(organisationOf(caller), body);
  await tellingTaken(
    () => stored.create(call, made, { first }),
    (at) => (at < first.length ? undefined : { field: 'email', message: `${email} is invited already` }),
  );
  const inviteLink = linkOf(publicUrl(), made.id, token);
  send(room, made, inviteLink);
  return create(CreateUserInviteResponseSchema, { id: made.id, inviteLink });
}

function inviteMethods(room: InvitesRoom) {
  const { stored, find, now, publicUrl } = room;
  return {
    async listUserInvites(request: ListUserInvitesRequest, call: Call): Promise<UserInviteList> {
      const filter = inviteFilter(request, now());
      const page = await stored.page(organisationOf(callerOf(call)), request, { filter });
      const data = page.documents.map((document) => inviteRecord(document, now()));
      return create(UserInviteListSchema, { ...listHead(page), data });
    },

    async getUserInvite(request: GetUserInviteRequest, call: Call): Promise<UserInvite> {
      return inviteRecord(await find(call, request), now());
    },

    async cancelUserInvite(request: CancelUserInviteRequest, call: Call): Promise<CancelUserInviteResponse> {
      const before = await find(call, request);
      if (before.body.state !== 'pending') throw notPending(before.body.state);
      const { pendingEmail: _free, ...rest } = before.body;
      await stored.update(call, before, stored.changed(before, { ...rest, state: 'cancelled' }));
      return create(CancelUserInviteResponseSchema);
    },

    async resendUserInvite(request: ResendUserInviteRequest, call: Call): Promise<ResendUserInviteResponse> {
      const before = await find(call, request);
      if (before.body.state !== 'pending') throw notPending(before.body.state);
      const token = newToken();
      const expiresAt = expiryOf(room, before.organisationId);
      const body = { ...before.body, tokenHash: hashOf(token), expiresAt };
      await stored.update(call, before, stored.changed(before, body));
      const link = linkOf(publicUrl(), before.id, token);
      send(room, before, link);
      return create(ResendUserInviteResponseSchema, { link });
    },
  };
}

async function accepted(
  room: InvitesRoom,
  request: AcceptUserInviteRequest,
  call: Call,
): Promise<AcceptUserInviteResponse> {
  const { documents, changes, stored, now } = room;
  const found = await documents.findByUnique(invites, 'tokenHash', hashOf(request.token));
  if (found?.id !== request.inviteId || !sameToken(found.body.tokenHash, request.token))
    throw fail('not_found', 'there is no such invitation, or its token is another');
  if (found.body.state !== 'pending') throw notPending(found.body.state);
  if (found.body.expiresAt <= now()) throw fail('conflict', 'the invitation has expired');
  const { userId, operations, invite, keys } = acceptance(room, found, request);
  const { id, organisationId, body } = found;
  await changes.commit(call, { organisationId, workspaceId: undefined }, operations, {
    id,
    name: body.email,
    before: stored.shown(found),
    after: {
      ...stored.shown({ ...found, body: invite }),
      user_id: userId,
      api_key_ids: keys.map(({ key }) => key.document.id),
    },
  });
  return create(AcceptUserInviteResponseSchema, {
    userId,
    organisationId,
    apiKeys: keys.map(({ workspaceId, key }) => ({ id: key.document.id, workspaceId, key: key.secret })),
  });
}

/** When an invitation of now expires, in Unix milliseconds. */
function expiryOf({ directory, now }: InvitesDeps, organisationId: string): number {
  const days = directory.organisation(organisationId)?.body.settings?.invite_ttl;
  return now() + (typeof days === 'number' ? days : DEFAULT_TTL_DAYS) * DAY_MS;
}

function send(
  { directory, mail }: InvitesDeps,
  { organisationId, body }: Document<InviteBody>,
  link: string,
): void {
  const name = directory.organisation(organisationId)?.body.name ?? '';
  mail?.({
    to: body.email,
    subject: `Invitation to ${name.replaceAll(/[\r\n]+/g, ' ')}`,
    text: `You are invited to ${name}.\n\nTo accept, open this link:\n${link}\n\nIt works once.\n`,
  });
}

/** What callers are shown of an invitation. */
export function inviteRecord({ id, createdAt, body }: Document<InviteBody>, now: number): UserInvite {
  return create(UserInviteSchema, {
    object: 'invite',
    id,
    email: body.email,
    role: body.role,
    createdAt: timeText(createdAt),
    expiresAt: timeText(body.expiresAt),
    acceptedAt: optionalTimeText(body.acceptedAt),
    status: body.state === 'pending' && body.expiresAt <= now ? 'expired' : body.state,
    invitedBy: body.invitedBy,
    workspaces: body.workspaces.map(({ id: workspaceId, role }) => ({ workspaceId, role })),
  });
}

/** All writes of an acceptance. Workspaces that were archived meanwhile are left out. */
function acceptance(
  { directory, now, makeKey }: InvitesDeps,
  { id, organisationId, version, body }: Document<InviteBody>,
  request: AcceptUserInviteRequest,
) {
  const createdAt = now();
  const userId = randomUUID();
  const user: UserBody = {
    email: body.email,
    firstName: request.firstName ?? '',
    lastName: request.lastName ?? '',
    role: body.role,
  };
  const { pendingEmail: _free, ...rest } = body;
  const invite: InviteBody = { ...rest, state: 'accepted', acceptedAt: createdAt };
  const places = body.workspaces.filter((place) => directory.workspace(organisationId, place.id));
  const operations: WriteOperation[] = [
    updateOperation(invites, id, version, { body: invite, updatedAt: createdAt }),
    insertOperation(users, { id: userId, createdAt, body: user }),
  ];
  const keys: { readonly workspaceId: string; readonly key: MadeKey }[] = [];
  for (const { id: workspaceId, role } of places) {
    const member: MemberBody = { userId, role, email: body.email };
    operations.push(insertOperation(members, { id: randomUUID(), workspaceId, createdAt, body: member }));
    if (body.keyScopes === undefined) continue;
    const terms = keyTerms(directory, organisationId, workspaceId, 'workspace-user');
    const key = makeKey(
      defined<NewKey>({
        name: `Key of ${body.email}`.slice(0, 100),
        kind: 'workspace-user',
        organisationId,
        workspaceId,
        userId,
        scopes: body.keyScopes,
        ...newExpiry(terms, undefined, createdAt),
        setAbove: {},
      }),
    );
    keys.push({ workspaceId, key });
    // Its terms count from the moment of the acceptance.
    operations.push(insertOperation(apiKeys, { ...key.document, createdAt }));
  }
  return { userId, invite, operations, keys };
}

/** The invited places. @throws GatewayError validation_failed for workspaces that are not there, or named twice. */
function placesOf(
  { directory }: InvitesDeps,
  organisationId: string,
  request: CreateUserInviteRequest,
): InviteBody['workspaces'] {
  const seen = new Set<string>();
  return request.workspaces.map(({ id, role }, i) => {
    const workspace = directory.workspace(organisationId, id);
    if (workspace === undefined)
      throw invalidField(`workspaces[${i}].id`, 'is no workspace of the organisation');
    if (seen.has(workspace.id)) throw invalidField(`workspaces[${i}].id`, 'is named twice');
    seen.add(workspace.id);
    return { id: workspace.id, role: role as WorkspaceRole };
  });
}

/** @throws GatewayError validation_failed, forbidden: an invitation makes no key that its maker could not make. */
function keyScopesOf(
  directory: Directory,
  caller: Principal,
  { workspaceApiKeyDetails: details }: CreateUserInviteRequest,
) {
  if (details === undefined) return undefined;
  requireVerb(directory, caller, 'workspace-user', 'create');
  const allowed = new Set(scopesOf('workspace-user'));
  const foreign = details.scopes.findIndex((scope) => !allowed.has(scope));
  if (foreign !== -1)
    throw invalidField(
      `workspace_api_key_details.scopes[${foreign}]`,
      "is no scope that a user's key can hold",
    );
  checkMaker(directory, caller, details.scopes, 'workspace-user');
  return details.scopes;
}

/** An invitation of the same address that has expired makes room. */
async function takenOver(
  { documents, now }: InvitesDeps,
  organisationId: string,
  email: string,
): Promise<readonly WriteOperation[]> {
  const page = await documents.page({ organisationId, workspaceId: undefined }, invites, {
    filter: [{ field: 'pendingEmail', op: 'eq', value: email }],
    pageSize: 1,
  });
  const earlier = page.documents[0];
  if (earlier === undefined) return [];
  if (earlier.body.expiresAt > now())
    throw fail('conflict', `${email} is invited already`, { param: 'email' });
  const { pendingEmail: _free, ...rest } = earlier.body;
  return [
    updateOperation(invites, earlier.id, earlier.version, {
      body: { ...rest, state: 'cancelled' },
      updatedAt: now(),
    }),
  ];
}

function newToken(): string {
  return randomBytes(32).toString('base64url');
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function sameToken(hash: string, token: string): boolean {
  return timingSafeEqual(Buffer.from(hash, 'hex'), Buffer.from(hashOf(token), 'hex'));
}

/** The token is in the fragment, after `#`: opening the link sends it to no server's log. */
function linkOf(publicUrl: string, id: string, token: string): string {
  return `${publicUrl}/invite#id=${id}&token=${token}`;
}

function notPending(state: string) {
  return fail('conflict', `the invitation is ${state}`);
}
