// The MCP gateway over HTTP: origin, caller, body; then the protocol, which src/mcp speaks.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { McpService } from '../../gen/gateway/inference/v2/mcp_pb.ts';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { Call } from '../call/call.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders } from '../lib/gateway-headers.ts';
import { errorReply } from '../mcp/error-reply.ts';
import type { McpGateway } from '../mcp/gateway.ts';
import type { McpReply } from '../mcp/gateway-deps.ts';
import { McpError, RPC, toMcpError } from '../mcp/wire/mcp-error.ts';
import { answerHeaders } from '../rpc/answer-headers.ts';
import { baseOf } from './base-of.ts';
import { hasBody } from './has-body.ts';
import { isKnownOrigin, type OriginRules } from './known-origin.ts';
import { Leave } from './leave.ts';
import { type McpPath, mcpPathOf } from './mcp-paths.ts';
import { BodyReader } from './read-body.ts';
import { respondError, respondJson } from './respond.ts';
import type { RestDeps } from './rest-deps.ts';
import { writeStream } from './write-stream.ts';

/** What the surface is built of. */
export interface McpEdgeDeps
  extends Pick<RestDeps, 'names' | 'bodyLimit' | 'prove' | 'refuse' | 'full' | 'pace' | 'budget'> {
  readonly gateway: Pick<McpGateway, 'serve' | 'hasOperations'>;
  /** By a key, a token (JWT), or an access token that is for the path. */
  readonly identifyAt: (call: Call, path: McpPath) => boolean | Promise<boolean>;
  readonly origins: OriginRules;
  /** Counts a request for metadata. @returns why it is refused */
  readonly takePage: (req: IncomingMessage) => GatewayError | undefined;
  /** Where people reach the gateway, without a slash at the end; undefined: by the Host. */
  readonly publicUrl: string | undefined;
}

const VERBS = ['POST', 'GET', 'DELETE'];

/** Answers requests of the MCP gateway; false: the request is another's. */
export function mcpEdge(deps: McpEdgeDeps): (req: IncomingMessage, res: ServerResponse) => boolean {
  const bodies = new BodyReader(deps.pace, deps.budget);
  return (req, res) => {
    const path = mcpPathOf(req.url ?? '', deps.gateway.hasOperations);
    if (path === undefined) return false;
    if (path.kind === 'metadata') respondMetadata(deps, req, res, path);
    else void answer(deps, bodies, req, res, path);
    return true;
  };
}

async function answer(
  deps: McpEdgeDeps,
  bodies: BodyReader,
  req: IncomingMessage,
  res: ServerResponse,
  path: McpPath,
): Promise<void> {
  const call = new Call(McpService.method.callTool, {
    protocol: 'rest',
    headers: new GatewayHeaders(deps.names, req.headers),
    httpMethod: req.method ?? '',
    path: path.path,
    remote: req.socket.remoteAddress ?? '',
    connection: req.socket,
  });
  new Leave(req, res).tell((error) => call.abort(error));
  try {
    const reply = (await refusal(deps, req, call, path)) ?? (await served(deps, bodies, req, call, path));
    await write(req, res, call, reply);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.reason === 'client_closed' || res.headersSent) res.destroy();
    else await write(req, res, call, errorReply(toMcpError(error, null)));
  }
}

/** What is refused before the body is read. */
async function refusal(
  deps: McpEdgeDeps,
  req: IncomingMessage,
  call: Call,
  path: McpPath,
): Promise<McpReply | undefined> {
  if (!isKnownOrigin(deps.origins, req))
    return errorReply(refused(403, 'the Origin is not allowed', 'forbidden'));
  if (!VERBS.includes(req.method ?? '')) {
    const error = refused(405, `${req.method} is not a method of the protocol`, 'method_not_allowed');
    return { ...errorReply(error), headers: [['allow', VERBS.join(', ')], ...errorReply(error).headers] };
  }
  if (deps.full(false)) throw fail('overloaded', 'too many calls are in progress', { retryAfterMs: 1000 });
  if (await deps.identifyAt(call, path)) {
    deps.prove(req);
    return undefined;
  }
  const flood = deps.refuse(call, req);
  return flood === undefined ? challenge(deps, req, path) : errorReply(toMcpError(flood, null));
}

/** 401, the same for every path: it names where the metadata of the resource is (RFC 9728). */
function challenge(deps: McpEdgeDeps, req: IncomingMessage, { path }: McpPath): McpReply {
  const { authorization } = req.headers;
  const isGiven = authorization !== undefined || deps.names.of('api-key').some((name) => name in req.headers);
  const metadata = `${baseOf(deps.publicUrl, req)}/.well-known/oauth-protected-resource${path.replace(/\/$/, '')}`;
  const what = isGiven ? 'error="invalid_token", ' : '';
  const reply = errorReply(
    refused(
      401,
      isGiven ? 'the API key or token is not valid' : 'an API key or token is needed',
      'unauthenticated',
    ),
  );
  const header = `Bearer ${what}resource_metadata="${metadata}", scope="mcp.invoke"`;
  return { ...reply, headers: [...reply.headers, ['www-authenticate', header]] };
}

async function served(
  { gateway, bodyLimit }: McpEdgeDeps,
  bodies: BodyReader,
  req: IncomingMessage,
  call: Call,
  { slug, workspace, searchesTools }: McpPath,
): Promise<McpReply> {
  const verb = req.method ?? '';
  const keyId = call.identity?.principal.keyId;
  const body = verb === 'POST' ? await bodies.read(req, bodyLimit, call.signal, keyId) : undefined;
  return gateway.serve({ verb, slug, workspace, searchesTools, call, body });
}

async function write(req: IncomingMessage, res: ServerResponse, call: Call, reply: McpReply): Promise<void> {
  const { status, body } = reply;
  const headers = [...answerHeaders(call), ...reply.headers];
  if (!req.complete && hasBody(req) && req.httpVersionMajor === 1) headers.push(['connection', 'close']);
  if (body === undefined) {
    if (res.destroyed) return;
    res.writeHead(status, Object.fromEntries([...headers, ['content-length', '0']])).end();
  } else if (typeof body === 'string') respondJson(res, status, body, headers);
  else await writeStream(res, status, headers, body);
}

function respondMetadata(
  deps: McpEdgeDeps,
  req: IncomingMessage,
  res: ServerResponse,
  { path }: McpPath,
): void {
  const flood = deps.takePage(req);
  if (flood !== undefined) {
    respondError(res, flood, { plane: Plane.DATA }, []);
    return;
  }
  const base = baseOf(deps.publicUrl, req);
  // The same for servers that there are and that there are not.
  const json = {
    resource: `${base}${path.replace(/\/$/, '')}`,
    authorization_servers: [base],
    bearer_methods_supported: ['header'],
    scopes_supported: ['mcp.invoke'],
    resource_name: 'Sluice',
    resource_documentation: `${base}/docs/mcp`,
  };
  const headers = [
    ['access-control-allow-origin', '*'],
    ['access-control-allow-headers', 'mcp-protocol-version'],
  ] as const;
  if (req.method === 'OPTIONS') {
    res.writeHead(204, Object.fromEntries(headers)).end();
    return;
  }
  if (req.method === 'GET' || req.method === 'HEAD') respondJson(res, 200, JSON.stringify(json), headers);
  else respondJson(res, 405, refused(405, 'GET only', 'method_not_allowed').text(), [['allow', 'GET']]);
}

function refused(status: number, message: string, reason: GatewayError['reason']): McpError {
  return new McpError(RPC.refused, message, { status, data: { reason } });
}
