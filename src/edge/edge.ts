// The edge: which of the port's surfaces a request is for.
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa from 'koa';
import type { Logger } from 'pino';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { fail, toGatewayError } from '../lib/errors.ts';
import { cors } from './cors.ts';
import type { Dispatch } from './listener.ts';
import { type McpEdgeDeps, mcpEdge } from './mcp.ts';
import type { PageRates } from './page-rates.ts';
import { type PageDeps, pages } from './pages.ts';
import { respondError } from './respond.ts';
import { createRest, isRest } from './rest.ts';
import type { RestDeps } from './rest-deps.ts';
import { strayHeaders } from './stray-headers.ts';

/** What the edge is built of. */
export interface EdgeDeps {
  readonly rest: RestDeps;
  readonly mcp: McpEdgeDeps;
  readonly pages: PageDeps;
  readonly pageRates: Pick<PageRates, 'counted'>;
  /** gRPC, gRPC-Web and Connect. */
  readonly rpc: Dispatch;
  readonly corsOrigins: readonly string[];
  readonly log: Logger;
}

/** Services of the contract and gRPC's own live under their full names. */
const RPC_PATH = /^\/(?:gateway|grpc)\.[a-z0-9_.]+\.[A-Z]\w*\/\w+/;

/** What answers the port's requests. */
export function createEdge(deps: EdgeDeps): Dispatch {
  const rest = createRest(deps.rest);
  const mcp = mcpEdge(deps.mcp);
  const koa = new Koa();
  // A client that leaves, or a socket that breaks, is told to the call; it is not an error of ours.
  koa.on('error', (error: unknown) => deps.log.debug({ err: error }, 'edge'));
  koa.use(deps.pageRates.counted);
  koa.use(pages(deps.pages));
  koa.use((ctx) => {
    ctx.respond = false;
    respondError(
      ctx.res,
      fail('route_unknown', 'there is nothing at this path: the API is under /v1, its reference at /docs'),
      { plane: Plane.DATA },
      strayHeaders(deps.rest.names, ctx.req),
    );
  });
  const http = koa.callback();
  const preflight = deps.corsOrigins.length > 0 ? cors(deps.corsOrigins, exposedHeaders(deps)) : undefined;
  return (req: IncomingMessage, res: ServerResponse): void => {
    if (preflight?.(req, res)) return;
    const url = req.url ?? '';
    if (RPC_PATH.test(url)) deps.rpc(req, res);
    // The REST surface answers by itself and watches its clients by itself: Koa's context and the listeners that its
    // callback puts on every answer are a hundredth of a model call.
    else if (isRest(url)) rest(req, res).catch((thrown: unknown) => failed(deps, req, res, thrown));
    else if (!mcp(req, res)) void http(req, res);
  };
}

function failed({ log, rest }: EdgeDeps, req: IncomingMessage, res: ServerResponse, thrown: unknown): void {
  log.error({ err: thrown }, 'the edge failed');
  if (res.headersSent) res.destroy();
  else respondError(res, toGatewayError(thrown), { plane: Plane.DATA }, strayHeaders(rest.names, req));
}

function exposedHeaders({ rest }: EdgeDeps): string[] {
  const ours = rest.names.prefixes.flatMap((prefix) =>
    ['request-id', 'trace-id', 'provider'].map((name) => prefix + name),
  );
  return [
    ...ours,
    'retry-after',
    'mcp-session-id',
    'www-authenticate',
    'grpc-status',
    'grpc-message',
    'grpc-status-details-bin',
  ];
}
