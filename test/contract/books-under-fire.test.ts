// The books of Responses and Messages, native and translated, on every way out of a call: one entry, an attempt for each time
// that a provider was asked, under the id that it was told, money to the last digit in entry and budget, nothing held.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type Json, type LimitsClient, limitsClient } from '../support/limits-client.ts';

let gateway: TestGateway;
let client: LimitsClient;
let server: http.Server;
let origin = '';
/** The ids of attempts that the provider was told, by the test. */
const asked = new Map<string, string[]>();

test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  server = http.createServer((req, res) => {
    const [, test = '', way = ''] = /\/t\/([^/]+)\/([^/]+)/.exec(req.url ?? '') ?? [];
    let text = '';
    req.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    req.on('end', () => {
      const seen = asked.get(test) ?? [];
      asked.set(test, [...seen, String(req.headers['x-client-request-id'])]);
      const path = req.url ?? '';
      const wire = path.endsWith('/messages') ? MESSAGES : path.endsWith('/responses') ? RESPONSES : CHAT;
      if (way === 'background') return background(req, res, test, text);
      const { stream = false } = JSON.parse(text) as { stream?: boolean };
      answer(res, wire, way === 'flaky' && seen.length >= 2 ? 'ok' : way, stream);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = limitsClient(gateway, { origin } as never);
});
test.after.always(async () => {
  await gateway?.close();
  server?.close();
  server?.closeAllConnections();
});

interface Wire {
  readonly whole: Json;
  /** Before any content, with it, and the end. */
  readonly begins: readonly Json[];
  readonly says: readonly Json[];
  readonly ends: readonly (Json | string)[];
  readonly fails: Json;
}

const TEXT = 'x'.repeat(400);
const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-4o', output: [] };
const USED = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
const ITEM = {
  id: 'm1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: TEXT, annotations: [] }],
};
const RESPONSES: Wire = {
  whole: { ...RESPONSE, status: 'completed', output: [ITEM], usage: USED },
  begins: [
    { type: 'response.created', sequence_number: 0, response: { ...RESPONSE, status: 'in_progress' } },
  ],
  says: [
    {
      type: 'response.output_text.delta',
      sequence_number: 1,
      item_id: 'm1',
      output_index: 0,
      content_index: 0,
      delta: TEXT,
    },
  ],
  ends: [
    {
      type: 'response.completed',
      sequence_number: 2,
      response: { ...RESPONSE, status: 'completed', output: [ITEM], usage: USED },
    },
  ],
  fails: {
    type: 'response.failed',
    sequence_number: 1,
    response: {
      ...RESPONSE,
      status: 'failed',
      error: { code: 'server_error', message: 'no luck' },
      usage: USED,
    },
  },
};
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  stop_sequence: null,
};
const COUNTED = { input_tokens: 11, output_tokens: 7 };
const MESSAGES: Wire = {
  whole: { ...MESSAGE, content: [{ type: 'text', text: TEXT }], stop_reason: 'end_turn', usage: COUNTED },
  begins: [
    {
      type: 'message_start',
      message: { ...MESSAGE, content: [], stop_reason: null, usage: { input_tokens: 11, output_tokens: 1 } },
    },
  ],
  says: [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } },
  ],
  ends: [
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: COUNTED },
    { type: 'message_stop' },
  ],
  fails: { type: 'error', error: { type: 'overloaded_error', message: 'no luck' } },
};
const CHUNK = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'mistral-large-latest' };
const CHAT_USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const CHAT: Wire = {
  whole: {
    ...CHUNK,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
    usage: CHAT_USAGE,
  },
  begins: [{ ...CHUNK, choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }],
  says: [{ ...CHUNK, choices: [{ index: 0, delta: { content: TEXT } }] }],
  ends: [
    { ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...CHUNK, choices: [], usage: CHAT_USAGE },
    '[DONE]',
  ],
  fails: { error: { code: 500, message: 'no luck' } },
};

function eventText(event: Json | string): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  return `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`;
}

