// The request log through the front door: every filter, pages, one entry whole, calls told of from elsewhere.
import { randomUUID } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import type { RequestRecord } from '../../src/call/record.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { bookEntry, serviceKey } from './logs-books.ts';
import {
  type Answered,
  type Bench,
  type Case,
  invalid,
  type JsonObject,
  raw,
  runCases,
  startBench,
} from './runner.ts';
import { Caller, storiesOf } from './story.ts';

const { listLogs, getLog, createLogs } = LogsService.method;
const ADMIN = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };

let bench: Bench;
let service: { key: string; id: string };
test.before(async () => {
  bench = await startBench();
  service = await serviceKey(bench.gateway);
});
test.after.always(() => bench?.close());
const story = storiesOf(() => bench);

const record = (more: Partial<RequestRecord>): RequestRecord => {
  const entry = bookEntry(bench.gateway, more);
  bench.gateway.app.requestLog.record(entry);
  return entry;
};
const idsOf = ({ data }: JsonObject): unknown[] => (data as JsonObject[]).map(({ id }) => id);

/** What is told apart by each filter: the entry's members, the filter that means it, one that does not. */
const FILTERS: readonly {
  readonly name: string;
  readonly entry: Partial<RequestRecord>;
  readonly is: JsonObject;
  readonly not: JsonObject;
}[] = [
  {
    name: 'status_code',
    entry: { statusCode: 418 },
    is: { status_code: '200, 418' },
    not: { status_code: '417' },
  },
  { name: 'ai_model', entry: { model: 'm-1' }, is: { ai_model: 'm-0,m-1' }, not: { ai_model: 'm-' } },
  { name: 'ai_org', entry: { provider: 'groq' }, is: { ai_org: 'groq' }, not: { ai_org: 'openai' } },
  {
    name: 'ai_org_model',
    entry: { provider: 'groq', model: 'a__b' },
    is: { ai_org_model: 'openai__x,groq__a__b' },
    not: { ai_org_model: 'openai__a__b' },
  },
  {
    name: 'virtual_keys',
    entry: { virtualKey: 'vk' },
    is: { virtual_keys: 'vk' },
    not: { virtual_keys: 'v' },
  },
  { name: 'configs', entry: { config: 'pc-1' }, is: { configs: 'pc-1,pc-2' }, not: { configs: 'pc-2' } },
  {
    name: 'api_key_ids',
    entry: { apiKeyId: 'k-9' },
    is: { api_key_ids: 'k-9' },
    not: { api_key_ids: 'k-8' },
  },
  {
    name: 'prompt_slug',
    entry: { prompt: 'pp-1' },
    is: { prompt_slug: 'pp-1' },
    not: { prompt_slug: 'pp-2' },
  },
  { name: 'span_id', entry: { spanId: 's-1' }, is: { span_id: 's-1' }, not: { span_id: 's-2' } },
  {
    name: 'cache_status',
    entry: { cacheStatus: 'SEMANTIC HIT' },
    is: { cache_status: 'hit,semantic_hit' },
    not: { cache_status: 'HIT,DISABLED' },
  },
  {
    name: 'error_reason',
    entry: { error: { reason: 'upstream_status', message: 'no' } },
    is: { error_reason: 'rate_limited, upstream_status' },
    not: { error_reason: 'upstream' },
  },
  {
    name: 'error_reason, which entries without an error do not have',
    entry: {},
    is: {},
    not: { error_reason: 'upstream_status' },
  },
  { name: 'no cache', entry: {}, is: { cache_status: 'disabled' }, not: { cache_status: 'MISS' } },
  {
    name: 'a name with a comma in it',
    entry: { model: 'a,b' },
    is: { ai_model: 'x,a\\,b' },
    not: { ai_model: 'a,b' },
  },
  {
    name: 'metadata',
    entry: { metadata: { a: 'x', n: '1', __proto: 'p' } },
    is: { metadata: '{"a":"x","n":1}' },
    not: { metadata: '{"a":"x","n":2}' },
  },
  {
    name: 'cost in cents',
    entry: { cost: '12345678901' },
    is: { cost_min: 1.2345678901, cost_max: 1.2345678901 },
    not: { cost_min: 1.2345678902 },
  },
  {
    name: 'tokens',
    entry: { usage: { promptTokens: 7, completionTokens: 5, totalTokens: 12 } },
    is: { total_units_min: 12, total_units_max: 12, prompt_token_min: 7, completion_token_max: 5 },
    not: { completion_token_min: 6 },
  },
  {
    name: 'search',
    entry: { error: { reason: 'upstream_status', message: 'The Quota is over' } },
    is: { search: 'quota IS' },
    not: { search: 'quota was' },
  },
];

