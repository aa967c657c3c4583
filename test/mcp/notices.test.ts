// What open streams hear: lists that change by a switch, notices of servers, and what an older server asks on the stream
// of its session instead of that of the call.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import {
  startLegacyUpstream,
  startModernUpstream,
  startUpstream,
  type Upstream,
} from '../support/mcp/upstreams.ts';
import { MODERN, modern, post } from '../support/mcp/wire.ts';

const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
const made: McpServer[] = [];

/** A server that talks apart from its calls. */
function talker(): McpServer {
  const server = new McpServer(
    { name: 'talker', version: '1' },
    { capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} } },
  );
  const inputSchema = fromJsonSchema<Record<string, never>>({ type: 'object', properties: {} });
  server.registerTool('say', { description: 'says', inputSchema }, () => text('said'));
  server.registerTool('ask', { description: 'asks', inputSchema }, async () => {
    await server.server.sendLoggingMessage({ level: 'info', data: 'about to ask' });
    const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
    const { action, content } = await server.server.elicitInput({ message: 'who?', requestedSchema });
    return text(`${action} ${JSON.stringify(content)}`);
  });
  for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const)
    server.server.setRequestHandler(method, () => ({}));
  made.push(server);
  return server;
}

let older: Upstream;
let newer: Upstream;
let plain: Upstream;
let notifier: ReturnType<typeof createMcpHandler>['notify'];
let gateway: TestGateway;
test.before(async () => {
  const handler = createMcpHandler(() => talker(), { legacy: 'reject' });
  notifier = handler.notify;
  const node = toNodeHandler(handler);
  [older, newer, plain] = await Promise.all([
    startLegacyUpstream(talker),
    startUpstream((req, res, body) => node(req, res, body === '' ? undefined : JSON.parse(body))),
    // Without sessions, and without streams of notices for older clients.
    startModernUpstream(talker, true),
  ]);
  gateway = await startMcpGateway(
    { older: { url: older.url }, newer: { url: newer.url }, plain: { url: plain.url } },
    { GATEWAY_MCP_SILENCE_SECONDS: '2' },
  );
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await newer?.close();
  await plain?.close();
});

const at = (path: string) => `${gateway.origin}${path}`;
const authorization = `Bearer ${WORKSPACE_KEY}`;
const put = (slug: string, enabled: boolean, of: 'servers' | 'integrations' = 'servers') =>
  ok(gateway, 'PUT', `/mcp-${of}/${of === 'servers' ? slug : `upstream-${slug}`}/capabilities`, {
    body: { capabilities: [{ name: 'say', type: 'tool', enabled }] },
  });

async function olderClient(path: string, capabilities: object = {}) {
  const client = new OlderClient({ name: 'older', version: '1' }, { capabilities });
  let heard = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard++);
  const transport = new OlderTransport(new URL(at(path)), { requestInit: { headers: { authorization } } });
  await client.connect(transport as never);
  return { client, transport, heard: () => heard };
}

interface Heard {
  readonly method?: string;
  readonly id?: unknown;
  readonly params?: {
    readonly _meta?: Record<string, unknown>;
    readonly notifications?: object;
    uri?: string;
  };
}

/** A subscription of revision 2026-07-28, ended with the test. */
async function listening(t: ExecutionContext, path: string, notifications: object) {
  const aborter = new AbortController();
  t.teardown(() => aborter.abort());
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const answer = await fetch(at(path), {
    method: 'POST',
    signal: aborter.signal,
    headers: {
      authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'sub',
      method: 'subscriptions/listen',
      params: { notifications, _meta },
    }),
  });
  t.is(answer.status, 200);
  const heard: Heard[] = [];
  void (async () => {
    let rest = '';
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: ')) heard.push(JSON.parse(line.slice(6)) as Heard);
    }
  })().catch(() => {});
  const acknowledged = await eventually('the subscription is acknowledged', () =>
    heard.find(({ method }) => method === 'notifications/subscriptions/acknowledged'),
  );
  const of = (method: string) => heard.filter((one) => one.method === method);
  return { heard, of, acknowledged, end: () => aborter.abort() };
}
const CHANGED = 'notifications/tools/list_changed';

for (const path of ['/older/mcp', '/newer/mcp', '/plain/mcp', '/mcp'])
  test.serial(`${path}: an older client hears that a switch has changed the list`, async (t) => {
    const slug = path === '/mcp' ? 'newer' : path.split('/')[1]!;
    const { client, transport, heard } = await olderClient(path);
    t.true(client.getServerCapabilities()?.tools?.listChanged);
    // Its stream is open a moment after the handshake.
    let enabled = true;
    await eventually('the switch is heard', async () => {
      if (heard() > 0) return true;
      enabled = !enabled;
      await put(slug, enabled);
      await new Promise((resolve) => setTimeout(resolve, 200));
      return heard() > 0;
    });
    const before = heard();
    await put(slug, !enabled, 'servers');
    await eventually('the next one, too', () => heard() > before);
    await put(slug, true);
    await transport.terminateSession().catch(() => {});
    await client.close();
    t.pass();
  });

