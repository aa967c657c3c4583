// What is exported over OTLP: names, units, attributes and who is whose parent, as a collector receives it.
import {
  ATTR_ERROR_TYPE,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
  ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  ATTR_HTTP_REQUEST_RESEND_COUNT,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  METRIC_GEN_AI_CLIENT_OPERATION_DURATION,
  METRIC_GEN_AI_CLIENT_TOKEN_USAGE,
  METRIC_GEN_AI_SERVER_TIME_TO_FIRST_TOKEN,
} from '@opentelemetry/semantic-conventions/incubating';
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type ReceivedSpan, type Receiver, startReceiver } from './otlp-receiver.ts';

const CREDENTIAL = 'sk-provider-credential-0123456789';
const PROMPT = 'a prompt that nobody but the provider may read';
const PARENT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const MODEL = 'gpt-4o-mini';
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];

let gateway: TestGateway;
let provider: FakeProvider;
let receiver: Receiver;
test.before(async () => {
  [provider, receiver] = await Promise.all([startFakeProvider(), startReceiver()]);
  gateway = await startGateway({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=collector%20secret',
    OTEL_SERVICE_NAME: 'sluice-under-test',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_BSP_SCHEDULE_DELAY: '30',
    OTEL_METRIC_EXPORT_INTERVAL: '100',
  });
});
test.after.always(async () => {
  await gateway?.close();
  await Promise.all([provider?.close(), receiver?.close()]);
});

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly config?: object;
  readonly path?: string;
}

/** A chat, and all spans of its request, the call's own first. */
async function ask({ headers = {}, body = {}, config, path = '/v1/chat/completions' }: Asked) {
  const target = { provider: 'openai', custom_host: provider.origin, api_key: CREDENTIAL };
  const answer = await fetch(gateway.origin + path, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config ?? target),
      ...headers,
    },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: PROMPT }], ...body }),
  });
  const text = await answer.text();
  const id = answer.headers.get('x-gateway-request-id');
  const own = (): ReceivedSpan | undefined =>
    receiver.spans.find(({ attributes }) => attributes['sluice.request.id'] === id);
  await receiver.until(() => own() !== undefined);
  const server = own();
  const below = receiver.spans.filter(({ parentSpanId }) => parentSpanId === server?.spanId);
  return { answer, text, server: server!, below };
}

const traceparent = `00-${PARENT.traceId}-${PARENT.spanId}-01`;

test('a call is below its caller’s span, and its attempt below the call', async (t) => {
  const { answer, server, below } = await ask({ headers: { traceparent, tracestate: 'vendor=opaque' } });
  t.is(answer.status, 200);
  t.like(server, { name: 'POST /v1/chat/completions', kind: SERVER, traceId: PARENT.traceId, error: false });
  t.is(server.parentSpanId, PARENT.spanId);
  t.like(server.attributes, {
    'http.request.method': 'POST',
    [ATTR_HTTP_ROUTE]: '/v1/chat/completions',
    [ATTR_HTTP_RESPONSE_STATUS_CODE]: 200,
    'rpc.method': 'gateway.inference.v2.ChatService/CreateChatCompletion',
    'sluice.trace.id': PARENT.traceId,
    'sluice.outcome': 'success',
  });
  t.is(answer.headers.get('x-gateway-trace-id'), PARENT.traceId);
  t.is(below.length, 1);
  const [attempt] = below;
  t.like(attempt, { name: `chat ${MODEL}`, kind: CLIENT, traceId: PARENT.traceId, error: false });
  t.like(attempt!.attributes, {
    [ATTR_GEN_AI_OPERATION_NAME]: 'chat',
    [ATTR_GEN_AI_PROVIDER_NAME]: 'openai',
    [ATTR_GEN_AI_REQUEST_MODEL]: MODEL,
    [ATTR_GEN_AI_RESPONSE_MODEL]: MODEL,
    [ATTR_GEN_AI_USAGE_INPUT_TOKENS]: 11,
    [ATTR_GEN_AI_USAGE_OUTPUT_TOKENS]: 7,
    [ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS]: 3,
    [ATTR_SERVER_ADDRESS]: '127.0.0.1',
    [ATTR_SERVER_PORT]: provider.port,
    [ATTR_HTTP_RESPONSE_STATUS_CODE]: 200,
  });
  t.false(ATTR_ERROR_TYPE in attempt!.attributes);
  t.true(attempt!.start >= server.start - 1_000_000n && attempt!.end <= server.end + 2_000_000n);
  t.true(attempt!.end >= attempt!.start);
});

test('the provider is told the attempt’s span, and no baggage', async (t) => {
  const { below } = await ask({
    headers: { traceparent, tracestate: 'vendor=opaque', baggage: 'tenant=secret' },
    body: { model: 'gpt-4o' },
  });
  const seen = provider.seen.findLast(({ body }) => body.includes('"gpt-4o"'))!;
  t.is(seen.headers.traceparent, `00-${PARENT.traceId}-${below[0]!.spanId}-01`);
  t.is(seen.headers.tracestate, 'vendor=opaque');
  t.is(seen.headers.baggage, undefined);
});

