// All servers of a workspace at one endpoint, for clients of both generations: one server is dead, one hides a tool.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { freePort } from '../support/mcp/programs.ts';
import {
  startLegacyUpstream,
  startModernUpstream,
  startUpstream,
  type Upstream,
} from '../support/mcp/upstreams.ts';
import { MODERN, modern, post } from '../support/mcp/wire.ts';

let older: Upstream;
let newer: Upstream;
let mute: Upstream;
let gateway: TestGateway;
let slow: TestGateway;
test.before(async () => {
  [older, newer, mute] = await Promise.all([
    startLegacyUpstream(),
    startModernUpstream(),
    startUpstream(() => {}),
  ]);
  const off = { type: 'tool', name: 'test_image_content', enabled: false, updatedAt: 1 } as const;
  gateway = await startMcpGateway({
    older: { url: older.url },
    newer: {
      url: newer.url,
      server: { switches: [off], rules: { toolPrices: [{ tool: '*', price: 0.25 }] } },
    },
    dead: { url: `http://127.0.0.1:${await freePort()}/mcp` },
  });
  slow = await startMcpGateway({ mute: { url: mute.url }, newer: { url: newer.url } });
});
test.after.always(async () => {
  await gateway?.close();
  await slow?.close();
  await older?.close();
  await newer?.close();
  await mute?.close();
});

const auth = { requestInit: { headers: { authorization: `Bearer ${WORKSPACE_KEY}` } } };
const url = () => `${gateway.origin}/mcp`;
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text;
const filledIn = { action: 'accept' as const, content: { username: 'ada', email: 'a@b.c' } };
const UNAVAILABLE = 'sluice/unavailableServers';
type Missing = { readonly server: string; readonly reason: string };
const missingOf = (meta: unknown): Missing | undefined =>
  (meta as Record<string, Missing[]> | undefined)?.[UNAVAILABLE]?.[0];
const call = (name: string, args: object = {}) => modern(url(), 'tools/call', { name, arguments: args });

test.serial('SDK v2: tools of both servers, calls, a question, prompts, resources, completion', async (t) => {
  const client = new Client(
    { name: 'newer', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: MODERN } } },
  );
  client.setRequestHandler('elicitation/create', () => filledIn);
  await client.connect(new StreamableHTTPClientTransport(new URL(url()), auth));
  const { tools, _meta } = await client.listTools();
  const names = tools.map(({ name }) => name);
  for (const slug of ['older', 'newer']) t.true(names.includes(`${slug}__test_simple_text`), slug);
  t.true(names.includes('older__test_image_content'));
  t.false(names.includes('newer__test_image_content'));
  t.like(missingOf(_meta), { server: 'dead', reason: 'upstream_unreachable' });
  for (const slug of ['older', 'newer']) {
    const asked = await client.callTool({
      name: `${slug}__test_elicitation`,
      arguments: { message: 'who?' },
    });
    t.regex(textOf(asked), /action=accept.*ada/, slug);
    const { prompts } = await client.listPrompts();
    t.true(prompts.some(({ name }) => name === `${slug}__test_simple_prompt`));
    t.true((await client.getPrompt({ name: `${slug}__test_simple_prompt` })).messages.length > 0);
    const { resources } = await client.listResources();
    const uri = `mcp://${slug}/test://static-text`;
    t.true(resources.some((one) => one.uri === uri));
    const { contents } = await client.readResource({ uri });
    t.like(contents[0], { uri });
    const { resourceTemplates } = await client.listResourceTemplates();
    t.true(resourceTemplates.some(({ uriTemplate }) => uriTemplate.startsWith(`mcp://${slug}/test://`)));
  }
  await client.close();
});