for (const path of ['/older/mcp', '/newer/mcp', '/plain/mcp', '/mcp'])
  test.serial(
    `${path}: a newer client hears it in its subscription, and nothing that it did not ask for`,
    async (t) => {
      const slug = path === '/mcp' ? 'older' : path.split('/')[1]!;
      const tools = await listening(t, path, { toolsListChanged: true });
      const prompts = await listening(t, path, { promptsListChanged: true });
      t.like(tools.acknowledged.params?.notifications, { toolsListChanged: true });
      for (const level of ['servers', 'integrations'] as const) {
        const before = tools.of(CHANGED).length;
        await put(slug, false, level);
        const notice = await eventually('the switch is heard', () => tools.of(CHANGED)[before]);
        t.is(notice.params?._meta?.['io.modelcontextprotocol/subscriptionId'], 'sub');
        await put(slug, true, level);
        await eventually('and back', () => tools.of(CHANGED).length >= before + 2);
      }
      t.is(prompts.of(CHANGED).length, 0);
      tools.end();
      prompts.end();
    },
  );

test.serial('/mcp: notices of all servers, their resources by the names of the endpoint', async (t) => {
  const both = await listening(t, '/mcp', {
    toolsListChanged: true,
    resourceSubscriptions: ['mcp://newer/test://a', 'mcp://none/test://a', 'test://a'],
  });
  await eventually('the newer server is followed', async () => {
    notifier.toolsChanged();
    await new Promise((resolve) => setTimeout(resolve, 100));
    return both.of(CHANGED).length > 0;
  });
  notifier.resourceUpdated('test://a');
  notifier.resourceUpdated('test://other');
  const updated = await eventually('the resource', () => both.of('notifications/resources/updated')[0]);
  t.is(updated.params?.uri, 'mcp://newer/test://a');
  const before = both.of(CHANGED).length;
  await eventually('the older server is followed', async () => {
    for (const server of made) if (server.isConnected()) server.sendToolListChanged();
    await new Promise((resolve) => setTimeout(resolve, 100));
    return both.of(CHANGED).length > before;
  });
  t.is(both.of('notifications/resources/updated').length, 1);
  both.end();
});

test.serial('what an older server asks apart from the call is a question of the newest call', async (t) => {
  const params = { name: 'ask', arguments: {} };
  const asked = await modern(at('/older/mcp'), 'tools/call', params);
  t.is(asked.json.result?.resultType, 'input_required', asked.text);
  const [[key, question]] = Object.entries(
    asked.json.result?.inputRequests as Record<string, { method: string }>,
  ) as [[string, { method: string }]];
  t.is(question.method, 'elicitation/create');
  // A user takes longer than a server may be silent.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const answered = await modern(at('/older/mcp'), 'tools/call', {
    ...params,
    inputResponses: { [key]: { action: 'accept', content: { name: 'ada' } } },
    requestState: asked.json.result?.requestState,
  });
  t.regex(answered.text, /accept .*ada/);
});

test.serial(
  'a client that has not declared what a server needs is not asked; unknown methods are 404',
  async (t) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const send = (method: string, params: object, name?: string) =>
      post(
        at('/older/mcp'),
        JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
        {
          'mcp-protocol-version': MODERN,
          'mcp-method': method,
          ...(name === undefined ? {} : { 'mcp-name': name }),
        },
      );
    const called = await send('tools/call', { name: 'ask', arguments: {} }, 'ask');
    t.is(called.json.result?.resultType, 'complete', called.text);
    t.true(called.json.result?.isError);
    const unknown = await send('nothing/such', {});
    t.is(unknown.status, 404);
    t.is(unknown.json.error?.code, -32601);
  },
);

for (const path of ['/older/mcp', '/mcp'])
  test.serial(`${path}: the official clients of both generations answer it`, async (t) => {
    const name = path === '/mcp' ? 'older__ask' : 'ask';
    const gets = () => older.seen.filter(({ method }) => method === 'GET').length;
    const before = gets();
    const { client } = await olderClient(path, { elicitation: {} });
    // The official client opens the stream by the way; what is asked before is lost, as without a gateway.
    if (path !== '/mcp') await eventually('the stream of the session', () => gets() > before);
    client.setRequestHandler(ElicitRequestSchema, async () => {
      await new Promise((resolve) => setTimeout(resolve, 2500));
      return { action: 'accept' as const, content: { name: 'ada' } };
    });
    const result = await client.callTool({ name, arguments: {} });
    t.regex(JSON.stringify(result), /accept .*ada/);
    await client.close();
    const own = new Client(
      { name: 'newer', version: '1' },
      { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: MODERN } } },
    );
    own.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'bob' } }));
    await own.connect(
      new StreamableHTTPClientTransport(new URL(at(path)), { requestInit: { headers: { authorization } } }),
    );
    t.regex(JSON.stringify(await own.callTool({ name, arguments: {} })), /accept .*bob/);
    await own.close();
  });

test.serial(
  'a subscription to nothing that there is ends at once; one that is none is refused',
  async (t) => {
    const nothing = await modern(at('/mcp'), 'subscriptions/listen', { notifications: {} });
    t.is(nothing.json.result?.resultType, 'complete');
    for (const notifications of [undefined, null, [], 'x'])
      t.is(
        (await modern(at('/mcp'), 'subscriptions/listen', { notifications } as never)).json.error?.code,
        -32602,
      );
    const get = await fetch(at('/mcp'), { headers: { authorization, accept: 'text/event-stream' } });
    t.is(get.status, 400);
    await get.body?.cancel();
    const noSession = await post(at('/mcp'), '{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
    t.is(noSession.status, 400);
  },
);