for (const { name, entry, is, not } of FILTERS) {
  story(`the list is narrowed by ${name}`, async (t, admin) => {
    const { id, traceId } = record(entry);
    t.deepEqual(idsOf(await admin.ok(listLogs, { trace_id: traceId, ...is })), [id], 'is meant');
    t.deepEqual(idsOf(await admin.ok(listLogs, { trace_id: traceId, ...not })), [], 'is not meant');
  });
}

story('times: from inclusive, until exclusive, whichever offset', async (t, admin) => {
  const createdAt = Date.now() - 60_000;
  const { id, traceId } = record({ createdAt });
  const of = (min: number, max: number) =>
    admin.ok(listLogs, {
      trace_id: traceId,
      time_of_generation_min: new Date(min).toISOString().replace('Z', '+00:00'),
      time_of_generation_max: new Date(max).toISOString(),
    });
  t.deepEqual(idsOf(await of(createdAt, createdAt + 1)), [id]);
  t.deepEqual(idsOf(await of(createdAt - 5, createdAt)), []);
  t.deepEqual(idsOf(await of(createdAt + 1, createdAt + 5)), []);
});

story('pages by number and by cursor, both ways, and a total', async (t, admin) => {
  const traceId = randomUUID();
  const at = Date.now();
  const ids = Array.from({ length: 7 }, (_, i) => record({ traceId, createdAt: at + Math.floor(i / 2) }).id);
  const read = (more: JsonObject) => admin.ok(listLogs, { trace_id: traceId, page_size: 3, ...more });
  const first = await read({ order: 'asc' });
  t.like(first, { object: 'list', total: 7, total_capped: false });
  t.deepEqual(idsOf(first), ids.slice(0, 3));
  t.deepEqual(idsOf(await read({ order: 'asc', current_page: 2 })), ids.slice(6));
  const second = await read({ order: 'asc', after: first.next as string });
  t.deepEqual(idsOf(second), ids.slice(3, 6));
  const third = await read({ order: 'asc', after: second.next as string });
  t.deepEqual(idsOf(third), ids.slice(6));
  t.false('next' in third);
  t.deepEqual(idsOf(await read({ page_size: 100 })), ids.toReversed());
});

