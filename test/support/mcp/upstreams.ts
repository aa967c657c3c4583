// MCP servers over real sockets, of either generation.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import { referenceServer } from './reference-server.ts';

export interface Upstream {
  /** Of the endpoint. */
  readonly url: string;
  /** Requests so far: verb, headers, body. */
  readonly seen: {
    readonly method: string;
    readonly headers: http.IncomingHttpHeaders;
    readonly body: string;
  }[];
  /** Forgets all sessions, as a restart does. */
  forget(): void;
  close(): Promise<void>;
}

type Serve = (req: http.IncomingMessage, res: http.ServerResponse, body: string) => unknown;

/** Any behaviour. */
export async function startUpstream(serve: Serve, forget: () => void = () => {}): Promise<Upstream> {
  const seen: Upstream['seen'] = [];
  const server = http.createServer((req, res) => {
    res.on('error', () => {});
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => {
      const body = Buffer.concat(pieces).toString();
      seen.push({ method: req.method ?? '', headers: req.headers, body });
      void (async () => serve(req, res, body))().catch(() => res.destroy());
    });
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    forget,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const originOk = localhostOriginValidation();
const hostOk = localhostHostValidation();

/** A server of revision 2025-11-25 and older, with sessions. */
export async function startLegacyUpstream(make: () => McpServer = referenceServer): Promise<Upstream> {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  const upstream = await startUpstream(
    async (req, res, body) => {
      if (!allowed(req, res)) return;
      const id = req.headers['mcp-session-id'] as string | undefined;
      const json: unknown = body === '' ? undefined : JSON.parse(body);
      const known = id === undefined ? undefined : sessions.get(id);
      if (known !== undefined) return known.handleRequest(req, res, json);
      const isFirst = (json as { method?: string } | undefined)?.method === 'initialize';
      if (!isFirst) {
        res.writeHead(id === undefined ? 400 : 404, { 'content-type': 'application/json' });
        res.end(
          JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }),
        );
        return;
      }
      const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (made) => void sessions.set(made, transport),
      });
      transport.onclose = () => void (transport.sessionId && sessions.delete(transport.sessionId));
      await make().connect(transport);
      await transport.handleRequest(req, res, json);
    },
    () => sessions.clear(),
  );
  return {
    ...upstream,
    async close() {
      // Ends what their servers have asked and still wait for.
      for (const transport of [...sessions.values()]) await transport.close();
      await upstream.close();
    },
  };
}

/** A server of revision 2026-07-28 alone, or, where `both` says so, of both without sessions. */
export function startModernUpstream(
  make: () => McpServer = referenceServer,
  both = false,
): Promise<Upstream> {
  const handler = createMcpHandler(() => make(), both ? {} : { legacy: 'reject' });
  const node = toNodeHandler(handler);
  return startUpstream(
    (req, res, body) => allowed(req, res) && node(req, res, body === '' ? undefined : JSON.parse(body)),
  );
}

/** A server of the HTTP+SSE transport: the SDK's own. */
export function startSseUpstream(make: () => McpServer = referenceServer): Promise<Upstream> {
  const sessions = new Map<string, SSEServerTransport>();
  const forget = (): void => {
    for (const transport of sessions.values()) void transport.close();
    sessions.clear();
  };
  return startUpstream(async (req, res, body) => {
    if (req.method === 'GET') {
      const transport = new SSEServerTransport('/messages', res);
      sessions.set(transport.sessionId, transport);
      return make().connect(transport as never);
    }
    const id = new URL(req.url ?? '', 'http://x').searchParams.get('sessionId') ?? '';
    const known = req.method === 'POST' ? sessions.get(id) : undefined;
    if (known === undefined) return res.writeHead(req.method === 'POST' ? 404 : 405).end();
    return known.handlePostMessage(req, res, JSON.parse(body));
  }, forget);
}

function allowed(req: http.IncomingMessage, res: http.ServerResponse): boolean {
  return hostOk(req, res) && originOk(req, res);
}
