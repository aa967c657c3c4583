// Tasks of servers that know all callers by one credential: each caller has its own alone, hidden tools have none, and
// results that guardrails check are waited for.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { MODERN, post, type WireAnswer } from '../support/mcp/wire.ts';

type Json = Record<string, unknown>;
interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: Json;
}

const SERVER_ID = 'task-of-the-server';
const RELATED = 'io.modelcontextprotocol/related-task';
const EXTENSION = 'io.modelcontextprotocol/tasks';
const task = (taskId: unknown, status = 'working') => ({ taskId, status, createdAt: 'x', ttl: 60_000 });
let older: Upstream;
let newer: Upstream;
let gateway: TestGateway;
let otherKey: string;
test.before(async () => {
  older = await startUpstream((req, res, body) => {
    if (req.method !== 'POST') return res.writeHead(405).end();
    const message = JSON.parse(body) as Message;
    if (message.id === undefined) return res.writeHead(202).end();
    const { method, params = {} } = message;
    const result = (): Json => {
      if (method === 'initialize')
        return {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
          serverInfo: { name: 'older', version: '1' },
        };
      if (method === 'tools/call')
        return params.task === undefined
          ? { content: [{ type: 'text', text: 'now' }] }
          : { task: task(SERVER_ID) };
      if (method === 'tasks/list') return { tasks: [task(SERVER_ID), task('task-of-another')] };
      if (method === 'tasks/result')
        return {
          content: [{ type: 'text', text: 'later' }],
          _meta: { [RELATED]: { taskId: params.taskId } },
        };
      return task(params.taskId, 'completed');
    };
    if (method === 'server/discover') return res.writeHead(400).end();
    const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: result() });
    const session = method === 'initialize' ? { 'mcp-session-id': 'one-for-all' } : {};
    return res.writeHead(200, { 'content-type': 'application/json', ...session }).end(text);
  });
  newer = await startUpstream((_req, res, body) => {
    const { id, method, params = {} } = JSON.parse(body) as Message;
    const meta = (params._meta ?? {}) as Record<string, { extensions?: Json }>;
    const declares =
      meta['io.modelcontextprotocol/clientCapabilities']?.extensions?.[EXTENSION] !== undefined;
    const result = (): Json => {
      if (method === 'server/discover')
        return { resultType: 'complete', supportedVersions: [MODERN], capabilities: { tools: {} } };
      if (method === 'tools/call')
        return declares
          ? { resultType: 'task', ...task(SERVER_ID) }
          : { resultType: 'complete', content: [{ type: 'text', text: 'now' }] };
      return { resultType: 'complete', ...task(params.taskId, 'completed'), result: { content: [] } };
    };
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: result() });
    return res.writeHead(200, { 'content-type': 'application/json' }).end(text);
  });
  gateway = await startMcpGateway({ older: { url: older.url }, newer: { url: newer.url } });
  const body = { name: 'other', workspace_id: 'default', scopes: ['mcp.invoke'] };
  otherKey = String((await ok(gateway, 'POST', '/api-keys/workspace/service', { body })).key);
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await newer?.close();
});

const url = (slug: string) => `${gateway.origin}/${slug}/mcp`;
async function session(key: string): Promise<(method: string, params: Json) => Promise<WireAnswer>> {
  const authorization = `Bearer ${key}`;
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const opened = await post(url('older'), hello, { authorization });
  const id = opened.headers.get('mcp-session-id') ?? '';
  const headers = { authorization, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
  return (method, given) =>
    post(url('older'), JSON.stringify({ jsonrpc: '2.0', id: 2, method, params: given }), headers);
}
const modern = (
  method: string,
  params: Json,
  key = WORKSPACE_KEY,
  extensions: Json = { [EXTENSION]: {} },
) => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': { extensions },
  };
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
  return post(url('newer'), JSON.stringify(body), {
    authorization: `Bearer ${key}`,
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    'mcp-name': String(params.name ?? params.taskId),
  });
};
const idOf = (json: Json | undefined) => String((json as { taskId?: unknown } | undefined)?.taskId);
const CALL = { name: 'slow', arguments: {} };

test.serial(
  '2025-11-25: a task has an id of the caller’s own, the same each time, and opens for no other',
  async (t) => {
    const [mine, theirs] = [await session(WORKSPACE_KEY), await session(otherKey)];
    const made = await mine('tools/call', { ...CALL, task: { ttl: 60_000 } });
    const taskId = idOf(made.json.result?.task as Json);
    t.not(taskId, SERVER_ID);
    t.false(made.text.includes(SERVER_ID));
    t.is(idOf((await mine('tasks/get', { taskId })).json.result), taskId);
    const result = await mine('tasks/result', { taskId });
    t.regex(result.text, /later/);
    t.deepEqual((result.json.result?._meta as Json | undefined)?.[RELATED], { taskId });
    t.is(idOf((await mine('tasks/cancel', { taskId })).json.result), taskId);
    t.true(
      older.seen.filter(({ body }) => body.includes('tasks/')).every(({ body }) => body.includes(SERVER_ID)),
    );
    const seen = older.seen.length;
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      for (const given of [taskId, SERVER_ID, 'task-of-another', `${taskId}x`, 7, null, '']) {
        const answer = await theirs(method, { taskId: given });
        t.is(answer.json.error?.message, 'Unknown task', `${method} ${String(given)}`);
      }
    t.is(older.seen.length, seen, 'nothing of it reached the server');
  },
);

