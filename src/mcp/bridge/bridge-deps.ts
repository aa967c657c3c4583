// What both bridges share: an exchange in the upstream's generation, whatever the client speaks.
import { GatewayHeaders } from '../../lib/gateway-headers.ts';
import type { McpDeps } from '../deps.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Asked, AskedWithout, Relayed } from '../relay/asked.ts';
import { relayPost } from '../relay/relay.ts';
import type { Target } from '../upstream/target.ts';
import { type Era, FIRST_MODERN, META, NAME_FIELDS } from '../wire/eras.ts';
import type { JsonObject, RpcMessage, RpcRequest, RpcResponse } from '../wire/json-rpc.ts';
import { encodedHeader, paramHeaders } from '../wire/param-headers.ts';
import type { Frame } from '../wire/sse-frames.ts';

export interface BridgeDeps
  extends Pick<McpDeps, 'dialer' | 'bounds' | 'auth' | 'lines' | 'programs' | 'tasks' | 'checksResults'> {
  readonly replica: Pick<McpDeps['replica'], 'serverBySlug'>;
  /** Takes messages in the place of an upstream, with the headers of the client. */
  readonly send?: (asked: Asked) => Promise<Relayed>;
}

/** The gateway as a client names itself. */
export const CLIENT_INFO = { name: 'sluice-gateway', version: '1' };

/** A message in the upstream's generation. */
export interface Across {
  readonly message: RpcMessage;
  readonly era: Era;
  readonly session?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends a message for a client. @throws GatewayError, McpError when no answer has begun */
export function sendAcross(deps: BridgeDeps, target: Target, asked: Asked, across: Across): Promise<Relayed> {
  const { names } = asked.headers;
  const headers = { accept: 'application/json, text/event-stream', ...across.headers };
  const sent: Asked = {
    server: asked.server,
    principal: asked.principal,
    headers: deps.send === undefined ? new GatewayHeaders(names, headers) : asked.headers,
    era: across.era,
    message: across.message,
    text: JSON.stringify(across.message),
    session: across.session,
    signal: asked.signal,
    ...(asked.patience === undefined ? {} : { patience: asked.patience }),
    ...(asked.call === undefined ? {} : { call: asked.call }),
    ...(asked.searchesTools ? { searchesTools: true } : {}),
    ...(asked.tasks === undefined ? {} : { tasks: asked.tasks }),
    ...(asked.taskSession === undefined ? {} : { taskSession: asked.taskSession }),
  };
  return deps.send === undefined ? relayPost(deps, target, sent) : deps.send(sent);
}

/** The headers that revision 2026-07-28 asks for. @param schema of the tool that is called */
export function modernHeaders(method: string, params: JsonObject, schema?: unknown): Record<string, string> {
  const field = NAME_FIELDS[method];
  const name = field === undefined ? undefined : params[field];
  const extra = paramHeaders(schema, params.arguments);
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < extra.length; i += 2) pairs.push([extra[i]!.toLowerCase(), extra[i + 1]!]);
  return {
    'mcp-protocol-version': FIRST_MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': encodedHeader(name) } : {}),
    ...Object.fromEntries(pairs),
  };
}

/** `_meta` of a request in revision 2026-07-28. */
export function modernMeta(
  own: JsonObject | undefined,
  client: {
    readonly info?: unknown;
    readonly capabilities: JsonObject;
    readonly logLevel?: string | undefined;
  },
): JsonObject {
  return {
    ...own,
    [META.version]: FIRST_MODERN,
    [META.clientInfo]: client.info ?? CLIENT_INFO,
    [META.clientCapabilities]: client.capabilities,
    ...(client.logLevel === undefined ? {} : { [META.logLevel]: client.logLevel }),
  };
}

/** A subscription of the older client's stream of notices, which has no message of its own. */
export function withoutMessage(asked: AskedWithout): Asked {
  const message: RpcRequest = { jsonrpc: '2.0', id: 'notices', method: 'subscriptions/listen' };
  return { ...asked, message, text: '' };
}

/** The frames of an answer, of JSON one. */
export async function* framesOf({ body, response }: Relayed): AsyncGenerator<Frame, void> {
  if (typeof body === 'string') yield { data: body, ...(response === undefined ? {} : { response }) };
  else if (body !== undefined) yield* body;
}

/** A message as an event. */
export function eventOf(message: RpcMessage): Frame {
  const data = JSON.stringify(message);
  if ('method' in message) return { event: 'message', data };
  return { event: 'message', data, response: message };
}

/** What answers a request about which nothing is told before. */
export async function responseIn(frames: AsyncIterable<Frame>): Promise<RpcResponse> {
  for await (const { response } of frames) if (response !== undefined) return response;
  throw garbage('did not answer the request');
}