test('pass-through tells the attempt’s span in the place of the caller’s', async (t) => {
  const { server, below } = await ask({ path: '/v1/proxy/nothing', headers: { traceparent } });
  const seen = provider.seen.findLast(({ url }) => url.endsWith('/nothing'))!;
  t.is(seen.headers.traceparent, `00-${PARENT.traceId}-${below[0]!.spanId}-01`);
  t.is(server.attributes[ATTR_HTTP_RESPONSE_STATUS_CODE], 404);
  t.false(server.error);
  t.is(below[0]!.attributes[ATTR_ERROR_TYPE], '404');
});

for (const [what, given] of Object.entries({
  'a wrong length': `00-${PARENT.traceId}-${PARENT.spanId}`,
  'capital letters': traceparent.toUpperCase(),
  'a trace of zeros': `00-${'0'.repeat(32)}-${PARENT.spanId}-01`,
  'a version that is forbidden': `ff-${PARENT.traceId}-${PARENT.spanId}-01`,
})) {
  test(`traceparent with ${what} is as if it were absent`, async (t) => {
    const { answer, server } = await ask({ headers: { traceparent: given } });
    t.is(answer.status, 200);
    t.is(server.parentSpanId, '');
    t.not(server.traceId, PARENT.traceId);
    t.is(server.traceId, answer.headers.get('x-gateway-trace-id')!.replaceAll('-', ''));
  });
}

test('a caller that does not sample is not exported, and the provider is told so', async (t) => {
  const { traceId } = { traceId: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' };
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({ provider: 'openai', custom_host: provider.origin, api_key: 'k' }),
      traceparent: `00-${traceId}-${PARENT.spanId}-00`,
    },
    body: JSON.stringify({ model: 'unsampled', messages: [{ role: 'user', content: 'x' }] }),
  });
  t.is(answer.status, 200);
  const seen = provider.seen.findLast(({ body }) => body.includes('"unsampled"'))!;
  t.regex(seen.headers.traceparent as string, /^00-a{32}-[0-9a-f]{16}-00$/);
  await ask({});
  t.false(receiver.spans.some((span) => span.traceId === traceId));
});

test('a stream tells when its first piece came', async (t) => {
  const { server, below } = await ask({ body: { stream: true } });
  t.true(server.attributes['sluice.streamed']);
  t.true((below[0]!.attributes[ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] as number) > 0);
});

test('each retry is a span of its own, with its number', async (t) => {
  const model = 'flaky-2-telemetry';
  const { server, below } = await ask({
    body: { model },
    config: {
      provider: 'openai',
      custom_host: provider.origin,
      api_key: CREDENTIAL,
      retry: { attempts: 3, on_status_codes: [429] },
    },
  });
  t.is(server.attributes['sluice.retries'], 2);
  t.deepEqual(
    below.map(({ name, error, attributes }) => [
      name,
      error,
      attributes[ATTR_ERROR_TYPE],
      attributes[ATTR_HTTP_REQUEST_RESEND_COUNT],
    ]),
    [
      [`chat ${model}`, true, '429', undefined],
      [`chat ${model}`, true, '429', 1],
      [`chat ${model}`, false, undefined, 2],
    ],
  );
});

test('a fallback shows both targets, and an upstream that fails is an error of the server’s', async (t) => {
  const target = (model: string) => ({
    provider: 'openai',
    custom_host: provider.origin,
    api_key: CREDENTIAL,
    override_params: { model },
  });
  const { server, below } = await ask({
    config: { strategy: { mode: 'fallback' }, targets: [target('status-503'), target('status-500')] },
  });
  t.true(server.error);
  t.is(server.attributes[ATTR_ERROR_TYPE], 'upstream_status');
  t.deepEqual(
    below.map(({ attributes }) => attributes[ATTR_ERROR_TYPE]),
    ['503', '500'],
  );
});

test('guardrails and look-ups in the cache are spans', async (t) => {
  const config = {
    provider: 'openai',
    custom_host: provider.origin,
    api_key: CREDENTIAL,
    cache: { mode: 'simple' },
    input_guardrails: [{ 'default.contains': { operator: 'none', words: ['forbidden'] } }],
  };
  const { server, below } = await ask({ config });
  t.is(server.attributes['sluice.cache.status'], 'MISS');
  const work = below.filter(({ kind }) => kind === INTERNAL);
  t.true(work.some(({ attributes }) => attributes['sluice.guardrail.verdict'] === 'passed'));
  t.true(
    work.some(
      ({ name, attributes }) => name.startsWith('cache') && attributes['sluice.cache.status'] === 'MISS',
    ),
  );
  const again = await ask({ config });
  t.is(again.server.attributes['sluice.cache.status'], 'HIT');
  t.false(again.below.some(({ kind }) => kind === CLIENT));
});

