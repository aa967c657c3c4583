// OpenID Connect: code with PKCE, state, nonce and iss, by openid-client, which is loaded with the first sign-in. All its
// requests go through the egress firewall.
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import type { Configuration } from 'openid-client';
import { dialedFetch } from '../../lib/egress/dialed-fetch.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { KeyHasher } from '../key-hash.ts';
import type { SignedInBy } from '../sessions/session-collection.ts';
import { sealSignOut } from './sign-out.ts';
import { ownPath, SIGN_IN_MS, type SignInTransaction, sealTransaction } from './transaction.ts';

export interface OidcOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** @throws GatewayError secret_unavailable */
  readonly clientSecret: () => Promise<string>;
  readonly scopes: string;
  readonly groupsClaim: string;
  /** Lower case; absent: addresses of all domains. */
  readonly emailDomains?: readonly string[];
  /** What signing out ends; absent: the session of the identity provider too, where it can be. */
  readonly signOut?: 'provider' | 'gateway';
}

/** Whose identity provider it is. */
export type OidcPlace = Pick<SignInTransaction, 'organisationId' | 'providerId'>;

export interface OidcDeps {
  readonly place: OidcPlace;
  readonly options: OidcOptions;
  readonly dialer: Dialer;
  readonly hasher: KeyHasher;
  /** Where people reach the gateway. */
  readonly publicUrl: () => string;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Told why a sign-in failed; people learn no more than that it did. */
  readonly onTrouble: (error: unknown) => void;
}

/** The person that an identity provider names. */
export interface SignedIn {
  /** In lower case; the identity provider has verified it. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly groups: readonly string[];
  readonly by: SignedInBy;
  /** The identity provider's token, by which it knows the session again; absent when it is too long for an address. */
  readonly idToken?: string;
  readonly returnTo: string;
}