function answer(res: http.ServerResponse, wire: Wire, way: string, stream: boolean): void {
  if (way === 'down' || way === 'flaky') {
    res.writeHead(503, { 'content-type': 'application/json' }).end('{"error":{"message":"down"}}');
    return;
  }
  if (!stream) {
    res.writeHead(200, { 'content-type': 'application/json' });
    if (way !== 'hangs') res.end(JSON.stringify(wire.whole));
    return;
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const write = (events: readonly (Json | string)[]): void => void res.write(events.map(eventText).join(''));
  write(wire.begins);
  if (way === 'fails-first') return void res.end(eventText(wire.fails));
  write(wire.says);
  if (way === 'breaks') return void setImmediate(() => res.destroy());
  if (way === 'hangs') return;
  if (way === 'slow') {
    setTimeout(() => {
      write(wire.ends);
      res.end();
    }, 300);
    return;
  }
  if (way === 'fails-late') return void res.end(eventText(wire.fails));
  if (way !== 'stops') write(wire.ends);
  res.end();
}

/** A provider that makes responses in the background: each is over when it is read. */
function background(req: http.IncomingMessage, res: http.ServerResponse, test: string, text: string): void {
  const body = (text === '' ? {} : JSON.parse(text)) as Json;
  const own = { ...RESPONSE, id: `resp_${test.replaceAll('-', '')}`, background: true, model: 'gpt-4o' };
  const done = { ...own, status: 'completed', output: [ITEM], usage: USED };
  const created = {
    type: 'response.created',
    sequence_number: 0,
    response: { ...own, status: 'queued', usage: null },
  };
  const events = [
    created,
    ...RESPONSES.says,
    { type: 'response.completed', sequence_number: 2, response: done },
  ];
  if (body.stream === true || req.url?.includes('stream=true')) {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.map(eventText).join(''));
    return;
  }
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(req.method === 'POST' && !req.url?.endsWith('/cancel') ? created.response : done));
}

const FORMS = {
  'Responses, native': ['/responses', 'openai', 'gpt-4o', 11 * 2_500_000 + 7 * 10_000_000],
  'Responses, translated': ['/responses', 'anthropic', 'claude-sonnet-4-5', 11 * 3_000_000 + 7 * 15_000_000],
  'Messages, native': ['/messages', 'anthropic', 'claude-sonnet-4-5', 11 * 3_000_000 + 7 * 15_000_000],
  'Messages, translated': ['/messages', 'openai', 'gpt-4o', 11 * 2_500_000 + 7 * 10_000_000],
} as const;
type Form = keyof typeof FORMS;

interface Made {
  readonly trace: string;
  readonly key: string;
  readonly headers: Record<string, string>;
  readonly body: Json;
  readonly url: string;
}

/** Makes calls of a form with a key of its own. */
async function world(form: Form, ways: readonly string[], more: Json, stream: boolean) {
  const [path, provider, model, price] = FORMS[form];
  const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 1_000_000 } });
  const trace = randomUUID();
  const target = (way: string): Json => ({
    provider,
    api_key: 'k',
    custom_host: `${origin}/t/${trace}/${way}`,
  });
  const config =
    ways.length === 1
      ? { ...target(ways[0]!), ...more }
      : { strategy: { mode: 'fallback' }, targets: ways.map(target), ...more };
  const headers = {
    'x-gateway-api-key': key,
    'content-type': 'application/json',
    'x-gateway-trace-id': trace,
    'x-gateway-config': JSON.stringify(config),
  };
  const input = path === '/responses' ? { input: 'hi' } : { messages: [{ role: 'user', content: 'hi' }] };
  const bound = path === '/responses' ? { max_output_tokens: 50 } : { max_tokens: 50 };
  const made: Made = {
    trace,
    key,
    headers,
    body: { model, ...input, ...bound, ...(stream ? { stream } : {}) },
    url: `${gateway.origin}/v1${path}`,
  };
  return { made, id, trace, price };
}

const post = ({ url, headers, body }: Made, signal?: AbortSignal): Promise<Response> =>
  fetch(url, { method: 'POST', headers, body: JSON.stringify(body), ...(signal ? { signal } : {}) });

/** What is in the books once nothing is held, checked for what always holds. */
async function booked(
  t: ExecutionContext,
  { id, trace }: { readonly id: string; readonly trace: string },
  calls = 1,
): Promise<readonly Json[]> {
  await client.logs(trace, calls);
  const record = await client.keyUntil(id, ({ usage_limits: limit }) => (limit as Json).held_usage === 0);
  const entries = await client.logs(trace, calls);
  t.is(entries.length, calls, 'entries');
  const limit = record.usage_limits as Json;
  t.is(limit.held_usage, 0, 'nothing is held');
  const attempts = entries.flatMap((entry) => entry.attempts as Json[]);
  t.deepEqual(attempts.map((attempt) => attempt.id).sort(), [...(asked.get(trace) ?? [])].sort(), 'attempts');
  const sum = (of: readonly Json[]): bigint =>
    of.reduce((all, one) => all + BigInt(String(one.cost_exact ?? '0')), 0n);
  t.is(sum(entries), sum(attempts), 'the entries cost what their attempts cost');
  t.is(limit.current_usage, Number(`${sum(entries)}e-12`), 'the budget is charged what the entries say');
  for (const entry of entries) t.false(entry.unpriced === true, 'unpriced');
  return entries;
}

