// A token's validity in time, its issuer and its audience (RFC 7519, part 4.1).

import { type Claims, claim } from './read-token.ts';
import { refused } from './refused.ts';

/** What the settings ask of these claims. */
export interface TokenRules {
  /** Empty: any. */
  readonly issuers: readonly string[];
  /** Empty: any. */
  readonly audiences: readonly string[];
  readonly clockSkewSeconds: number;
}

/** The last second that a Date can hold. */
const LAST_SECOND = 8.64e12;

/**
 * Checks exp (required), nbf, iat, iss and aud. Answers when the token ends, skew included, in Unix milliseconds.
 * @throws GatewayError unauthenticated.
 */
export function checkTimeAndParties(claims: Claims, rules: TokenRules, nowMs: number): number {
  const { issuers, audiences, clockSkewSeconds: skew } = rules;
  const now = nowMs / 1000;
  const expires = secondsOf(claims, 'exp');
  if (expires === undefined) throw refused('the token has no time of expiry (exp)');
  const notBefore = secondsOf(claims, 'nbf');
  const issuedAt = secondsOf(claims, 'iat');
  if (issuers.length > 0) {
    const issuer = claim(claims, 'iss');
    if (typeof issuer !== 'string' || !issuers.includes(issuer))
      throw refused("the token's issuer (iss) is not accepted");
  }
  if (audiences.length > 0 && !audienceOf(claims).some((audience) => audiences.includes(audience)))
    throw refused("the token's audience (aud) is not accepted");
  if (now >= expires + skew) throw refused('the token has expired');
  if (notBefore !== undefined && now < notBefore - skew) throw refused('the token is not valid yet (nbf)');
  if (issuedAt !== undefined && now < issuedAt - skew)
    throw refused('the token was issued in the future (iat)');
  return (expires + skew) * 1000;
}

function secondsOf(claims: Claims, name: string): number | undefined {
  const value = claim(claims, name);
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !(value >= 0 && value <= LAST_SECOND))
    throw refused(`the token's ${name} must be a time in seconds`);
  return value;
}

function audienceOf(claims: Claims): readonly string[] {
  const audience = claim(claims, 'aud');
  const list: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  return list.filter((item) => typeof item === 'string');
}
