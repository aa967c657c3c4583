// Sessions of the console: made from a key, shown, ended.
import { create } from '@bufbuild/protobuf';
import {
  type CallerSession,
  CallerSessionSchema,
  type DeleteSessionRequest,
  DeleteSessionResponseSchema,
  type DeleteUserSessionsRequest,
  DeleteUserSessionsResponseSchema,
  type ListSessionsRequest,
  type Session,
  SessionListSchema,
  SessionSchema,
  SessionWorkspaceSchema,
} from '../../../gen/gateway/admin/v2/sessions_pb.ts';
import type { KeyRing } from '../../access/key-ring.ts';
import { governs } from '../../access/roles.ts';
import { idTokenOf, type SessionBody, sessions } from '../../access/sessions/session-collection.ts';
import { sessionCookie, setCookie } from '../../access/sessions/session-cookie.ts';
import { LONGEST_MS, type SessionRing } from '../../access/sessions/session-ring.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import { archiveOperation, type Document } from '../../store/documents.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { defined } from '../kit/patch.ts';
import { resource, shownAs } from '../kit/resource.ts';
import { timeText } from '../kit/time.ts';
import { type SignInMethodsDeps, signInMethods } from '../sign-in/methods.ts';

export interface SessionsDeps extends IdentityDeps, SignInMethodsDeps {
  readonly sessions: SessionRing;
  readonly keys: KeyRing;
  /** Where the browser ends the session of the identity provider; undefined: nowhere. It does not reject. */
  readonly signOutUrl: (
    organisationId: string,
    providerId: string,
    idToken: string | undefined,
  ) => Promise<string | undefined>;
}

/** Of one key or user: the oldest ends when there are more. */
const MOST = 100;
const MOST_AGENT_CHARS = 200;
const DEFAULT_PAGE_SIZE = 100;

/** The methods of SessionsService. */
export function sessionsService(deps: SessionsDeps) {
  const { sessions: ring, now } = deps;
  const stored = resource(deps, {
    collection: sessions,
    noun: 'session',
    shown: shownAs(SessionSchema, (session: Document<SessionBody>) =>
      sessionRecord(deps, session, undefined),
    ),
    targetOf: (session) => ({ id: session.id, name: nameOf(deps, session) }),
  });
  const seenBy = (principal: Principal, all: boolean): Document<SessionBody>[] =>
    [...ring.of(principal.organisationId)].filter((session) => all || isOwn(principal, session));
  const end = (call: Call, ended: readonly Document<SessionBody>[], target: { id: string; name: string }) =>
    stored.archiveAll(call, organisationOf(callerOf(call)), ended, target);

  return keptNowhere({
    ...signInMethods(deps),

    async createSession(_: object, call: Call): Promise<CallerSession> {
      const caller = callerOf(call);
      const session = newSession(deps, call, caller);
      const document = stored.draft(organisationOf(caller), session.body);
      const ended = [...replaced(deps, call, caller), ...beyondMost(seenBy(caller, false), caller)];
      const also = ended.map(({ id }) => archiveOperation(sessions, id, { updatedAt: now() }));
      await stored.create(call, document, { also });
      call.answerHeaders.set('set-cookie', setCookie(session.secret, isSecure(deps, call), LONGEST_MS));
      const principal = ring.principalOf(document);
      if (principal === undefined) throw fail('unauthenticated', 'the API key is not known');
      return callerSession(deps, principal, document);
    },

    async getSession(_: object, call: Call): Promise<CallerSession> {
      const caller = call.principal ?? callerOf(call);
      const session =
        caller.sessionId === undefined
          ? undefined
          : ring.replica.get(caller.organisationId, caller.sessionId);
      return callerSession(deps, caller, session);
    },

    async listSessions(
      { currentPage = 0, pageSize = DEFAULT_PAGE_SIZE, userId }: ListSessionsRequest,
      call: Call,
    ) {
      const caller = callerOf(call);
      const all = governs(deps.directory, caller) && caller.scopes.has('organisation_users.list');
      const found = seenBy(caller, all).filter(({ body }) => userId === undefined || body.userId === userId);
      const page = found.slice(currentPage * pageSize, (currentPage + 1) * pageSize);
      return create(SessionListSchema, {
        object: 'list',
        total: BigInt(found.length),
        totalCapped: false,
        data: page.map((session) => sessionRecord(deps, session, caller.sessionId)),
      });
    },

    async deleteSession({ sessionId }: DeleteSessionRequest, call: Call) {
      const caller = callerOf(call);
      const id = sessionId === 'current' ? caller.sessionId : sessionId;
      const session = seenBy(caller, mayEndAll(deps, caller)).find((one) => one.id === id);
      if (session === undefined) throw fail('not_found', `there is no session ${sessionId}`);
      const isOwn = session.id === caller.sessionId;
      const signOutUrl = isOwn ? await providerSignOut(deps, session) : undefined;
      await end(call, [session], { id: session.id, name: nameOf(deps, session) });
      if (isOwn) call.answerHeaders.set('set-cookie', setCookie('', isSecure(deps, call), 0));
      return create(DeleteSessionResponseSchema, defined({ signOutUrl: await signOutUrl?.() }));
    },

    async deleteUserSessions({ userId }: DeleteUserSessionsRequest, call: Call) {
      const caller = callerOf(call);
      const user = deps.directory.user(caller.organisationId, userId);
      if (user === undefined || !(caller.userId === userId || mayEndAll(deps, caller)))
        throw fail('not_found', `there is no user ${userId}`);
      const found = [...ring.of(caller.organisationId)].filter(({ body }) => body.userId === userId);
      await end(call, found, { id: userId, name: user.body.email });
      return create(DeleteUserSessionsResponseSchema, { ended: found.length });
    },
  });
}