const CASES = [
  ['an answer', ['ok'], {}, ['success']],
  ['a fallback', ['down', 'ok'], {}, ['error', 'success']],
  ['retries', ['flaky'], { retry: { attempts: 3, on_status_codes: [503] } }, ['error', 'error', 'success']],
  ['all are down', ['down', 'down'], {}, ['error', 'error']],
] as const;

for (const form of Object.keys(FORMS) as Form[]) {
  for (const stream of [false, true]) {
    const how = `${form}, ${stream ? 'streamed' : 'whole'}`;
    for (const [what, ways, more, outcomes] of CASES)
      test(`${how}: ${what}`, async (t) => {
        const one = await world(form, ways, more, stream);
        await (await post(one.made)).text();
        const [entry] = await booked(t, one);
        t.deepEqual(
          (entry!.attempts as Json[]).map(({ outcome }) => outcome),
          outcomes,
        );
        const isAnswered = outcomes.at(-1) === 'success';
        t.is(entry!.cost_exact ?? '0', isAnswered ? String(one.price) : '0');
        t.is(entry!.outcome, isAnswered ? 'success' : 'error');
      });

    test(`${how}: an answer from the cache costs nothing`, async (t) => {
      const one = await world(form, ['ok'], { cache: { mode: 'simple' } }, stream);
      await (await post(one.made)).text();
      await booked(t, one);
      await (await post(one.made)).text();
      const entries = await booked(t, one, 2);
      t.deepEqual(entries.map(({ cache_status: status }) => status).sort(), ['HIT', 'MISS']);
      t.deepEqual(entries.map(({ cost_exact: cost }) => cost ?? '0').sort(), ['0', String(one.price)]);
    });

    test(`${how}: its caller leaves`, async (t) => {
      const one = await world(form, ['hangs'], {}, stream);
      const aborter = new AbortController();
      const call = post(one.made, aborter.signal).then(
        (answered) => answered.body?.getReader().read(),
        () => undefined,
      );
      await eventually('the provider is asked', () => asked.has(one.trace));
      if (stream) await call;
      aborter.abort();
      await call;
      const [entry] = await booked(t, one);
      t.is(entry!.outcome, 'cancelled');
      t.is(entry!.status_code, 499);
      t.true(entry!.usage_estimated);
    });
  }

  for (const stream of [false, true]) {
    const how = `${form}, ${stream ? 'streamed' : 'whole'}`;

    test(`${how}: a guardrail denies the answer, which is paid`, async (t) => {
      const checks = [{ id: 'default.contains', parameters: { words: ['xxxx'], operator: 'none' } }];
      const one = await world(form, ['ok'], { output_guardrails: [{ deny: true, checks }] }, stream);
      const answered = await post(one.made);
      await answered.text();
      t.is(answered.status, 446);
      const [entry] = await booked(t, one);
      t.is((entry!.attempts as Json[]).length, 1);
      t.true(BigInt(String(entry!.cost_exact)) > 0n);
    });
  }

  test(`${form}, streamed: its caller leaves, and it is read to its end`, async (t) => {
    const one = await world(form, ['slow'], { on_client_cut: 'drain' }, true);
    const aborter = new AbortController();
    const answered = await post(one.made, aborter.signal);
    await answered.body?.getReader().read();
    aborter.abort();
    const [entry] = await booked(t, one);
    t.is(entry!.status_code, 499);
    t.is(entry!.cost_exact, String(one.price));
    t.false(entry!.usage_estimated === true);
  });

  for (const [what, way] of [
    ['breaks', 'breaks'],
    ['stops without its end', 'stops'],
    ['fails late', 'fails-late'],
  ] as const)
    test(`${form}, streamed: its provider ${what}`, async (t) => {
      const one = await world(form, [way, 'ok'], {}, true);
      await (await post(one.made)).text();
      const [entry] = await booked(t, one);
      t.is(entry!.outcome, 'interrupted');
      t.deepEqual(
        (entry!.attempts as Json[]).map(({ outcome }) => outcome),
        ['interrupted'],
      );
      t.true(BigInt(String(entry!.cost_exact)) > 0n);
    });

  test(`${form}, streamed: a failure before any content, and the next target`, async (t) => {
    const one = await world(form, ['fails-first', 'ok'], {}, true);
    const text = await (await post(one.made)).text();
    t.false(text.includes('no luck'), text);
    const [entry] = await booked(t, one);
    t.is(entry!.outcome, 'success');
    const attempts = entry!.attempts as Json[];
    t.is(attempts.length, 2);
    t.is(attempts[1]!.cost_exact, String(one.price));
  });
}

