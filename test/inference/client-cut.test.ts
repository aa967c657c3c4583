// Streams whose clients leave: cancelled with a marked estimate, or read to their end with the provider's own usage.
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { Call } from '../../src/call/call.ts';
import { drained } from '../../src/inference/pipeline/drain.ts';
import { Drains, type HeldSignal } from '../../src/inference/pipeline/drains.ts';
import { fail } from '../../src/lib/errors.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { chatHeaders, type Json, type LimitsClient, limitsClient, until } from '../support/limits-client.ts';

let gateway: TestGateway;
let provider: FakeProvider;
let client: LimitsClient;
let count = 0;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway(), startFakeProvider()]);
  client = limitsClient(gateway, provider);
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

interface Cut {
  readonly model: string;
  readonly key?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  /** Bytes of the answer that are read before the client leaves; 0: it leaves while nothing is there. */
  readonly after?: number;
}

/** Calls, reads a little, and leaves. Resolves with the trace. */
async function cut(origin: string, { model, key = WORKSPACE_KEY, path, headers = {}, after = 1 }: Cut) {
  const trace = `cut-${++count}`;
  const before = provider.seen.length;
  const request = http.request(`${origin}/v1${path ?? '/chat/completions'}`, {
    method: 'POST',
    headers: only({ ...chatHeaders(provider, key), ...headers, 'x-gateway-trace-id': trace }),
  });
  request.on('error', () => {});
  request.end(
    JSON.stringify({
      model,
      stream: true,
      max_tokens: 500,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'hi there' }],
    }),
  );
  if (after === 0) await until(async () => provider.seen.length > before, Boolean);
  else {
    await new Promise<void>((resolve) => {
      request.once('response', (answer) => {
        answer.on('error', () => {});
        answer.once('data', () => resolve());
      });
    });
  }
  request.destroy();
  return trace;
}

const config = (settings: Json): Record<string, string> => ({
  'x-gateway-config': JSON.stringify({
    provider: 'openai',
    custom_host: provider.origin,
    api_key: 'sk-provider',
    ...settings,
  }),
  authorization: '',
  'x-gateway-provider': '',
  'x-gateway-custom-host': '',
});
const only = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));

async function entryOf(trace: string): Promise<{ entry: Json; attempts: Json[] }> {
  // That a client has left is noticed after it did.
  const [entry = {}] = await until(
    () => client.logs(trace),
    ({ length }) => length > 0,
  );
  return { entry, attempts: (entry.attempts ?? []) as Json[] };
}

test.serial('by default the provider is cancelled, and an estimate is booked', async (t) => {
  const before = provider.aborted;
  const { entry, attempts } = await entryOf(await cut(gateway.origin, { model: 'pace-60' }));
  t.like(entry, { status_code: 499, outcome: 'cancelled', usage_estimated: true });
  t.is(attempts.length, 1);
  t.like(attempts[0], { outcome: 'cancelled', usage_estimated: true });
  t.true(
    (await until(
      async () => provider.aborted,
      (now) => now > before,
    )) > before,
  );
});

for (const [name, after, path] of [
  ['in the middle', 1, undefined],
  ['before anything came', 0, undefined],
  ['in the middle of what is passed through', 1, '/proxy/chat/completions'],
] as const)
  test.serial(`a config drains a stream that is cut ${name}: the provider's usage is booked`, async (t) => {
    const { id, key } = await client.key({ usage_limits: { type: 'tokens', credit_limit: 100_000 } });
    const before = provider.aborted;
    const headers = config({ on_client_cut: 'drain' });
    const trace = await cut(gateway.origin, {
      model: after === 0 ? 'slow-150' : 'pace-30',
      key,
      after,
      ...(path === undefined ? {} : { path }),
      headers: headers as Record<string, string>,
    });
    const { entry, attempts } = await entryOf(trace);
    t.like(entry, { status_code: 499, outcome: 'cancelled' }, JSON.stringify(entry));
    t.is(attempts.length, 1);
    t.like(attempts[0], { outcome: 'success', status_code: 200 });
    t.like(attempts[0]?.usage, { total_tokens: 18 });
    t.falsy(attempts[0]?.usage_estimated);
    t.is(provider.aborted, before);
    const used = (record: Json) => (record.usage_limits as Json).current_usage;
    t.is(used(await client.keyUntil(id, (record) => used(record) === 18)), 18);
  });

