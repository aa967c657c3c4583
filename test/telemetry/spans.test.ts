// Spans and metrics made of a call's entry.
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { HistogramMetricData } from '@opentelemetry/sdk-metrics';
import test from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import type { TraceContext } from '../../src/lib/trace-context.ts';
import { spansOf } from '../../src/telemetry/spans.ts';
import { usageProducer } from '../../src/telemetry/usage-metrics.ts';
import { UsageSeries } from '../../src/telemetry/usage-series.ts';
import { entryOf } from './entry.ts';

const CHAT = 'gateway.inference.v2.ChatService/CreateChatCompletion';
const PROMPTS = 'gateway.inference.v2.PromptsService/CreatePromptCompletion';
const resource = resourceFromAttributes({});
const scope = { name: 'sluice', version: '0' };
const models = {
  find: (_: string, model: string) => ({ mode: model.startsWith('text-') ? 'embedding' : 'chat' }),
};
const context: TraceContext = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentSpanId: undefined,
  sampled: true,
  state: undefined,
  propagates: true,
};
const spans = (entry: RequestRecord) =>
  spansOf({ resource, scope, models, routeOf: () => '/v1/chat/completions' }, entry, context);

test('times are the entry’s, to the microsecond', (t) => {
  const [server, attempt] = spans(entryOf(CHAT, 'gpt-4o'));
  t.deepEqual(server?.startTime, [1_700_000_000, 0]);
  t.deepEqual(server?.duration, [0, 101_250_000]);
  t.deepEqual(attempt?.startTime, [1_700_000_000, 1_000_000]);
  t.deepEqual(attempt?.endTime, [1_700_000_000, 101_500_000]);
  t.is(attempt?.spanContext().spanId, '0123456789ab4cde');
  t.is(attempt?.parentSpanContext?.spanId, context.spanId);
  t.is(server?.parentSpanContext, undefined);
});

test('neither words of errors nor metadata are told, and names are cut', (t) => {
  const message = 'the prompt said: confidential';
  const long = 'm'.repeat(5000);
  const made = spans(
    entryOf(
      CHAT,
      long,
      { outcome: 'interrupted', statusCode: 200, error: { reason: 'upstream_interrupted', message } },
      { outcome: 'interrupted', statusCode: 502, error: { reason: 'upstream_interrupted', message } },
    ),
  );
  const told = JSON.stringify(made.map(({ name, attributes, status }) => [name, attributes, status]));
  t.false(told.includes('confidential'));
  t.true(told.length < 3000);
  t.deepEqual(
    made.map(({ status, attributes }) => [status.code, attributes['error.type']]),
    [
      [2, 'upstream_interrupted'],
      [2, 'upstream_interrupted'],
    ],
  );
});

test('work of the gateway’s own: guardrails, the cache, tools', (t) => {
  const at = { startedAt: 1_700_000_000_000, latencyMs: 1 };
  const [, , ...work] = spans(
    entryOf(
      CHAT,
      'gpt-4o',
      {},
      {
        spans: [
          { kind: 'guardrail', name: 'pg-1', verdict: 'failed', ...at },
          { kind: 'cache', name: 'semantic', verdict: 'SEMANTIC MISS', ...at },
          { kind: 'tool', name: 'weather', verdict: 'called', ...at },
        ],
      },
    ),
  );
  t.deepEqual(
    work.map(({ name, attributes }) => [name, attributes]),
    [
      ['guardrail pg-1', { 'sluice.guardrail.id': 'pg-1', 'sluice.guardrail.verdict': 'failed' }],
      ['cache semantic', { 'sluice.cache.mode': 'semantic', 'sluice.cache.status': 'SEMANTIC MISS' }],
      ['execute_tool weather', { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'weather' }],
    ],
  );
  t.is(new Set(work.map((span) => span.spanContext().spanId)).size, 3);
});

test('the cache’s own embeddings are embeddings, whatever the call is', (t) => {
  t.is(spans(entryOf(CHAT, 'text-embedding-3-small'))[1]?.name, 'embeddings text-embedding-3-small');
});

test('operations with the same name there are one series', async (t) => {
  const usage = new UsageSeries(models);
  for (const operation of [CHAT, CHAT, PROMPTS]) usage.count(entryOf(operation, 'gpt-4o'));
  const { resourceMetrics } = await usageProducer(usage, resource, scope).collect();
  const [duration, tokens] = resourceMetrics.scopeMetrics[0]!.metrics as HistogramMetricData[];
  t.is(duration?.dataPoints.length, 1);
  t.like(duration?.dataPoints[0]?.value, { count: 3 });
  t.deepEqual(
    tokens?.dataPoints.map(({ attributes, value }) => [
      attributes['gen_ai.token.type'],
      value.count,
      value.sum,
    ]),
    [
      ['input', 3, 6],
      ['output', 3, 9],
    ],
  );
});

test('nothing counted is nothing exported', async (t) => {
  const { resourceMetrics } = await usageProducer(new UsageSeries(models), resource, scope).collect();
  t.deepEqual(resourceMetrics.scopeMetrics, []);
});
