// The standard form of OTLP: protobuf, compressed when asked, with endpoints of their own for each signal.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { makeCertificates } from '../support/certificates.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startReceiver } from './otlp-receiver.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

test('spans and metrics as protobuf', async (t) => {
  const [provider, receiver] = await Promise.all([startFakeProvider(), startReceiver()]);
  const gateway = await startGateway({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.origin}/v1/traces`,
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${receiver.origin}/v1/metrics`,
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_BSP_SCHEDULE_DELAY: '20',
    OTEL_METRIC_EXPORT_INTERVAL: '50',
  });
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({ provider: 'openai', custom_host: provider.origin, api_key: 'k' }),
      traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
    },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'x' }] }),
  });
  await answer.text();
  t.true(await receiver.until(() => receiver.spans.length >= 2 && receiver.metrics.length >= 2));
  t.true(receiver.heads.every((head) => head['content-type'] === 'application/x-protobuf'));
  t.true(receiver.heads.every((head) => head['content-encoding'] === 'gzip'));
  const [server, attempt] = receiver.spans;
  t.like(server, { name: 'POST /v1/chat/completions', traceId: TRACE, parentSpanId: 'b7ad6b7169203331' });
  t.like(attempt, { name: 'chat gpt-4o-mini', traceId: TRACE, parentSpanId: server!.spanId });
  t.like(attempt!.attributes, { 'gen_ai.usage.input_tokens': 11, 'server.address': '127.0.0.1' });
  t.is(receiver.resources[0]?.['service.name'], 'sluice');
  const duration = receiver.metrics.find(({ name }) => name === 'gen_ai.client.operation.duration');
  t.like(duration, { unit: 's', cumulative: true });
  t.is(duration?.points[0]?.count, 1);
  await gateway.close();
  await Promise.all([provider.close(), receiver.close()]);
});

test('a collector whose certificate is from a company’s own authority', async (t) => {
  const { authority, server } = await makeCertificates();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-telemetry-'));
  const file = join(folder, 'authority.pem');
  await writeFile(file, authority.cert);
  const receiver = await startReceiver(server);
  const gateway = await startGateway({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    GATEWAY_EXTRA_CA: file,
  });
  await (await fetch(`${gateway.origin}/v1/models`)).text();
  t.true(await receiver.until(() => receiver.spans.length > 0));
  t.is(receiver.spans[0]?.attributes['error.type'], 'unauthenticated');
  await gateway.close();
  await receiver.close();
  await rm(folder, { recursive: true });
});
