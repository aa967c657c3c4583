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

const LINK_NAME = 'sluice_link';

/** The cookie by which a mailed link knows the browser that asked for it. */
export function linkCookie(secret: string, secure: boolean, maxAgeMs: number): string {
  const rest = `Path=/console/sign-in; HttpOnly; SameSite=Lax; Max-Age=${Math.floor(maxAgeMs / 1000)}`;
  return `${LINK_NAME}=${secret}; ${rest}${secure ? '; Secure' : ''}`;
}

/** @param cookies the header; undefined: the browser asked for no link */
export function linkSecret(cookies: string | undefined): string | undefined {
  return cookieNamed(cookies ?? '', LINK_NAME);
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
  if (origin === undefined || origin === site.origin) return true;
  const host = headers.plain('host') ?? headers.plain(':authority');
  // A proxy may rename the host, and HTTP/2 tells none to Connect: then the browser's word counts.
  return hostOf(origin) === host || fetchSite === 'same-origin';
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : '';
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
