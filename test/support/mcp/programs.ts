// Published MCP servers as child processes on free loopback ports, ended by their ids.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { eventually } from '../eventually.ts';

const MODULES = new URL('../../../node_modules/', import.meta.url);

export interface Program {
  readonly url: string;
  close(): Promise<void>;
}

/** `server-everything` over streamable HTTP, or over the older SSE. */
export async function startEverything(
  transport: 'streamableHttp' | 'sse' = 'streamableHttp',
): Promise<Program> {
  const port = await freePort();
  const script = fileURLToPath(new URL('@modelcontextprotocol/server-everything/dist/index.js', MODULES));
  const child = spawn(process.execPath, [script, transport], {
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  });
  await eventually('the server answers', () => answers(port));
  return {
    url: `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    close: () => ended(child),
  };
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

export async function freePort(): Promise<number> {
  const server = http.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get({ host: '127.0.0.1', port, path: '/none' }, (answer) => {
      answer.resume();
      resolve(true);
    });
    request.on('error', () => resolve(false));
  });
}