for (const form of ['Responses, native', 'Responses, translated'] as const) {
  test(`${form}: turns over WebSocket, one of which fails`, async (t) => {
    const one = await world(form, ['ok'], {}, true);
    const ws = new WebSocket(one.made.url.replace('http', 'ws'), { headers: one.made.headers });
    await new Promise((resolve) => ws.once('open', resolve));
    const { stream: _, ...body } = one.made.body;
    for (let turn = 0; turn < 2; turn++) {
      const over = new Promise<void>((resolve) => {
        const take = (data: Buffer): void => {
          if (!/"type":"response\.completed"/.test(String(data))) return;
          ws.off('message', take);
          resolve();
        };
        ws.on('message', take);
      });
      ws.send(JSON.stringify({ type: 'response.create', ...body }));
      await over;
    }
    ws.close();
    const entries = await booked(t, one, 2);
    for (const entry of entries) t.is(entry.cost_exact, String(one.price));
  });

  test(`${form}: a caller over WebSocket leaves in the middle`, async (t) => {
    const one = await world(form, ['hangs'], {}, true);
    const ws = new WebSocket(one.made.url.replace('http', 'ws'), { headers: one.made.headers });
    await new Promise((resolve) => ws.once('open', resolve));
    const { stream: _, ...body } = one.made.body;
    const said = new Promise((resolve) => {
      ws.on('message', (data) => String(data).includes('output_text.delta') && resolve(undefined));
    });
    ws.send(JSON.stringify({ type: 'response.create', ...body }));
    await said;
    ws.terminate();
    const [entry] = await booked(t, one);
    t.is(entry!.outcome, 'cancelled');
  });
}

test('Responses in the background that the gateway makes: one entry, and what it cost', async (t) => {
  const one = await world('Responses, translated', ['ok'], {}, false);
  const made = { ...one.made, body: { ...one.made.body, background: true } };
  const begun = (await (await post(made)).json()) as Json;
  const done = await eventually('its end', async () => {
    const read = await fetch(`${one.made.url}/${begun.id}`, { headers: one.made.headers });
    const json = (await read.json()) as Json;
    return json.status === 'completed' && json;
  });
  t.is(done.id, begun.id);
  const entries = (await client.logs(one.trace, 1)).filter(({ path, method }) => method === 'POST' && path);
  t.is(entries.length, 1);
  t.is(entries[0]!.cost_exact, String(one.price));
});

for (const [what, begins, reads] of [
  ['read whole, again and again', {}, ['', '', '']],
  ['read as events, and whole', {}, ['?stream=true', '']],
  ['stopped', {}, ['/cancel', '']],
  ['streamed to its end, and read', { stream: true }, ['', '?stream=true']],
] as const)
  test(`a response that its provider makes in the background is paid once: ${what}`, async (t) => {
    const { made, id, trace, price } = await world('Responses, native', ['background'], {}, false);
    const text = await (await post({ ...made, body: { ...made.body, ...begins, background: true } })).text();
    t.regex(text, /"status":"queued"/);
    const url = `${made.url}/resp_${trace.replaceAll('-', '')}`;
    for (const path of reads) {
      const method = path === '/cancel' ? 'POST' : 'GET';
      const read = await fetch(url + path, { method, headers: made.headers });
      t.is(read.status, 200, path);
      t.regex(await read.text(), /"status":"completed"/);
    }
    const isStreamed = 'stream' in begins;
    const calls = 1 + reads.length + (isStreamed ? 0 : 1);
    const entries = await client.logs(trace, calls);
    t.is(entries.length, calls);
    const costs = entries.map(({ cost_exact: cost }) => cost ?? '0').filter((cost) => cost !== '0');
    t.deepEqual(costs, [String(price)]);
    for (const { unpriced } of entries) t.falsy(unpriced);
    const spent = Number(`${price}e-12`);
    const record = await client.keyUntil(id, ({ usage_limits: limit }) => {
      const { held_usage: held, current_usage: used } = limit as Json;
      return held === 0 && used === spent;
    });
    t.like(record.usage_limits, { held_usage: 0, current_usage: spent });
  });
