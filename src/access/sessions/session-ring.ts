// Sessions in memory, following the change feed: one that was ended ends on every instance, as a revoked key does.
import { randomBytes } from 'node:crypto';
import type { Principal } from '../../call/principal.ts';
import type { TenantScope } from '../../call/scope.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { type Document, type DocumentStore, updateOperation } from '../../store/documents.ts';
import { Replica } from '../../store/replica.ts';
import type { Directory } from '../directory.ts';
import { type KeyHasher, sameHash } from '../key-hash.ts';
import type { KeyRing } from '../key-ring.ts';
import { idTokenOf, type SessionBody, sessions, withoutToken } from './session-collection.ts';
import { type CookieSite, sessionCookie, visitCookie } from './session-cookie.ts';
import { keyPrincipal, userPrincipal } from './session-principal.ts';

const HOUR_MS = 3_600_000;
export const IDLE_MS = 8 * HOUR_MS;
export const LONGEST_MS = 7 * 24 * HOUR_MS;
/** How often the last call is noted. */
const NOTED_MS = 5 * 60_000;
const PREFIX = 'sls_';
/** 256 bits in base64url. */
const FORM = /^sls_[\w-]{43}$/;

export interface SessionRingDeps {
  readonly hasher: KeyHasher;
  readonly keys: KeyRing;
  readonly directory: Directory;
  readonly documents: Pick<DocumentStore, 'commit' | 'get'>;
  readonly site: CookieSite;
  /** Whether people may sign in by an identity provider. */
  readonly isProviderEnabled: (organisationId: string, providerId: string) => boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A session's secret and what is stored of it. */
export interface NewSecret {
  readonly secret: string;
  readonly hash: string;
}

/** Finds the caller of a session. */
export class SessionRing {
  readonly #deps: SessionRingDeps;
  readonly #byHash = new Map<string, Document<SessionBody>>();
  readonly #beingNoted = new Set<string>();
  readonly replica: Replica<SessionBody> = new Replica(sessions, {
    row: (document) => ({ ...document, body: withoutToken(document.body) }),
    changed: (now, before) => {
      if (before !== undefined) this.#byHash.delete(before.body.hash);
      if (now !== undefined) this.#byHash.set(now.body.hash, now);
    },
  });

  constructor(deps: SessionRingDeps) {
    this.#deps = deps;
  }

  get site(): CookieSite {
    return this.#deps.site;
  }

  newSecret(): NewSecret {
    const secret = PREFIX + randomBytes(32).toString('base64url');
    return { secret, hash: this.#deps.hasher.hash(secret) };
  }

  /** Whether a text is the secret of a session, ended ones included: it is never sent to a provider. */
  isSecret(text: string): boolean {
    return FORM.test(text);
  }

  /** The caller of the request's cookie, and the cookie; undefined without a session, and when it has ended. */
  callerOf(headers: GatewayHeaders): { readonly principal: Principal; readonly secret: string } | undefined {
    const secret = sessionCookie(headers, this.#deps.site);
    const found = secret === undefined ? undefined : this.#bySecret(secret);
    if (secret === undefined || found === undefined) return undefined;
    const principal = this.principalOf(found, headers.get('workspace-id'));
    if (principal === undefined) return undefined;
    this.#note(found);
    return { principal, secret };
  }

  /**
   * The session of a browser that any site may have led here; undefined without one, and when it has ended. For pages
   * that change nothing when they are opened.
   */
  visitorOf(headers: GatewayHeaders): Document<SessionBody> | undefined {
    const secret = visitCookie(headers, this.#deps.site);
    const found = secret === undefined ? undefined : this.#bySecret(secret);
    return found === undefined || !this.#counts(found) ? undefined : found;
  }

  #bySecret(secret: string): Document<SessionBody> | undefined {
    if (!FORM.test(secret)) return undefined;
    const hash = this.#deps.hasher.hash(secret);
    const found = this.#byHash.get(hash);
    return found !== undefined && sameHash(found.body.hash, hash) ? found : undefined;
  }

  /** Whether it has not ended. A person without a place in any workspace is signed in all the same. */
  #counts({ organisationId, body, id }: Document<SessionBody>): boolean {
    const { keys, directory, now } = this.#deps;
    if (this.#isOver(body, now())) return false;
    const { userId, keyId, role } = body;
    if (userId !== undefined && directory.user(organisationId, userId)?.body.role !== role) return false;
    return (
      keyId === undefined ||
      keyPrincipal(keys.replica.get(organisationId, keyId), { id, body }, now()) !== undefined
    );
  }

  /** What a session may do now; undefined when it has ended. @param workspace that the call names, by id or slug */
  principalOf(session: Document<SessionBody>, workspace?: string): Principal | undefined {
    const { keys, directory, now, isProviderEnabled } = this.#deps;
    const { body, organisationId } = session;
    if (this.#isOver(body, now())) return undefined;
    const { providerId } = body.by ?? {};
    if (providerId !== undefined && !isProviderEnabled(organisationId, providerId)) return undefined;
    if (body.userId !== undefined && directory.user(organisationId, body.userId)?.body.role !== body.role)
      return undefined;
    return body.keyId === undefined
      ? userPrincipal(directory, session, workspace)
      : keyPrincipal(keys.replica.get(organisationId, body.keyId), session, now());
  }

  /** Sessions of an organisation that have not ended, newest first. */
  *of(organisationId: string): Generator<Document<SessionBody>> {
    const newest = [...this.replica.of(organisationId).values()].sort((a, b) => b.createdAt - a.createdAt);
    for (const session of newest) if (this.principalOf(session) !== undefined) yield session;
  }

  #isOver({ seenAt, expiresAt }: SessionBody, now: number): boolean {
    return now >= expiresAt || now >= seenAt + IDLE_MS;
  }

  /** Notes the call in the background. What another instance noted at the same time counts as well. */
  #note({ id, organisationId, body }: Document<SessionBody>): void {
    const seenAt = this.#deps.now();
    if (seenAt - body.seenAt < NOTED_MS || this.#beingNoted.has(id)) return;
    this.#beingNoted.add(id);
    this.#write({ organisationId, workspaceId: undefined }, id, seenAt)
      // The session was ended meanwhile, or the store is away: the next call notes it.
      .catch(() => {})
      .finally(() => this.#beingNoted.delete(id));
  }

  async #write(scope: TenantScope, id: string, seenAt: number): Promise<void> {
    const { documents } = this.#deps;
    // What is stored has more than the replica.
    const whole = await documents.get(scope, sessions, id);
    if (whole === undefined) return;
    const idToken = idTokenOf(whole.body);
    const body = { ...withoutToken(whole.body), ...(idToken === undefined ? {} : { idToken }), seenAt };
    const change = { body, updatedAt: seenAt };
    await documents.commit(scope, [updateOperation(sessions, id, whole.version, change)]);
  }
}
