// The token and revocation endpoints: codes and refresh tokens for tokens (OAuth 2.1, parts 3.2 and 4.3; RFC 7009).
// A code is redeemed once and a refresh token used once: one that comes again ends its grant.
import { hash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../lib/errors.ts';
import { archiveOperation, type Document, updateOperation } from '../../store/documents.ts';
import { sameHash } from '../key-hash.ts';
import { once } from './authorize-request.ts';
import { type OauthGrantBody, oauthGrants } from './grant-collection.ts';
import type { OauthDeps } from './oauth-deps.ts';
import { OauthError } from './oauth-error.ts';
import { newToken, readToken } from './token-text.ts';

/** RFC 6749, part 5.1. */
export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  /** Seconds. */
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: string;
}

type Grant = Document<OauthGrantBody>;

/** Access tokens of one grant that count at once. */
const MOST_ACCESS = 4;
const ATTEMPTS = 5;

export class TokenEndpoint {
  readonly #deps: OauthDeps;

  constructor(deps: OauthDeps) {
    this.#deps = deps;
  }

  /** @param issuer where the client reaches the gateway @throws OauthError */
  async token(form: URLSearchParams, issuer: string): Promise<TokenAnswer> {
    const type = needed(form, 'grant_type');
    if (type === 'authorization_code') return this.#redeem(form, issuer);
    if (type === 'refresh_token') return this.#refresh(form, issuer);
    throw new OauthError('unsupported_grant_type', 'grant_type: must be authorization_code or refresh_token');
  }

  /** Ends the grant of a token; one that is not known is no error. @throws OauthError invalid_request */
  async revoke(form: URLSearchParams, issuer: string): Promise<void> {
    const token = needed(form, 'token');
    const clientId = await this.#deps.assertions.clientIdOf(form);
    for (const kind of ['access', 'refresh'] as const) {
      const grant = await this.#grantOf(kind, token);
      if (grant === undefined) continue;
      const { access, refreshHash = '' } = grant.body;
      const given = this.#deps.hasher.hash(token);
      const isHeld = sameHash(refreshHash, given) || access.some((one) => sameHash(one.hash, given));
      if (clientId !== undefined && clientId !== grant.body.clientId)
        throw new OauthError('invalid_client', 'client_id: the token is of another client', 401);
      await this.#authenticate(form, grant, issuer);
      // An old refresh token shows that a copy of it is in other hands.
      if (isHeld || kind === 'refresh') await this.#end(grant, 'revoked by the client');
    }
  }