test.serial('SDK v1: the same over a session; a question comes within the call', async (t) => {
  const client = new OlderClient({ name: 'older', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => filledIn);
  const transport = new OlderTransport(new URL(url()), auth);
  await client.connect(transport as never);
  const { tools, _meta } = await client.listTools();
  const names = tools.map(({ name }) => name);
  t.true(names.includes('older__test_simple_text') && names.includes('newer__test_simple_text'));
  t.is(missingOf(_meta)?.server, 'dead');
  for (const slug of ['older', 'newer']) {
    const asked = await client.callTool({
      name: `${slug}__test_elicitation`,
      arguments: { message: 'who?' },
    });
    t.regex(textOf(asked), /action=accept.*ada/, slug);
    const steps: number[] = [];
    await client.callTool({ name: `${slug}__test_tool_with_progress`, arguments: {} }, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    });
    t.deepEqual(steps, [0, 50, 100], slug);
  }
  t.is((await client.getPrompt({ name: 'older__test_simple_prompt' })).messages.length, 1);
  await t.throwsAsync(client.callTool({ name: 'dead__any', arguments: {} }));
  await transport.terminateSession();
  await t.throwsAsync(client.listTools());
  await client.close();
});

test.serial(
  'a call is governed as at the server’s own address: entry, price, hidden tools, limits',
  async (t) => {
    const answer = await call('newer__test_simple_text', { city: 'Ulm' });
    t.is(answer.json.error, undefined);
    const hidden = await call('newer__test_image_content');
    t.regex(hidden.json.error?.message ?? '', /Unknown tool/);
    const entry = async ({ headers }: typeof answer) => {
      const id = headers.get('x-gateway-request-id')!;
      const got = await fetch(`${gateway.origin}/v1/logs/${id}`, {
        headers: { authorization: `Bearer ${ADMIN_KEY}` },
      });
      return ((await got.json()) as { metrics: Record<string, unknown> }).metrics;
    };
    t.like(await entry(answer), {
      ai_org: 'mcp',
      ai_model: 'newer__test_simple_text',
      virtual_key: 'newer',
      cost: 25,
    });
    t.like(await entry(hidden), { ai_model: 'newer__test_image_content', is_success: false });
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
    t.is((await call('newer__test_error_handling')).status, 200);
    t.is((await call('newer__test_error_handling')).status, 429);
    t.is((await call('older__test_error_handling')).status, 200);
    await ok(gateway, 'DELETE', `/policies/rate-limits/${id}`);
  },
);

test.serial('names that lead nowhere, and what the endpoint has not', async (t) => {
  const names = [
    'none__x',
    'test_simple_text',
    '__x',
    'newer__',
    'newer____',
    'mcp__x',
    'upstream-newer__test_simple_text',
  ];
  for (const name of names) t.truthy((await call(name)).json.error, name);
  for (const uri of ['test://static-text', 'mcp://none/test://x', 'mcp://', 'mcp:///x', 'mcp://newer/'])
    t.truthy((await modern(url(), 'resources/read', { uri })).json.error, uri);
  t.is((await modern(url(), 'prompts/get', { name: 'none__x' })).json.error?.code, -32602);
  t.is((await modern(url(), 'tools/list', { cursor: 'x' })).json.error?.code, -32602);
  t.is((await modern(url(), 'nothing/such')).json.error?.code, -32601);
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  t.is((await post(url(), list)).status, 400, 'an older client without a session');
  const headers = {
    authorization: `Bearer ${WORKSPACE_KEY}`,
    accept: 'text/event-stream',
    'mcp-protocol-version': MODERN,
  };
  t.is((await fetch(url(), { headers })).status, 405);
  const heard = await modern(url(), 'subscriptions/listen', { notifications: {} });
  t.is(heard.json.result?.resultType, 'complete');
});

test.serial('a server that never answers is left out, and the others are listed', async (t) => {
  const { json } = await modern(`${slow.origin}/mcp`, 'tools/list');
  const { tools } = json.result as { tools: { name: string }[] };
  const names = tools.map(({ name }) => name);
  t.true(names.includes('newer__test_simple_text'));
  t.like(missingOf(json.result?._meta), { server: 'mute', reason: 'upstream_timeout' });
});
