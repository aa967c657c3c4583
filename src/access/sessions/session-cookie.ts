// The cookie of a session, and which requests it counts for.
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';

const NAME = 'sluice_session';
/** Browsers take a cookie of this name from a secure origin alone, for its own host and every path. */
const SECURE_NAME = `__Host-${NAME}`;

/** How people reach the gateway. */
export interface CookieSite {
  /** Over TLS alone: a cookie without the prefix does not count then. */
  readonly secure: boolean;
  /** `https://gateway.example`; undefined: the Host of each request. */
  readonly origin: string | undefined;
}

const LOOPBACK = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;
const LINK_NAME = 'sluice_link';

/** The cookie by which a mailed link knows the browser that asked for it. */
export function linkCookie(secret: string, secure: boolean, maxAgeMs: number): string {
  const rest = `HttpOnly; SameSite=Lax; Max-Age=${Math.floor(maxAgeMs / 1000)}`;
  // Over TLS no neighbour of the host can plant one: a link of theirs would sign the person in as them.
  return secure
    ? `__Host-${LINK_NAME}=${secret}; Path=/; ${rest}; Secure`
    : `${LINK_NAME}=${secret}; Path=/console/sign-in; ${rest}`;
}

/** @param cookies the header; undefined: the browser asked for no link */
export function linkSecret(cookies: string | undefined, secure: boolean): string | undefined {
  return cookieNamed(cookies ?? '', secure ? `__Host-${LINK_NAME}` : LINK_NAME);
}

/** The session's secret in the request's cookies; undefined without one, and when another site made the request. */
export function sessionCookie(headers: GatewayHeaders, site: CookieSite): string | undefined {
  const secret = visitCookie(headers, site);
  return secret !== undefined && isOwnOrigin(headers, site) ? secret : undefined;
}

/** As `sessionCookie`, whichever site led the browser here: for pages that change nothing when they are opened. */
export function visitCookie(headers: GatewayHeaders, site: CookieSite): string | undefined {
  const cookies = headers.plain('cookie');
  if (cookies === undefined || !cookies.includes(NAME)) return undefined;
  return cookieNamed(cookies, SECURE_NAME) ?? (site.secure ? undefined : cookieNamed(cookies, NAME));
}

/**
 * Whether the gateway's own pages made the request, as far as headers tell: a browser sends Sec-Fetch-Site where the origin is
 * trustworthy, and Origin with every POST. Programs send neither, and cannot be made to call by another site.
 */
export function isOwnOrigin(headers: GatewayHeaders, site: CookieSite): boolean {
  const fetchSite = headers.plain('sec-fetch-site');
  if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none') return false;
  const origin = headers.plain('origin');
  // A proxy may rename the host, and HTTP/2 tells none to Connect: then the browser's word counts.
  if (origin === undefined || origin === site.origin || fetchSite === 'same-origin') return true;
  const host = headers.plain('host') ?? headers.plain(':authority');
  const from = URL.parse(origin);
  if (from === null || from.host !== host) return false;
  // A page without TLS may be anybody's on the way, unless it is of this machine.
  return !site.secure || from.protocol === 'https:' || LOOPBACK.test(from.hostname);
}

function cookieNamed(cookies: string, name: string): string | undefined {
  for (const part of cookies.split(';')) {
    const [key = '', value = ''] = part.trim().split('=', 2);
    if (key === name && value !== '') return value;
  }
  return undefined;
}

/** @param maxAgeMs 0: the browser drops the cookie */
export function setCookie(secret: string, secure: boolean, maxAgeMs: number): string {
  const rest = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${Math.floor(maxAgeMs / 1000)}`;
  return secure ? `${SECURE_NAME}=${secret}; ${rest}; Secure` : `${NAME}=${secret}; ${rest}`;
}
