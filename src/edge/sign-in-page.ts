// /console/sign-in/oidc and /console/callback: the browser goes to the identity provider and comes back with a session.
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import { type GatewayError, toGatewayError } from '../lib/errors.ts';

export interface SignInSurface {
  readonly begin: (
    returnTo: string | undefined,
  ) => Promise<{ readonly location: string; readonly cookie: string }>;
  /** @returns where the browser goes, and the header of the session's cookie */
  readonly finish: (
    req: IncomingMessage,
    query: string,
    cookie: string | undefined,
  ) => Promise<{ readonly location: string; readonly setCookie: string }>;
  /** Counts a sign-in of an address. @returns milliseconds to wait when there are too many; else 0 */
  readonly taken: (req: IncomingMessage) => number;
  readonly secure: (req: IncomingMessage) => boolean;
}

export const SIGN_IN_PATH = '/console/sign-in/oidc';
export const CALLBACK_PATH = '/console/callback';
const NAME = 'sluice_sign_in';

export function beginPage(surface: SignInSurface): Middleware {
  return guarded(surface, async (ctx) => {
    const { location, cookie } = await surface.begin(ctx.URL.searchParams.get('return_to') ?? undefined);
    ctx.append('set-cookie', transactionCookie(cookie, surface.secure(ctx.req), 600));
    redirect(ctx, location);
  });
}

export function callbackPage(surface: SignInSurface): Middleware {
  return guarded(surface, async (ctx) => {
    // One use: it is gone whatever comes of it.
    ctx.append('set-cookie', transactionCookie('', surface.secure(ctx.req), 0));
    const cookie = ctx.cookies.get(NAME);
    const { location, setCookie } = await surface.finish(ctx.req, ctx.search, cookie);
    ctx.append('set-cookie', setCookie);
    redirect(ctx, location);
  });
}

function guarded(surface: SignInSurface, run: (ctx: Context) => Promise<void>): Middleware {
  return async (ctx) => {
    ctx.set('cache-control', 'no-store');
    ctx.set('referrer-policy', 'no-referrer');
    ctx.set('x-content-type-options', 'nosniff');
    ctx.set('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
    const waitMs = surface.taken(ctx.req);
    if (waitMs > 0) {
      ctx.status = 429;
      ctx.set('retry-after', String(Math.ceil(waitMs / 1000)));
      ctx.body = 'Too many sign-ins come from this address: try again later.\n';
      return;
    }
    try {
      await run(ctx);
    } catch (thrown) {
      const error: GatewayError = toGatewayError(thrown);
      ctx.status = error.status;
      ctx.type = 'text/plain';
      ctx.body = `${error.message}\n`;
    }
  };
}

function redirect(ctx: Context, location: string): void {
  ctx.status = 303;
  ctx.set('location', location);
  ctx.body = null;
  ctx.status = 303;
}

function transactionCookie(value: string, secure: boolean, seconds: number): string {
  const flag = secure ? '; Secure' : '';
  return `${NAME}=${value}; Path=${CALLBACK_PATH}; HttpOnly; SameSite=Lax; Max-Age=${seconds}${flag}`;
}
