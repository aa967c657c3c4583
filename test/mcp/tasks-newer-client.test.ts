// Tasks of a client of 2026-07-28 at servers of 2025-11-25: server-everything's, and one that does what few servers do.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { type RunningServer, startEverything } from '../support/mcp/servers.ts';
import { startTaskUpstream, type TaskUpstream } from '../support/mcp/task-upstream.ts';
import { MODERN, post } from '../support/mcp/wire.ts';

type Json = Record<string, unknown>;
const EXTENSION = 'io.modelcontextprotocol/tasks';
const RELATED = 'io.modelcontextprotocol/related-task';
let everything: RunningServer;
let older: TaskUpstream;
let gateway: TestGateway;
let otherKey: string;
test.before(async () => {
  [everything, older] = await Promise.all([startEverything(), startTaskUpstream()]);
  gateway = await startMcpGateway({ everything: { url: everything.url }, older: { url: older.url } });
  const body = { name: 'other', workspace_id: 'default', scopes: ['mcp.invoke'] };
  otherKey = String((await ok(gateway, 'POST', '/api-keys/workspace/service', { body })).key);
});
test.after.always(async () => {
  await gateway?.close();
  await everything?.close();
  await older?.close();
});

const ALL = { elicitation: { form: {} }, extensions: { [EXTENSION]: {} } };
function ask(slug: string, method: string, params: Json, capabilities: Json = ALL, key = WORKSPACE_KEY) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
  const named = params.name ?? params.taskId;
  return post(`${gateway.origin}/${slug}/mcp`, JSON.stringify(body), {
    authorization: `Bearer ${key}`,
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof named === 'string' ? { 'mcp-name': named } : {}),
  });
}
async function made(slug: string, name: string, args: Json = {}): Promise<Json & { taskId: string }> {
  const answer = await ask(slug, 'tools/call', { name, arguments: args });
  return (answer.json.result ?? { taskId: answer.text }) as Json & { taskId: string };
}
async function until(slug: string, taskId: string, status: string): Promise<Json> {
  let last: Json = {};
  await eventually(`the task is ${status}`, async () => {
    last = (await ask(slug, 'tasks/get', { taskId })).json.result ?? {};
    return last.status === status;
  });
  return last;
}

test.serial('server-everything: a task, its question, the answer, and its result in the task', async (t) => {
  const found = await ask('everything', 'server/discover', {});
  const said = found.json.result?.capabilities as { extensions?: Json } | undefined;
  t.deepEqual(said?.extensions, { [EXTENSION]: {} });
  const args = { topic: 'python', ambiguous: true };
  const task = await made('everything', 'simulate-research-query', args);
  t.is(task.resultType, 'task');
  t.is(task.status, 'working');
  t.is(task.ttlMs, 300_000);
  t.is(task.pollIntervalMs, 1000);
  t.false('ttl' in task || 'pollInterval' in task || 'task' in task);
  const { taskId } = task;
  const asking = await until('everything', taskId, 'input_required');
  const [[key, question]] = Object.entries(asking.inputRequests as Record<string, Json>) as [[string, Json]];
  t.is(question.method, 'elicitation/create');
  t.false(JSON.stringify(question).includes(RELATED));
  const again = await until('everything', taskId, 'input_required');
  t.deepEqual(Object.keys(again.inputRequests as Json), [key], 'a question has one key');
  const inputResponses = { [key]: { action: 'accept', content: { interpretation: 'snake' } }, other: 1 };
  const told = await ask('everything', 'tasks/update', { taskId, inputResponses });
  t.deepEqual(told.json.result, { resultType: 'complete' });
  const done = await until('everything', taskId, 'completed');
  const result = done.result as Json;
  t.regex(JSON.stringify(result.content), /snake/);
  t.false(JSON.stringify(result).includes(RELATED));
  t.is((await until('everything', taskId, 'completed')).taskId, taskId);
});

test.serial('a tool that answers by tasks alone needs a client that has them: -32021', async (t) => {
  const call = { name: 'simulate-research-query', arguments: { topic: 'x' } };
  const { status, json } = await ask('everything', 'tools/call', call, {});
  t.is(status, 400);
  t.is(json.error?.code, -32021);
  t.deepEqual(json.error?.data, { requiredCapabilities: { extensions: { [EXTENSION]: {} } } });
  const { taskId } = await made('older', 'slow');
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    t.is((await ask('older', method, { taskId, inputResponses: {} }, {})).json.error?.code, -32021);
});

test.serial('tools that know no tasks answer at once, and optional ones as the client can', async (t) => {
  const plain = await ask('older', 'tools/call', { name: 'plain', arguments: {} });
  t.is(plain.json.result?.resultType, 'complete');
  t.is(
    (await ask('older', 'tools/call', { name: 'slow', arguments: {} }, {})).json.result?.resultType,
    'complete',
  );
  t.is((await made('older', 'slow')).resultType, 'task');
});

