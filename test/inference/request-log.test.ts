// The request log: one entry per request, whatever became of it.
import http from 'node:http';
import { create } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import test from 'ava';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { ChatService, CreateChatCompletionRequestSchema } from '../../gen/gateway/inference/v2/chat_pb.ts';
import {
  type Bench,
  type Case,
  invalid,
  type JsonObject,
  raw,
  runCases,
  startBench,
} from '../contract/runner.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY } from '../support/gateway.ts';

let bench: Bench;
let count = 0;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const ADMIN = { 'x-gateway-api-key': ADMIN_KEY };

async function logs(
  query: string,
): Promise<{ total: number; data: JsonObject[]; status: number; json: JsonObject }> {
  const answer = await raw(bench.gateway.origin, { path: `/v1/logs?${query}`, headers: ADMIN });
  const json = answer.json;
  return { ...(json as unknown as { total: number; data: JsonObject[] }), status: answer.status, json };
}

/** The one entry of a trace, waited for: a client may be ahead of the end of its call. */
async function entryOf(trace: string): Promise<JsonObject> {
  return eventually('the entry of a trace', async () => {
    const { total, data } = await logs(`trace_id=${trace}`);
    if (total > 1) throw new Error(`${total} entries of one request`);
    return data[0];
  });
}

interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: object;
}

async function send({ path = '/v1/chat/completions', method = 'POST', headers = {}, body }: Sent) {
  const trace = `trace-${++count}`;
  const prefix = bench.mark();
  const answer = await raw(bench.gateway.origin, {
    method,
    path,
    headers: {
      ...bench.headers(prefix),
      'content-type': 'application/json',
      'x-gateway-trace-id': trace,
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { answer, prefix, entry: await entryOf(trace), trace };
}

const chat = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: 'x' }],
  ...more,
});
const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 3 },
};