const bads: readonly Omit<Case, 'method'>[] = [
  {
    name: 'an inverted time',
    body: { time_of_generation_min: '2026-01-02T00:00:00Z', time_of_generation_max: '2026-01-01T00:00:00Z' },
    refused: invalid('time_of_generation_max'),
  },
  {
    name: 'no time',
    body: { time_of_generation_min: 'yesterday' },
    refused: invalid('time_of_generation_min'),
  },
  {
    name: 'years',
    body: { time_of_generation_min: '2020-01-01T00:00:00Z' },
    refused: invalid('time_of_generation_min', '400 days'),
  },
  {
    name: 'years of range',
    body: { time_of_generation_min: '2020-01-01T00:00:00Z', time_of_generation_max: '2022-01-01T00:00:00Z' },
    refused: invalid('time_of_generation_min'),
  },
  { name: 'inverted costs', body: { cost_min: 2, cost_max: 1 }, refused: invalid('cost_max') },
  { name: 'a negative cost', body: { cost_min: -1 }, refused: invalid('cost_min') },
  {
    name: 'inverted tokens',
    body: { prompt_token_min: 2, prompt_token_max: 1 },
    refused: invalid('prompt_token_max'),
  },
  { name: 'negative tokens', body: { total_units_min: -1 }, refused: invalid('total_units_min') },
  {
    name: 'feedback out of range',
    body: { weighted_feedback_min: -11 },
    refused: invalid('weighted_feedback_min'),
  },
  {
    name: 'inverted feedback',
    body: { weighted_feedback_min: 1, weighted_feedback_max: 0 },
    refused: invalid('weighted_feedback_max'),
  },
  { name: 'a status that is none', body: { status_code: '2xx' }, refused: invalid('status_code') },
  { name: 'an empty value', body: { ai_model: 'a,,b' }, refused: invalid('ai_model') },
  {
    name: 'too many values',
    body: { trace_id: Array.from({ length: 101 }, (_, i) => i).join(',') },
    refused: invalid('trace_id'),
  },
  { name: 'a value that is too long', body: { configs: 'x'.repeat(513) }, refused: invalid('configs') },
  { name: 'a pair that is none', body: { ai_org_model: 'openai-gpt' }, refused: invalid('ai_org_model') },
  { name: 'a cache status that is none', body: { cache_status: 'HITS' }, refused: invalid('cache_status') },
  { name: 'metadata that is no JSON', body: { metadata: '{' }, refused: invalid('metadata') },
  { name: 'metadata that is a list', body: { metadata: '["a"]' }, refused: invalid('metadata') },
  { name: 'metadata with an object in it', body: { metadata: '{"a":{}}' }, refused: invalid('metadata') },
  {
    name: 'too much metadata',
    body: { metadata: JSON.stringify(Object.fromEntries(Array.from({ length: 11 }, (_, i) => [i, 'x']))) },
    refused: invalid('metadata'),
  },
  { name: 'a short search', body: { search: 'ab' }, refused: invalid('search') },
  { name: 'a long search', body: { search: 'a'.repeat(201) }, refused: invalid('search') },
  { name: 'a page too far', body: { current_page: 2000, page_size: 100 }, refused: invalid('current_page') },
  { name: 'a cursor that is none', body: { after: '../../etc/passwd' }, refused: invalid('after') },
  { name: 'a cursor and a page', body: { after: 'x', current_page: 1 }, refused: invalid('after') },
  {
    name: 'a workspace that is none',
    body: { workspace_slug: randomUUID() },
    refused: invalid('workspace_slug'),
  },
  { name: 'a page of nothing', body: { page_size: 0 }, refused: invalid('page_size') },
];
runCases(
  test,
  () => bench,
  [
    ...bads.map(
      (one): Case => ({ ...one, name: `logs refuse ${one.name}`, method: listLogs, headers: ADMIN }),
    ),
    {
      name: 'logs refuse a filter that is unknown',
      method: listLogs,
      headers: ADMIN,
      over: ['rest'],
      path: '/logs?statuscode=200',
      refused: invalid('statuscode', undefined, 'unknown'),
    },
    {
      name: 'hostile text finds nothing and harms nothing',
      method: listLogs,
      headers: ADMIN,
      body: { search: `%' OR 1=1 -- $where .*(a+)+$ \\` },
      check: (t: ExecutionContext, { json }: Answered) => t.deepEqual(json.data, []),
    },
    {
      name: 'one entry refuses an unknown id',
      method: getLog,
      headers: ADMIN,
      body: { log_id: randomUUID() },
      refused: { status: 404, code: Code.NotFound, reason: 'not_found' },
    },
    {
      name: 'one entry refuses a time that is none',
      method: getLog,
      headers: ADMIN,
      body: { log_id: 'x', created_at: 'now' },
      refused: invalid('created_at'),
    },
    {
      name: 'one entry refuses a type that is none',
      method: getLog,
      headers: ADMIN,
      body: { log_id: 'x', type: 'all' },
      refused: invalid('type'),
    },
  ].map((one) => one as Case),
);

test('a call whole: what was said, with credentials masked, and its numbers by both names', async (t) => {
  const prefix = bench.mark();
  const answer = await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: {
      ...bench.headers(prefix),
      'content-type': 'application/json',
      'x-gateway-metadata': '{"_user":"ann","a":"b"}',
    },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
  });
  t.is(answer.status, 200, answer.text);
  const id = String(answer.headers['x-gateway-request-id']);
  const get = async (path: string, key = ADMIN_KEY) =>
    (
      await raw(bench.gateway.origin, {
        path: `/v1/logs/${id}${path}`,
        headers: { 'x-gateway-api-key': key },
      })
    ).json;
  const detail = await get('');
  t.like(detail, { object: 'log', id, _id: id, log_format: 'v2' });
  const { request, response, metrics, entry } = detail as Record<string, JsonObject>;
  t.like(request!, { method: 'POST', body: { model: 'gpt-4o' } });
  t.false(JSON.stringify(detail).includes(WORKSPACE_KEY));
  t.false(JSON.stringify(detail).includes('sk-provider-secret'));
  t.is((request!.portkeyHeaders as JsonObject).provider, 'openai');
  t.like(response!, { status: 200, lastUsedOptionJsonPath: 'config' });
  t.is(typeof response!.responseTime, 'number');
  t.is((response!.body as JsonObject).object, 'chat.completion');
  t.like(metrics!, {
    id,
    is_success: true,
    ai_org: 'openai',
    ai_model: 'gpt-4o',
    cost_currency: 'USD',
    mode: 'single',
    response_status_code: 200,
    stream_mode: 0,
    cache_status: 'DISABLED',
    is_proxy_call: false,
  });
  t.deepEqual([...(metrics!['metadata.key'] as string[])].sort(), ['_user', 'a']);
  t.is(metrics!.total_units, (entry!.usage as JsonObject).total_tokens);
  t.is(metrics!.cost, entry!.cost);
  t.like(detail.transformedRequest as JsonObject, { method: 'POST' });
  t.is(((detail.transformedRequest as JsonObject).body as JsonObject).model, 'gpt-4o');
  const hint = encodeURIComponent(String(detail.created_at));
  t.deepEqual(await get(`?created_at=${hint}&path_format=v2`), detail);
  t.false('request' in (await get('?type=hooks')));
  // The key that made the call sees it without a scope to look at logs; another such key does not.
  t.is((await get('', WORKSPACE_KEY)).id, id);
  const other = await serviceKey(bench.gateway, 'default', ['logs.view']);
  t.is((await get('', other.key)).success, false);
  t.is((await get('', service.key)).id, id);
});

