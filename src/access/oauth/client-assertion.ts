// A client's proof by a signed assertion (RFC 7523, part 2.2; `private_key_jwt` of OpenID Connect): for clients whose metadata
// document says that they prove themselves so. An assertion counts once.
import { hash } from 'node:crypto';
import { LruCache } from '../../lib/lru-cache.ts';
import { once } from './authorize-request.ts';
import type { ClientDocuments } from './client-documents.ts';
import { ClientKeySets, type ClientKeys, type ClientKeysDeps } from './client-keys.ts';
import { OauthError } from './oauth-error.ts';

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
export const ASSERTION_ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
];
const LONGEST = 8192;
/** How long an assertion may count, and how wrong the client's clock may be, in seconds. */
const MOST_SECONDS = 600;
const TOLERANCE = 60;
const MOST_SEEN = 20_000;

export interface ClientAssertionsDeps extends ClientKeysDeps {
  readonly clientDocuments: Pick<ClientDocuments, 'find'>;
}

export class ClientAssertions {
  readonly #deps: ClientAssertionsDeps;
  readonly #keySets: ClientKeySets;
  /** Until when an assertion that was used would count, by its hash. Unix milliseconds. */
  readonly #seen = new LruCache<number>(MOST_SEEN);

  constructor(deps: ClientAssertionsDeps) {
    this.#deps = deps;
    this.#keySets = new ClientKeySets(deps);
  }

  /** The client that a request names, by `client_id` or by its assertion, which is not checked yet. @throws OauthError */
  async clientIdOf(form: URLSearchParams): Promise<string | undefined> {
    const id = once(form, 'client_id');
    const assertion = once(form, 'client_assertion');
    if (id !== undefined || assertion === undefined || assertion.length > LONGEST) return id;
    const { decodeJwt } = await import('jose');
    try {
      return decodeJwt(assertion).sub;
    } catch {
      throw refused('is no signed assertion');
    }
  }

  /** @param issuer who is asked @throws OauthError invalid_client (401) */
  async check(form: URLSearchParams, clientId: string, issuer: string): Promise<void> {
    const assertion = once(form, 'client_assertion') ?? '';
    if (assertion === '') throw refused('is needed: the client proves itself by private_key_jwt');
    if (once(form, 'client_assertion_type') !== ASSERTION_TYPE)
      throw new OauthError('invalid_client', `client_assertion_type: must be ${ASSERTION_TYPE}`, 401);
    if (assertion.length > LONGEST) throw refused('is too long');
    const { keys } = await this.#deps.clientDocuments.find(clientId);
    if (keys === undefined) throw refused('is of a client whose metadata document has no keys any more');
    const expiresAt =
      (await this.#verified(assertion, keys, clientId, issuer, false)) ??
      (await this.#verified(assertion, keys, clientId, issuer, true));
    if (expiresAt === undefined) throw refused('is not signed by the client for this server, or too old');
    const seen = hash('sha256', assertion.slice(0, assertion.lastIndexOf('.')), 'base64url');
    if ((this.#seen.get(seen) ?? 0) > this.#deps.now()) throw refused('was used already');
    this.#seen.set(seen, (expiresAt + TOLERANCE) * 1000);
  }

  /** When it expires, in seconds; undefined: it does not count. */
  async #verified(
    assertion: string,
    keys: ClientKeys,
    clientId: string,
    issuer: string,
    isUnknown: boolean,
  ): Promise<number | undefined> {
    const { createLocalJWKSet, jwtVerify } = await import('jose');
    const set = await this.#keySets.of(keys, isUnknown);
    const now = this.#deps.now();
    try {
      const { payload } = await jwtVerify(assertion, createLocalJWKSet(set), {
        issuer: clientId,
        subject: clientId,
        audience: [issuer, `${issuer}/oauth/token`],
        algorithms: ASSERTION_ALGORITHMS,
        clockTolerance: TOLERANCE,
        currentDate: new Date(now),
        requiredClaims: ['exp', 'jti'],
      });
      const { exp = 0 } = payload;
      return exp - now / 1000 <= MOST_SECONDS + TOLERANCE ? exp : undefined;
    } catch {
      return undefined;
    }
  }
}

function refused(why: string): OauthError {
  return new OauthError('invalid_client', `client_assertion: ${why}`, 401);
}
