// The authorization server's addresses: its metadata, /oauth/authorize, /oauth/token, /oauth/register, /oauth/revoke.
import type { IncomingMessage } from 'node:http';
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { CALLBACK_PATH, METADATA_PATH } from '../../access/mcp-oauth/upstream-client.ts';
import type { OauthClient } from '../../access/oauth/oauth-client.ts';
import { OauthError } from '../../access/oauth/oauth-error.ts';
import { serverMetadata } from '../../access/oauth/server-metadata.ts';
import type { TokenEndpoint } from '../../access/oauth/token-endpoint.ts';
import { toGatewayError } from '../../lib/errors.ts';
import type { BodyReader } from '../read-body.ts';
import { AUTHORIZE_PATH, type AuthorizePageDeps, answerPage, questionPage } from './authorize-page.ts';
import {
  beginConnectPage,
  CONNECT_PATH,
  type ConnectPageDeps,
  clientMetadataPage,
  connectCallbackPage,
  connectPage,
} from './connect-page.ts';
import { readSmallBody } from './small-body.ts';

export interface OauthSurface extends AuthorizePageDeps, ConnectPageDeps {
  readonly tokens: Pick<TokenEndpoint, 'token' | 'revoke'>;
  /** Undefined: clients do not register themselves. @throws OauthError */
  readonly register:
    | ((metadata: unknown) => { readonly client: OauthClient; readonly issuedAt: number })
    | undefined;
  /** Counts a registration, or a refused request for a token, of an address. @returns milliseconds to wait; else 0 */
  readonly taken: (req: IncomingMessage, what: 'registration' | 'refusal') => number;
}

const METADATA_PATHS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];
const FORM = 'application/x-www-form-urlencoded';

export function addOauthRoutes(router: Router, surface: OauthSurface, bodies: BodyReader): void {
  const { tokens, register, visitorOf } = surface;
  for (const path of METADATA_PATHS)
    router.all(`${path}{/*rest}`, (ctx) => {
      const { base } = visitorOf(ctx.req);
      const own = new URL(base).pathname.replace(/\/$/, '');
      const asked = ctx.path.slice(path.length).replace(/\/$/, '');
      open(ctx, 'GET, HEAD');
      if (ctx.method === 'OPTIONS') return;
      if (asked !== '' && asked !== own)
        return respondFault(
          ctx,
          new OauthError('invalid_request', 'there is no authorization server of this path', 404),
        );
      if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return respondMethod(ctx, 'GET');
      ctx.set('cache-control', 'public, max-age=300');
      respond(ctx, 200, serverMetadata(base, register !== undefined));
    });
  router.get(CONNECT_PATH, connectPage(surface));
  router.post(CONNECT_PATH, beginConnectPage(surface, bodies));
  router.get(CALLBACK_PATH, connectCallbackPage(surface));
  router.get(METADATA_PATH, clientMetadataPage(surface));
  router.get(AUTHORIZE_PATH, questionPage(surface));
  router.post(AUTHORIZE_PATH, answerPage(surface, bodies));
  router.all(
    '/oauth/token',
    endpoint(surface, async (ctx) => {
      const form = new URLSearchParams(await readSmallBody(bodies, ctx, FORM));
      respond(ctx, 200, await tokens.token(form, visitorOf(ctx.req).base));
    }),
  );
  router.all(
    '/oauth/revoke',
    endpoint(surface, async (ctx) => {
      const form = new URLSearchParams(await readSmallBody(bodies, ctx, FORM));
      await tokens.revoke(form, visitorOf(ctx.req).base);
      respond(ctx, 200, {});
    }),
  );
  if (register === undefined) return;
  router.all(
    '/oauth/register',
    endpoint(surface, async (ctx) => {
      const waitMs = surface.taken(ctx.req, 'registration');
      if (waitMs > 0) return tooMany(ctx, waitMs);
      const { client, issuedAt } = register(parsed(await readSmallBody(bodies, ctx, 'application/json')));
      respond(ctx, 201, {
        client_id: client.id,
        client_id_issued_at: issuedAt,
        ...(client.name === '' ? {} : { client_name: client.name }),
        redirect_uris: client.redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        scope: 'mcp.invoke',
      });
    }),
  );
}

/** A POST that programs and pages of any site may make: it carries no cookie that counts. */
function endpoint(surface: OauthSurface, run: (ctx: Context) => Promise<void>): Middleware {
  return async (ctx) => {
    open(ctx, 'POST');
    if (ctx.method === 'OPTIONS') return;
    if (ctx.method !== 'POST') return respondMethod(ctx, 'POST');
    try {
      await run(ctx);
    } catch (thrown) {
      if (thrown instanceof OauthError) {
        const waitMs = thrown.status < 500 ? surface.taken(ctx.req, 'refusal') : 0;
        if (waitMs > 0) tooMany(ctx, waitMs);
        else respondFault(ctx, thrown);
        return;
      }
      const { status, reason } = toGatewayError(thrown);
      const code = status === 503 ? 'temporarily_unavailable' : 'server_error';
      respondFault(ctx, new OauthError(code, `the gateway cannot answer now (${reason})`, status));
    }
  };
}

function open(ctx: Context, methods: string): void {
  ctx.set('access-control-allow-origin', '*');
  ctx.set('cache-control', 'no-store');
  ctx.set('x-content-type-options', 'nosniff');
  if (ctx.method !== 'OPTIONS') return;
  ctx.set('access-control-allow-methods', `${methods}, OPTIONS`);
  ctx.set('access-control-allow-headers', 'content-type, authorization, mcp-protocol-version');
  ctx.set('access-control-max-age', '86400');
  ctx.status = 204;
}

function respond(ctx: Context, status: number, json: object): void {
  ctx.status = status;
  ctx.set('content-type', 'application/json');
  ctx.body = JSON.stringify(json);
}

function respondFault(ctx: Context, { code, message, status }: OauthError): void {
  if (!ctx.req.complete && ctx.req.httpVersionMajor === 1) ctx.set('connection', 'close');
  respond(ctx, status, { error: code, error_description: message });
}

function respondMethod(ctx: Context, allowed: string): void {
  ctx.set('allow', allowed);
  respondFault(ctx, new OauthError('invalid_request', `the method must be ${allowed}`, 405));
}

function tooMany(ctx: Context, waitMs: number): void {
  ctx.set('retry-after', String(Math.ceil(waitMs / 1000)));
  respondFault(
    ctx,
    new OauthError('temporarily_unavailable', 'too many requests come from this address', 429),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new OauthError('invalid_client_metadata', 'the body is no JSON');
  }
}
