// Tokens by which an identity provider ends sessions (OpenID Connect Back-Channel Logout 1.0).
import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { fail } from '../../lib/errors.ts';

/** Whose sessions end: all of a subject, or one session of the identity provider. */
export interface Logout {
  /** Unique among the issuer's tokens: each counts once. */
  readonly tokenId: string;
  readonly subject: string | undefined;
  readonly providerSession: string | undefined;
}

export interface LogoutRules {
  readonly issuer: string;
  readonly clientId: string;
  readonly keys: JWTVerifyGetKey;
}

/** How old a token may be, in seconds. Its id is remembered for longer. */
export const LOGOUT_SECONDS = 600;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const TYPES: ReadonlySet<string> = new Set(['logout+jwt', 'jwt']);
const LONGEST = 8192;

/** @throws GatewayError validation_failed for a token that is none, is not signed by the issuer, or is too old */
export async function readLogoutToken(token: string, rules: LogoutRules): Promise<Logout> {
  const { issuer, clientId, keys } = rules;
  if (token.length > LONGEST) throw refused();
  const read = await jwtVerify(token, keys, {
    issuer,
    audience: clientId,
    algorithms: ALGORITHMS,
    clockTolerance: 60,
    maxTokenAge: LOGOUT_SECONDS,
    requiredClaims: ['jti', 'events'],
  }).catch((cause: unknown) => {
    throw refused(cause);
  });
  const { typ = 'jwt' } = read.protectedHeader;
  if (!TYPES.has(typ.toLowerCase().replace(/^application\//, ''))) throw refused();
  return logoutOf(read.payload);
}

function logoutOf({ jti, sub, sid, nonce, events }: JWTPayload): Logout {
  const isLogout = typeof events === 'object' && events !== null && Object.hasOwn(events, EVENT);
  // A token with a nonce is an identity token: the specification has it refused.
  if (!isLogout || nonce !== undefined || typeof jti !== 'string' || jti === '') throw refused();
  const subject = typeof sub === 'string' ? sub.slice(0, 255) : undefined;
  const providerSession = typeof sid === 'string' ? sid.slice(0, 255) : undefined;
  if (subject === undefined && providerSession === undefined) throw refused();
  return { tokenId: jti, subject, providerSession };
}

/** @param cause for the log; callers learn no more than that it does not count */
function refused(cause?: unknown) {
  return fail('validation_failed', 'logout_token: is not a valid logout token of the identity provider', {
    param: 'logout_token',
    cause,
  });
}
