// Traces through the front door: a span for each request, attempt, guardrail, cache look-up and tool call.
import { randomUUID } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { TracesService } from '../../gen/gateway/admin/v2/traces_pb.ts';
import type { AttemptRecord, RequestRecord } from '../../src/call/record.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { bookEntry, serviceKey } from './logs-books.ts';
import { type Bench, type JsonObject, runCases, startBench } from './runner.ts';
import { storiesOf } from './story.ts';

const { getTrace } = TracesService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());
const story = storiesOf(() => bench);

const record = (more: Partial<RequestRecord>): RequestRecord => {
  const entry = bookEntry(bench.gateway, more);
  bench.gateway.app.requestLog.record(entry);
  return entry;
};
const attempt = (startedAt: number, more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  id: randomUUID(),
  provider: 'openai',
  host: 'h',
  model: 'gpt-4o',
  statusCode: 200,
  outcome: 'success',
  startedAt,
  latencyMs: 5,
  ...more,
});
/** Kind, outcome and parent of each span. */
const shapeOf = ({ spans }: JsonObject): unknown[] =>
  (spans as JsonObject[]).map(({ kind, name, outcome, parent_span_id }) => [
    kind,
    name,
    outcome,
    parent_span_id,
  ]);

story('requests of a trace with all that happened in them, parents first', async (t, admin) => {
  const traceId = randomUUID();
  const at = Date.now() - 1000;
  const failed = attempt(at + 3, { statusCode: 500, outcome: 'error', error: { reason: 'r', message: 'm' } });
  const answered = attempt(at + 10, {
    latencyMs: 80,
    cost: '1500000000',
    usage: { promptTokens: 1, totalTokens: 3 },
  });
  const first = record({
    traceId,
    createdAt: at,
    latencyMs: 90,
    attempts: [failed, answered],
    cost: '1500000000',
    spanId: 'root',
    spanName: 'agent',
    usage: { promptTokens: 1, totalTokens: 3 },
    spans: [
      { kind: 'guardrail', name: 'pg-1', startedAt: at, latencyMs: 1, verdict: 'passed' },
      { kind: 'cache', name: 'simple', startedAt: at + 2, latencyMs: 0.5, verdict: 'MISS' },
      { kind: 'tool', name: 'weather', startedAt: at + 91, latencyMs: 0, verdict: 'called' },
    ],
  });
  const child = record({
    traceId,
    createdAt: at + 200,
    latencyMs: 100,
    parentSpanId: 'root',
    cost: '500000000',
  });
  const other = record({ traceId, createdAt: at + 100, parentSpanId: 'elsewhere' });
  const trace = await admin.ok(getTrace, { trace_id: traceId });
  t.like(trace, {
    object: 'trace',
    trace_id: traceId,
    requests: 3,
    truncated: false,
    duration_ms: 300,
    total_tokens: 3,
    started_at: new Date(at).toISOString(),
    cost: 0.2,
    cost_exact: '2000000000',
  });
  const operation = first.operation;
  t.deepEqual(shapeOf(trace), [
    ['request', 'agent', 'success', null],
    ['guardrail', 'pg-1', 'passed', 'root'],
    ['cache', 'simple', 'MISS', 'root'],
    ['attempt', 'openai/gpt-4o', 'error', 'root'],
    ['attempt', 'openai/gpt-4o', 'success', 'root'],
    ['tool', 'weather', 'called', 'root'],
    ['request', operation, 'success', 'root'],
    ['request', operation, 'success', 'elsewhere'],
  ]);
  const spans = trace.spans as JsonObject[];
  t.like(spans[3]!, { status_code: 500, error: { reason: 'r', message: 'm' }, span_id: failed.id });
  t.like(spans[4]!, { cost: 0.15, total_tokens: 3, latency_ms: 80, log_id: first.id });
  t.is(spans[6]!.span_id, child.id);
  t.is(spans[7]!.log_id, other.id);
  t.is(new Set(spans.map(({ span_id }) => span_id)).size, spans.length);
});

