// Few words for models: the endpoint of all servers with two tools in the place of all.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startLegacyUpstream, startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { MODERN, modern } from '../support/mcp/wire.ts';

let older: Upstream;
let newer: Upstream;
let gateway: TestGateway;
test.before(async () => {
  [older, newer] = await Promise.all([startLegacyUpstream(), startModernUpstream()]);
  const off = { type: 'tool', name: 'test_image_content', enabled: false, updatedAt: 1 } as const;
  gateway = await startMcpGateway(
    {
      older: { url: older.url },
      newer: {
        url: newer.url,
        server: { switches: [off], rules: { toolPrices: [{ tool: '*', price: 0.25 }] } },
      },
    },
    { GATEWAY_MCP_TOOL_SEARCH: '1' },
  );
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await newer?.close();
});

const url = (query = '') => `${gateway.origin}/mcp${query}`;
const auth = { requestInit: { headers: { authorization: `Bearer ${WORKSPACE_KEY}` } } };
interface Found {
  readonly tools: { readonly name: string; readonly inputSchema: object }[];
  readonly total: number;
}
const search = async (args: object) => {
  const answer = await modern(url(), 'tools/call', { name: 'search_tools', arguments: args });
  return { answer, found: answer.json.result?.structuredContent as Found | undefined };
};
const call = (args: object) => modern(url(), 'tools/call', { name: 'call_tool', arguments: args });

test('two tools are listed, or all of them for a client that asks', async (t) => {
  const names = async (query = '') => {
    const { tools } = (await modern(url(query), 'tools/list')).json.result as unknown as Found;
    return tools.map(({ name }) => name);
  };
  t.deepEqual(await names(), ['search_tools', 'call_tool']);
  t.deepEqual(await names('?tools=search'), ['search_tools', 'call_tool']);
  t.true((await names('?tools=all')).includes('newer__test_simple_text'));
});

test('tools are found by words of names and descriptions, hidden ones never', async (t) => {
  const { found, answer } = await search({ query: 'simple texts' });
  t.regex(found?.tools[0]?.name ?? '', /^(?:newer|older)__test_simple_text$/, answer.text);
  t.is(typeof found?.tools[0]?.inputSchema, 'object');
  const images = (await search({ query: 'image content', limit: 50 })).found!;
  const names = images.tools.map(({ name }) => name);
  t.true(names.includes('older__test_image_content'));
  t.false(names.includes('newer__test_image_content'));
  t.is((await search({ query: 'zzzz' })).found?.tools.length, 0);
  t.is((await search({ query: '', limit: 3 })).found?.tools.length, 3);
  for (const wrong of [
    {},
    { query: 1 },
    { query: 'x', limit: 0 },
    { query: 'x', limit: 51 },
    { query: 'x', limit: 1.5 },
  ])
    t.is((await search(wrong)).answer.json.error?.code, -32602, JSON.stringify(wrong));
  t.is((await search({ query: 'x'.repeat(1001) })).answer.json.error?.code, -32602);
});

test('a call is that of the tool itself: entry, price, hidden tools, policies', async (t) => {
  const answer = await call({ name: 'newer__test_simple_text', arguments: { city: 'Ulm' } });
  t.regex(answer.text, /simple text response/);
  const got = await fetch(`${gateway.origin}/v1/logs/${answer.headers.get('x-gateway-request-id')}`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  });
  const { metrics } = (await got.json()) as { metrics: Record<string, unknown> };
  t.like(metrics, { ai_model: 'newer__test_simple_text', virtual_key: 'newer', cost: 25 });
  t.regex((await call({ name: 'newer__test_image_content' })).json.error?.message ?? '', /Unknown tool/);
  const wrong = [
    {},
    { name: 7 },
    { name: '' },
    { name: 'call_tool', arguments: { name: 'newer__test_simple_text' } },
    { name: 'search_tools', arguments: { query: 'x' } },
    { name: 'newer__test_simple_text', arguments: [] },
    { name: 'none__x' },
  ];
  for (const args of wrong) t.is((await call(args)).json.error?.code, -32602, JSON.stringify(args));
  const { id } = await ok(gateway, 'POST', '/policies/rate-limits', {
    body: {
      workspace_id: 'default',
      target: 'mcp_tools',
      conditions: [{ key: 'mcp_server', value: 'newer' }],
      group_by: [{ key: 'mcp_tool' }],
      type: 'requests',
      unit: 'rpd',
      value: 1,
    },
  });
  t.is((await call({ name: 'newer__test_error_handling' })).status, 200);
  t.is((await call({ name: 'newer__test_error_handling' })).status, 429);
  await ok(gateway, 'DELETE', `/policies/rate-limits/${id}`);
});

test('a question within a call reaches the clients of both generations', async (t) => {
  const given = {
    name: 'call_tool',
    arguments: { name: 'older__test_elicitation', arguments: { message: 'who?' } },
  };
  const filledIn = { action: 'accept' as const, content: { username: 'ada', email: 'a@b.c' } };
  const first = new OlderClient({ name: 'older', version: '1' }, { capabilities: { elicitation: {} } });
  first.setRequestHandler(ElicitRequestSchema, () => filledIn);
  await first.connect(new OlderTransport(new URL(url()), auth) as never);
  t.deepEqual(
    (await first.listTools()).tools.map(({ name }) => name),
    ['search_tools', 'call_tool'],
  );
  t.regex(JSON.stringify(await first.callTool(given)), /action=accept.*ada/);
  await first.close();
  const second = new Client(
    { name: 'newer', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: MODERN } } },
  );
  second.setRequestHandler('elicitation/create', () => filledIn);
  await second.connect(new StreamableHTTPClientTransport(new URL(url()), auth));
  t.regex(JSON.stringify(await second.callTool(given)), /action=accept.*ada/);
  await second.close();
});
