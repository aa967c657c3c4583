// The standard variables: what is followed, and what stops the start with its name.
import test from 'ava';
import { readSettings, SettingsError } from '../../src/settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' };

test('off unless an endpoint is set', (t) => {
  t.is(readSettings({}).telemetry, undefined);
  t.is(readSettings({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_EXPORTER: 'otlp' }).telemetry, undefined);
  t.is(readSettings({ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }).telemetry, undefined);
  t.is(
    readSettings({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }).telemetry,
    undefined,
  );
});

test('the specification’s defaults', (t) => {
  const { telemetry } = readSettings(ENDPOINT);
  t.like(telemetry, {
    serviceName: 'sluice',
    protocol: 'http/protobuf',
    compression: 'none',
    sampler: 'parentbased_always_on',
    ratio: 1,
    propagates: true,
    metricIntervalMs: 60_000,
    queue: { size: 2048, batch: 512, delayMs: 5000 },
  });
  t.deepEqual(telemetry?.traces, { url: 'http://127.0.0.1:4318/v1/traces', headers: {}, timeoutMs: 10_000 });
  t.is(telemetry?.metrics?.url, 'http://127.0.0.1:4318/v1/metrics');
});

test('one signal has its own endpoint and headers', (t) => {
  const { telemetry } = readSettings({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/in',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1, b=x%20y',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=2',
    OTEL_METRICS_EXPORTER: 'none',
  });
  t.like(telemetry?.traces, { url: 'https://traces.example.com/in', headers: { a: '1', b: '2' } });
  t.is(telemetry?.metrics, undefined);
});

test('the service’s name: the variable, else the resource’s', (t) => {
  const resource = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=edge,team=ml%2Cops' };
  t.is(readSettings({ ...ENDPOINT, ...resource }).telemetry?.serviceName, 'edge');
  t.is(readSettings({ ...ENDPOINT, ...resource, OTEL_SERVICE_NAME: 'own' }).telemetry?.serviceName, 'own');
  t.is(readSettings({ ...ENDPOINT, ...resource }).telemetry?.resource.team, 'ml,ops');
});

test('propagators: baggage is nobody’s', (t) => {
  t.true(readSettings({ ...ENDPOINT, OTEL_PROPAGATORS: 'tracecontext,baggage' }).telemetry?.propagates);
  t.false(readSettings({ ...ENDPOINT, OTEL_PROPAGATORS: 'none' }).telemetry?.propagates);
});

for (const [name, text] of [
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:hunter2@collector'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'hunter2'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%E0%A4%A'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
  ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'delta'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
  ['OTEL_PROPAGATORS', 'b3'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
  ['OTEL_METRIC_EXPORT_INTERVAL', '-1'],
  ['GATEWAY_METRICS_MODELS', 'a model'],
] as const)
  test(`${name}=${text} stops the start`, (t) => {
    const error = t.throws(() => readSettings({ ...ENDPOINT, [name]: text }), { instanceOf: SettingsError });
    t.true(error?.message.startsWith(`${name}: `));
    t.false(error?.message.includes('hunter2'));
  });
