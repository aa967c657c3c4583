// A provider's own response that fails before it says anything: an error, so that another target may answer.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient } from '../support/limits-client.ts';
import { type Script, startScriptedProvider } from '../support/scripted-provider.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

const HEAD = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'in_progress',
  model: 'm',
  output: [],
};
const BEGUN = [
  { type: 'response.created', response: HEAD, sequence_number: 0 },
  { type: 'response.in_progress', response: HEAD, sequence_number: 1 },
];
const failed = (code: string): Json => ({
  type: 'response.failed',
  response: { ...HEAD, status: 'failed', error: { code, message: 'no luck' }, usage: null },
  sequence_number: 9,
});
const COMPLETED = {
  type: 'response.completed',
  response: { ...HEAD, status: 'completed', usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } },
  sequence_number: 2,
};

async function ask(scripts: readonly Script[], traceId: string): Promise<{ status: number; text: string }> {
  const providers = await Promise.all(scripts.map((script) => startScriptedProvider(script)));
  const targets = providers.map(({ origin }) => ({ provider: 'openai', api_key: 'k', custom_host: origin }));
  const answer = await fetch(`${gateway.origin}/v1/responses`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'content-type': 'application/json',
      'x-gateway-trace-id': traceId,
      'x-gateway-config': JSON.stringify({ strategy: { mode: 'fallback' }, targets }),
    },
    body: JSON.stringify({ model: 'm', input: 'hi', stream: true }),
  });
  const text = await answer.text();
  for (const provider of providers) provider.close();
  return { status: answer.status, text };
}

for (const [code, status] of [
  ['server_error', 502],
  ['rate_limit_exceeded', 429],
] as const)
  test(`${code} is in the books as a ${status}, its usage an estimate`, async (t) => {
    const answer = await ask([{ events: [...BEGUN, failed(code)] }], `failed-${code}`);
    t.regex(answer.text, /"type":"response\.failed".*no luck/);
    const [entry] = await limitsClient(gateway, { origin: '' } as never).logs(`failed-${code}`);
    t.like(entry, { status_code: status, outcome: 'interrupted', usage_estimated: true });
  });

test('another target answers', async (t) => {
  const scripts = [{ events: [...BEGUN, failed('server_error')] }, { events: [...BEGUN, COMPLETED] }];
  const { status, text } = await ask(scripts, 'failed-over');
  t.is(status, 200);
  t.regex(text, /response\.completed/);
  t.notRegex(text, /response\.failed/);
});

test('one that has said something tells of its end itself', async (t) => {
  const item = { id: 'm1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
  const said = { type: 'response.output_item.added', output_index: 0, item, sequence_number: 2 };
  const delta = {
    type: 'response.output_text.delta',
    item_id: 'm1',
    output_index: 0,
    content_index: 0,
    delta: 'x',
  };
  const { status, text } = await ask(
    [{ events: [...BEGUN, said, delta, failed('server_error')] }],
    'failed-late',
  );
  t.is(status, 200);
  t.regex(text, /"type":"response\.failed".*no luck/);
});

const FAILED = {
  ...HEAD,
  status: 'failed',
  error: { code: 'server_error', message: 'no luck' },
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
};

test('one that failed late is not kept in the cache, and ends once behind a guardrail that held its tool call', async (t) => {
  const call = { id: 'f1', type: 'function_call', call_id: 'c1', name: 'look', arguments: '' };
  const said = 'x '.repeat(400);
  const events = [
    ...BEGUN,
    {
      type: 'response.output_text.delta',
      item_id: 'm1',
      output_index: 0,
      content_index: 0,
      delta: said,
      sequence_number: 2,
    },
    { type: 'response.output_text.delta', item_id: 'm1', output_index: 0, content_index: 0, delta: said },
    { type: 'response.output_item.added', output_index: 1, item: call, sequence_number: 2 },
    {
      type: 'response.function_call_arguments.delta',
      item_id: 'f1',
      output_index: 1,
      delta: '{"a":',
      sequence_number: 3,
    },
    failed('server_error'),
  ];
  const provider = await startScriptedProvider({ events });
  const guard = {
    deny: true,
    checks: [{ id: 'default.contains', parameters: { words: ['never'], operator: 'none' } }],
  };
  for (const [at, more] of [{ cache: { mode: 'simple' } }, { output_guardrails: [guard] }].entries())
    for (const turn of [1, 2]) {
      const trace = `late-${at}-${turn}`;
      const answer = await fetch(`${gateway.origin}/v1/responses`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${WORKSPACE_KEY}`,
          'content-type': 'application/json',
          'x-gateway-trace-id': trace,
          'x-gateway-config': JSON.stringify({
            provider: 'openai',
            api_key: 'k',
            custom_host: provider.origin,
            ...more,
          }),
        },
        body: JSON.stringify({ model: 'm', input: 'hi', stream: true }),
      });
      const text = await answer.text();
      t.is(text.split('event: response.failed').length, 2, text);
      t.regex(text, /no luck/);
      const [entry] = await limitsClient(gateway, { origin: '' } as never).logs(trace);
      t.like(entry, { status_code: 502, outcome: 'interrupted' });
    }
  t.is(provider.asked.length, 4);
  provider.close();
});

interface Whole {
  readonly status: number;
  readonly json: Json;
}

/** Calls with one provider, which makes a response in the background and fails it. */
async function withFailing(
  made: Json,
  traceId: string,
  use: (ask: (method: string, path: string, body?: Json) => Promise<Whole>) => Promise<void>,
): Promise<void> {
  const server = http.createServer((req, res) => {
    const isMade = req.method === 'POST' && req.url?.endsWith('/responses');
    req.resume().on('end', () => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(isMade ? made : FAILED));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await use(async (method, path, body) => {
    const answer = await fetch(`${gateway.origin}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${WORKSPACE_KEY}`,
        'content-type': 'application/json',
        'x-gateway-trace-id': traceId,
        'x-gateway-config': JSON.stringify({ provider: 'openai', api_key: 'k', custom_host: host }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: (await answer.json()) as Json };
  });
  server.close();
  server.closeAllConnections();
}

test('a whole one that failed is an error, and what it used is paid', async (t) => {
  await withFailing(FAILED, 'failed-whole', async (ask) => {
    const { status, json } = await ask('POST', '/responses', { model: 'm', input: 'hi' });
    t.is(status, 502);
    t.regex(JSON.stringify(json), /no luck/);
  });
  const [entry] = await limitsClient(gateway, { origin: '' } as never).logs('failed-whole');
  t.like(entry, { status_code: 502, outcome: 'error', usage: { prompt_tokens: 3, completion_tokens: 2 } });
});

test('one that is read, or stopped, later says itself that it failed', async (t) => {
  const queued = { ...HEAD, status: 'queued', background: true };
  await withFailing(queued, 'failed-read', async (ask) => {
    await ask('POST', '/responses', { model: 'm', input: 'hi', background: true });
    for (const [method, path] of [
      ['GET', '/responses/resp_1'],
      ['POST', '/responses/resp_1/cancel'],
    ] as const) {
      const { status, json } = await ask(method, path);
      t.is(status, 200, path);
      t.like(json, { status: 'failed', error: { message: 'no luck' } });
    }
  });
});