test('a whole answer', async (t) => {
  const { entry, answer } = await send({
    body: chat('gpt-ok'),
    headers: { 'x-gateway-metadata': '{"_user":"a"}' },
  });
  t.like(entry, {
    object: 'log',
    id: answer.headers['x-gateway-request-id'] as string,
    operation: 'gateway.inference.v2.ChatService/CreateChatCompletion',
    protocol: 'rest',
    method: 'POST',
    path: '/chat/completions',
    provider: 'openai',
    model: 'gpt-ok',
    response_model: 'gpt-ok',
    status_code: 200,
    outcome: 'success',
    streamed: false,
    usage: USAGE,
    metadata: { _user: 'a' },
  });
  t.regex(String(entry.created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.true(Math.abs(Date.parse(String(entry.created_at)) - Date.now()) < 30_000);
  t.true(Number(entry.latency_ms) > 0);
  t.truthy(entry.organisation_id);
  t.truthy(entry.workspace_id);
  t.truthy(entry.api_key_id);
  t.false('error' in entry);
  t.false('time_to_first_token_ms' in entry);
  const [attempt, ...others] = entry.attempts as JsonObject[];
  t.is(others.length, 0);
  t.like(attempt, {
    provider: 'openai',
    host: `127.0.0.1:${bench.provider.port}`,
    model: 'gpt-ok',
    status_code: 200,
    outcome: 'success',
    usage: USAGE,
  });
  t.not(attempt!.id, entry.id);
});

test('a streamed answer: its tokens and the time to the first, though usage was not asked for', async (t) => {
  const { entry, answer } = await send({ body: chat('pace-5', { stream: true }) });
  t.false(answer.text.includes('usage'));
  t.like(entry, {
    operation: 'gateway.inference.v2.ChatService/StreamChatCompletion',
    outcome: 'success',
    streamed: true,
    status_code: 200,
    usage: USAGE,
  });
  t.true(Number(entry.time_to_first_token_ms) > 0);
  t.true(Number(entry.time_to_first_token_ms) < Number(entry.latency_ms));
});

test('anthropic’s tokens, whole and streamed', async (t) => {
  for (const stream of [false, true]) {
    const { entry } = await send({
      body: chat('claude', { max_tokens: 5, stream }),
      headers: { 'x-gateway-provider': 'anthropic' },
    });
    t.like(entry, { provider: 'anthropic', outcome: 'success', streamed: stream, response_model: 'claude' });
    const usage = entry.usage as JsonObject;
    t.is(usage.completion_tokens, 4);
    t.is((usage.prompt_tokens_details as JsonObject).cached_tokens, 2);
  }
});

test('text completions, embeddings and moderations', async (t) => {
  const text = await send({ path: '/v1/completions', body: { model: 'm', prompt: 'x', stream: true } });
  t.like(text.entry, { outcome: 'success', usage: USAGE, path: '/completions' });
  const embedded = await send({ path: '/v1/embeddings', body: { model: 'm', input: 'x' } });
  t.deepEqual(embedded.entry.usage, { prompt_tokens: 5, total_tokens: 5 });
  const moderated = await send({ path: '/v1/moderations', body: { input: 'x' } });
  t.like(moderated.entry, { outcome: 'success', model: 'text-moderation-latest' });
  t.false('usage' in moderated.entry);
});

test('what the caller did wrong is an entry without attempts', async (t) => {
  const broken = await send({ body: chat('m', { temperature: 9 }) });
  t.like(broken.entry, { status_code: 400, outcome: 'error', attempts: [] });
  t.like(broken.entry.error, { reason: 'validation_failed' });
  const header = await send({ body: chat('m'), headers: { 'x-gateway-provider': 'nobody' } });
  t.like(header.entry, { status_code: 400, outcome: 'error', attempts: [] });
  t.like(header.entry.error, { reason: 'provider_unknown' });
  const malformed = await send({ path: '/v1/chat/completions' });
  t.like(malformed.entry.error, { reason: 'malformed_body' });
  const forbidden = await send({ body: chat('m'), headers: ADMIN });
  t.like(forbidden.entry, { status_code: 403, outcome: 'error' });
});

test('what the provider did wrong is an entry with its attempt', async (t) => {
  for (const [model, status, reason, upstream] of [
    ['status-429', 429, 'upstream_status', 429],
    ['status-500', 500, 'upstream_status', 500],
    ['garbage', 502, 'upstream_garbage', undefined],
    ['reset', 502, 'upstream_unreachable', 0],
    ['cut', 502, 'upstream_interrupted', undefined],
  ] as const) {
    const { entry } = await send({ body: chat(model) });
    t.like(entry, { status_code: status, outcome: 'error' }, model);
    t.like(entry.error, { reason });
    const [attempt, ...others] = entry.attempts as JsonObject[];
    t.is(others.length, 0);
    t.like(attempt, { outcome: 'error', provider: 'openai' });
    t.like(attempt!.error, { reason });
    if (upstream !== undefined) t.is(attempt!.status_code, upstream);
  }
});

test('a stream that breaks off is interrupted', async (t) => {
  for (const model of ['cut', 'silent-end', 'stream-error-later', 'garbage']) {
    const { entry } = await send({ body: chat(model, { stream: true }) });
    t.is(entry.outcome, 'interrupted', model);
    t.is((entry.attempts as JsonObject[])[0]!.outcome, 'interrupted');
    t.true(Number(entry.time_to_first_token_ms) > 0);
    t.truthy(entry.error);
  }
});

test('a timeout before the first byte is an error, one after it an interruption', async (t) => {
  const headers = { 'x-gateway-request-timeout': '600' };
  const before = await send({ body: chat('hang'), headers });
  t.like(before.entry, { status_code: 408, outcome: 'error' });
  const after = await send({ body: chat('stall-3000', { stream: true }), headers });
  t.like(after.entry, { outcome: 'interrupted' });
  t.like(after.entry.error, { reason: 'request_timeout' });
});

test('a client that leaves is cancelled, before and after the first byte, with one entry', async (t) => {
  for (const [model, stream] of [
    ['hang', false],
    ['hang', true],
    ['pace-100', true],
  ] as const) {
    const trace = `left-${++count}`;
    const prefix = bench.mark();
    const { hostname, port } = new URL(bench.gateway.origin);
    const req = http.request({
      hostname,
      port,
      path: '/v1/chat/completions',
      method: 'POST',
      agent: false,
      headers: { ...bench.headers(prefix), 'content-type': 'application/json', 'x-gateway-trace-id': trace },
    });
    req.on('error', () => {});
    req.on('response', (res) => res.once('data', () => req.destroy()));
    req.end(JSON.stringify(chat(model, { stream })));
    while (bench.sentTo(prefix).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    if (model === 'hang') req.destroy();
    const entry = await entryOf(trace);
    t.like(entry, { outcome: 'cancelled', status_code: 499 }, model);
    t.is((entry.attempts as JsonObject[])[0]!.outcome, 'cancelled');
  }
});

test('pass-through: its status, path, streamed or not, and the usage that it shows', async (t) => {
  const passed = await send({ path: '/v1/proxy/chat/completions?key=secret-in-query', body: chat('gpt-ok') });
  t.like(passed.entry, {
    operation: 'gateway.inference.v2.ProxyService/Forward',
    method: 'POST',
    path: '/chat/completions',
    status_code: 200,
    outcome: 'success',
    streamed: false,
    response_model: 'gpt-ok',
  });
  t.like(passed.entry.usage, { prompt_tokens: 11, total_tokens: 18 });
  t.false(JSON.stringify(passed.entry).includes('secret-in-query'));
  const body = chat('gpt-ok', { stream: true, stream_options: { include_usage: true } });
  const streamed = await send({ path: '/v1/proxy/chat/completions', body });
  t.like(streamed.entry, { streamed: true, outcome: 'success' });
  t.like(streamed.entry.usage, { completion_tokens: 7 });
  t.true(Number(streamed.entry.time_to_first_token_ms) > 0);
  const failed = await send({ path: '/v1/proxy/chat/completions', body: chat('status-503') });
  t.like(failed.entry, { status_code: 503, outcome: 'error' });
  const nowhere = await send({ path: '/v1/nowhere', method: 'GET' });
  t.like(nowhere.entry, { status_code: 404, outcome: 'error', path: '/nowhere' });
});

test('over gRPC: the protocol, and one entry too', async (t) => {
  const trace = `grpc-${++count}`;
  const client = createClient(ChatService, bench.transports.grpc);
  const request = create(CreateChatCompletionRequestSchema, {
    model: 'gpt-ok',
    messages: [{ role: 'user', content: { kind: { case: 'text', value: 'x' } } }],
  });
  const headers = { ...bench.headers(bench.mark()), 'x-gateway-trace-id': trace };
  for await (const _ of client.streamChatCompletion(request, { headers }));
  t.like(await entryOf(trace), {
    protocol: 'grpc',
    outcome: 'success',
    usage: USAGE,
    path: '/gateway.inference.v2.ChatService/StreamChatCompletion',
  });
});

test('no key, no entry; reading logs makes none', async (t) => {
  const trace = `stranger-${++count}`;
  await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { ...bench.headers('/s'), 'x-gateway-api-key': 'wrong', 'x-gateway-trace-id': trace },
    body: '{}',
  });
  await raw(bench.gateway.origin, { path: '/v1/logs', headers: { ...ADMIN, 'x-gateway-trace-id': trace } });
  t.is((await logs(`trace_id=${trace}`)).total, 0);
});

test('filters, order and pages', async (t) => {
  const traces = await Promise.all(
    ['gpt-ok', 'status-429', 'gpt-ok', 'status-500'].map(
      async (model) => (await send({ body: chat(model) })).trace,
    ),
  );
  const all = `trace_id=${traces.join(',')}`;
  t.is((await logs(all)).total, 4);
  t.is((await logs(`${all}&status_code=429`)).total, 1);
  t.is((await logs(`${all}&status_code=429,500`)).total, 2);
  t.is((await logs(`${all}&status_code=404`)).total, 0);
  const times = (await logs(`${all}&order=asc`)).data.map(({ created_at }) => Date.parse(String(created_at)));
  t.deepEqual(
    times,
    [...times].sort((a, b) => a - b),
  );
  const newest = (await logs(all)).data.map(({ id }) => id);
  t.deepEqual(newest, (await logs(`${all}&order=asc`)).data.map(({ id }) => id).reverse());
  const pages = await Promise.all([0, 1, 2].map((page) => logs(`${all}&page_size=2&current_page=${page}`)));
  t.deepEqual(
    pages.map(({ data }) => data.length),
    [2, 2, 0],
  );
  t.deepEqual(
    pages.flatMap(({ data }) => data.map(({ id }) => id)),
    newest,
  );
  t.deepEqual(
    pages.map(({ total }) => total),
    [4, 4, 4],
  );
  const last = new Date(Math.max(...times)).toISOString();
  const within = await logs(`${all}&time_of_generation_max=${last}`);
  t.true(within.total < 4, 'the end is exclusive');
  t.is((await logs(`${all}&time_of_generation_min=${last}`)).total, 4 - within.total);
  const monthAgo = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 19);
  t.is((await logs(`${all}&time_of_generation_min=${monthAgo}%2B02:00`)).total, 4);
  t.is((await logs(`${all}&time_of_generation_max=${monthAgo}Z`)).total, 0);
  t.is((await logs(`${all}&pageSize=1`)).data.length, 1);
});

