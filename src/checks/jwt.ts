// default.jwt: a header holds a token that a key set verifies, not too old, with the claims wanted. It fails closed: when
// the keys cannot be had, nobody is let in unless `failOnError` or the hook's `on_error` says so.
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { type CheckDeps, CheckFailure } from './contract/check.ts';
import { defineCheck } from './contract/define.ts';
import {
  alias,
  count,
  defaulted,
  group,
  mapOf,
  object,
  oneOf,
  required,
  text,
  texts,
} from './contract/fields.ts';
import { fitsValues, MATCH_TYPES, requireValues } from './contract/match-values.ts';
import type { Field } from './contract/parameters.ts';
import { urlField } from './outward/headers.ts';
import { isKeySet } from './outward/key-set-cache.ts';

/** With keys only: a shared secret (HS*) would make the published key set the password, `none` needs no key. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const SPAN = /^\d{1,9} ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|y|yrs?|years?)?$/;

/** A span of time as jose reads it: `1d`, `12h`, or seconds. */
const span: Field<string | undefined> = {
  ...text(30),
  read(value, path, fault) {
    const given = typeof value === 'number' ? `${value}` : value;
    if (typeof given === 'string' && SPAN.test(given)) return /\d$/.test(given) ? `${given}s` : given;
    fault(path, 'must be a span of time such as 1d, 12h or 30m');
    return undefined;
  },
};

const FIELDS = {
  jwksUri: alias(urlField, 'jwksUrl', 'jwksURI'),
  jwks: object(),
  headerKey: defaulted(text(200), 'Authorization'),
  /** In seconds. */
  cacheMaxAge: defaulted(count(0, 31_536_000), 86_400),
  /** In seconds. */
  clockTolerance: defaulted(count(0, 3600), 5),
  maxTokenAge: defaulted(span, '1d'),
  algorithms: defaulted(texts({ commas: true }), ['RS256']),
  issuer: texts({ commas: true }),
  audience: texts({ commas: true }),
  requiredClaims: defaulted(texts({ commas: true }), []),
  claimValues: defaulted(
    mapOf(
      required(
        group({
          values: required(texts({ commas: true })),
          matchType: defaulted(oneOf(MATCH_TYPES), 'exact'),
        }),
      ),
    ),
    {},
  ),
};

export const jwt = defineCheck({
  id: 'default.jwt',
  events: ['input'],
  onError: 'fail',
  fields: FIELDS,
  validate({ jwksUri, jwks, algorithms, claimValues }, fault) {
    if (jwksUri === undefined && jwks === undefined) fault('jwksUri', 'is required, or jwks is');
    if (jwks !== undefined && !isKeySet(jwks)) fault('jwks', 'must be a key set with a list of keys');
    for (const [index, name] of algorithms.entries()) {
      if (!ALGORITHMS.includes(name))
        fault(`algorithms[${index}]`, `must be one of ${ALGORITHMS.join(', ')}`);
    }
    for (const [claim, { values, matchType }] of Object.entries(claimValues)) {
      requireValues(values, matchType, `claimValues.${claim}.values`, fault);
    }
  },
  async run({ traffic }, parameters, deps) {
    // The caller's headers have lower-case names, whatever the parameter's spelling.
    const name = parameters.headerKey.toLowerCase();
    const header = Object.hasOwn(traffic.headers, name) ? traffic.headers[name] : undefined;
    const token = header?.replace(/^Bearer\s+/i, '').trim() ?? '';
    if (token === '') return refused('Missing authorization header');
    const keys = (fresh: boolean): Promise<JSONWebKeySet> | JSONWebKeySet =>
      isKeySet(parameters.jwks)
        ? parameters.jwks
        : deps.keySets.get(parameters.jwksUri ?? '', parameters.cacheMaxAge * 1000, fresh);
    const verify = async (fresh: boolean): Promise<JWTPayload> => {
      const { payload } = await jwtVerify(token, createLocalJWKSet(await keys(fresh)), {
        algorithms: [...parameters.algorithms],
        clockTolerance: parameters.clockTolerance,
        maxTokenAge: parameters.maxTokenAge ?? '1d',
        currentDate: new Date(deps.clock.now()),
        requiredClaims: [...parameters.requiredClaims],
        ...(parameters.issuer === undefined ? {} : { issuer: [...parameters.issuer] }),
        ...(parameters.audience === undefined ? {} : { audience: [...parameters.audience] }),
      });
      return payload;
    };
    let payload: JWTPayload;
    try {
      payload = await verify(false).catch((error: unknown) => {
        if (error instanceof errors.JWKSNoMatchingKey) return verify(true);
        throw error;
      });
    } catch (error) {
      if (error instanceof CheckFailure) throw error;
      return refused(explain(error));
    }
    const wrong = await wrongClaim(payload, parameters.claimValues, deps, traffic.tenant);
    if (wrong !== undefined) return refused(`JWT validation error: the claim ${wrong} has another value`);
    return { verdict: true, data: { verdict: true, explanation: 'JWT token validation succeeded' } };
  },
});

function refused(explanation: string) {
  return { verdict: false, data: { verdict: false, explanation } };
}

function explain(error: unknown): string {
  if (error instanceof errors.JWKSNoMatchingKey) return 'No matching key found for kid';
  return `JWT validation error: ${error instanceof errors.JOSEError ? error.message : 'the token or its key cannot be read'}`;
}

type ClaimValues = Readonly<
  Record<string, { readonly values: readonly string[]; readonly matchType: (typeof MATCH_TYPES)[number] }>
>;

/** The first claim that has not the value wanted. */
async function wrongClaim(
  payload: JWTPayload,
  wanted: ClaimValues,
  { sandbox }: CheckDeps,
  tenant: string,
): Promise<string | undefined> {
  for (const [claim, { values, matchType }] of Object.entries(wanted)) {
    const value: unknown = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
    const actual = (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined && one !== null)
      .map(String);
    if (!(await fitsValues(actual, values, matchType, sandbox, tenant))) return claim;
  }
  return undefined;
}