story('spans that name themselves or each other as parents end', async (t, admin) => {
  const traceId = randomUUID();
  record({ traceId, spanId: 'a', parentSpanId: 'b' });
  record({ traceId, spanId: 'b', parentSpanId: 'a' });
  record({ traceId, spanId: 'self', parentSpanId: 'self' });
  record({ traceId, spanId: 'a', parentSpanId: 'a' });
  const spans = (await admin.ok(getTrace, { trace_id: traceId })).spans as JsonObject[];
  t.is(spans.length, 4);
  t.is(new Set(spans.map(({ span_id }) => span_id)).size, 4);
});

test('a trace of a thousand and one requests is cut, and says so', async (t) => {
  const traceId = randomUUID();
  for (let i = 0; i < 1001; i++)
    record({ traceId, attempts: Array.from({ length: 10 }, () => attempt(Date.now())) });
  const answer = await fetch(`${bench.gateway.origin}/v1/traces/${traceId}`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  const trace = (await answer.json()) as JsonObject;
  t.like(trace, { requests: 1000, truncated: true });
  t.is((trace.spans as unknown[]).length, 10_000);
});

test('calls through the gateway and calls from elsewhere make one trace', async (t) => {
  const traceId = randomUUID();
  const headers = {
    ...bench.headers(bench.mark()),
    'content-type': 'application/json',
    'x-gateway-trace-id': traceId,
  };
  const called = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
  });
  t.is(called.status, 200);
  const { key } = await serviceKey(bench.gateway);
  await fetch(`${bench.gateway.origin}/v1/logs`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({
      request: { url: '/search', body: {} },
      response: { body: {}, response_time: 5 },
      metadata: { trace_id: traceId, span_id: 'search', span_name: 'Search' },
    }),
  });
  const answer = await fetch(`${bench.gateway.origin}/v1/traces/${traceId}`, {
    headers: { 'x-gateway-api-key': key },
  });
  const kinds = shapeOf((await answer.json()) as JsonObject).map((span) => (span as string[])[0]);
  t.deepEqual(kinds, ['request', 'attempt', 'request', 'attempt']);
});

test('a real call: its guardrail and its look-ups are spans, and what the guardrail found is in the log', async (t) => {
  const traceId = randomUUID();
  const prefix = bench.mark();
  const config = {
    provider: 'openai',
    custom_host: bench.provider.origin + prefix,
    api_key: 'sk-x',
    cache: { mode: 'simple', max_age: 60 },
    input_guardrails: [
      { id: 'polite', 'default.contains': { operator: 'none', words: ['damn'] }, deny: false },
    ],
  };
  const call = async (): Promise<string> => {
    const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': await key,
        'content-type': 'application/json',
        'x-gateway-config': JSON.stringify(config),
        'x-gateway-trace-id': traceId,
      },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: `hi ${traceId}` }] }),
    });
    t.is(answer.status, 200, await answer.text());
    return answer.headers.get('x-gateway-request-id') ?? '';
  };
  const key = serviceKey(bench.gateway).then((made) => made.key);
  const get = async (path: string): Promise<JsonObject> =>
    (
      await fetch(bench.gateway.origin + path, { headers: { 'x-gateway-api-key': ADMIN_KEY } })
    ).json() as never;
  const missed = await call();
  const hit = await call();
  const spans = (await get(`/v1/traces/${traceId}`)).spans as JsonObject[];
  const of = (log: string): unknown[] =>
    spans.filter(({ log_id }) => log_id === log).map(({ kind, outcome }) => `${kind} ${outcome}`);
  t.deepEqual(of(missed).sort(), ['attempt success', 'cache MISS', 'guardrail passed', 'request success']);
  t.deepEqual(of(hit).sort(), ['cache HIT', 'guardrail passed', 'request success']);
  const hooks = await get(`/v1/logs/${missed}?type=hooks`);
  t.false('request' in hooks);
  t.regex(JSON.stringify(hooks.hook_results), /polite/);
  const { metrics } = await get(`/v1/logs/${hit}`);
  t.like(metrics as JsonObject, { cache_status: 'HIT', cache_type: 'simple', cost: 0 });
});

runCases(test, () => bench, [
  {
    name: 'a trace that nobody made',
    method: getTrace,
    body: { trace_id: randomUUID() },
    headers: { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined },
    refused: { status: 404, code: Code.NotFound, reason: 'not_found' },
  },
]);
