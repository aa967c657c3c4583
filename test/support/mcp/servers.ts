// MCP servers for the control plane's readings: the reference server of the older era as a process of its own, and a
// small one of the newest revision.
import { spawn } from 'node:child_process';
import http from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';

export interface RunningServer {
  /** Of its endpoint. */
  readonly url: string;
  /** Headers of the requests so far. */
  readonly seen: readonly http.IncomingHttpHeaders[];
  close(): Promise<void>;
}

const ENTRY = '@modelcontextprotocol/server-everything/package.json';
const START_MS = 30_000;

/** server-everything over streamable HTTP. */
export async function startEverything(): Promise<RunningServer> {
  const port = await freePort();
  const entry = createRequire(import.meta.url)
    .resolve(ENTRY)
    .replace('package.json', 'dist/index.js');
  const child = spawn(process.execPath, [entry, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  try {
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('server-everything does not listen')), START_MS);
      let said = '';
      child.stderr.on('data', (piece: Buffer) => {
        said += piece;
        if (!said.includes('listening')) return;
        clearTimeout(late);
        resolve();
      });
      void gone.then(() => reject(new Error(`server-everything ended: ${said}`)));
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}/mcp`, seen: [], close };
}

/** What a server of the newest revision offers. */
export interface Offer {
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  /** A header without which it answers 401. */
  readonly secret?: readonly [name: string, value: string];
}

/** A server of revision 2026-07-28 alone. @param offer asked for each request */
export async function startNewest(offer: () => Offer): Promise<RunningServer> {
  const seen: http.IncomingHttpHeaders[] = [];
  const make = (): McpServer => {
    const server = new McpServer(
      { name: 'newest', version: '3.2.1', title: 'The newest', description: 'Of 2026.' },
      { capabilities: { tools: {} }, instructions: 'Call echo.' },
    );
    for (const { name, description } of offer().tools)
      server.registerTool(
        name,
        { description, inputSchema: fromJsonSchema({ type: 'object', properties: {} }) },
        () => ({ content: [{ type: 'text', text: name }] }),
      );
    return server;
  };
  const handle = toNodeHandler(createMcpHandler(make, { legacy: 'reject' }));
  const server = http.createServer((req, res) => {
    seen.push(req.headers);
    const [name, value] = offer().secret ?? ['', undefined];
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => {
      if (value !== undefined && req.headers[name] !== value) return void res.writeHead(401).end();
      const body = Buffer.concat(pieces).toString();
      void handle(req, res, body === '' ? undefined : JSON.parse(body)).catch(() => res.destroy());
    });
  });
  return { ...(await listening(server)), seen };
}

/** Anything that answers over HTTP. */
export async function startAnswering(serve: http.RequestListener): Promise<RunningServer> {
  const seen: http.IncomingHttpHeaders[] = [];
  const server = http.createServer((req, res) => {
    seen.push(req.headers);
    serve(req, res);
  });
  return { ...(await listening(server)), seen };
}

async function listening(server: http.Server) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
