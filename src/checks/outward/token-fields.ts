// What can be wanted of a token.
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
} from '../contract/fields.ts';
import { MATCH_TYPES, requireValues, valuesField } from '../contract/match-values.ts';
import type { Fault, Field, Parameters } from '../contract/parameters.ts';
import { headersField, urlField } from './headers.ts';
import { isKeySet } from './key-set-cache.ts';

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

const names = () => defaulted(texts({ commas: true }), []);

/** The parameters of `default.jwt`. */
export const TOKEN_FIELDS = {
  jwksUri: alias(urlField, 'jwksUrl', 'jwksURI'),
  jwks: object(),
  introspectEndpoint: urlField,
  introspectContentType: defaulted(
    oneOf(['application/x-www-form-urlencoded', 'application/json']),
    'application/x-www-form-urlencoded',
  ),
  /** How the gateway authenticates to the authorisation server. */
  introspectHeaders: headersField,
  /** In seconds; 0 asks for every call. */
  introspectCacheMaxAge: defaulted(count(0, 86_400), 0),
  headerKey: defaulted(text(200), 'Authorization'),
  /** In seconds. */
  cacheMaxAge: defaulted(count(0, 31_536_000), 86_400),
  /** In seconds. */
  clockTolerance: defaulted(count(0, 3600), 5),
  maxTokenAge: defaulted(span, '1d'),
  algorithms: defaulted(texts({ commas: true }), ['RS256']),
  issuer: texts({ commas: true }),
  audience: texts({ commas: true }),
  requiredClaims: names(),
  claimValues: defaulted(
    mapOf(required(group({ values: valuesField, matchType: defaulted(oneOf(MATCH_TYPES), 'exact') }))),
    {},
  ),
  /** Members of the token's header that its claims must give the same value. */
  headerPayloadMatch: names(),
  /** Claims to add to the caller's headers, under the prefix. */
  extractClaims: names(),
  claimPrefix: defaulted(text(50), 'x-jwt-'),
};

/** What is wanted of a token. */
export type Wanted = Parameters<typeof TOKEN_FIELDS>;

/** Notes what is wrong about the parameters together. */
export function requireSound(wanted: Wanted, fault: Fault): void {
  const { jwksUri, jwks, introspectEndpoint, algorithms, claimValues, claimPrefix, headerPayloadMatch } =
    wanted;
  if ([jwksUri, jwks, introspectEndpoint].every((one) => one === undefined)) {
    fault('jwksUri', 'is required, or jwks or introspectEndpoint is');
  }
  if (jwks !== undefined && !isKeySet(jwks)) fault('jwks', 'must be a key set with a list of keys');
  for (const [index, name] of algorithms.entries()) {
    if (!ALGORITHMS.includes(name)) fault(`algorithms[${index}]`, `must be one of ${ALGORITHMS.join(', ')}`);
  }
  for (const [claim, { values, matchType }] of Object.entries(claimValues)) {
    requireValues(values, matchType, `claimValues.${claim}.values`, fault);
  }
  // No headers with a meaning of their own: a token's claims never go into x-api-key and its like.
  if (!/^x-[a-z\d-]*jwt[a-z\d-]*-$/i.test(claimPrefix)) {
    fault('claimPrefix', 'must begin with x-, hold jwt and end with a hyphen');
  }
  if (introspectEndpoint !== undefined && headerPayloadMatch.length > 0) {
    fault('headerPayloadMatch', 'needs jwks or jwksUri: a token that is introspected may have no header');
  }
}
