// Clients and servers of one generation, through the front door: the official SDKs and published servers.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import test from 'ava';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { type Program, startEverything } from '../support/mcp/programs.ts';
import { startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { MODERN, modern } from '../support/mcp/wire.ts';

let everything: Program;
let reference: Upstream;
let gateway: TestGateway;
test.before(async () => {
  [everything, reference] = await Promise.all([startEverything(), startModernUpstream()]);
  const off = { type: 'tool', enabled: false, updatedAt: 1 } as const;
  gateway = await startMcpGateway({
    everything: {
      url: everything.url,
      integration: { switches: [{ ...off, name: 'get-env' }] },
      server: { switches: [{ ...off, name: 'get-sum' }] },
    },
    reference: {
      url: reference.url,
      integration: { switches: [{ ...off, name: 'test_image_content' }] },
      server: {
        switches: [{ ...off, name: 'test_image_content', enabled: true }],
        rules: { toolPrices: [{ tool: 'test_simple_text', price: 0.25 }] },
      },
    },
  });
});
test.after.always(async () => {
  await gateway?.close();
  await reference?.close();
  await everything?.close();
});

const auth = { requestInit: { headers: { authorization: `Bearer ${WORKSPACE_KEY}` } } };
const at = (slug: string) => new URL(`${gateway.origin}/${slug}/mcp`);

async function older(): Promise<OlderClient> {
  const client = new OlderClient({ name: 'older', version: '1' });
  await client.connect(new OlderTransport(at('everything'), auth));
  return client;
}

test('SDK v1 at server-everything: tools, progress, resources, prompts, completion', async (t) => {
  const client = await older();
  const names = (await client.listTools()).tools.map(({ name }) => name);
  t.true(names.includes('echo'));
  const echo = await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
  t.deepEqual(echo.content, [{ type: 'text', text: 'Echo: hi' }]);
  const steps: number[] = [];
  await client.callTool(
    { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } },
    undefined,
    {
      onprogress: ({ progress }) => steps.push(progress),
    },
  );
  t.deepEqual(steps, [1, 2]);
  t.true((await client.listResources()).resources.length > 0);
  t.true((await client.listPrompts()).prompts.length > 0);
  const ref = { type: 'ref/prompt' as const, name: 'completable-prompt' };
  const { completion } = await client.complete({ ref, argument: { name: 'department', value: 'E' } });
  t.true(completion.values.length > 0);
  await client.close();
});

test('a tool that the integration or the server hides is in no list, and unknown when it is called', async (t) => {
  const client = await older();
  const names = (await client.listTools()).tools.map(({ name }) => name);
  for (const hidden of ['get-env', 'get-sum']) {
    t.false(names.includes(hidden));
    const error = await t.throwsAsync(client.callTool({ name: hidden, arguments: { a: 1, b: 2 } }));
    t.regex(error.message, new RegExp(`-32602.*Unknown tool: ${hidden}`));
  }
  await client.close();
});

test('SDK v2 speaks the newer revision; the integration hides what the server shows; lists are private', async (t) => {
  const client = new Client(
    { name: 'newer', version: '1' },
    { versionNegotiation: { mode: { pin: MODERN } } },
  );
  await client.connect(new StreamableHTTPClientTransport(at('reference'), auth));
  t.is(client.getNegotiatedProtocolVersion(), MODERN);
  const { tools } = await client.listTools();
  t.true(tools.some(({ name }) => name === 'test_simple_text'));
  t.false(tools.some(({ name }) => name === 'test_image_content'));
  const { content } = await client.callTool({ name: 'test_simple_text', arguments: {} });
  t.deepEqual(content, [{ type: 'text', text: 'This is a simple text response for testing.' }]);
  await client.close();
  const list = await modern(`${gateway.origin}/reference/mcp`, 'tools/list');
  t.is(list.json.result?.cacheScope, 'private');
});

test('one entry for each tool call, refused ones too: server, tool, price, arguments and result', async (t) => {
  const url = `${gateway.origin}/reference/mcp`;
  const ids: string[] = [];
  for (const name of ['test_simple_text', 'test_image_content', 'test_error_handling']) {
    const answer = await modern(
      url,
      'tools/call',
      { name, arguments: { city: 'Ulm' } },
      { 'x-gateway-metadata': '{"team":"blue"}' },
    );
    ids.push(answer.headers.get('x-gateway-request-id')!);
  }
  const rows: Record<string, unknown>[] = [];
  for (const id of ids) {
    const answer = await fetch(`${gateway.origin}/v1/logs/${id}`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
    });
    t.is(answer.status, 200);
    const { metrics, ...rest } = (await answer.json()) as { metrics: Record<string, unknown> };
    rows.push({ ...metrics, bodies: rest });
  }
  const [good, hidden, failed] = rows as unknown as [
    Record<string, unknown>,
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  t.like(good, {
    ai_org: 'mcp',
    ai_model: 'reference__test_simple_text',
    virtual_key: 'reference',
    response_status_code: 200,
    is_success: true,
    cost: 25,
    'metadata.key': ['team'],
  });
  t.like(hidden, { ai_model: 'reference__test_image_content', response_status_code: 404, is_success: false });
  t.like(failed, { ai_model: 'reference__test_error_handling', response_status_code: 200 });
  t.regex(JSON.stringify(good), /Ulm/);
  t.regex(JSON.stringify(good), /simple text response/);
});

test('resources that are not there, and headers that disagree with the body, in the words of the protocol', async (t) => {
  const url = `${gateway.origin}/reference/mcp`;
  const missing = await modern(url, 'resources/read', { uri: 'test://none' });
  t.is(missing.json.error?.code, -32602);
  const call = { name: 'test_simple_text', arguments: {} };
  const wrong: Record<string, string>[] = [
    { 'mcp-method': 'tools/list' },
    { 'mcp-name': 'test_image_content' },
    { 'mcp-protocol-version': '2025-11-25' },
  ];
  for (const headers of wrong) {
    const answer = await modern(url, 'tools/call', call, headers);
    t.is(answer.status, 400);
    t.is(answer.json.error?.code, -32020, JSON.stringify(headers));
  }
  const region = { name: 'test_custom_headers', arguments: { region: 'eu' } };
  t.is((await modern(url, 'tools/call', region, { 'mcp-param-region': 'us' })).json.error?.code, -32020);
  t.is((await modern(url, 'tools/call', region, { 'mcp-param-region': 'eu' })).json.error, undefined);
});