test('calls of the control plane, and refused ones, have a span', async (t) => {
  const answer = await fetch(`${gateway.origin}/v1/configs/none-such`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  const refused = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': 'slk_not_a_key_at_all', 'content-type': 'application/json' },
    body: '{}',
  });
  const of = ({ headers }: Response) => {
    const id = headers.get('x-gateway-request-id');
    return receiver.spans.find(({ attributes }) => attributes['sluice.request.id'] === id);
  };
  t.true(await receiver.until(() => of(answer) !== undefined && of(refused) !== undefined));
  t.like(of(answer), { name: 'GET /v1/configs/{slug}', error: false });
  t.is(of(answer)?.attributes[ATTR_ERROR_TYPE], 'not_found');
  t.is(of(refused)?.attributes[ATTR_ERROR_TYPE], 'unauthenticated');
});

test('a call over Connect has the method’s name, and the same parent', async (t) => {
  const operation = 'gateway.inference.v2.ChatService/CreateChatCompletion';
  const { answer, server, below } = await ask({
    path: `/${operation}`,
    headers: { traceparent },
    body: { messages: [{ role: 'user', content: { text: PROMPT } }] },
  });
  t.is(answer.status, 200);
  t.like(server, { name: operation, kind: SERVER, traceId: PARENT.traceId, parentSpanId: PARENT.spanId });
  t.like(server.attributes, { 'rpc.system.name': 'connectrpc', 'rpc.method': operation });
  t.false(ATTR_HTTP_ROUTE in server.attributes);
  t.is(below.length, 1);
});

test('metrics have the conventions’ names, units and bounds', async (t) => {
  await ask({ body: { stream: true, stream_options: { include_usage: true } } });
  await ask({ body: { model: 'status-500' } });
  await ask({ body: { model: 'a model that a caller has made up' } });
  const metric = (name: string) => receiver.metrics.find((one) => one.name === name);
  const failed = () =>
    metric(METRIC_GEN_AI_CLIENT_OPERATION_DURATION)?.points.find(
      ({ attributes }) => attributes[ATTR_ERROR_TYPE] === '500',
    );
  const unknown = () =>
    metric(METRIC_GEN_AI_CLIENT_OPERATION_DURATION)?.points.find(
      ({ attributes }) =>
        attributes[ATTR_GEN_AI_REQUEST_MODEL] === 'other' && !(ATTR_ERROR_TYPE in attributes),
    );
  t.true(await receiver.until(() => failed() !== undefined && unknown() !== undefined));
  const duration = metric(METRIC_GEN_AI_CLIENT_OPERATION_DURATION)!;
  t.is(duration.unit, 's');
  t.true(duration.cumulative);
  t.deepEqual(duration.points[0]!.bounds.slice(0, 3), [0.01, 0.02, 0.04]);
  t.is(duration.points[0]!.bounds.at(-1), 81.92);
  t.false(receiver.texts.some((text) => text.includes('operation.duration') && text.includes('made up')));
  const tokens = metric(METRIC_GEN_AI_CLIENT_TOKEN_USAGE)!;
  t.is(tokens.unit, '{token}');
  t.is(tokens.points[0]!.bounds.at(-1), 67_108_864);
  const input = tokens.points.find(
    ({ attributes: a }) => a['gen_ai.token.type'] === 'input' && a[ATTR_GEN_AI_REQUEST_MODEL] === MODEL,
  )!;
  t.is(input.sum, 11 * input.count);
  t.like(input.attributes, { [ATTR_GEN_AI_OPERATION_NAME]: 'chat', [ATTR_GEN_AI_PROVIDER_NAME]: 'openai' });
  const first = metric(METRIC_GEN_AI_SERVER_TIME_TO_FIRST_TOKEN)!;
  t.is(first.unit, 's');
  t.deepEqual(first.points[0]!.bounds.slice(0, 2), [0.001, 0.005]);
  for (const { points } of receiver.metrics)
    for (const { counts, count, bounds } of points) {
      t.is(counts.length, bounds.length + 1);
      t.is(
        counts.reduce((sum, one) => sum + one, 0),
        count,
      );
    }
});

test.after('the resource names the service, the collector’s headers are sent, and nothing secret is', (t) => {
  t.like(receiver.resources[0], {
    'service.name': 'sluice-under-test',
    'deployment.environment.name': 'test',
    'telemetry.sdk.language': 'nodejs',
  });
  t.is(typeof receiver.resources[0]?.['service.version'], 'string');
  t.true(receiver.heads.every((head) => head['x-collector-key'] === 'collector secret'));
  const all = receiver.texts.join('\n');
  for (const secret of [CREDENTIAL, PROMPT, WORKSPACE_KEY, ADMIN_KEY, 'slk_not_a_key_at_all', 'collector'])
    t.false(all.includes(secret), secret);
  t.false(gateway.logLines.join('\n').includes('collector secret'));
});
