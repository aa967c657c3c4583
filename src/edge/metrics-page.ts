// GET /metrics: who may read which of the gateway's metrics, on the gateway's port or on one of their own.
import { createHash, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import type { Context, Middleware } from 'koa';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { fail, type GatewayError } from '../lib/errors.ts';
import { errorBody } from '../rest/error-body.ts';
import { type Audience, type FamilyValues, formatFor, printPage } from '../telemetry/metrics-page.ts';

/** What the page is made of, and who may read it. */
export interface MetricsDeps {
  /** The families of each process that serves. Answers within a bound. */
  readonly read: () => Promise<readonly (readonly FamilyValues[])[]>;
  /** The bearer token that operators present; undefined: none is asked for. */
  readonly token: string | undefined;
  /** The port of their own that metrics are served on; undefined: the gateway's. */
  readonly port: number | undefined;
}

const TOKEN = /^bearer +(\S+) *$/i;

/** The page on the gateway's port: without a token it holds what anybody may read, and with a port of its own nothing. */
export function metricsPage({ read, token, port }: MetricsDeps): Middleware {
  return async (ctx, next) => {
    if (port !== undefined) return next();
    if (token !== undefined && !presents(ctx.get('authorization'), token))
      return refuse(ctx, unauthenticated());
    const audience: Audience = token === undefined ? 'anybody' : 'operator';
    const { type, text } = await printPage(await read(), audience, formatFor(ctx.get('accept')));
    ctx.set('vary', 'accept');
    ctx.set('content-type', type);
    ctx.body = text;
  };
}

/** Of the metrics' own port, at once. */
const MOST_CONNECTIONS = 64;

/** A server that answers GET /metrics with all families, to callers with the token where one is set. */
export function metricsServer({ read, token }: Pick<MetricsDeps, 'read' | 'token'>): http.Server {
  const answer = async (req: http.IncomingMessage, res: http.ServerResponse): Promise<void> => {
    const path = (req.url ?? '').split('?', 1)[0];
    if (path !== '/metrics') return respond(res, fail('route_unknown', 'there is nothing at this path'));
    if (req.method !== 'GET' && req.method !== 'HEAD')
      return respond(res, fail('method_not_allowed', `${req.method} is not an operation of this path`));
    if (token !== undefined && !presents(req.headers.authorization ?? '', token))
      return respond(res, unauthenticated());
    const { type, text } = await printPage(await read(), 'operator', formatFor(req.headers.accept));
    res
      .writeHead(200, { 'content-type': type, vary: 'accept' })
      .end(req.method === 'HEAD' ? undefined : text);
  };
  const server = http.createServer(
    {
      requestTimeout: 10_000,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 5000,
      maxHeaderSize: 16_384,
    },
    (req, res) => {
      req.resume();
      answer(req, res).catch(() => res.destroy());
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  return server;
}

function presents(authorization: string, token: string): boolean {
  const given = TOKEN.exec(authorization)?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

/** Of one length, as the comparison in constant time needs. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function unauthenticated(): GatewayError {
  return fail('unauthenticated', 'send the metrics token as Authorization: Bearer');
}

function refuse(ctx: Context, error: GatewayError): void {
  ctx.status = error.status;
  ctx.set('www-authenticate', 'Bearer');
  ctx.body = errorBody(error, { plane: Plane.DATA });
}

function respond(res: http.ServerResponse, error: GatewayError): void {
  res.writeHead(error.status, {
    'content-type': 'application/json',
    ...(error.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(error.status === 405 ? { allow: 'GET, HEAD' } : {}),
  });
  res.end(JSON.stringify(errorBody(error, { plane: Plane.DATA })));
}
