// Upstreams that answer what is none of the protocol, in the pairings of generations that bad-input does not have, and at
// the endpoint of all servers: an error of the protocol, nothing leaks, and the next call is answered.
import type http from 'node:http';
import test from 'ava';
import type { TestGateway } from '../support/gateway.ts';
import { type Behaviour, GARBAGE, GOOD, type RequestId, raw } from '../support/mcp/garbage.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { modern, post, type WireAnswer } from '../support/mcp/wire.ts';

interface Message {
  readonly id?: RequestId;
  readonly method?: string;
}

const good = raw(GOOD);
let behave: Behaviour = good;
let older: Upstream;
let newer: Upstream;
let gateway: TestGateway;
test.before(async () => {
  const hello = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'x', version: '1' },
  };
  const found = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
  older = await startUpstream((req, res, body) => answered(req, res, body, 'initialize', hello));
  newer = await startUpstream((req, res, body) => answered(req, res, body, 'server/discover', found));
  gateway = await startMcpGateway(
    { older: { url: older.url }, newer: { url: newer.url } },
    { GATEWAY_MCP_SILENCE_SECONDS: '1', GATEWAY_BODY_LIMIT: '1MiB' },
  );
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await newer?.close();
});

function answered(
  req: http.IncomingMessage,
  res: http.ServerResponse,
  body: string,
  hello: string,
  result: object,
): unknown {
  if (req.method !== 'POST') return res.writeHead(405).end();
  const { id, method } = JSON.parse(body) as Message;
  if (method === hello)
    return res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (method === 'initialize' || method === 'server/discover') return res.writeHead(400).end();
  if (id === undefined || method === undefined) return res.writeHead(202).end();
  return behave(res, id, method);
}

async function session(path: string): Promise<(name: string) => Promise<WireAnswer>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const url = gateway.origin + path;
  const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const opened = await post(url, hello);
  const id = opened.headers.get('mcp-session-id');
  const headers = { 'mcp-protocol-version': '2025-11-25', ...(id === null ? {} : { 'mcp-session-id': id }) };
  return (name) =>
    post(
      url,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }),
      headers,
    );
}

const PAIRINGS = {
  'an older client at an older server': async () => (await session('/older/mcp'))('any'),
  'a newer client at an older server': () =>
    modern(`${gateway.origin}/older/mcp`, 'tools/call', { name: 'any', arguments: {} }),
  'an older client at a newer server': async () => (await session('/newer/mcp'))('any'),
  'an older client at /mcp, an older server': async () => (await session('/mcp'))('older__any'),
  'a newer client at /mcp, a newer server': () =>
    modern(`${gateway.origin}/mcp`, 'tools/call', { name: 'newer__any', arguments: {} }),
};
/** What servers of 2025-11-25 may do. */
const ALLOWED = new Set(['a request of the server']);

for (const [pairing, call] of Object.entries(PAIRINGS))
  test.serial(`${pairing}: what is none of the protocol is an error of it`, async (t) => {
    t.timeout(240_000);
    const isOlder = pairing.endsWith('older server');
    for (const [name, behaviour] of Object.entries(GARBAGE)) {
      if (isOlder && ALLOWED.has(name)) continue;
      behave = behaviour;
      const answer = await call();
      t.is(answer.json.id, 1, name);
      t.is(answer.json.error?.code, -32603, `${name}: ${answer.text.slice(0, 300)}`);
      t.true([200, 502, 504].includes(answer.status), `${name}: ${answer.status}`);
      t.notRegex(answer.text, /stack trace|169\.254|theirs|127\.0\.0\.1/, name);
      t.is(answer.headers.get('www-authenticate'), null, name);
      behave = good;
      const next = await call();
      t.is(next.json.error, undefined, `after ${name}: ${next.text.slice(0, 300)}`);
    }
  });