const { listLogs } = LogsService.method;
const refused = (name: string, body: JsonObject, param: string, over?: Case['over']): Case => ({
  name: `logs: ${name}`,
  method: listLogs,
  body,
  headers: ADMIN,
  ...(over ? { over } : {}),
  refused: invalid(param),
});

const CASES: Case[] = [
  {
    name: 'logs: an admin key sees the list’s shape',
    method: listLogs,
    body: { trace_id: 'nothing-has-this', page_size: 1 },
    headers: ADMIN,
    check: (t, { json }) => t.deepEqual(json, { object: 'list', total: 0, total_capped: false, data: [] }),
  },
  refused('a page of 0 entries', { page_size: 0 }, 'page_size'),
  refused('a page of 101 entries', { page_size: 101 }, 'page_size'),
  refused('a negative page', { current_page: -1 }, 'current_page'),
  refused('a page too far', { current_page: 100_001 }, 'current_page'),
  refused('a page that is no number', { page_size: 'x' }, 'page_size', ['rest']),
  refused('a page that is a fraction', { page_size: 1.5 }, 'page_size', ['rest']),
  refused('a status that is none', { status_code: '20' }, 'status_code'),
  refused('a status with words', { status_code: '200, ok' }, 'status_code'),
  refused('an empty trace id', { trace_id: '' }, 'trace_id'),
  refused('a time that is none', { time_of_generation_min: 'yesterday' }, 'time_of_generation_min'),
  refused(
    'a time without an offset',
    { time_of_generation_max: '2026-01-01T00:00:00' },
    'time_of_generation_max',
  ),
  refused(
    'a day that does not exist',
    { time_of_generation_max: '2026-02-31T00:00:00Z' },
    'time_of_generation_max',
  ),
  refused(
    'a range that is inverted',
    { time_of_generation_min: '2026-01-02T00:00:00Z', time_of_generation_max: '2026-01-01T00:00:00Z' },
    'time_of_generation_max',
  ),
  refused(
    'a range that is empty',
    { time_of_generation_min: '2026-01-01T00:00:00Z', time_of_generation_max: '2026-01-01T00:00:00Z' },
    'time_of_generation_max',
  ),
  refused('an order that is none', { order: 'up' }, 'order', ['rest']),
  {
    name: 'logs: a skip over the store’s bound',
    method: listLogs,
    body: { current_page: 100_000, page_size: 100 },
    headers: ADMIN,
    refused: { ...invalid('current_page') },
  },
  {
    name: 'logs: more trace ids than the store takes',
    method: listLogs,
    body: { trace_id: Array.from({ length: 101 }, (_, i) => `t${i}`).join(',') },
    headers: ADMIN,
    refused: { ...invalid('trace_id') },
  },
  {
    name: 'logs: an unknown parameter',
    method: listLogs,
    path: '/logs?pagesize=1',
    over: ['rest'],
    headers: ADMIN,
    refused: invalid('pagesize', 'not a parameter'),
  },
  {
    name: 'logs: a parameter given twice',
    method: listLogs,
    path: '/logs?page_size=1&page_size=2',
    over: ['rest'],
    headers: ADMIN,
    refused: invalid('page_size', 'once'),
  },
];
runCases(test, () => bench, CASES);

