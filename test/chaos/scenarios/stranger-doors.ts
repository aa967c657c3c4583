// A stranger at every door that is open without a key, or looks so: sign-in, callbacks, registration, SCIM, MCP, sockets, files.
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { GatewayProcess } from '../gateway-process.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const ROUNDS = 8;
/** Bytes of a body; strangers' bodies are read at few doors, and there less. */
const BYTES = 8_000_000;
const POSTS = [
  '/oauth/register',
  '/oauth/token',
  '/oauth/authorize',
  '/oauth/revoke',
  '/scim/v2/Users',
  '/scim/v2/Bulk',
  '/mcp',
  '/admin/mcp',
  '/v1/sessions',
  '/v1/sessions/links',
  '/sign-in/callback',
  '/sign-in/logout',
  '/v1/files',
  '/v1/batches',
  '/v1/vector_stores',
  '/metrics',
  '/docs',
  '/console/x',
] as const;
const GETS = [
  '/docs',
  '/docs/security',
  '/console',
  '/metrics',
  '/readyz',
  '/healthz',
  '/openapi.json',
  '/',
] as const;

const scenario: Scenario = {
  name: 'stranger-doors',
  attack:
    'a stranger posts 8 MB each to sign-in, registration, SCIM, MCP, sessions, files and pages, opens sockets and reads pages, all at once',
  bound: 'at most 64 MB; every request is answered or closed; callers are answered; no turn over 50 ms',
  test: 'test/edge/strangers.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway();
    const json = `{"redirect_uris":["${'x'.repeat(BYTES)}"]}`;
    // Pages that are read and compressed once are no part of an attack.
    for (const path of GETS) await asked(gateway, path);
    for (const path of POSTS) await asked(gateway, path, '{}');
    for (const path of POSTS) await asked(gateway, path, json);
    await sleep(3000);
    const before = gateway.residentMb();
    await gateway.longestTurnMs();
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, gateway.residentMb());
    }, 50);
    const statuses = new Map<number, number>();
    for (let round = 0; round < ROUNDS; round++) {
      const all = await Promise.all([
        ...POSTS.map((path) => asked(gateway, path, json)),
        ...GETS.map((path) => asked(gateway, path)),
        ...['/v1/realtime?model=x', '/v1/responses'].map((path) => socket(gateway, path)),
      ]);
      for (const status of all) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    clearInterval(watch);
    const told = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ');
    return [
      isTrue('no request is a 500', !statuses.has(500), told),
      atMost('memory at its peak', peak - before, 64, 'MB'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
      isTrue('a caller is answered', await gateway.healthy()),
    ];
  },
};
export default scenario;

/** The status; 0 where the connection was closed. */
async function asked({ origin }: GatewayProcess, path: string, body?: string): Promise<number> {
  const init =
    body === undefined ? {} : { method: 'POST', body, headers: { 'content-type': 'application/json' } };
  try {
    const answer = await fetch(origin + path, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.timeout(30_000),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

function socket({ origin }: GatewayProcess, path: string): Promise<number> {
  return new Promise((resolve) => {
    const ws = new WebSocket(origin.replace('http', 'ws') + path);
    ws.on('unexpected-response', (_, { statusCode = 0 }) => {
      ws.terminate();
      resolve(statusCode);
    });
    ws.on('error', () => resolve(0));
    ws.on('open', () => {
      ws.terminate();
      resolve(101);
    });
  });
}