test('x-gateway-debug: false keeps nothing of what was said', async (t) => {
  const answer = await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: {
      ...bench.headers(bench.mark()),
      'content-type': 'application/json',
      'x-gateway-debug': 'false',
    },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hush' }] }),
  });
  const id = String(answer.headers['x-gateway-request-id']);
  const detail = await raw(bench.gateway.origin, {
    path: `/v1/logs/${id}`,
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  t.is(detail.status, 200);
  t.false(detail.text.includes('hush'));
  t.false('body' in (detail.json.request as JsonObject));
  t.is((detail.json.metrics as JsonObject).id, id);
});

story('a call from elsewhere is in the log like all others', async (t, admin) => {
  const writer = admin.as(service.key);
  const trace = randomUUID();
  const made = await writer.ok(createLogs, {
    request: {
      url: 'https://api.openai.com/v1/chat/completions?api-key=secret-in-url',
      headers: { authorization: 'Bearer sk-elsewhere', 'content-type': 'application/json' },
      body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi there' }] },
    },
    response: {
      status: 200,
      response_time: 321.5,
      body: {
        object: 'chat.completion',
        model: 'gpt-4o-2024-08-06',
        usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
      },
    },
    metadata: {
      trace_id: trace,
      span_id: 's1',
      span_name: 'step',
      parent_span_id: 's0',
      user: 'ann',
      depth: 3,
    },
  });
  t.is(made.status, 'success');
  const [id] = made.ids as string[];
  t.is(made.id, id);
  const { data } = await admin.ok(listLogs, { trace_id: trace });
  t.like((data as JsonObject[])[0]!, {
    id,
    inserted: true,
    provider: 'openai',
    model: 'gpt-4o',
    response_model: 'gpt-4o-2024-08-06',
    latency_ms: 321.5,
    status_code: 200,
    outcome: 'success',
    method: 'POST',
    has_bodies: true,
    path: 'https://api.openai.com/v1/chat/completions',
    api_key_id: service.id,
    span_id: 's1',
    span_name: 'step',
    parent_span_id: 's0',
    // 1000 at 2.5 and 100 at 10 USD for a million.
    cost: 0.35,
    cost_exact: '3500000000',
    usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
    metadata: { _user: 'ann', depth: '3' },
  });
  const detail = await admin.ok(getLog, { log_id: id! });
  t.like(detail, { metrics: { source: 'custom', cost: 0.35 } });
  const text = JSON.stringify(detail);
  t.true(text.includes('hi there'));
  t.false(/sk-elsewhere|secret-in-url/.test(text));
});

story('many calls at once, in both spellings, keep their order', async (t, admin) => {
  const writer = admin.as(service.key);
  const trace = randomUUID();
  const log = (i: number): JsonObject => ({
    request: {
      url: '/custom',
      method: 'get',
      provider: 'Anthropic',
      body: { model: 'claude-3-5-sonnet-20241022', i },
    },
    response: {
      responseTime: i,
      streamingMode: true,
      body: [{ type: 'x' }, { usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 2 } }],
    },
    metadata: { traceId: trace, spanId: `s${i}`, spanName: 'n', parentSpanId: 'p' },
  });
  const { ids } = await writer.ok(createLogs, [log(1), log(2), log(3)] as unknown as JsonObject);
  const { data } = await admin.ok(listLogs, { trace_id: trace, order: 'asc' });
  t.deepEqual(idsOf({ data: data! }), ids);
  t.like((data as JsonObject[])[1]!, {
    latency_ms: 2,
    streamed: true,
    span_id: 's2',
    provider: 'anthropic',
    method: 'GET',
    path: '/custom',
    usage: { prompt_tokens: 15, completion_tokens: 2, total_tokens: 17 },
  });
});

