// What changes in the middle of a session: a tool that is hidden, and a key that is revoked.
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startLegacyUpstream, startSseUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { post } from '../support/mcp/wire.ts';

let older: Upstream;
let sse: Upstream;
let gateway: TestGateway;
test.before(async () => {
  [older, sse] = await Promise.all([startLegacyUpstream(), startSseUpstream()]);
  gateway = await startMcpGateway({
    older: { url: older.url },
    events: { url: sse.url, integration: { transport: 'sse' } },
  });
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await sse?.close();
});

interface Connected {
  readonly client: OlderClient;
  /** Resolves when the server has asked the user, who never answers. */
  readonly asked: Promise<void>;
}

async function connected(path: string, key = WORKSPACE_KEY): Promise<Connected> {
  const client = new OlderClient({ name: 'older', version: '1' }, { capabilities: { elicitation: {} } });
  const asked = Promise.withResolvers<void>();
  client.setRequestHandler(ElicitRequestSchema, () => {
    asked.resolve();
    return new Promise<never>(() => {});
  });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new OlderTransport(new URL(gateway.origin + path), { requestInit }) as never);
  return { client, asked: asked.promise };
}

async function newKey() {
  const body = { name: 'short-lived', workspace_id: 'default', scopes: ['mcp.invoke'] };
  const { id, key } = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
  return { id: String(id), key: String(key) };
}

for (const [path, name] of [
  ['/older/mcp', 'test_simple_text'],
  ['/mcp', 'older__test_simple_text'],
] as const)
  test.serial(
    `${path}: a tool that is hidden in mid-session vanishes from the list, and cannot be called`,
    async (t) => {
      const { client } = await connected(path);
      const has = async () => (await client.listTools()).tools.some((tool) => tool.name === name);
      const put = (enabled: boolean) =>
        ok(gateway, 'PUT', '/mcp-servers/older/capabilities', {
          body: { capabilities: [{ name: 'test_simple_text', type: 'tool', enabled }] },
        });
      t.true(await has());
      await put(false);
      t.false(await has());
      await t.throwsAsync(client.callTool({ name, arguments: {} }), { message: /Unknown tool/ });
      await put(true);
      t.true(await has());
      await client.close();
    },
  );

for (const [path, name] of [
  ['/older/mcp', 'test_elicitation'],
  ['/events/mcp', 'test_elicitation'],
  ['/mcp', 'older__test_elicitation'],
] as const)
  test.serial(`${path}: a revoked key ends a call that is open`, async (t) => {
    const { id, key } = await newKey();
    const { client, asked } = await connected(path, key);
    const call = client.callTool({ name, arguments: { message: 'who?' } });
    await Promise.race([asked, call]);
    await ok(gateway, 'DELETE', `/api-keys/${id}`);
    await t.throwsAsync(call, { message: /may not use this MCP server any more/ });
    await t.throwsAsync(client.listTools());
    await client.close();
  });

for (const slug of ['older', 'events'])
  test.serial(`/${slug}/mcp: a revoked key ends the stream of notices`, async (t) => {
    const { id, key } = await newKey();
    const url = `${gateway.origin}/${slug}/mcp`;
    const clientInfo = { name: 'x', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    const authorization = `Bearer ${key}`;
    const opened = await post(url, hello, { authorization });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
    const stream = await fetch(url, { headers: { authorization, accept: 'text/event-stream', ...session } });
    t.is(stream.status, 200);
    const ended = stream.text().catch(() => 'broken off');
    await ok(gateway, 'DELETE', `/api-keys/${id}`);
    t.is(typeof (await ended), 'string');
  });
