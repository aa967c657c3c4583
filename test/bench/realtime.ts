// Memory of a gateway with many open realtime sessions, each of which has had a response.
//   node test/bench/realtime.ts [--sessions N]
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { WebSocket, WebSocketServer } from 'ws';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { freePort } from './child.ts';

const { values } = parseArgs({ options: { sessions: { type: 'string', default: '500' } } });
const count = Number(values.sessions);
const MIB = 1024 * 1024;
/** How many are opened at once. */
const AT_ONCE = 20;
const port = await freePort();
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-realtime-'));
const provider = await startProvider();
const gateway = await started();
const open: WebSocket[] = [];

try {
  // A first session reads what is loaded when it is first used.
  (await session()).close();
  await sleep(3000);
  const idle = residentBytes();
  for (let i = 0; i < count; i += AT_ONCE)
    open.push(...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - i) }, session))));
  await sleep(3000);
  const busy = residentBytes();
  console.log(
    `${open.length} sessions: ${((busy - idle) / MIB).toFixed(1)} MiB above ${(idle / MIB).toFixed(0)} MiB, ${((busy - idle) / 1024 / open.length).toFixed(0)} KiB each`,
  );
} finally {
  for (const ws of open) ws.terminate();
  gateway.kill('SIGKILL');
  provider.closeAllConnections();
  provider.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function startProvider(): Promise<http.Server> {
  const server = http.createServer();
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (ws) => {
    ws.send(JSON.stringify({ type: 'session.created', session: { id: 's' } }));
    ws.on('message', () => {
      ws.send(JSON.stringify({ type: 'response.created', response: { id: 'r', status: 'in_progress' } }));
      for (let i = 0; i < 20; i++)
        ws.send(JSON.stringify({ type: 'response.audio.delta', delta: 'A'.repeat(4096) }));
      const usage = { total_tokens: 3, input_tokens: 2, output_tokens: 1 };
      ws.send(
        JSON.stringify({
          type: 'response.done',
          response: { id: 'r', status: 'completed', output: [], usage },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function started(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [new URL('../../src/main.ts', import.meta.url).pathname, 'start'], {
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_API_KEY: WORKSPACE_KEY,
      GATEWAY_EGRESS_ALLOW: '127.0.0.1/32',
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (text: Buffer) => String(text).includes('listens on') && resolve());
    child.once('exit', () => reject(new Error('the gateway did not start')));
  });
  return child;
}

function residentBytes(): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** A session that has had one response. */
function session(): Promise<WebSocket> {
  const { port: there } = provider.address() as AddressInfo;
  const headers = {
    authorization: `Bearer ${WORKSPACE_KEY}`,
    'x-gateway-config': JSON.stringify({
      provider: 'openai',
      api_key: 'sk',
      custom_host: `http://127.0.0.1:${there}`,
    }),
  };
  const ws = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime?model=rt`, { headers });
  return new Promise((resolve, reject) => {
    ws.on('error', reject);
    ws.on('message', (data) => {
      const text = data.toString();
      if (text.includes('session.created')) ws.send('{"type":"response.create"}');
      if (text.includes('response.done')) resolve(ws);
    });
  });
}
