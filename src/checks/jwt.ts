// default.jwt: a header holds a token that a key set verifies, or that an authorisation server calls active, with the
// claims wanted. It fails closed: without an answer the call is denied unless `failOnError` or `on_error` allows it.
import type { CheckDeps, CheckOutcome } from './contract/check.ts';
import { claimHeaders, unlikeHeader, wrongClaim } from './contract/claims.ts';
import { defineCheck } from './contract/define.ts';
import { judgeToken } from './outward/token.ts';
import { requireSound, TOKEN_FIELDS, type Wanted } from './outward/token-fields.ts';
import type { JsonObject, Traffic } from './view/traffic.ts';

export const jwt = defineCheck({
  id: 'default.jwt',
  events: ['input'],
  onError: 'fail',
  fields: TOKEN_FIELDS,
  validate: requireSound,
  async run({ traffic }, wanted, deps) {
    // The caller's headers have lower-case names, whatever the parameter's spelling.
    const name = wanted.headerKey.toLowerCase();
    const value = Object.hasOwn(traffic.headers, name) ? traffic.headers[name] : undefined;
    const token = value?.replace(/^Bearer\s+/i, '').trim() ?? '';
    if (token === '') return refused('Missing authorization header');
    const judged = await judgeToken(token, wanted, deps);
    if ('refused' in judged) return refused(judged.refused);
    return judgeClaims(judged.claims, judged.header, wanted, traffic, deps);
  },
});

/** What is wanted of the claims of a token that is well. */
async function judgeClaims(
  claims: JsonObject,
  header: JsonObject,
  wanted: Wanted,
  traffic: Traffic,
  { sandbox }: CheckDeps,
): Promise<CheckOutcome> {
  const missing = wanted.requiredClaims.find((name) => !Object.hasOwn(claims, name));
  if (missing !== undefined) return refused(`JWT validation error: missing required "${missing}" claim`);
  const wrong = await wrongClaim(claims, wanted.claimValues, sandbox, traffic);
  if (wrong !== undefined) return refused(`JWT validation error: the claim ${wrong} has another value`);
  const unlike = unlikeHeader(header, claims, wanted.headerPayloadMatch);
  if (unlike !== undefined) return refused(`JWT validation error: header and claims differ in ${unlike}`);
  return {
    verdict: true,
    data: { verdict: true, explanation: 'JWT token validation succeeded' },
    headers: claimHeaders(claims, wanted.extractClaims, wanted.claimPrefix.toLowerCase()),
  };
}

function refused(explanation: string): CheckOutcome {
  return { verdict: false, data: { verdict: false, explanation } };
}
