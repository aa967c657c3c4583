// Sign-in without an API key: the browser goes to the identity provider and comes back with a session, or follows a link
// that was mailed. And the address where identity providers end sessions.
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import { Aborter } from '../lib/abort.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import { html } from './oauth/page-html.ts';
import type { BodyReader } from './read-body.ts';

/** An identity provider, by the query of an address. */
export interface NamedProvider {
  /** Id; undefined: the first organisation. */
  readonly organisation: string | undefined;
  /** Id or slug; undefined: that of the settings. */
  readonly provider: string | undefined;
}

export interface SignInSurface {
  readonly begin: (
    named: NamedProvider & { readonly returnTo: string | undefined },
  ) => Promise<{ readonly location: string; readonly cookie: string }>;
  /** @returns where the browser goes, and the header of the session's cookie */
  readonly finish: (
    req: IncomingMessage,
    query: string,
    cookie: string | undefined,
  ) => Promise<{ readonly location: string; readonly setCookie: string }>;
  /** As `finish`, by the token of a link. */
  readonly followLink: (
    req: IncomingMessage,
    token: string,
  ) => Promise<{ readonly location: string; readonly setCookie: readonly string[] }>;
  /** Ends the sessions that a logout token means. @throws GatewayError validation_failed for one that does not count */
  readonly logout: (named: NamedProvider, token: string) => Promise<void>;
  /** Whether the gateway began the sign-out that an identity provider leads back from. */
  readonly isSignOut: (state: string) => boolean;
  /** Counts a sign-in of an address. @returns milliseconds to wait when there are too many; else 0 */
  readonly taken: (req: IncomingMessage) => number;
  readonly secure: (req: IncomingMessage) => boolean;
}

export const SIGN_IN_PATH = '/console/sign-in/oidc';
export const LINK_PATH = '/console/sign-in/link';
export const CALLBACK_PATH = '/console/callback';
export const SIGNED_OUT_PATH = '/console/signed-out';
export const LOGOUT_PATH = '/console/backchannel-logout';
const NAME = 'sluice_sign_in';
const LONGEST_FORM = 16 * 1024;

export function beginPage(surface: SignInSurface): Middleware {
  return guarded(surface, async (ctx) => {
    const returnTo = ctx.URL.searchParams.get('return_to') ?? undefined;
    const { location, cookie } = await surface.begin({ ...namedBy(ctx), returnTo });
    ctx.append('set-cookie', transactionCookie(cookie, surface.secure(ctx.req), 600));
    redirect(ctx, location);
  });
}

export function callbackPage(surface: SignInSurface): Middleware {
  return guarded(surface, async (ctx) => {
    // Single use: it is deleted also when the sign-in fails.
    ctx.append('set-cookie', transactionCookie('', surface.secure(ctx.req), 0));
    const cookie = ctx.cookies.get(cookieName(surface.secure(ctx.req)));
    const { location, setCookie } = await surface.finish(ctx.req, ctx.search, cookie);
    ctx.append('set-cookie', setCookie);
    redirect(ctx, location);
  });
}

export function linkPage(surface: SignInSurface): Middleware {
  return guarded(surface, async (ctx) => {
    const token = ctx.URL.searchParams.get('token') ?? '';
    const { location, setCookie } = await surface.followLink(ctx.req, token);
    for (const one of setCookie) ctx.append('set-cookie', one);
    redirect(ctx, location);
  });
}

/** Where identity providers lead back to after a sign-out there: to the console, whatever else the address says. */
export function signedOutPage(surface: SignInSurface): Middleware {
  return guarded(surface, async (ctx) => {
    if (!surface.isSignOut(ctx.URL.searchParams.get('state') ?? ''))
      throw fail('unauthenticated', 'this sign-out was not begun here: go to /console');
    redirect(ctx, '/console');
  });
}

/** OpenID Connect Back-Channel Logout 1.0, part 2.5: a form with a logout token, and 200 or 400. */
export function logoutPage(surface: SignInSurface, bodies: BodyReader): Middleware {
  const run = async (ctx: Context): Promise<void> => {
    const aborter = new Aborter();
    const left = (): void => aborter.abort(fail('client_closed', 'the client has left'));
    ctx.res.once('close', left);
    try {
      const bytes = await bodies.readForm(ctx.req, LONGEST_FORM, aborter);
      const token = new URLSearchParams(Buffer.from(bytes).toString()).get('logout_token');
      if (token === null)
        throw fail('validation_failed', 'logout_token: is needed', { param: 'logout_token' });
      await surface.logout(namedBy(ctx), token);
      ctx.status = 200;
      ctx.body = '';
    } finally {
      ctx.res.off('close', left);
    }
  };
  // An identity provider ends the sessions of many people at once: only what it did not sign counts against its address.
  return guarded(surface, run, 'refused');
}

function namedBy({ URL: { searchParams } }: Context): NamedProvider {
  return {
    organisation: searchParams.get('organisation') ?? undefined,
    provider: searchParams.get('provider') ?? undefined,
  };
}

/** @param counted which requests count against the client's address */
function guarded(
  surface: SignInSurface,
  run: (ctx: Context) => Promise<void>,
  counted: 'all' | 'refused' = 'all',
): Middleware {
  const isFlood = (ctx: Context): boolean => {
    const waitMs = surface.taken(ctx.req);
    if (waitMs === 0) return false;
    ctx.set('retry-after', String(Math.ceil(waitMs / 1000)));
    tell(ctx, 429, 'Too many sign-ins come from this address: try again later.');
    return true;
  };
  return async (ctx) => {
    ctx.set('cache-control', 'no-store');
    ctx.set('referrer-policy', 'no-referrer');
    ctx.set('x-content-type-options', 'nosniff');
    ctx.set('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
    if (counted === 'all' && isFlood(ctx)) return;
    try {
      await run(ctx);
    } catch (thrown) {
      const error: GatewayError = toGatewayError(thrown);
      if (counted === 'refused' && isFlood(ctx)) return;
      tell(ctx, error.status, error.message);
    }
  };
}

/** Says what went wrong: to people with the way back, to programs as text. */
function tell(ctx: Context, status: number, words: string): void {
  ctx.status = status;
  if (ctx.accepts('text', 'html') !== 'html') {
    ctx.type = 'text/plain';
    ctx.body = `${words}\n`;
    return;
  }
  ctx.type = 'text/html';
  ctx.body = html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Sign in · Sluice</title></head>
<body><main><h1>Sign in</h1>
<p role="alert">${words}</p>
<p><a href="/console">Back to the console</a></p></main></body>
</html>
`.text;
}

function redirect(ctx: Context, location: string): void {
  ctx.status = 303;
  ctx.set('location', location);
  ctx.body = null;
  ctx.status = 303;
}

/** Over TLS no neighbour of the host can plant one: a sign-in of theirs would end in the person's browser. */
function cookieName(secure: boolean): string {
  return secure ? `__Host-${NAME}` : NAME;
}

function transactionCookie(value: string, secure: boolean, seconds: number): string {
  const rest = `HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure ? '; Secure' : ''}`;
  return `${cookieName(secure)}=${value}; Path=${secure ? '/' : CALLBACK_PATH}; ${rest}`;
}
