// The edge: which of the port's surfaces a request is for.
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa from 'koa';
import type { Logger } from 'pino';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { fail, toGatewayError } from '../lib/errors.ts';
import { cors } from './cors.ts';
import type { Dispatch } from './listener.ts';
import { type PageFacts, pages } from './pages.ts';
import { respondError } from './respond.ts';
import { createRest, isRest, type RestFacts } from './rest.ts';
import { strayHeaders } from './stray-headers.ts';

/** What the edge is built of. */
export interface EdgeFacts {
  readonly rest: RestFacts;
  readonly pages: PageFacts;
  /** gRPC, gRPC-Web and Connect. */
  readonly rpc: Dispatch;
  readonly corsOrigins: readonly string[];
  readonly log: Logger;
}

/** Services of the contract and gRPC's own live under their full names. */
const RPC_PATH = /^\/(?:gateway|grpc)\.[a-z0-9_.]+\.[A-Z]\w*\/\w+/;

export function createEdge(facts: EdgeFacts): Dispatch {
  const rest = createRest(facts.rest);
  const koa = new Koa();
  // A client that leaves, or a socket that breaks, is told to the call; it is not an error of ours.
  koa.on('error', (error: unknown) => facts.log.debug({ err: error }, 'edge'));
  if (facts.corsOrigins.length > 0) koa.use(cors(facts.corsOrigins, exposedHeaders(facts)));
  koa.use(async (ctx, next) => {
    if (!isRest(ctx.req.url ?? '')) return next();
    ctx.respond = false;
    await rest(ctx.req, ctx.res).catch((thrown: unknown) => {
      facts.log.error({ err: thrown }, 'the edge failed');
      if (!ctx.res.headersSent)
        respondError(ctx.res, toGatewayError(thrown), Plane.DATA, strayHeaders(facts.rest.names, ctx.req));
      else ctx.res.destroy();
    });
  });
  koa.use(pages(facts.pages));
  koa.use((ctx) => {
    ctx.respond = false;
    respondError(
      ctx.res,
      fail('route_unknown', 'there is nothing at this path'),
      Plane.DATA,
      strayHeaders(facts.rest.names, ctx.req),
    );
  });
  const http = koa.callback();
  const browsers = facts.corsOrigins.length > 0;
  return (req: IncomingMessage, res: ServerResponse) => {
    if (RPC_PATH.test(req.url ?? '')) {
      if (browsers && allowRpcOrigin(facts, req, res)) return;
      facts.rpc(req, res);
    } else {
      void http(req, res);
    }
  };
}

function exposedHeaders({ rest }: EdgeFacts): string[] {
  const ours = rest.names.prefixes.flatMap((prefix) =>
    ['request-id', 'trace-id', 'provider'].map((name) => prefix + name),
  );
  return [...ours, 'retry-after', 'grpc-status', 'grpc-message', 'grpc-status-details-bin'];
}

/** CORS for gRPC-Web and Connect, which Koa does not see. True when the request was a preflight and is answered. */
function allowRpcOrigin(facts: EdgeFacts, req: IncomingMessage, res: ServerResponse): boolean {
  const { origin } = req.headers;
  const allowed =
    origin !== undefined && (facts.corsOrigins.includes('*') || facts.corsOrigins.includes(origin));
  if (allowed) {
    res.setHeader('access-control-allow-origin', origin);
    res.setHeader('access-control-expose-headers', exposedHeaders(facts).join(', '));
    res.setHeader('vary', 'origin');
  }
  if (req.method !== 'OPTIONS') return false;
  if (allowed) {
    res.setHeader('access-control-allow-methods', 'GET, POST');
    res.setHeader(
      'access-control-allow-headers',
      req.headers['access-control-request-headers'] ?? 'content-type',
    );
    res.setHeader('access-control-max-age', '600');
  }
  res.writeHead(204).end();
  return true;
}