test('a total beyond 10,000 entries is exact when that is asked', async (t) => {
  const metadata = { run: randomUUID() };
  for (let i = 0; i < 10_007; i++) record({ metadata });
  const filter = { metadata: JSON.stringify(metadata), page_size: 1 };
  for (const protocol of ['rest', 'connect', 'grpc'] as const) {
    const admin = new Caller(() => bench, protocol);
    t.like(await admin.ok(listLogs, filter), { total: 10_000, total_capped: true });
    t.like(await admin.ok(listLogs, { ...filter, include_total: 'exact' }), {
      total: 10_007,
      total_capped: false,
    });
    t.is((await admin.refused(listLogs, { include_total: 'about' })).param, 'include_total');
  }
});

story('members of a call from elsewhere that say nothing are as absent', async (t, admin) => {
  const trace = randomUUID();
  await admin.as(service.key).ok(createLogs, {
    request: {
      url: 'https://api.openai.com/v1/chat/completions',
      body: { model: 'gpt-4o' },
      headers: {},
      method: null,
      provider: null,
    },
    response: {
      body: { usage: { prompt_tokens: 1, completion_tokens: 1 } },
      headers: {},
      status: null,
      response_time: null,
      time: null,
      streaming_mode: null,
      responseTime: null,
      streamingMode: null,
    },
    metadata: { trace_id: trace, span_id: null },
  });
  const { data } = await admin.ok(listLogs, { trace_id: trace });
  t.like((data as JsonObject[])[0]!, {
    status_code: 200,
    method: 'POST',
    provider: 'openai',
    streamed: false,
    latency_ms: 0,
  });
});

const right: JsonObject = { request: { url: 'https://x.test/', body: {} }, response: { body: {} } };
const wrong = (name: string, body: JsonObject, param: string): Case => ({
  name: `a call from elsewhere is refused: ${name}`,
  method: createLogs,
  body,
  refused: invalid(param),
});
runCases(
  test,
  () => bench,
  [
    wrong('no request', { response: { body: {} } }, 'request'),
    wrong('no response', { request: { url: 'x', body: {} } }, 'response'),
    wrong('no url', { ...right, request: { body: {} } }, 'request.url'),
    wrong('no body', { ...right, response: {} }, 'response.body'),
    wrong('a status that is none', { ...right, response: { body: {}, status: 99 } }, 'response.status'),
    wrong(
      'a time that is none',
      { ...right, response: { body: {}, responseTime: 'x' } },
      'response.responseTime',
    ),
    wrong(
      'a member that is unknown',
      { ...right, request: { url: 'x', body: {}, bodies: 1 } },
      'request.bodies',
    ),
    wrong(
      'an unknown member that is null',
      { ...right, response: { body: {}, bodies: null } },
      'response.bodies',
    ),
    wrong('a trace that is none', { ...right, metadata: { trace_id: 'ä' } }, 'metadata.trace_id'),
    wrong('a span that is none', { ...right, metadata: { spanId: 7 } }, 'metadata.spanId'),
    wrong('metadata that is too long', { ...right, metadata: { a: 'x'.repeat(2049) } }, 'metadata.a'),
    wrong(
      'one of many',
      [right, { ...right, metadata: { span_id: '' } }] as unknown as JsonObject,
      '[1].metadata.span_id',
    ),
    {
      name: 'an admin key writes no logs',
      method: createLogs,
      headers: ADMIN,
      body: right,
      refused: { status: 403, code: Code.PermissionDenied, reason: 'forbidden' },
    } satisfies Case,
  ].map((one) => ({
    ...one,
    headers: one.headers ?? { 'x-gateway-api-key': WORKSPACE_KEY, authorization: undefined },
  })),
);

test('writing logs takes the scope of model calls, too', async (t) => {
  const { key } = await serviceKey(bench.gateway, 'default', ['completions.write']);
  const answer = await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/v1/logs',
    body: JSON.stringify(right),
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
  });
  t.is(answer.status, 403);
  t.regex(answer.text, /completions\.write/);
});