/** How long what an issuer tells of itself counts. */
const METADATA_MS = 600_000;
/** Between two looks for a key that the identity provider did not have. */
const KEYS_COOLDOWN_MS = 5000;
const MOST_GROUPS = 1000;
const ADDRESS = /^[^\s@<>",;:\\]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/;
/** Of a token that stands in an address, in characters. */
const LONGEST_HINT = 4000;
const FETCH = { headTimeoutMs: 10_000, idleTimeoutMs: 10_000, maxBytes: 512 * 1024 };

export class OidcClient {
  readonly #deps: OidcDeps;
  #known: { readonly config: Promise<Configuration>; readonly until: number } | undefined;
  #keys: { readonly uri: string; readonly get: JWTVerifyGetKey } | undefined;

  constructor(deps: OidcDeps) {
    this.#deps = deps;
  }

  get #redirectUri(): string {
    return `${this.#deps.publicUrl()}/console/callback`;
  }

  /** Where the browser goes, and what it keeps. @throws GatewayError upstream_unreachable */
  async begin(returnTo: string | undefined): Promise<{ readonly location: string; readonly cookie: string }> {
    const client = await import('openid-client');
    const config = await this.#config();
    const transaction = {
      ...this.#deps.place,
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      returnTo: ownPath(returnTo),
      expiresAt: this.#deps.now() + SIGN_IN_MS,
    };
    const location = client.buildAuthorizationUrl(config, {
      redirect_uri: this.#redirectUri,
      scope: this.#deps.options.scopes,
      state: transaction.state,
      nonce: transaction.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(transaction.verifier),
      code_challenge_method: 'S256',
    });
    return { location: location.href, cookie: sealTransaction(this.#deps.hasher, transaction) };
  }

  /**
   * @param query of the callback, with its question mark
   * @param transaction that this browser began
   * @throws GatewayError unauthenticated for a sign-in that another issuer answers, or whose code was used; forbidden
   *   for an address that is not verified, or of another domain
   */
  async finish(query: string, transaction: SignInTransaction): Promise<SignedIn> {
    const { options, place } = this.#deps;
    const { claims, idToken } = await this.#claims(query, transaction);
    const { email, given_name: firstName, family_name: lastName } = claims;
    if (typeof email !== 'string' || email.length > 320 || !ADDRESS.test(email) || !isVerified(claims))
      throw fail('forbidden', 'the identity provider has not verified the email address of this account');
    const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
    if (options.emailDomains?.includes(domain) === false)
      throw fail('forbidden', `addresses of ${domain.slice(0, 253)} do not sign in here`);
    const groups = claims[options.groupsClaim];
    const { sub, sid } = claims;
    return {
      email: email.toLowerCase(),
      firstName: nameOf(firstName),
      lastName: nameOf(lastName),
      groups: (Array.isArray(groups) ? groups : [])
        .filter((one) => typeof one === 'string')
        .slice(0, MOST_GROUPS),
      by: {
        providerId: place.providerId,
        ...(typeof sub === 'string' ? { subject: sub.slice(0, 255) } : {}),
        ...(typeof sid === 'string' ? { providerSession: sid.slice(0, 255) } : {}),
      },
      ...(idToken !== undefined && idToken.length <= LONGEST_HINT ? { idToken } : {}),
      returnTo: transaction.returnTo,
    };
  }

  async #claims(
    query: string,
    { state, nonce, verifier }: { readonly state: string; readonly nonce: string; readonly verifier: string },
  ): Promise<{
    readonly claims: Readonly<Record<string, unknown>>;
    readonly idToken: string | undefined;
  }> {
    try {
      const client = await import('openid-client');
      const checks = {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      };
      const url = new URL(this.#redirectUri + query);
      const config = await this.#config();
      const tokens = await client.authorizationCodeGrant(config, url, checks);
      const claims = tokens.claims();
      if (claims === undefined) throw signInFailed();
      const { id_token: idToken } = tokens;
      if (claims.email !== undefined || config.serverMetadata().userinfo_endpoint === undefined)
        return { claims, idToken };
      // Some identity providers tell the address at their userinfo endpoint alone.
      const told = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
      return { claims: { ...told, ...claims }, idToken };
    } catch (error) {
      this.#deps.onTrouble(error);
      throw signInFailed();
    }
  }

  /**
   * Where the browser ends the identity provider's own session (OpenID Connect RP-Initiated Logout 1.0); undefined where
   * the discovery document names no such address.
   * @param idToken of the sign-in; undefined: the identity provider asks the person
   * @throws GatewayError upstream_unreachable
   */
  async signOutUrl(idToken: string | undefined): Promise<string | undefined> {
    const { options, hasher, now, publicUrl } = this.#deps;
    const config = await this.#config();
    const { end_session_endpoint: endpoint } = config.serverMetadata();
    if (endpoint === undefined || !isWebAddress(endpoint, options.issuer)) return undefined;
    const client = await import('openid-client');
    return client.buildEndSessionUrl(config, {
      ...(idToken === undefined ? {} : { id_token_hint: idToken }),
      post_logout_redirect_uri: `${publicUrl()}/console/signed-out`,
      state: sealSignOut(hasher, now()),
    }).href;
  }

  /** The identity provider's keys, read when they are needed. @throws GatewayError upstream_unreachable */
  async keys(): Promise<JWTVerifyGetKey | undefined> {
    const uri = (await this.#config()).serverMetadata().jwks_uri;
    if (uri === undefined) return undefined;
    if (this.#keys?.uri !== uri) {
      const fetch = dialedFetch(this.#deps.dialer, FETCH);
      const get = createRemoteJWKSet(new URL(uri), {
        [customFetch]: (url, init) => fetch(url, init as RequestInit),
        timeoutDuration: 10_000,
        cooldownDuration: KEYS_COOLDOWN_MS,
        cacheMaxAge: METADATA_MS,
      });
      this.#keys = { uri, get };
    }
    return this.#keys.get;
  }

  #config(): Promise<Configuration> {
    const { now } = this.#deps;
    if (this.#known !== undefined && this.#known.until > now()) return this.#known.config;
    const config = this.#discover();
    this.#known = { config, until: now() + METADATA_MS };
    config.catch(() => {
      this.#known = undefined;
    });
    return config;
  }

  async #discover(): Promise<Configuration> {
    const { options, dialer, onTrouble } = this.#deps;
    const client = await import('openid-client');
    const issuer = new URL(options.issuer);
    try {
      return await client.discovery(issuer, options.clientId, await options.clientSecret(), undefined, {
        [client.customFetch]: dialedFetch(dialer, FETCH) as never,
        timeout: 15,
        // The settings take an address without TLS on this machine alone.
        execute: issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [],
      });
    } catch (error) {
      onTrouble(error);
      throw fail('upstream_unreachable', 'the identity provider does not answer: try again later');
    }
  }
}

/** Entra says so of the domain, by a claim of its own. */
function isVerified({
  email_verified: verified,
  xms_edov: domain,
}: Readonly<Record<string, unknown>>): boolean {
  return verified === true || (verified === undefined && (domain === true || domain === 1 || domain === '1'));
}

/** The answer to whatever is wrong with a sign-in: no more is told. */
export function signInFailed(): GatewayError {
  return fail('unauthenticated', 'the sign-in was not completed: begin again');
}

/** With TLS, unless the issuer itself has none. */
function isWebAddress(text: string, issuer: string): boolean {
  const protocol = URL.parse(text)?.protocol;
  return protocol === 'https:' || (protocol === 'http:' && issuer.startsWith('http:'));
}

function nameOf(claim: unknown): string {
  return typeof claim === 'string' ? claim.slice(0, 100) : '';
}