for (const [name, transport] of [
  ['gRPC', () => createGrpcTransport({ baseUrl: gateway.origin })],
  ['Connect', () => createConnectTransport({ baseUrl: gateway.origin, httpVersion: '1.1' })],
] as const)
  test.serial(`a client of ${name} that leaves is no other`, async (t) => {
    const trace = `cut-${++count}`;
    const leave = new AbortController();
    const stream = createClient(ChatService, transport()).streamChatCompletion(
      {
        model: 'pace-30',
        maxTokens: 500n,
        messages: [{ role: 'user', content: { kind: { case: 'text', value: 'hi' } } }],
      },
      {
        headers: only({
          ...chatHeaders(provider, WORKSPACE_KEY),
          ...config({ on_client_cut: 'drain' }),
          'content-type': '',
          'x-gateway-trace-id': trace,
        }),
        signal: leave.signal,
      },
    );
    await t.throwsAsync(async () => {
      for await (const _ of stream) leave.abort();
    });
    const { entry, attempts } = await entryOf(trace);
    t.like(entry, { status_code: 499, outcome: 'cancelled' });
    t.like(attempts[0], { outcome: 'success', status_code: 200 });
    t.like(attempts[0]?.usage, { total_tokens: 18 });
  });

test.serial('a provider that goes on anyway is drained by default, unless its config cancels', async (t) => {
  const drainedOne = await entryOf(
    await cut(gateway.origin, { model: 'pace-30', headers: config({ provider: 'groq' }) }),
  );
  t.like(drainedOne.attempts[0], { outcome: 'success' });
  t.like(drainedOne.attempts[0]?.usage, { total_tokens: 18 });
  const cancelled = await entryOf(
    await cut(gateway.origin, {
      model: 'pace-60',
      headers: config({ provider: 'groq', on_client_cut: 'cancel' }),
    }),
  );
  t.like(cancelled.attempts[0], { outcome: 'cancelled', usage_estimated: true });
});

test.serial('another word is refused, naming the member', async (t) => {
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: only({ ...chatHeaders(provider, WORKSPACE_KEY), ...config({ on_client_cut: 'sometimes' }) }),
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
  });
  t.is(answer.status, 400);
  t.regex(await answer.text(), /on_client_cut: must be one of drain, cancel/);
});

test.serial('a stop ends drains at once, and their estimates are in the books', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-cut-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const first = await startGateway({ GATEWAY_DATA_DIR: folder });
  const trace = await cut(first.origin, {
    model: 'stall-30000',
    headers: config({ on_client_cut: 'drain' }),
  });
  // Nothing outside of the gateway tells when it has noticed the cut.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const from = performance.now();
  await first.close();
  t.true(performance.now() - from < 15_000, 'long before the provider would have ended');
  const second = await startGateway({ GATEWAY_DATA_DIR: folder });
  t.teardown(() => second.close());
  const [entry] = await limitsClient(second, provider).logs(trace);
  t.like(entry, { outcome: 'cancelled', usage_estimated: true });
  t.like((entry?.attempts as Json[] | undefined)?.[0], { outcome: 'cancelled', usage_estimated: true });
});

test('drains are bounded in time, bytes and number', async (t) => {
  const call = (): Call => new Call({} as never, {} as never);
  const stream = (held: HeldSignal, ended: () => void): AsyncIterable<number> => ({
    [Symbol.asyncIterator]: () => ({
      next: () =>
        new Promise((resolve, reject) => {
          const timer = setTimeout(() => {
            held.read(100);
            resolve({ done: false, value: 1 });
          }, 5);
          held.addEventListener('abort', () => {
            clearTimeout(timer);
            ended();
            reject(held.reason);
          });
        }),
    }),
  });
  for (const bounds of [
    { most: 10, ms: 60, bytes: 1e9 },
    { most: 10, ms: 60_000, bytes: 900 },
  ]) {
    const drains = new Drains(bounds);
    const own = call();
    let ended = false;
    const end = (): void => {
      ended = true;
    };
    const answer = await drained(drains, own, own.signal, async (held) => stream(held, end));
    const reader = answer[Symbol.asyncIterator]();
    await reader.next();
    const pending = reader.next();
    own.abort(fail('client_closed', 'the client has left'));
    await t.throwsAsync(pending, { message: /client has left/ });
    t.false(ended);
    t.is(drains.size, 1);
    await until(async () => ended, Boolean, 1000);
    t.true(ended, JSON.stringify(bounds));
    await until(
      async () => drains.size,
      (size) => size === 0,
      1000,
    );
    t.is(drains.size, 0);
  }
  const full = new Drains({ most: 0, ms: 1000, bytes: 1000 });
  const own = call();
  let ended = false;
  await drained(full, own, own.signal, async (held) =>
    stream(held, () => {
      ended = true;
    }),
  ).then((answer) => {
    const pending = answer[Symbol.asyncIterator]().next();
    own.abort(fail('client_closed', 'the client has left'));
    return t.throwsAsync(pending);
  });
  t.true(ended);
});
