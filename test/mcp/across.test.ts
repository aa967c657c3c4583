// Clients and servers of different generations: what the server needs of the client, sessions that are nobody else's,
// and servers that forget them.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import test from 'ava';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import {
  startLegacyUpstream,
  startModernUpstream,
  startUpstream,
  type Upstream,
} from '../support/mcp/upstreams.ts';
import { MODERN, modern, post } from '../support/mcp/wire.ts';

let older: Upstream;
let newer: Upstream;
let gateway: TestGateway;
test.before(async () => {
  [older, newer] = await Promise.all([startLegacyUpstream(), startModernUpstream()]);
  gateway = await startMcpGateway({ older: { url: older.url }, newer: { url: newer.url } });
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await newer?.close();
});

const auth = { requestInit: { headers: { authorization: `Bearer ${WORKSPACE_KEY}` } } };
const at = (slug: string) => new URL(`${gateway.origin}/${slug}/mcp`);
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text;

test.serial('an older client at a newer server: elicitation and sampling within the call', async (t) => {
  const client = new OlderClient(
    { name: 'older', version: '1' },
    { capabilities: { elicitation: {}, sampling: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept',
    content: { username: 'ada', email: 'a@b.c' },
  }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: 'Paris' },
  }));
  await client.connect(new OlderTransport(at('newer'), auth));
  t.is(client.getServerVersion()?.name, 'reference');
  t.true((await client.listTools()).tools.length > 5);
  t.regex(
    textOf(await client.callTool({ name: 'test_elicitation', arguments: { message: 'who?' } })),
    /action=accept.*ada/,
  );
  t.is(
    textOf(await client.callTool({ name: 'test_sampling', arguments: { prompt: 'capital?' } })),
    'LLM response: Paris',
  );
  t.regex(
    textOf(await client.callTool({ name: 'test_input_required_result_multi_round', arguments: {} })),
    /^done/,
  );
  const steps: number[] = [];
  await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, {
    onprogress: ({ progress }) => steps.push(progress),
  });
  t.deepEqual(steps, [0, 50, 100]);
  await client.close();
});

test.serial(
  'a newer client at an older server: elicitation and sampling as input that is required',
  async (t) => {
    const client = new Client(
      { name: 'newer', version: '1' },
      { capabilities: { elicitation: {}, sampling: {} }, versionNegotiation: { mode: { pin: MODERN } } },
    );
    client.setRequestHandler('elicitation/create', () => ({
      action: 'accept',
      content: { username: 'ada', email: 'a@b.c' },
    }));
    client.setRequestHandler('sampling/createMessage', () => ({
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'Paris' },
    }));
    await client.connect(new StreamableHTTPClientTransport(at('older'), auth));
    t.regex(
      textOf(await client.callTool({ name: 'test_elicitation', arguments: { message: 'who?' } })),
      /action=accept.*ada/,
    );
    t.is(
      textOf(await client.callTool({ name: 'test_sampling', arguments: { prompt: 'capital?' } })),
      'LLM response: Paris',
    );
    const [first] = (await client.readResource({ uri: 'test://static-text' })).contents;
    t.regex(JSON.stringify(first), /static text resource/);
    await client.close();
  },
);

test.serial(
  'a server that forgets its sessions is greeted anew, without a word to the newer client',
  async (t) => {
    const call = () =>
      modern(`${gateway.origin}/older/mcp`, 'tools/call', { name: 'test_simple_text', arguments: {} });
    t.is((await call()).json.error, undefined);
    older.forget();
    t.is((await call()).json.error, undefined);
    t.is((await call()).json.result?.resultType, 'complete');
  },
);

test.serial(
  'an older server that asks for more than a result can say: lists ask nothing, and pings have a bound',
  async (t) => {
    let asks: (id: number) => object = (id) => ({
      id,
      method: 'sampling/createMessage',
      params: { messages: [] },
    });
    let count = 1;
    const told: string[] = [];
    const asking = await startUpstream((req, res, body) => {
      if (req.method === 'GET') return res.writeHead(405).end();
      const message = JSON.parse(body) as { id?: number; method?: string; error?: object };
      const say = (json: object) => JSON.stringify({ jsonrpc: '2.0', ...json });
      if (message.method === 'server/discover') return res.writeHead(400).end();
      if (message.method === undefined) told.push(body);
      if (message.id === undefined || message.method === undefined) return res.writeHead(202).end();
      const { id, method } = message;
      const capabilities = { tools: {} };
      const hello = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'x', version: '1' } };
      const result =
        method === 'initialize' ? hello : method === 'tools/list' ? { tools: [] } : { content: [] };
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      if (method !== 'initialize')
        for (let i = 0; i < count; i++) res.write(`data: ${say(asks(1000 + i))}\n\n`);
      return res.end(`data: ${say({ id, result })}\n\n`);
    });
    const own = await startMcpGateway({ asking: { url: asking.url } });
    try {
      const url = `${own.origin}/asking/mcp`;
      t.is((await modern(url, 'tools/list')).json.result?.resultType, 'complete');
      t.regex(told.join(), /"error"/);
      const call = () => modern(url, 'tools/call', { name: 'any', arguments: {} });
      // It did not wait for the answer: its own stands.
      t.is((await call()).json.result?.resultType, 'complete');
      asks = (id) => ({ id, method: 'ping' });
      t.is((await call()).json.result?.resultType, 'complete');
      count = 1000;
      t.regex(String((await call()).json.error?.message), /asks too much/);
      t.true(told.length < 300);
    } finally {
      await own.close();
      await asking.close();
    }
  },
);

