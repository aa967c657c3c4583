// A REST API as an upstream of the protocol: the official server answers in both eras, and a tool call is one HTTP
// request, through the same dialer as every other upstream.
import type { McpHttpHandler, Server } from '@modelcontextprotocol/server';
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { McpDeps } from '../deps.ts';
import { agentOf } from '../upstream/agent.ts';
import { unlessDripping } from '../upstream/dripping.ts';
import type { Target } from '../upstream/target.ts';
import { restRequest } from './rest-request.ts';

/** Of one answer that a model reads. */
const MOST_BYTES = 1024 * 1024;

/** One request of the protocol. */
interface UpstreamRequest {
  readonly method: string;
  /** Flat pairs. */
  readonly headers: readonly string[];
  readonly body?: string;
  readonly signal: AbortLike;
}

/** What the exchange needs to know of its target. */
export interface RestTarget {
  readonly headers: readonly string[];
  /** Of operations of this gateway. */
  readonly callOwn?: Target['callOwn'];
}

/** @throws GatewayError what the dialer throws */
export async function restExchange(
  deps: Pick<McpDeps, 'dialer' | 'bounds'>,
  server: McpServer,
  target: RestTarget,
  { method, headers, body, signal }: UpstreamRequest,
): Promise<StreamedAnswer> {
  const handler = await handlerOf(deps, server, target, signal);
  const fields = Array.from({ length: headers.length / 2 }, (_, i): [string, string] => [
    headers[2 * i]!,
    headers[2 * i + 1]!,
  ]);
  const request = new Request('http://localhost/mcp', {
    method,
    headers: fields,
    ...(body === undefined ? {} : { body }),
  });
  const response = await handler.fetch(request);
  const rawHeaders = [...response.headers].flat();
  return {
    status: response.status,
    rawHeaders,
    header: (name) => response.headers.get(name) ?? undefined,
    body: response.body ?? nothing(),
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function handlerOf(
  deps: Pick<McpDeps, 'dialer' | 'bounds'>,
  server: McpServer,
  target: RestTarget,
  signal: UpstreamRequest['signal'],
): Promise<McpHttpHandler> {
  const { createMcpHandler, Server } = await import('@modelcontextprotocol/server');
  return createMcpHandler((): Server => {
    const { title = server.name, serverVersion = '1', description } = server.info;
    const made = new Server(
      {
        name: server.slug,
        version: serverVersion,
        title,
        ...(description === undefined ? {} : { description }),
      },
      { capabilities: { tools: {} } },
    );
    made.setRequestHandler('tools/list', () => ({ tools: toolsOf(server) as never[] }));
    made.setRequestHandler('tools/call', async ({ params }) => {
      const args = (params.arguments ?? {}) as JsonObject;
      return called(deps, server, target, params.name, args, signal);
    });
    return made;
  });
}

function toolsOf({ capabilities }: McpServer): readonly object[] {
  return capabilities
    .filter(({ type }) => type === 'tool')
    .map(({ name, described }) => ({ name, ...described }));
}

/** A tool's result. What is wrong with the arguments is told to the model, which may correct it. */
async function called(
  { dialer, bounds }: Pick<McpDeps, 'dialer' | 'bounds'>,
  server: McpServer,
  { headers, callOwn }: RestTarget,
  name: string,
  args: JsonObject,
  signal: UpstreamRequest['signal'],
) {
  const tool = server.openApi?.body.tools.find((one) => one.name === name);
  if (tool === undefined) return failed(`Unknown tool: ${name}`);
  try {
    const request = restRequest(server.integration.body.url, tool, args);
    if (callOwn !== undefined) {
      const { status, text } = await callOwn(request, signal);
      return resultOf(status, 'application/json', text);
    }
    const taken = new Set(headers.filter((_, i) => i % 2 === 0).map((one) => one.toLowerCase()));
    // Credentials of the integration win over a header that an argument would set.
    const own = pairs(request.headers).filter(([field]) => !taken.has(field.toLowerCase()));
    const answer = await dialer.stream({
      ...request,
      headers: [
        ...headers,
        ...own.flat(),
        'accept',
        'application/json, text/*',
        'accept-encoding',
        'identity',
        ...agentOf(headers),
      ],
      signal,
      headTimeoutMs: bounds.silenceMs,
      idleTimeoutMs: bounds.silenceMs,
    });
    return resultOf(
      answer.status,
      answer.header('content-type') ?? '',
      await textOf(answer, bounds.silenceMs),
    );
  } catch (error) {
    if (
      error instanceof GatewayError &&
      !error.reason.startsWith('upstream_') &&
      error.reason !== 'host_refused'
    )
      return failed(error.message);
    throw error;
  }
}

function resultOf(status: number, type: string, text: string) {
  const isError = status >= 300;
  const content = [{ type: 'text' as const, text: isError ? `HTTP ${status}\n${text}` : text }];
  const json = /[/+]json\b/.test(type) && !isError ? parsed(text) : undefined;
  return {
    content,
    ...(isError ? { isError } : {}),
    ...(json === undefined ? {} : { structuredContent: json }),
  };
}

function failed(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true };
}

function parsed(text: string): { [name: string]: never } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as { [name: string]: never }) : undefined;
  } catch {
    return undefined;
  }
}

async function textOf({ body }: StreamedAnswer, silenceMs: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const check = unlessDripping(silenceMs);
  for await (const piece of body) {
    check(piece);
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw fail('upstream_garbage', `the answer is larger than ${MOST_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function pairs(flat: readonly string[]): readonly (readonly [string, string])[] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!] as const);
}