test.serial('2025-11-25: lists have the caller’s own tasks alone', async (t) => {
  const mine = await session(WORKSPACE_KEY);
  const made = await mine('tools/call', { ...CALL, task: {} });
  const { tasks } = (await mine('tasks/list', {})).json.result as { tasks: Json[] };
  t.deepEqual(tasks.map(idOf), [idOf(made.json.result?.task as Json)]);
  const body = { name: 'third', workspace_id: 'default', scopes: ['mcp.invoke'] };
  const { key } = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
  const theirs = await session(String(key));
  t.deepEqual((await theirs('tasks/list', {})).json.result?.tasks, []);
});

test.serial('2026-07-28: the same, and the header names the server’s own id there', async (t) => {
  const made = await modern('tools/call', CALL);
  t.is(made.json.result?.resultType, 'task');
  const taskId = idOf(made.json.result);
  t.not(taskId, SERVER_ID);
  const got = await modern('tasks/get', { taskId });
  t.is(idOf(got.json.result), taskId, got.text);
  const { headers, body } = newer.seen.at(-1)!;
  t.is(headers['mcp-name'], SERVER_ID);
  t.is((JSON.parse(body) as Message).params?.taskId, SERVER_ID);
  for (const [given, key] of [
    [taskId, otherKey],
    [SERVER_ID, WORKSPACE_KEY],
  ] as const)
    t.is((await modern('tasks/get', { taskId: given }, key)).json.error?.message, 'Unknown task');
});

test.serial(
  'a newer client at an older server: a tool that does not say that it takes tasks is waited for',
  async (t) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientCapabilities': { extensions: { [EXTENSION]: {} } },
    };
    const ask = (method: string, params: Json) =>
      post(url('older'), JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }), {
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
        ...(typeof params.name === 'string' ? { 'mcp-name': params.name } : {}),
      });
    t.regex((await ask('tools/call', { ...CALL, task: { ttl: 1 } })).text, /"now"/);
    t.is((await ask('tasks/list', {})).json.error?.code, -32601);
  },
);

test.serial('a tool whose results guardrails check answers at once: no task goes round them', async (t) => {
  const checks = [{ id: 'default.contains', parameters: { words: ['now'], operator: 'none' } }];
  const guardrail = await ok(gateway, 'POST', '/guardrails', {
    body: { name: 'No now', workspace_id: 'default', checks, actions: { deny: true } },
  });
  for (const slug of ['older', 'newer']) await configured(slug, { guardrails: { output: [guardrail.slug] } });
  const mine = await session(WORKSPACE_KEY);
  await eventually('the guardrail holds', async () => {
    const answer = await mine('tools/call', { ...CALL, task: {} });
    return answer.status === 446 || /hook_results/.test(answer.text);
  });
  const sent = older.seen.filter(({ body }) => body.includes('tools/call')).at(-1);
  t.false(sent?.body.includes('"task"'));
  const answer = await modern('tools/call', CALL);
  t.true(answer.status === 446 || /hook_results/.test(answer.text), answer.text);
  for (const slug of ['older', 'newer']) await configured(slug, {});
});

test.serial('the tasks of a tool that is hidden are none any more', async (t) => {
  const mine = await session(WORKSPACE_KEY);
  const read = async () => mine('tools/call', { ...CALL, task: {} });
  await eventually('there is a task', async () => (await read()).json.result?.task !== undefined);
  const taskId = idOf((await read()).json.result?.task as Json);
  t.truthy((await mine('tasks/get', { taskId })).json.result);
  await admin('PUT', '/v1/mcp-servers/older/capabilities', {
    capabilities: [{ name: 'slow', type: 'tool', enabled: false }],
  });
  await eventually('the tool is hidden', async () => (await read()).json.error !== undefined);
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
    t.is((await mine(method, { taskId })).json.error?.message, 'Unknown task');
  t.deepEqual((await mine('tasks/list', {})).json.result?.tasks, []);
});

const configured = (slug: string, configurations: Json) =>
  admin('PUT', `/v1/mcp-servers/${slug}`, { configurations });

async function admin(method: string, path: string, body: Json): Promise<void> {
  const answer = await fetch(gateway.origin + path, {
    method,
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}
