// Grants in memory, following the change feed: the caller of an access token, as the user or key behind it stands now.
import type { Principal } from '../../call/principal.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { Replica } from '../../store/replica.ts';
import type { Directory } from '../directory.ts';
import { type KeyHasher, sameHash } from '../key-hash.ts';
import type { KeyRing } from '../key-ring.ts';
import { keyPrincipal } from '../sessions/session-principal.ts';
import { type OauthGrantBody, oauthGrants } from './grant-collection.ts';
import { looksLikeGrantToken, readToken } from './token-text.ts';

/** The one scope that is given. */
export const MCP_SCOPE = 'mcp.invoke';
const SCOPES: ReadonlySet<string> = new Set([MCP_SCOPE]);
/** Reads of the store at once, for tokens that another instance has just given. */
const READS_AT_ONCE = 16;

export interface GrantRingDeps {
  readonly hasher: KeyHasher;
  readonly keys: KeyRing;
  readonly directory: Directory;
  readonly documents: Pick<DocumentStore, 'get'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The caller of an access token, and what it was granted for. */
export interface Granted {
  readonly principal: Principal;
  readonly grant: Document<OauthGrantBody>;
}

export class GrantRing {
  readonly #deps: GrantRingDeps;
  readonly #semaphore = new Semaphore(READS_AT_ONCE);
  readonly replica: Replica<OauthGrantBody> = new Replica(oauthGrants, { row: (document) => document });

  constructor(deps: GrantRingDeps) {
    this.#deps = deps;
  }

  /** Whether a text is a code or token of a grant, ended ones included: it is never sent to a provider. */
  isSecret(text: string): boolean {
    return looksLikeGrantToken(text);
  }

  /** The access token of a request; undefined: it has none. */
  tokenOf(headers: GatewayHeaders): string | undefined {
    const token = /^bearer +(\S+)$/i.exec(headers.plain('authorization') ?? '')?.[1];
    return token !== undefined && looksLikeGrantToken(token) ? token : undefined;
  }

  /** The caller of an access token that counts now; undefined otherwise. */
  async callerOf(token: string): Promise<Granted | undefined> {
    const name = readToken(this.#deps.hasher, 'access', token);
    if (name === undefined) return undefined;
    const { organisationId, grantId } = name;
    const known = this.replica.get(organisationId, grantId);
    if (known !== undefined && this.#holds(known, token)) return this.#granted(known);
    // Given by another instance a moment ago, or ended.
    const { documents } = this.#deps;
    const scope = { organisationId, workspaceId: undefined };
    const stored = await this.#semaphore.pass(() => documents.get(scope, oauthGrants, grantId));
    if (stored === undefined) return undefined;
    this.replica.apply(stored);
    return this.#holds(stored, token) ? this.#granted(stored) : undefined;
  }

  /** Whether an access token that was seen before still counts. */
  isStillGranted(token: string): boolean {
    const name = readToken(this.#deps.hasher, 'access', token);
    const known = name && this.replica.get(name.organisationId, name.grantId);
    return known !== undefined && this.#holds(known, token) && this.principalOf(known) !== undefined;
  }

  /** What a grant allows now; undefined when it has ended: by time, or with the user, role or key that gave it. */
  principalOf(grant: Document<OauthGrantBody>): Principal | undefined {
    const { keys, directory, now } = this.#deps;
    const { id, organisationId, workspaceId, body } = grant;
    const { userId, keyId } = body;
    if (now() >= body.expiresAt || workspaceId === undefined) return undefined;
    const user = userId === undefined ? undefined : directory.user(organisationId, userId);
    if (userId !== undefined && (user === undefined || user.body.role !== body.role)) return undefined;
    if (keyId === undefined) {
      if (userId === undefined || user === undefined) return undefined;
      const name = { keyId: id, keyName: user.body.email };
      return { organisationId, workspaceId, userId, ...name, kind: 'workspace-user', scopes: SCOPES };
    }
    const held = keyPrincipal(keys.replica.get(organisationId, keyId), grant, now());
    if (held === undefined || held.workspaceId !== workspaceId || !held.scopes.has(MCP_SCOPE))
      return undefined;
    return { ...held, sessionId: undefined, scopes: SCOPES };
  }

  /** Grants of an organisation that count, newest first. */
  *of(organisationId: string): Generator<Document<OauthGrantBody>> {
    const newest = [...this.replica.of(organisationId).values()].sort((a, b) => b.createdAt - a.createdAt);
    for (const grant of newest)
      if (grant.body.refreshHash !== undefined && this.principalOf(grant) !== undefined) yield grant;
  }

  #granted(grant: Document<OauthGrantBody>): Granted | undefined {
    const principal = this.principalOf(grant);
    return principal === undefined ? undefined : { principal, grant };
  }

  #holds({ body }: Document<OauthGrantBody>, token: string): boolean {
    const now = this.#deps.now();
    const hash = this.#deps.hasher.hash(token);
    return body.access.some((one) => one.expiresAt > now && sameHash(one.hash, hash));
  }
}
