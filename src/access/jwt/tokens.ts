// Finds the caller of a token (JWT). A token that was seen before costs one hash and one lookup.
import { hash } from 'node:crypto';
import type { Principal } from '../../call/principal.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { Replica } from '../../store/replica.ts';
import { type JwtSettingsBody, jwtSettings } from './collection.ts';
import { organisationOf, readGrant } from './read-grant.ts';
import { looksLikeToken, peekClaims, readToken, type UnverifiedToken } from './read-token.ts';
import { Realm } from './realm.ts';
import { notAllowed, refused } from './refused.ts';
import type { RemoteDeps } from './remote-keys.ts';
import { type TokenDirectory, VerifiedToken } from './token-principal.ts';
import { verifySignature } from './verify-signature.ts';

/** What telling tokens needs. */
export interface TokensDeps extends Pick<RemoteDeps, 'dialer' | 'now'> {
  readonly directory: TokenDirectory;
  /** Told why an organisation's keys could not be fetched. */
  readonly onTrouble: (organisationId: string, error: unknown) => void;
}

/** Verified tokens that are remembered, of all organisations. */
const MOST_KNOWN = 10_000;
/** Refused tokens that are remembered, and for how long: a repeated one costs no signature. */
const MOST_REFUSED = 1000;
const REFUSED_MS = 5000;
/** Tokens of one organisation that may wait to be verified. */
const MOST_PENDING = 256;
/** Signatures verified at once: they run in a pool of four threads that files and names need, too. */
const AT_ONCE = 2;

interface Known {
  readonly realm: Realm;
  readonly token: VerifiedToken;
}

interface Refused {
  readonly realm: Realm;
  readonly error: GatewayError;
  readonly until: number;
}

export class Tokens {
  readonly #deps: TokensDeps;
  readonly #realms = new Map<string, Realm>();
  readonly #known = new LruCache<Known>(MOST_KNOWN);
  readonly #refused = new LruCache<Refused>(MOST_REFUSED);
  readonly #running = new Map<string, Promise<Principal>>();
  readonly #semaphore = new Semaphore(AT_ONCE);

  /** Tokens that were verified under other settings than the present ones count no more. */
  readonly replica: Replica<JwtSettingsBody> = new Replica(jwtSettings, {
    row: (document) => document,
    changed: (_now, _before, { organisationId }) => this.#settle(organisationId),
  });

  constructor(deps: TokensDeps) {
    this.#deps = deps;
  }

  #settle(organisationId: string): void {
    // An organisation has one, but news of its successor may come before news of its end: the latest is the last.
    const source = [...this.replica.of(organisationId).values()].at(-1);
    const before = this.#realms.get(organisationId);
    if (before !== undefined && before.settings === source?.body) return;
    if (source === undefined) {
      this.#realms.delete(organisationId);
      return;
    }
    const { dialer, now, onTrouble } = this.#deps;
    const deps = { dialer, now, onTrouble: (error: unknown) => onTrouble(organisationId, error) };
    this.#realms.set(organisationId, new Realm(organisationId, source.body, deps, before));
  }

  /** Whether a text is a token for this gateway, valid or not: it goes to no provider. */
  isOurs(text: string): boolean {
    return looksLikeToken(text) && this.organisationOf(text) !== undefined;
  }

  /** The organisation that a token names, where it is one that takes tokens. */
  organisationOf(text: string): string | undefined {
    const claims = peekClaims(text);
    const id = claims === undefined ? undefined : organisationOf(claims);
    return id !== undefined && this.#realms.has(id) ? id : undefined;
  }

  /**
   * The caller of a token: at once when it was seen before.
   * @returns rejects with GatewayError unauthenticated, forbidden (no settings for tokens, the workspace),
   * key_set_unavailable (the issuer's keys) or overloaded (too many unknown tokens at once).
   */
  principalOf(text: string): Principal | Promise<Principal> {
    const digest = hash('sha256', text, 'base64url');
    const known = this.#known.get(digest);
    if (known !== undefined && this.#counts(known)) {
      try {
        return known.token.principal(this.#deps.directory);
      } catch (error) {
        return Promise.reject(error);
      }
    }
    return this.#running.get(digest) ?? this.#unknown(text, digest);
  }

  #counts({ realm, token }: Known): boolean {
    return (
      this.#realms.get(realm.organisationId) === realm &&
      this.#deps.now() < token.expiresAt &&
      realm.keys.holds(token.thumbprint)
    );
  }

  async #unknown(text: string, digest: string): Promise<Principal> {
    const token = readToken(text);
    const realm = this.#realmOf(token);
    const expiresAt = realm.check(token, this.#deps.now());
    const before = this.#refused.get(digest);
    if (before !== undefined && before.realm === realm && this.#deps.now() < before.until) throw before.error;
    if (realm.pending >= MOST_PENDING)
      throw fail('overloaded', 'too many tokens are waiting to be verified', { retryAfterMs: 1000 });
    realm.pending++;
    const verified = this.#verify(token, realm, expiresAt, digest).finally(() => {
      realm.pending--;
      this.#running.delete(digest);
    });
    this.#running.set(digest, verified);
    return verified;
  }

  async #verify(token: UnverifiedToken, realm: Realm, expiresAt: number, digest: string): Promise<Principal> {
    const { directory, now } = this.#deps;
    const { algorithm, kid } = token.header;
    const key = await realm.keys.find(algorithm, kid);
    try {
      await this.#semaphore.pass(() => verifySignature(token, key));
      // Settings that changed in the meantime decide.
      if (this.#realms.get(realm.organisationId) !== realm) return await this.#unknown(token.text, digest);
      const grant = readGrant(realm.organisationId, token.claims, realm.claimNames);
      const { thumbprint } = key;
      const { knownUsersOnly } = realm;
      const verified = new VerifiedToken({ grant, expiresAt, thumbprint, digest, knownUsersOnly });
      const principal = verified.principal(directory);
      this.#known.set(digest, { realm, token: verified });
      return principal;
    } catch (error) {
      if (error instanceof GatewayError && error.reason === 'unauthenticated')
        this.#refused.set(digest, { realm, error, until: now() + REFUSED_MS });
      throw error;
    }
  }

  /** The organisation's name in the token is not verified yet: it only picks the keys that must confirm it. */
  #realmOf({ claims }: UnverifiedToken): Realm {
    const id = organisationOf(claims);
    if (id === undefined) throw refused('the token names no organisation');
    const realm = this.#realms.get(id);
    if (realm) return realm;
    if (this.#deps.directory.organisation(id) === undefined)
      throw refused('the organisation in the token is not known');
    throw notAllowed('the organisation in the token takes no tokens: its key set (JWKS) is not configured');
  }
}
