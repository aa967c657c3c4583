// Tasks of a client of 2025-11-25 at a server of 2026-07-28, with the SDK's own client and by hand; and at the endpoint of
// all servers, for clients of both generations.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import {
  startModernTaskUpstream,
  startTaskUpstream,
  type TaskUpstream,
} from '../support/mcp/task-upstream.ts';
import { MODERN, post, type WireAnswer } from '../support/mcp/wire.ts';

type Json = Record<string, unknown>;
type Ask = (method: string, params: Json) => Promise<WireAnswer>;
const EXTENSION = 'io.modelcontextprotocol/tasks';
const RELATED = 'io.modelcontextprotocol/related-task';
let newer: TaskUpstream;
let older: TaskUpstream;
let gateway: TestGateway;
test.before(async () => {
  [newer, older] = await Promise.all([startModernTaskUpstream(), startTaskUpstream()]);
  gateway = await startMcpGateway({ newer: { url: newer.url }, older: { url: older.url } });
});
test.after.always(async () => {
  await gateway?.close();
  await newer?.close();
  await older?.close();
});

async function connected(path: string): Promise<Client> {
  const client = new Client({ name: 'older', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { a: 'this' } }));
  const requestInit = { headers: { authorization: `Bearer ${WORKSPACE_KEY}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(gateway.origin + path), { requestInit }) as never,
  );
  return client;
}

async function session(path: string, version = '2025-11-25'): Promise<{ ask: Ask; capabilities: Json }> {
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const opened = await post(gateway.origin + path, hello);
  const headers = {
    'mcp-session-id': opened.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': version,
  };
  const ask: Ask = (method, given) =>
    post(gateway.origin + path, JSON.stringify({ jsonrpc: '2.0', id: 2, method, params: given }), headers);
  return { ask, capabilities: opened.json.result?.capabilities as Json };
}

const taskOf = ({ json }: WireAnswer) => json.result?.task as Json & { readonly taskId: string };
const call = (ask: Ask, name: string, task: Json | null = { ttl: 60_000 }) =>
  ask('tools/call', { name, arguments: {}, ...(task && { task }) });

for (const [path, prefix] of [
  ['/newer/mcp', ''],
  ['/mcp', 'newer__'],
  ['/mcp', 'older__'],
] as const)
  test.serial(
    `${path} ${prefix}: the SDK calls a tool as a task, answers its question, and has its result`,
    async (t) => {
      const client = await connected(path);
      t.deepEqual(client.getServerCapabilities()?.tasks, { cancel: {}, requests: { tools: { call: {} } } });
      const { tools } = await client.listTools();
      t.true(tools.every(({ execution }) => execution?.taskSupport === 'optional'));
      for (const [name, words] of [
        ['asks', /answered .*this/],
        ['plain', /at once|^$/],
      ] as const) {
        const seen: string[] = [];
        const stream = client.experimental.tasks.callToolStream(
          { name: `${prefix}${name}`, arguments: {} },
          CallToolResultSchema,
          { task: { ttl: 60_000 } },
        );
        for await (const message of stream) {
          seen.push(message.type);
          if (message.type === 'error') t.fail(message.error.message);
          if (message.type !== 'result') continue;
          const { content, _meta } = message.result as { content: { text: string }[]; _meta?: Json };
          t.regex(content.map(({ text }) => text).join(), words);
          t.truthy(_meta?.[RELATED]);
        }
        t.is(seen[0], 'taskCreated', name);
        t.is(seen.at(-1), 'result', name);
      }
      await client.close();
    },
  );

test.serial(
  'the wire: a task as the older revision writes it, and errors for what there is not',
  async (t) => {
    const { ask, capabilities } = await session('/newer/mcp');
    t.deepEqual(capabilities.tasks, { cancel: {}, requests: { tools: { call: {} } } });
    const task = taskOf(await call(ask, 'slow'));
    t.is(task.ttl, 60_000);
    t.is(task.pollInterval, 100);
    t.false('ttlMs' in task || 'pollIntervalMs' in task || 'resultType' in task);
    const { taskId } = task;
    t.false(taskId.startsWith('task-'));
    const looked = (await ask('tasks/get', { taskId })).json.result;
    t.is(looked?.status, 'working');
    t.false('resultType' in (looked ?? {}));
    const waits = ask('tasks/result', { taskId });
    newer.finish();
    const result = (await waits).json.result;
    t.regex(JSON.stringify(result?.content), /slow is done/);
    t.deepEqual((result?._meta as Json | undefined)?.[RELATED], { taskId });
    t.is((await ask('tasks/cancel', { taskId })).json.error?.code, -32602, 'it is over');
    t.is((await ask('tasks/list', {})).json.error?.code, -32601);
    t.is((await ask('tasks/update', { taskId })).json.error?.code, -32601);
    for (const given of [7, null, '', 'made-up', undefined])
      t.is((await ask('tasks/get', { taskId: given })).json.error?.code, -32602, String(given));
    t.is((await ask('tools/call', { name: 'slow', task: 7 })).json.error?.code, -32602);
  },
);

test.serial('failed tools, broken calls and cancelled tasks end as the older revision says', async (t) => {
  const { ask } = await session('/newer/mcp');
  const failed = taskOf(await call(ask, 'fails'));
  t.is((await ask('tasks/get', { taskId: failed.taskId })).json.result?.status, 'failed');
  t.is((await ask('tasks/result', { taskId: failed.taskId })).json.result?.isError, true);
  const { taskId: broken } = taskOf(await call(ask, 'breaks'));
  t.is((await ask('tasks/result', { taskId: broken })).json.error?.code, -32050);
  const { taskId } = taskOf(await call(ask, 'slow'));
  t.is((await ask('tasks/cancel', { taskId })).json.result?.status, 'cancelled');
  t.regex(String((await ask('tasks/result', { taskId })).json.error?.message), /cancelled/);
});

test.serial('calls without a task are answered at once; a tool that needs one says so', async (t) => {
  const { ask } = await session('/newer/mcp');
  t.regex((await call(ask, 'slow', null)).text, /at once/);
  const refused = await call(ask, 'needs', null);
  t.is(refused.json.error?.code, -32601);
  t.regex(String(refused.json.error?.message), /called as a task only/);
  t.truthy(taskOf(await call(ask, 'needs')).taskId);
  // Before 2025-11-25 there were no tasks: what asks for one is passed over.
  const before = await session('/newer/mcp', '2025-06-18');
  t.is(before.capabilities.tasks, undefined);
  t.regex((await call(before.ask, 'slow')).text, /at once/);
  t.is((await before.ask('tasks/get', { taskId: 'x' })).json.error?.code, -32602);
});

test.serial('at /mcp a newer client has the tasks of servers of both generations', async (t) => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, extensions: { [EXTENSION]: {} } },
  };
  const ask: Ask = (method, params) => {
    const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
    return post(`${gateway.origin}/mcp`, JSON.stringify(body), {
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      'mcp-name': String(params.name ?? params.taskId),
    });
  };
  for (const slug of ['newer', 'older']) {
    const made = (await ask('tools/call', { name: `${slug}__asks`, arguments: {} })).json.result as Json;
    t.is(made.resultType, 'task');
    const taskId = String(made.taskId);
    t.true(taskId.startsWith(`${slug}__`));
    const asking = (await ask('tasks/get', { taskId })).json.result as Json;
    t.is(asking.taskId, taskId);
    const [key] = Object.keys(asking.inputRequests as Json);
    await ask('tasks/update', {
      taskId,
      inputResponses: { [key!]: { action: 'accept', content: { a: '7' } } },
    });
    const done = await eventually('the task is over', async () => {
      const now = (await ask('tasks/get', { taskId })).json.result as Json;
      return now.status === 'completed' && now;
    });
    t.regex(JSON.stringify(done.result), /answered/);
    for (const wrong of [taskId.slice(slug.length + 2), `none__${taskId}`, `${slug}__x`, 'x'])
      t.is((await ask('tasks/get', { taskId: wrong })).json.error?.code, -32602, wrong);
  }
});

for (const slug of ['newer', 'older'])
  test.serial(
    `an older client waits for a result at the ${slug} server while the tool is hidden: it is refused`,
    async (t) => {
      const { ask } = await session(`/${slug}/mcp`);
      const { taskId } = taskOf(await call(ask, 'slow'));
      const upstream = slug === 'newer' ? newer : older;
      const looks = upstream.looks();
      const waits = ask('tasks/result', { taskId });
      await eventually('it is waited for', () => upstream.looks() > looks);
      await switched(slug, false);
      // The stream ends without the task's end.
      const { json } = await waits;
      t.is(json.error?.message, 'Unknown task');
      t.is(json.result, undefined);
      t.is(upstream.statuses().at(-1), 'working');
      upstream.finish();
      t.is((await ask('tasks/result', { taskId })).json.error?.message, 'Unknown task');
      await switched(slug, true);
    },
  );

test.serial('a result that was there at once is its caller’s, and hidden with its tool', async (t) => {
  for (const path of ['/newer/mcp', '/mcp']) {
    const { ask } = await session(path);
    const name = path === '/mcp' ? 'newer__plain' : 'plain';
    // What was hidden in the round before is back for calls within a second.
    const { taskId, status } = await eventually('the tool can be called', async () => {
      const answer = await call(ask, name);
      return answer.json.error === undefined && taskOf(answer);
    });
    t.is(status, 'completed');
    t.regex((await ask('tasks/result', { taskId })).text, /at once/);
    await switched('newer', false, 'plain');
    await eventually('it is hidden', async () => {
      const { json } = await ask('tasks/result', { taskId });
      return json.error?.message === 'Unknown task';
    });
    await switched('newer', true, 'plain');
    await eventually(
      'it is back',
      async () => (await ask('tasks/get', { taskId })).json.result !== undefined,
    );
  }
});

async function switched(slug: string, enabled: boolean, name = 'slow'): Promise<void> {
  const answer = await fetch(`${gateway.origin}/v1/mcp-servers/${slug}/capabilities`, {
    method: 'PUT',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ capabilities: [{ name, type: 'tool', enabled }] }),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}