const configured = (prefixOf: string, strategy: object, models: readonly string[], more: object = {}) => {
  const headers: Record<string, string> = {
    'x-gateway-config': JSON.stringify({
      strategy,
      targets: models.map((model) => ({
        provider: 'openai',
        api_key: 'k',
        custom_host: `${bench.provider.origin}/${prefixOf}`,
        override_params: { model },
        ...more,
      })),
    }),
  };
  return headers;
};

async function sendConfigured(headers: Record<string, string>, body: object) {
  const trace = `trace-${++count}`;
  const answer = await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: {
      'x-gateway-api-key': bench.headers('')['x-gateway-api-key']!,
      'content-type': 'application/json',
      'x-gateway-trace-id': trace,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { answer, entry: await entryOf(trace) };
}

test('every attempt of a fallback with retries, as it was', async (t) => {
  const headers = configured('log-a', { mode: 'fallback' }, ['status-503', 'reset', 'gpt-ok'], {
    retry: { attempts: 1, on_status_codes: [503] },
  });
  for (const stream of [false, true]) {
    const { entry, answer } = await sendConfigured(headers, chat('asked', { stream }));
    t.is(answer.status, 200);
    t.like(entry, {
      status_code: 200,
      outcome: 'success',
      provider: 'openai',
      model: 'gpt-ok',
      streamed: stream,
    });
    t.deepEqual(
      (entry.attempts as JsonObject[]).map(({ model, status_code: status, outcome }) => [
        model,
        status,
        outcome,
      ]),
      [
        ['status-503', 503, 'error'],
        ['status-503', 503, 'error'],
        ['reset', 0, 'error'],
        ['reset', 0, 'error'],
        ['gpt-ok', 200, 'success'],
      ],
    );
    t.like(entry.usage, { total_tokens: 18 });
  }
});

test('both calls of a hedge: the one that answered, and the one that was ended', async (t) => {
  const headers = configured('log-b', { mode: 'fallback', hedge: { after_ms: 50 } }, ['slow-5000', 'gpt-ok']);
  const before = bench.provider.aborted;
  const { entry } = await sendConfigured(headers, chat('asked'));
  t.like(entry, { outcome: 'success', model: 'gpt-ok', response_model: 'gpt-ok' });
  const attempts = entry.attempts as JsonObject[];
  t.deepEqual(attempts.map(({ model, outcome }) => [model, outcome]).sort(), [
    ['gpt-ok', 'success'],
    ['slow-5000', 'cancelled'],
  ]);
  t.true(bench.provider.aborted > before, 'its socket is closed');
});

test('a client that leaves ends everything', async (t) => {
  const headers = configured('log-c', { mode: 'fallback' }, ['hang', 'gpt-ok'], { retry: { attempts: 3 } });
  const trace = `trace-${++count}`;
  const aborter = new AbortController();
  const answer = fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': bench.headers('')['x-gateway-api-key']!,
      'content-type': 'application/json',
      'x-gateway-trace-id': trace,
      ...headers,
    },
    body: JSON.stringify(chat('asked')),
    signal: aborter.signal,
  });
  for (let i = 0; i < 500 && !bench.provider.seen.some(({ url }) => url.startsWith('/log-c')); i++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  aborter.abort();
  await t.throwsAsync(answer);
  const entry = await entryOf(trace);
  t.like(entry, { status_code: 499, outcome: 'cancelled' });
  t.is((entry.attempts as JsonObject[]).length, 1);
});