test.serial(
  'a failed tool is a result, a failed request is an error, and a cancelled task neither',
  async (t) => {
    const tool = await until('older', (await made('older', 'fails')).taskId, 'completed');
    t.is((tool.result as Json).isError, true);
    const request = await until('older', (await made('older', 'breaks')).taskId, 'failed');
    t.is((request.error as Json).code, -32050);
    const { taskId } = await made('older', 'slow');
    t.deepEqual((await ask('older', 'tasks/cancel', { taskId })).json.result, { resultType: 'complete' });
    const gone = await until('older', taskId, 'cancelled');
    t.false('result' in gone || 'error' in gone);
    t.deepEqual((await ask('older', 'tasks/cancel', { taskId })).json.result, { resultType: 'complete' });
  },
);

test.serial('a task is its caller’s, and stays in the session that it was made in', async (t) => {
  const { taskId } = await made('older', 'slow');
  t.is((await ask('older', 'tasks/get', { taskId }, ALL, otherKey)).json.error?.message, 'Unknown task');
  // Other capabilities mean another session of the server, which would not know the task.
  const other = await ask(
    'older',
    'tasks/get',
    { taskId },
    { sampling: {}, extensions: { [EXTENSION]: {} } },
  );
  t.is(other.json.result?.taskId, taskId, other.text);
  for (const given of [7, null, '', 'made-up', { a: 1 }, undefined]) {
    const answer = await ask('older', 'tasks/get', { taskId: given });
    t.is(answer.json.error?.code, -32602, String(given));
  }
  for (const inputResponses of [7, null, [], undefined, 'x'])
    t.is((await ask('older', 'tasks/update', { taskId, inputResponses })).json.error?.code, -32602);
});

test.serial('methods that the revision has not are refused, and say so', async (t) => {
  const { taskId } = await made('older', 'slow');
  for (const method of ['tasks/result', 'tasks/list']) {
    const { json, status } = await ask('older', method, { taskId });
    t.is(json.error?.code, -32601);
    t.is(status, 404);
    t.regex(String(json.error?.message), /not of this revision/);
  }
});

test.serial('a subscription of tasks hears each change, the result with it', async (t) => {
  const { taskId } = await made('older', 'slow');
  const [stop, seen] = [new AbortController(), [] as Json[]];
  const following = follow({ taskIds: [taskId] }, stop.signal, (event) => void seen.push(event));
  await eventually('the task is told', () => seen.some(({ method }) => method === 'notifications/tasks'));
  older.finish();
  const over = await eventually('the task is over', () =>
    seen.find(({ params }) => (params as Json).status === 'completed'),
  );
  t.is((over.params as Json).taskId, taskId);
  t.truthy((over.params as Json).result);
  t.is(seen[0]?.method, 'notifications/subscriptions/acknowledged');
  t.deepEqual((seen[0]!.params as Json).notifications, { taskIds: [taskId] });
  stop.abort();
  await following;
  const without = await ask('older', 'subscriptions/listen', { notifications: { taskIds: [taskId] } }, {});
  t.is(without.json.error?.code, -32021);
});

/** Gives the events of a subscription until the signal ends it. */
async function follow(notifications: Json, signal: AbortSignal, take: (event: Json) => void): Promise<void> {
  const method = 'subscriptions/listen';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': ALL,
  };
  const answer = await fetch(`${gateway.origin}/older/mcp`, {
    method: 'POST',
    signal,
    headers: {
      ...{ authorization: `Bearer ${WORKSPACE_KEY}`, 'content-type': 'application/json' },
      ...{
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
      },
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { notifications, _meta } }),
  });
  let rest = '';
  try {
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + piece).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data !== undefined) take(JSON.parse(data) as Json);
      }
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

test.serial(
  'a tool that is hidden while its task works: neither the task nor its result is told',
  async (t) => {
    const { taskId } = await made('older', 'slow');
    const asking = await made('older', 'asks');
    t.truthy((await until('older', asking.taskId, 'input_required')).inputRequests);
    await switched(false);
    await eventually('the task is hidden', async () => {
      const { json } = await ask('older', 'tasks/get', { taskId });
      return json.error?.message === 'Unknown task';
    });
    older.finish();
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      t.is((await ask('older', method, { taskId, inputResponses: {} })).json.error?.message, 'Unknown task');
    await switched(true);
    await until('older', taskId, 'completed');
  },
);

test.serial('a task whose server has forgotten the session is unknown, and calls go on', async (t) => {
  const { taskId } = await made('older', 'slow');
  older.forget();
  t.is((await ask('older', 'tasks/get', { taskId })).json.error?.message, 'Unknown task');
  t.is((await made('older', 'slow')).resultType, 'task');
});

async function switched(enabled: boolean): Promise<void> {
  const answer = await fetch(`${gateway.origin}/v1/mcp-servers/older/capabilities`, {
    method: 'PUT',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ capabilities: [{ name: 'slow', type: 'tool', enabled }] }),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}
