// Whether a token is well: by its signature and a key set, or by the word of an authorisation server.
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyResult, jwtVerify } from 'jose';
import { type CheckDeps, CheckFailure } from '../contract/check.ts';
import type { JsonObject } from '../view/traffic.ts';
import { isKeySet } from './key-set-cache.ts';
import type { Wanted } from './token-fields.ts';

/** A token that is well, or why it is not. */
export type Judged =
  | { readonly claims: JsonObject; readonly header: JsonObject }
  | { readonly refused: string };

/** Judges a token as its parameters ask. @throws CheckFailure when neither keys nor server can be reached */
export async function judgeToken(token: string, wanted: Wanted, deps: CheckDeps): Promise<Judged> {
  if (wanted.introspectEndpoint !== undefined) return introspect(token, wanted, deps);
  try {
    const { payload, protectedHeader } = await verify(token, wanted, deps);
    return { claims: payload, header: { ...protectedHeader } };
  } catch (error) {
    if (error instanceof CheckFailure) throw error;
    return { refused: explain(error) };
  }
}

async function verify(token: string, wanted: Wanted, deps: CheckDeps): Promise<JWTVerifyResult> {
  const { jwks, jwksUri = '', cacheMaxAge, issuer, audience, maxTokenAge = '1d' } = wanted;
  const once = async (fresh: boolean): Promise<JWTVerifyResult> => {
    const set = isKeySet(jwks) ? jwks : await deps.keySets.get(jwksUri, cacheMaxAge * 1000, fresh);
    return jwtVerify(token, keysIn(set), {
      algorithms: [...wanted.algorithms],
      clockTolerance: wanted.clockTolerance,
      maxTokenAge,
      currentDate: new Date(deps.clock.now()),
      ...(issuer === undefined ? {} : { issuer: [...issuer] }),
      ...(audience === undefined ? {} : { audience: [...audience] }),
    });
  };
  try {
    return await once(false);
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return once(true);
    throw error;
  }
}

async function introspect(token: string, wanted: Wanted, deps: CheckDeps): Promise<Judged> {
  const { introspectEndpoint, introspectContentType, introspectHeaders, introspectCacheMaxAge } = wanted;
  const asking = {
    endpoint: introspectEndpoint ?? '',
    contentType: introspectContentType ?? '',
    headers: introspectHeaders,
    token,
    cacheMs: introspectCacheMaxAge * 1000,
  };
  const claims = await deps.introspection.claims(asking, deps);
  if (claims === undefined) return refuse('the token is not active');
  const now = deps.clock.now() / 1000;
  const { exp, nbf, iss } = claims;
  const aud = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
  const late = typeof exp === 'number' && exp + wanted.clockTolerance <= now;
  const early = typeof nbf === 'number' && nbf - wanted.clockTolerance > now;
  if (late || early) return refuse('the token is not valid at this time');
  if (wanted.issuer !== undefined && !wanted.issuer.some((one) => one === iss)) {
    return refuse('unexpected "iss" claim value');
  }
  if (wanted.audience !== undefined && !wanted.audience.some((one) => aud.includes(one))) {
    return refuse('unexpected "aud" claim value');
  }
  return { claims, header: {} };
}

/** Imported keys go with the set that they came in. */
const imported = new WeakMap<JSONWebKeySet, ReturnType<typeof createLocalJWKSet>>();

function keysIn(set: JSONWebKeySet): ReturnType<typeof createLocalJWKSet> {
  const known = imported.get(set) ?? createLocalJWKSet(set);
  imported.set(set, known);
  return known;
}

function refuse(why: string): Judged {
  return { refused: `JWT validation error: ${why}` };
}

function explain(error: unknown): string {
  if (error instanceof errors.JWKSNoMatchingKey) return 'No matching key found for kid';
  return `JWT validation error: ${error instanceof errors.JOSEError ? error.message : 'the token or its key cannot be read'}`;
}
