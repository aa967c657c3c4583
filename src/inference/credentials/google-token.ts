// What Google's logins have in common: how their services answer, and how their JSON is refused.
import type { JsonValue } from '@bufbuild/protobuf';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { vertexAi } from '../../providers/catalog/vertex-ai.ts';
import { parsedObject, textOf } from '../../providers/json-object.ts';
import { optionError } from '../../providers/options/named.ts';
import type { Lease } from '../../secrets/leases.ts';
import type { Exchanged } from './exchange.ts';

export const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
/** A token without a life of its own is kept for so long, in seconds. */
const USUAL_LIFE = 300;
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/** The error of the JSON that says who calls; nothing of it is repeated. */
export function accountError(why: string): GatewayError {
  return optionError(vertexAi, 'vertex_service_account_json', why);
}

/** An address in that JSON. @throws GatewayError `invalid_header` naming the member */
export function webAddress(value: JsonValue | undefined, member: string): URL {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.hash !== '')
    throw accountError(`${member} must be an https address`);
  return url;
}

/**
 * The access token of an answer (RFC 6749, part 5).
 * @param who in words, for errors
 * @throws GatewayError `upstream_status` where it is refused, `upstream_unreachable`
 */
export function tokenIn({ status, text }: Exchanged, from: URL, who: string, now: number): Lease<string> {
  const json = parsedObject(text);
  // The services of Google name the members of JSON in two ways.
  const token = textOf(json?.access_token) ?? textOf(json?.accessToken);
  if (status === 200 && token !== undefined && TOKEN.test(token)) {
    const ends = Date.parse(textOf(json?.expireTime) ?? '');
    if (!Number.isNaN(ends)) return { token, expiresAt: ends };
    const life = typeof json?.expires_in === 'number' && json.expires_in > 0 ? json.expires_in : USUAL_LIFE;
    return { token, expiresAt: now + life * 1000 };
  }
  // The service's words could repeat what it was sent.
  const named = textOf(json?.error) ?? '';
  const why = /^[a-z_]{1,64}$/.test(named) ? `: ${named}` : '';
  if (status >= 400 && status < 500)
    throw fail('upstream_status', `${who} was given no token${why}`, {
      status: status === 429 ? 429 : 401,
      code: 'token_refused',
    });
  throw fail('upstream_unreachable', `${from.host} gave ${who} no token (${status})`);
}
