// A collector that is slow, refuses or is not there: calls do not notice, what does not fit is dropped and counted,
// and the gateway stops in time.
import net, { type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { withSlack } from '../support/slack.ts';
import { type Receiver, startReceiver } from './otlp-receiver.ts';

const QUEUE = 20;
const CALLS = 60;

let provider: FakeProvider;
test.before(async () => {
  provider = await startFakeProvider();
});
test.after.always(() => provider?.close());

function gatewayFor(endpoint: string): Promise<TestGateway> {
  return startGateway({
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_TIMEOUT: '700',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector-secret-0123456789',
    OTEL_BSP_MAX_QUEUE_SIZE: String(QUEUE),
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_METRIC_EXPORT_INTERVAL: '200',
    GATEWAY_DRAIN_SECONDS: '1',
  });
}

/** Calls one after the other. Each would take the exporter's 700 ms if it waited for it; together they take less than half. */
async function callAll(t: ExecutionContext, { origin }: TestGateway, count = CALLS): Promise<void> {
  const began = performance.now();
  for (let i = 0; i < count; i++) {
    const answer = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': WORKSPACE_KEY,
        'content-type': 'application/json',
        'x-gateway-config': JSON.stringify({
          provider: 'openai',
          custom_host: provider.origin,
          api_key: 'k',
        }),
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'x' }] }),
    });
    await answer.text();
    t.is(answer.status, 200);
  }
  t.true(performance.now() - began < withSlack(count * 350));
}

async function metric({ origin }: TestGateway, name: string): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

async function closesInTime(t: ExecutionContext, gateway: TestGateway): Promise<void> {
  const began = performance.now();
  await gateway.close();
  t.true(performance.now() - began < withSlack(15_000));
}

test('one that never answers holds no call up, and is used again when it does', async (t) => {
  const receiver: Receiver = await startReceiver();
  receiver.mood = 'hangs';
  const gateway = await gatewayFor(receiver.origin);
  await callAll(t, gateway);
  const dropped = await metric(gateway, 'sluice_spans_dropped_total');
  t.true(dropped >= CALLS * 2 - QUEUE - 20, `${dropped} dropped`);
  t.true((await metric(gateway, 'sluice_spans_waiting')) <= QUEUE + 10);
  receiver.mood = 'takes';
  t.true(await receiver.until(() => receiver.spans.length > 0));
  for (let i = 0; i < 100 && (await metric(gateway, 'sluice_spans_waiting')) > 0; i++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const before = receiver.spans.length;
  await callAll(t, gateway, 3);
  t.true(await receiver.until(() => receiver.spans.length >= before + 6));
  await closesInTime(t, gateway);
  await receiver.close();
});

test('one that refuses loses its batches, counted, with one line of the log', async (t) => {
  const receiver = await startReceiver();
  receiver.mood = 'refuses';
  const gateway = await gatewayFor(receiver.origin);
  await callAll(t, gateway, 10);
  for (let i = 0; i < 100 && (await metric(gateway, 'sluice_spans_dropped_total')) < 20; i++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  t.is(await metric(gateway, 'sluice_spans_dropped_total'), 20);
  t.is(await metric(gateway, 'sluice_spans_exported_total'), 0);
  t.true((await metric(gateway, 'sluice_telemetry_failures_total')) > 0);
  const lines = gateway.logLines.filter((line) => line.includes('telemetry could not be exported'));
  t.is(lines.length, 1);
  t.false(gateway.logLines.join('\n').includes('collector-secret'));
  await closesInTime(t, gateway);
  await receiver.close();
});

test('one that is not there', async (t) => {
  const gateway = await gatewayFor(`http://127.0.0.1:${await freePort()}`);
  await callAll(t, gateway, 20);
  t.true(
    (await metric(gateway, 'sluice_spans_dropped_total')) + (await metric(gateway, 'sluice_spans_waiting')) >
      0,
  );
  await closesInTime(t, gateway);
});

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
