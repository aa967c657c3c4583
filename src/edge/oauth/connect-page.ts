// /oauth/connect/<server> and /oauth/callback: a user signs in at an upstream, and comes back.
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { Connect } from '../../access/mcp-oauth/connect.ts';
import { CALLBACK_PATH, ownMetadata } from '../../access/mcp-oauth/upstream-client.ts';
import type { Visitor } from '../../access/oauth/consent.ts';
import { OauthError } from '../../access/oauth/oauth-error.ts';
import { isOwnOrigin } from '../../access/sessions/session-cookie.ts';
import type { SessionRing } from '../../access/sessions/session-ring.ts';
import { toGatewayError } from '../../lib/errors.ts';
import type { BodyReader } from '../read-body.ts';
import { respondRefusal, signInLocation } from './authorize-page.ts';
import { html, respondPage, respondRedirect } from './page-html.ts';
import { readSmallBody } from './small-body.ts';

export const CONNECT_PATH = '/oauth/connect/:slug';

export interface ConnectPageDeps {
  readonly connect: Pick<Connect, 'server' | 'begin' | 'finish'>;
  readonly sessions: Pick<SessionRing, 'visitorOf' | 'site'>;
  readonly visitorOf: (req: IncomingMessage) => Visitor;
  readonly signInPath: string;
  /** Whether the browser keeps cookies for TLS alone. */
  readonly secure: (req: IncomingMessage) => boolean;
}

const COOKIE = 'sluice_connect_';
const SECONDS = 600;

/** GET: which server, and a button. Opening it changes nothing. */
export function connectPage({ connect, sessions, visitorOf, signInPath }: ConnectPageDeps): Middleware {
  return guarded(async (ctx) => {
    const session = sessions.visitorOf(visitorOf(ctx.req).headers);
    if (session === undefined) return respondRedirect(ctx, signInLocation(ctx, signInPath));
    const { server, isConnected } = connect.server(session, slugOf(ctx));
    const { host } = new URL(server.integration.body.url);
    const state = isConnected ? 'You are connected. Connect again to renew it.' : 'You are not connected.';
    respondPage(
      ctx,
      200,
      `Connect to ${server.name}`,
      html`<p>${state}</p>
<dl><dt>Server</dt><dd>${host}</dd></dl>
<p>You sign in at the server’s own authorization server. Its tokens are kept encrypted, and used for your calls alone.</p>
<form method="post" action="${ctx.path}${ctx.search}"><button>Connect</button></form>`,
      ['https:', 'http:'],
    );
  });
}

/** POST: the way to the authorization server. */
export function beginConnectPage(deps: ConnectPageDeps, bodies: BodyReader): Middleware {
  const { connect, sessions, visitorOf, secure } = deps;
  return guarded(async (ctx) => {
    const { headers, base } = visitorOf(ctx.req);
    const session = sessions.visitorOf(headers);
    if (session === undefined || !isOwnOrigin(headers, sessions.site))
      return respondRefusal(ctx, 403, 'This did not come from your page: open the link again.');
    if (Number(ctx.get('content-length') || 0) > 0)
      await readSmallBody(bodies, ctx, 'application/x-www-form-urlencoded');
    const scope = new URLSearchParams(ctx.querystring).get('scope') ?? undefined;
    const more = scope !== undefined && /^[\x21\x23-\x5b\x5d-\x7e ]{1,1000}$/.test(scope) ? scope : undefined;
    const { location, cookie, state } = await connect.begin(session, slugOf(ctx), base, more);
    ctx.append('set-cookie', cookieOf(state, cookie, SECONDS, secure(ctx.req)));
    respondRedirect(ctx, location);
  });
}

export function connectCallbackPage({
  connect,
  sessions,
  visitorOf,
  signInPath,
  secure,
}: ConnectPageDeps): Middleware {
  return guarded(async (ctx) => {
    const { headers, address } = visitorOf(ctx.req);
    const session = sessions.visitorOf(headers);
    if (session === undefined) return respondRedirect(ctx, signInPath);
    const query = new URLSearchParams(ctx.querystring);
    const state = query.get('state') ?? '';
    const name = nameOf(state);
    const cookie = name === undefined ? undefined : ctx.cookies.get(name);
    // One use: it is gone whatever comes of it.
    if (name !== undefined) ctx.append('set-cookie', cookieOf(state, '', 0, secure(ctx.req)));
    const server = await connect.finish(session, query, cookie, address);
    respondPage(
      ctx,
      200,
      `Connected to ${server.name}`,
      html`<p>Your calls reach it now. You may close this page and try again what you did.</p>`,
    );
  });
}

/** The gateway as a client of authorization servers outside. */
export function clientMetadataPage({ visitorOf }: Pick<ConnectPageDeps, 'visitorOf'>): Middleware {
  return (ctx) => {
    ctx.set('access-control-allow-origin', '*');
    ctx.set('cache-control', 'public, max-age=300');
    ctx.set('content-type', 'application/json');
    ctx.body = JSON.stringify(ownMetadata(visitorOf(ctx.req).base));
  };
}

function guarded(run: (ctx: Context) => Promise<void>): Middleware {
  return async (ctx) => {
    try {
      await run(ctx);
    } catch (thrown) {
      if (thrown instanceof OauthError) return respondRefusal(ctx, thrown.status, thrown.message);
      const error = toGatewayError(thrown);
      respondRefusal(
        ctx,
        error.status,
        error.status === 500 ? 'the gateway cannot answer now: try again' : error.message,
      );
    }
  };
}

function slugOf(ctx: Context): string {
  const given = ctx.path.split('/')[3] ?? '';
  return /^[A-Za-z0-9._-]{1,255}$/.test(given) ? given : '-';
}

/** Each sign-in under way has a cookie of its own. */
function nameOf(state: string): string | undefined {
  return /^[\w-]{32}$/.test(state) ? COOKIE + state.slice(0, 12) : undefined;
}

function cookieOf(state: string, value: string, seconds: number, secure: boolean): string {
  const flag = secure ? '; Secure' : '';
  return `${nameOf(state)}=${value}; Path=${CALLBACK_PATH}; HttpOnly; SameSite=Lax; Max-Age=${seconds}${flag}`;
}
