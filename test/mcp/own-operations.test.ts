// Operations of the gateway itself as tools: chosen one by one, with the caller's own key and never more than that.
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { modern } from '../support/mcp/wire.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway({
    GATEWAY_MCP_OPERATIONS: 'ListConfigs, CreateConfig, GetConfig, ListUsers, ListMcpServers',
  });
});
test.after.always(() => gateway?.close());

const url = () => `${gateway.origin}/admin/mcp`;
const call = (name: string, args: object, key = WORKSPACE_KEY) =>
  modern(url(), 'tools/call', { name, arguments: args }, { authorization: `Bearer ${key}` });
async function keyWith(...scopes: string[]): Promise<string> {
  const body = { name: 'a key', workspace_id: 'default', scopes: ['mcp.invoke', ...scopes] };
  return String((await ok(gateway, 'POST', '/api-keys/workspace/service', { body })).key);
}
interface Result {
  readonly isError?: boolean;
  readonly content: { readonly text: string }[];
  readonly structuredContent?: Record<string, unknown>;
}
const resultOf = (answer: { readonly json: { readonly result?: object } }) =>
  answer.json.result as unknown as Result;

test('the chosen operations are listed with their schemas, at /admin/mcp and at /mcp', async (t) => {
  const { tools } = (await modern(url(), 'tools/list')).json.result as unknown as {
    tools: { name: string; inputSchema: { properties: Record<string, unknown> } }[];
  };
  t.deepEqual(tools.map(({ name }) => name).sort(), [
    'CreateConfig',
    'GetConfig',
    'ListConfigs',
    'ListMcpServers',
    'ListUsers',
  ]);
  t.truthy(tools.find(({ name }) => name === 'CreateConfig')?.inputSchema.properties.body);
  const all = await modern(`${gateway.origin}/mcp`, 'tools/list');
  t.regex(all.text, /"admin__ListConfigs"/);
});

test('a call does what the operation does, with the key’s own scopes', async (t) => {
  const key = await keyWith('configs.create', 'configs.list', 'configs.read');
  const body = { name: 'by a tool', config: { retry: { attempts: 2 } }, workspace_id: 'default' };
  const made = resultOf(await call('CreateConfig', { body }, key));
  t.falsy(made.isError, JSON.stringify(made));
  const listed = resultOf(await call('ListConfigs', {}, key));
  t.regex(listed.content[0]!.text, /by a tool/);
  const slug = String(
    (made.structuredContent?.data as Record<string, unknown> | undefined)?.slug ??
      made.structuredContent?.slug,
  );
  t.regex(JSON.stringify(resultOf(await call('GetConfig', { slug }, key))), /by a tool/);
  const audit = await fetch(`${gateway.origin}/v1/audit-logs?page_size=50`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  });
  t.regex(await audit.text(), /config/);
});

test('never more than the key: no scope, no tool; an admin key does not open the door', async (t) => {
  const key = await keyWith();
  for (const name of ['ListConfigs', 'ListUsers', 'ListMcpServers']) {
    const result = resultOf(await call(name, {}, key));
    t.true(result.isError, name);
    t.regex(result.content[0]!.text, /^HTTP 403/, name);
  }
  t.is((await call('ListUsers', {}, ADMIN_KEY)).status, 403);
  t.is((await call('ListUsers', {}, 'slk_none')).status, 401);
});

test('what was not chosen is no tool, and arguments stay in their places', async (t) => {
  const key = await keyWith('configs.read', 'configs.list', 'configs.delete');
  t.regex((await call('DeleteConfig', { slug: 'x' }, key)).text, /Unknown tool/);
  for (const slug of ['../admin/users', '..', 'a/../../users', '%2e%2e/users'])
    t.true(resultOf(await call('GetConfig', { slug }, key)).isError, slug);
  t.regex(JSON.stringify(resultOf(await call('GetConfig', { slug: 'x', other: 1 }, key))), /no argument/);
  t.true(resultOf(await call('GetConfig', { slug: 'there-is-none' }, key)).isError);
  t.true(resultOf(await call('CreateConfig', { body: 7 }, key)).isError);
});

test('an older client, and a gateway that chose nothing', async (t) => {
  const client = new OlderClient({ name: 'older', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${await keyWith('configs.list')}` } };
  await client.connect(new OlderTransport(new URL(url()), { requestInit }) as never);
  const listed = await client.callTool({ name: 'ListConfigs', arguments: {} });
  t.falsy(listed.isError, JSON.stringify(listed));
  await client.close();
  const plain = await startGateway();
  try {
    const answer = await modern(`${plain.origin}/admin/mcp`, 'tools/list');
    t.not(answer.status, 200);
  } finally {
    await plain.close();
  }
});

test('a name that is none stops the start, and is told', async (t) => {
  for (const name of ['NoSuchOperation', 'CreateChatCompletion'])
    await t.throwsAsync(startGateway({ GATEWAY_MCP_OPERATIONS: name }), {
      message: new RegExp(`GATEWAY_MCP_OPERATIONS: ${name}`),
    });
});