/** Neither browsers nor proxies keep who was signed in, or a cookie. */
function keptNowhere<M extends Parameters<typeof withConflictRetries>[0]>(methods: M): M {
  const retried = Object.entries(withConflictRetries(methods));
  return Object.fromEntries(
    retried.map(([name, method]) => [
      name,
      (request: never, call: Call) => {
        call.answerHeaders.set('cache-control', 'no-store');
        return method(request, call);
      },
    ]),
  ) as M;
}

/** Reads what is stored of the session before it ends. @returns asks where the browser ends that of the identity provider */
async function providerSignOut(
  { documents, signOutUrl }: SessionsDeps,
  { id, organisationId, body }: Document<SessionBody>,
): Promise<(() => Promise<string | undefined>) | undefined> {
  const { providerId } = body.by ?? {};
  if (providerId === undefined) return undefined;
  const scope = { organisationId, workspaceId: undefined };
  const whole = await documents.get(scope, sessions, id);
  return () => signOutUrl(organisationId, providerId, whole && idTokenOf(whole.body));
}

function mayEndAll({ directory }: SessionsDeps, principal: Principal): boolean {
  return governs(directory, principal) && principal.scopes.has('organisation_users.delete');
}

/** @throws GatewayError forbidden for callers without an API key of their own */
function newSession(
  { sessions: ring, keys, hasher, now, directory, addressOf }: SessionsDeps,
  call: Call,
  caller: Principal,
) {
  const { organisationId, keyId, userId, sessionId } = caller;
  const key = sessionId === undefined ? keys.replica.get(organisationId, keyId) : undefined;
  if (key === undefined || call.presentedKey === undefined)
    throw fail('forbidden', 'a session is made from an API key: send one in x-gateway-api-key');
  const { secret, hash } = ring.newSecret();
  const role = userId === undefined ? undefined : directory.user(organisationId, userId)?.body.role;
  const seenAt = now();
  const body: SessionBody = {
    hash,
    keyId,
    keyHash: hasher.hash(call.presentedKey),
    ...(userId === undefined ? {} : { userId }),
    ...(role === undefined ? {} : { role }),
    seenAt,
    expiresAt: Math.min(seenAt + LONGEST_MS, key.expiresAt ?? Number.POSITIVE_INFINITY),
    address: addressOf(call),
    userAgent: (call.headers.plain('user-agent') ?? '').slice(0, MOST_AGENT_CHARS),
  };
  return { secret, body };
}

