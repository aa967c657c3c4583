// Spans of tool calls, as a collector receives them: names and attributes of the conventions for MCP.
import test from 'ava';
import { ok } from '../support/front-door.ts';
import type { TestGateway } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startLegacyUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { MODERN, modern, post } from '../support/mcp/wire.ts';
import { type ReceivedSpan, type Receiver, startReceiver } from '../telemetry/otlp-receiver.ts';

const [SERVER, CLIENT] = [2, 3];
let upstream: Upstream;
let receiver: Receiver;
let gateway: TestGateway;
test.before(async () => {
  [upstream, receiver] = await Promise.all([startLegacyUpstream(), startReceiver()]);
  gateway = await startMcpGateway(
    { tools: { url: upstream.url } },
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '30',
    },
  );
});
test.after.always(async () => {
  await gateway?.close();
  await Promise.all([upstream?.close(), receiver?.close()]);
});
test.beforeEach(() => {
  receiver.spans.length = 0;
});

/** The spans of a tool: of the call, and of the call of the server. */
async function spansOf(tool: string): Promise<{ server: ReceivedSpan; client: ReceivedSpan | undefined }> {
  const own = () => receiver.spans.find(({ name, kind }) => kind === SERVER && name === `tools/call ${tool}`);
  await receiver.until(() => own() !== undefined);
  const server = own()!;
  const below = receiver.spans.filter(({ parentSpanId }) => parentSpanId === server.spanId);
  return { server, client: below.find(({ kind }) => kind === CLIENT) };
}

test.serial(
  'a call of 2026-07-28: the method, the tool, the revision and the id of the request',
  async (t) => {
    const name = 'test_simple_text';
    await modern(`${gateway.origin}/tools/mcp`, 'tools/call', {
      name,
      arguments: { secret: 'confidential' },
    });
    const { server, client } = await spansOf(name);
    const common = {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
    };
    t.like(server.attributes, { ...common, 'mcp.protocol.version': MODERN, 'jsonrpc.request.id': '1' });
    t.is(server.attributes['mcp.session.id'], undefined);
    t.like(client?.attributes, common);
    t.is(client?.name, `tools/call ${name}`);
    t.is(client?.attributes['server.address'], '127.0.0.1');
    t.is(client?.attributes['gen_ai.request.model'], undefined);
    t.false(receiver.spans.some((span) => span.name.startsWith('execute_tool')));
    const told = JSON.stringify(receiver.spans.map(({ name: own, attributes }) => [own, attributes]));
    t.false(told.includes('confidential'));
  },
);

test.serial('a call in a session names it; a tool that fails is told as such', async (t) => {
  const url = `${gateway.origin}/tools/mcp`;
  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };
  const opened = await post(url, JSON.stringify(hello));
  const session = opened.headers.get('mcp-session-id') ?? '';
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  const name = 'test_error_handling';
  const params = { name, arguments: {} };
  await post(url, JSON.stringify({ jsonrpc: '2.0', id: 'mine', method: 'tools/call', params }), headers);
  const { server, client } = await spansOf(name);
  t.like(server.attributes, {
    'mcp.session.id': session,
    'mcp.protocol.version': '2025-11-25',
    'jsonrpc.request.id': 'mine',
    'error.type': 'tool_error',
  });
  t.is(client?.attributes['error.type'], 'tool_error');
});

test.serial('a call that is refused has its span, too, and none of a server', async (t) => {
  const { id } = await ok(gateway, 'POST', '/policies/rate-limits', {
    body: {
      workspace_id: 'default',
      target: 'mcp_tools',
      conditions: [{ key: 'mcp_tool', value: 'test_image_content' }],
      group_by: [{ key: 'mcp_tool' }],
      type: 'requests',
      unit: 'rpd',
      value: 1,
    },
  });
  const params = { name: 'test_image_content', arguments: {} };
  const url = `${gateway.origin}/tools/mcp`;
  await modern(url, 'tools/call', params);
  await spansOf(params.name);
  receiver.spans.length = 0;
  t.is((await modern(url, 'tools/call', params)).status, 429);
  const { server, client } = await spansOf(params.name);
  t.is(server.attributes['http.response.status_code'], 429);
  t.is(client, undefined);
  await ok(gateway, 'DELETE', `/policies/rate-limits/${id}`);
});
