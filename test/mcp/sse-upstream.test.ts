// Servers of the HTTP+SSE transport, the SDK's own, for clients of both generations; and such servers that misbehave.
import type http from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import test from 'ava';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { freePort } from '../support/mcp/programs.ts';
import { startSseUpstream, startUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { MODERN, modern, post } from '../support/mcp/wire.ts';

let upstream: Upstream;
let odd: Upstream;
let gateway: TestGateway;
let strict: TestGateway;
let behave: (res: http.ServerResponse) => void;
test.before(async () => {
  const integration = {
    transport: 'sse',
    switches: [{ type: 'tool', name: 'test_image_content', enabled: false, updatedAt: 1 }],
  } as const;
  [upstream, odd] = await Promise.all([startSseUpstream(), startUpstream((_req, res) => behave(res))]);
  gateway = await startMcpGateway({ old: { url: upstream.url, integration } });
  strict = await startMcpGateway(
    {
      odd: { url: odd.url, integration },
      away: { url: `http://127.0.0.1:${await freePort()}/sse`, integration },
    },
    { GATEWAY_MCP_SILENCE_SECONDS: '1' },
  );
});
test.after.always(async () => {
  await gateway?.close();
  await strict?.close();
  await upstream?.close();
  await odd?.close();
});

const auth = { requestInit: { headers: { authorization: `Bearer ${WORKSPACE_KEY}` } } };
const url = () => `${gateway.origin}/old/mcp`;
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text;
const filledIn = { action: 'accept' as const, content: { username: 'ada', email: 'a@b.c' } };
const hello = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
});

test.serial('SDK v1: tools, progress, a question of the server, resources; what is hidden', async (t) => {
  const client = new OlderClient({ name: 'older', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => filledIn);
  await client.connect(new OlderTransport(new URL(url()), auth) as never);
  t.is(client.getServerVersion()?.name, 'reference');
  const names = (await client.listTools()).tools.map(({ name }) => name);
  t.true(names.includes('test_simple_text'));
  t.false(names.includes('test_image_content'));
  const steps: number[] = [];
  await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, {
    onprogress: ({ progress }) => steps.push(progress),
  });
  t.deepEqual(steps, [0, 50, 100]);
  const asked = await client.callTool({ name: 'test_elicitation', arguments: { message: 'who?' } });
  t.regex(textOf(asked), /action=accept.*ada/);
  const { contents } = await client.readResource({ uri: 'test://static-text' });
  t.regex(JSON.stringify(contents), /static text resource/);
  await t.throwsAsync(client.callTool({ name: 'test_image_content', arguments: {} }), {
    message: /Unknown tool/,
  });
  await client.close();
});

test.serial('SDK v2 in the newer revision: tools, and a question as input that is required', async (t) => {
  const client = new Client(
    { name: 'newer', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: MODERN } } },
  );
  client.setRequestHandler('elicitation/create', () => filledIn);
  await client.connect(new StreamableHTTPClientTransport(new URL(url()), auth));
  t.true((await client.listTools()).tools.length > 5);
  const asked = await client.callTool({ name: 'test_elicitation', arguments: { message: 'who?' } });
  t.regex(textOf(asked), /action=accept.*ada/);
  await client.close();
});

test.serial('requests at once with the same id have their own answers, on one connection', async (t) => {
  const opened = () => upstream.seen.filter(({ method }) => method === 'GET').length;
  const call = (name: string) => modern(url(), 'tools/call', { name, arguments: {} });
  await call('test_simple_text');
  const before = opened();
  const all = await Promise.all(
    Array.from({ length: 10 }, (_, i) => call(i % 2 === 0 ? 'test_simple_text' : 'test_error_handling')),
  );
  for (const [i, { json }] of all.entries()) {
    t.is(json.id, 1);
    t.is(json.result?.isError === true, i % 2 === 1, JSON.stringify(json));
  }
  t.is(opened(), before);
});

test.serial('a restart: the newer client does not notice, the older one is told 404', async (t) => {
  const call = () => modern(url(), 'tools/call', { name: 'test_simple_text', arguments: {} });
  t.is((await call()).json.error, undefined);
  const opened = await post(url(), hello);
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
  const list = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
  t.is((await post(url(), list, session)).status, 200);
  upstream.forget();
  t.is((await post(url(), list, session)).status, 404);
  t.is((await call()).json.result?.resultType, 'complete');
});

test.serial('a session that its client ends is over', async (t) => {
  const opened = await post(url(), hello);
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
  const headers = { authorization: `Bearer ${WORKSPACE_KEY}`, ...session };
  t.true((await fetch(url(), { method: 'DELETE', headers })).ok);
  t.is((await post(url(), JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' }), session)).status, 404);
});

const events = (text: string) => (res: http.ServerResponse) =>
  void res.writeHead(200, { 'content-type': 'text/event-stream' }).write(text);
const ODD: Readonly<Record<string, (res: http.ServerResponse) => void>> = {
  'an endpoint of another origin': events('event: endpoint\ndata: http://127.0.0.1:1/steal\n\n'),
  'an endpoint that is no address': events('event: endpoint\ndata: http://[\n\n'),
  'no endpoint': events(': hello\n\n'),
  'a stream that ends': (res) => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
  'no stream': (res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  'a redirect': (res) => void res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  'another status': (res) => void res.writeHead(401).end('{"secret":"leak"}'),
  'garbage before the endpoint': events('data: {{{\n\n'),
  'an answer to nothing': events(
    'event: endpoint\ndata: /x\n\ndata: {"jsonrpc":"2.0","id":99,"result":{}}\n\n',
  ),
};
for (const [what, serve] of Object.entries(ODD))
  test.serial(`${what}: an error of the protocol, for both generations`, async (t) => {
    behave = serve;
    const older = await post(`${strict.origin}/odd/mcp`, hello);
    const newer = await modern(`${strict.origin}/odd/mcp`, 'tools/list');
    for (const { json, text, status } of [older, newer]) {
      t.truthy(json.error, text);
      t.not(status, 401);
      t.notRegex(text, /leak|steal|127\.0\.0\.1/);
    }
  });

test.serial('a server that is away', async (t) => {
  const answer = await modern(`${strict.origin}/away/mcp`, 'tools/list');
  t.truthy(answer.json.error);
  t.notRegex(answer.text, /127\.0\.0\.1/);
});