/** The session that the browser has already. */
function replaced({ sessions: ring }: SessionsDeps, call: Call, { organisationId }: Principal) {
  const earlier = sessionCookie(call.headers, ring.site) && ring.callerOf(call.headers)?.principal;
  if (!earlier || earlier.organisationId !== organisationId) return [];
  const session = ring.replica.get(organisationId, earlier.sessionId ?? '');
  return session === undefined ? [] : [session];
}

function beyondMost(newest: readonly Document<SessionBody>[], caller: Principal) {
  return newest.filter((session) => isOwn(caller, session)).slice(MOST - 1);
}

function isOwn({ userId, keyId, sessionId }: Principal, { id, body }: Document<SessionBody>): boolean {
  return id === sessionId || (userId === undefined ? body.keyId === keyId : body.userId === userId);
}

/** Whether the browser reaches the gateway over TLS, as far as is known: a proxy in front tells. */
function isSecure({ sessions: { site } }: SessionsDeps, { headers }: Call): boolean {
  return site.secure || headers.plain('x-forwarded-proto') === 'https';
}

function nameOf({ directory, keys }: SessionsDeps, { organisationId, body }: Document<SessionBody>): string {
  const user = body.userId === undefined ? undefined : directory.user(organisationId, body.userId);
  return user?.body.email ?? keys.replica.get(organisationId, body.keyId ?? '')?.principal.keyName ?? '';
}

/** What callers are shown of a session. @param current the id of the call's own */
function sessionRecord(
  deps: SessionsDeps,
  session: Document<SessionBody>,
  current: string | undefined,
): Session {
  const { id, createdAt, body } = session;
  return create(SessionSchema, {
    object: 'session',
    id,
    userId: body.userId ?? '',
    keyId: body.keyId ?? '',
    name: nameOf(deps, session),
    isCurrent: id === current,
    address: body.address,
    userAgent: body.userAgent,
    createdAt: timeText(createdAt),
    lastUsedAt: timeText(body.seenAt),
    expiresAt: timeText(body.expiresAt),
  });
}

function callerSession(
  { directory }: SessionsDeps,
  principal: Principal,
  session: Document<SessionBody> | undefined,
): CallerSession {
  const { organisationId, userId, keyName, kind, scopes, workspaceId, sessionId } = principal;
  const user = userId === undefined ? undefined : directory.user(organisationId, userId);
  const ids = workspaceId === undefined ? directory.workspaceIds(organisationId) : [workspaceId];
  const reach =
    user?.body.role === 'member' ? directory.placesOf(user.id).map((place) => place.workspaceId) : ids;
  // A key of a workspace stays in it, whatever its user may reach elsewhere.
  const named = principal.keyId === sessionId ? reach : ids;
  return create(CallerSessionSchema, {
    object: 'session',
    id: sessionId ?? '',
    organisationId,
    organisationName: directory.organisation(organisationId)?.body.name ?? '',
    userId: userId ?? '',
    name: user?.body.email ?? keyName,
    role: user?.body.role ?? kind,
    scopes: [...scopes].sort(),
    workspaces: named.flatMap((id) => {
      const workspace = directory.workspace(organisationId, id);
      if (workspace === undefined) return [];
      const role = userId === undefined ? '' : (directory.roleIn(organisationId, id, userId) ?? '');
      const { slug = '', body } = workspace;
      return [
        create(SessionWorkspaceSchema, {
          id,
          slug,
          name: body.name,
          role,
          isDefault: body.isDefault === true,
        }),
      ];
    }),
    workspaceId: workspaceId ?? '',
    ...(session === undefined
      ? {}
      : { createdAt: timeText(session.createdAt), expiresAt: timeText(session.body.expiresAt) }),
  });
}