  async #redeem(form: URLSearchParams, issuer: string): Promise<TokenAnswer> {
    const { hasher, now } = this.#deps;
    const given = needed(form, 'code');
    const clientId = await this.#clientId(form);
    const verifier = needed(form, 'code_verifier');
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const grant = await this.#grantOf('code', given);
      if (grant === undefined) throw noGrant('code: is not known, or its grant has ended');
      const { code } = grant.body;
      if (clientId !== grant.body.clientId) throw noGrant('code: is of another client');
      if (attempt === 0) await this.#authenticate(form, grant, issuer);
      if (code === undefined || !sameHash(code.hash, hasher.hash(given))) {
        await this.#end(grant, 'its code came twice');
        throw noGrant('code: was used already');
      }
      if (code.expiresAt <= now()) throw noGrant('code: has expired');
      if (needed(form, 'redirect_uri') !== code.redirectUri)
        throw noGrant('redirect_uri: must be that of the authorisation');
      if (!isVerifier(verifier, code.challenge)) throw noGrant('code_verifier: does not fit the challenge');
      this.#checkResource(form, grant);
      const answer = await this.#given(grant);
      if (answer !== undefined) return answer;
    }
    throw busy();
  }

  async #refresh(form: URLSearchParams, issuer: string): Promise<TokenAnswer> {
    const { hasher } = this.#deps;
    const given = needed(form, 'refresh_token');
    const clientId = await this.#clientId(form);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const grant = await this.#grantOf('refresh', given);
      if (grant === undefined) throw noGrant('refresh_token: is not known, or its grant has ended');
      if (clientId !== grant.body.clientId) throw noGrant('refresh_token: is of another client');
      if (attempt === 0) await this.#authenticate(form, grant, issuer);
      if (!sameHash(grant.body.refreshHash ?? '', hasher.hash(given))) {
        await this.#end(grant, 'its refresh token came twice');
        throw noGrant('refresh_token: was used already');
      }
      this.#checkResource(form, grant);
      const answer = await this.#given(grant);
      if (answer !== undefined) return answer;
    }
    throw busy();
  }

  async #clientId(form: URLSearchParams): Promise<string> {
    const id = await this.#deps.assertions.clientIdOf(form);
    if (id === undefined || id === '') throw new OauthError('invalid_request', 'client_id: is needed');
    return id;
  }

  /** A client that said so proves itself; nothing is fetched for clients without a grant. @throws OauthError */
  async #authenticate(form: URLSearchParams, { body }: Grant, issuer: string): Promise<void> {
    if (body.isSigned) await this.#deps.assertions.check(form, body.clientId, issuer);
  }

  /** New tokens of a grant; undefined when another request has changed it meanwhile. @throws OauthError invalid_grant */
  async #given(grant: Grant): Promise<TokenAnswer | undefined> {
    const { hasher, now, accessMs, grantMs, documents, grants } = this.#deps;
    if (grants.principalOf(grant) === undefined)
      throw noGrant('the grant has ended: its user, role, key or time has');
    const { id: grantId, organisationId, version } = grant;
    const name = { organisationId, grantId };
    const access = newToken(hasher, 'access', name);
    const refresh = newToken(hasher, 'refresh', name);
    const at = now();
    const { code: _, ...kept } = grant.body;
    const body: OauthGrantBody = {
      ...kept,
      access: [
        { hash: hasher.hash(access), expiresAt: at + accessMs },
        ...kept.access.filter(({ expiresAt }) => expiresAt > at).slice(0, MOST_ACCESS - 1),
      ],
      refreshHash: hasher.hash(refresh),
      usedAt: at,
      expiresAt: at + grantMs,
    };
    const write = updateOperation(oauthGrants, grantId, version, { body, updatedAt: at });
    try {
      const [written] = await documents.commit({ organisationId, workspaceId: undefined }, [write]);
      grants.replica.apply(written as Grant);
    } catch (error) {
      if (isLostRace(error)) return undefined;
      throw error;
    }
    return {
      access_token: access,
      token_type: 'Bearer',
      expires_in: Math.floor(accessMs / 1000),
      refresh_token: refresh,
      scope: body.scope,
    };
  }

  /** The grant as it is stored now. */
  async #grantOf(kind: 'access' | 'refresh' | 'code', text: string): Promise<Grant | undefined> {
    const { hasher, documents } = this.#deps;
    const name = readToken(hasher, kind, text);
    if (name === undefined) return undefined;
    return documents.get(
      { organisationId: name.organisationId, workspaceId: undefined },
      oauthGrants,
      name.grantId,
    );
  }

  async #end({ id, organisationId, workspaceId, body }: Grant, why: string): Promise<void> {
    const { systemChanges, now, grants } = this.#deps;
    const write = archiveOperation(oauthGrants, id, { updatedAt: now() });
    try {
      const [written] = await systemChanges.commit(
        { verb: 'delete', resource: 'oauth-grant', detail: why },
        { organisationId, workspaceId: undefined },
        [write],
        { id, name: body.clientName, workspaceId },
      );
      grants.replica.apply(written as Grant);
    } catch (error) {
      // Another request has ended it.
      if (!isLostRace(error)) throw error;
    }
  }

  /** @throws OauthError invalid_target for a resource that the grant is not for */
  #checkResource(form: URLSearchParams, { body }: Grant): void {
    const resource = once(form, 'resource');
    const isWithin = body.isForEach === true && resource?.startsWith(`${body.resource}/`);
    if (resource !== undefined && resource !== body.resource && !isWithin)
      throw new OauthError('invalid_target', 'resource: is not the one that the grant is for');
  }
}

function needed(form: URLSearchParams, name: string): string {
  const value = once(form, name) ?? '';
  if (value === '') throw new OauthError('invalid_request', `${name}: is needed`);
  return value;
}

function isVerifier(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  const made = Buffer.from(hash('sha256', verifier, 'base64url'));
  const wanted = Buffer.from(challenge);
  return made.length === wanted.length && timingSafeEqual(made, wanted);
}

function noGrant(message: string): OauthError {
  return new OauthError('invalid_grant', message);
}

function busy(): OauthError {
  return new OauthError('temporarily_unavailable', 'try again', 503);
}

function isLostRace(error: unknown): boolean {
  return (
    error instanceof GatewayError && (error.reason === 'version_conflict' || error.reason === 'not_found')
  );
}