test.serial(
  'an older server that asks two things at once, and one that needs what the client has not declared',
  async (t) => {
    let asks = ['sampling/createMessage', 'roots/list'];
    const asking = await startUpstream((req, res, body) => {
      if (req.method === 'GET') return res.writeHead(405).end();
      const { id, method } = JSON.parse(body) as { id?: number; method?: string };
      const say = (json: object) => JSON.stringify({ jsonrpc: '2.0', ...json });
      if (method === 'server/discover') return res.writeHead(400).end();
      if (id === undefined || method === undefined) return res.writeHead(202).end();
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const hello = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        serverInfo: { name: 'x', version: '1' },
      };
      if (method === 'initialize') return res.end(`data: ${say({ id, result: hello })}\n\n`);
      for (const [i, one] of asks.entries())
        res.write(`data: ${say({ id: 1000 + i, method: one, params: { messages: [] } })}\n\n`);
      const error = { code: -32603, message: 'cannot go on' };
      return asks.length === 1 ? res.end(`data: ${say({ id, error })}\n\n`) : undefined;
    });
    const own = await startMcpGateway({ asking: { url: asking.url } });
    try {
      const url = `${own.origin}/asking/mcp`;
      const both = (await modern(url, 'tools/call', { name: 'any', arguments: {} })).json.result;
      t.is(both?.resultType, 'input_required');
      const methods = Object.values(both?.inputRequests as Record<string, { method: string }>);
      t.deepEqual(
        methods.map(({ method }) => method),
        asks,
      );
      asks = ['elicitation/create'];
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': MODERN,
        'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
      };
      const params = { name: 'any', arguments: {}, _meta };
      const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'any' };
      const { status, json } = await post(url, call, headers);
      t.is(status, 400);
      t.is(json.error?.code, -32021);
      t.deepEqual(json.error?.data, { requiredCapabilities: { elicitation: {} } });
    } finally {
      await own.close();
      await asking.close();
    }
  },
);

test.serial('an older client that says little or nonsense of itself is served all the same', async (t) => {
  for (const params of [
    {},
    { capabilities: 7, clientInfo: 'x' },
    { capabilities: { elicitation: 1, sampling: {} }, clientInfo: { name: 5 } },
  ]) {
    const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    const { status, json, text } = await post(`${gateway.origin}/newer/mcp`, hello);
    t.is(status, 200, text);
    t.truthy(json.result?.serverInfo);
  }
});

test.serial('an older client whose session the older server has forgotten is told so: 404', async (t) => {
  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };
  const opened = await post(`${gateway.origin}/older/mcp`, JSON.stringify(hello));
  older.forget();
  const list = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
  const answer = await post(`${gateway.origin}/older/mcp`, list, {
    'mcp-session-id': opened.headers.get('mcp-session-id')!,
  });
  t.is(answer.status, 404);
});

test.serial(
  'what waits for a client’s answer is its own: another state, or another tool, finds nothing',
  async (t) => {
    const url = `${gateway.origin}/older/mcp`;
    const params = { name: 'test_elicitation', arguments: { message: 'who?' } };
    const asked = await modern(url, 'tools/call', params);
    t.is(asked.json.result?.resultType, 'input_required');
    const requestState = asked.json.result?.requestState as string;
    const [key] = Object.keys(asked.json.result?.inputRequests as object);
    const inputResponses = { [key!]: { action: 'decline' } };
    for (const wrong of [
      { ...params, requestState: `${requestState}x` },
      { name: 'test_sampling', arguments: { prompt: 'x' }, requestState },
    ]) {
      const answer = await modern(url, 'tools/call', { ...wrong, inputResponses });
      t.is(answer.json.error?.code, -32602);
    }
    const again = await modern(url, 'tools/call', { ...params, requestState });
    t.is(again.json.result?.resultType, 'input_required');
    const done = await modern(url, 'tools/call', { ...params, inputResponses, requestState });
    t.is(done.json.result?.resultType, 'complete');
    t.is(
      (await modern(url, 'tools/call', { ...params, inputResponses, requestState })).json.error?.code,
      -32602,
    );
  },
);

test.serial(
  'requests of newer clients with the same id at once, by one key, have their own answers',
  async (t) => {
    const call = (name: string) =>
      modern(`${gateway.origin}/older/mcp`, 'tools/call', { name, arguments: {} });
    const names = ['test_tool_with_logging', 'test_tool_with_progress'];
    const whole = await Promise.all(names.map(async (name) => (await call(name)).json.result?.content));
    t.notDeepEqual(whole[0], whole[1]);
    const all = await Promise.all(Array.from({ length: 10 }, (_, i) => call(names[i % 2]!)));
    for (const [i, { json, text }] of all.entries()) {
      t.is(json.id, 1);
      t.deepEqual(json.result?.content, whole[i % 2], text);
    }
  },
);
