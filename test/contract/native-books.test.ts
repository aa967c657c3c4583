// What the books say of Google's and AWS's forms: the money of chat to the last digit, whole and streamed; the cache.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import type { JsonObject } from './runner.ts';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFakeProvider(),
  ]);
});
test.after.always(async () => {
  await provider?.close();
  await gateway?.close();
});

async function ask(
  path: string,
  wire: string,
  body: JsonObject,
  more: Record<string, string> = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly entry: JsonObject }> {
  const trace = randomUUID();
  const response = await fetch(gateway.origin + path, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      ...(wire === ''
        ? {}
        : {
            'x-gateway-provider': wire,
            'x-gateway-custom-host': provider.origin,
            'x-gateway-aws-region': 'us-east-1',
            authorization: 'Bearer sk-of-the-provider',
          }),
      'x-gateway-trace-id': trace,
      ...more,
    },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return { status: response.status, headers: response.headers, entry: await entryOf(trace) };
}

/** The log's entry of a trace, as soon as it is there. */
async function entryOf(trace: string): Promise<JsonObject> {
  for (let i = 0; i < 300; i++) {
    const response = await fetch(`${gateway.origin}/v1/logs?trace_id=${trace}`, {
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    });
    const { data } = (await response.json()) as { readonly data?: readonly JsonObject[] };
    if (data?.[0] !== undefined) return data[0];
    await wait(50);
  }
  throw new Error('the log has no entry');
}

const chatBody = { messages: [{ role: 'user', content: 'Hello' }] };
const gemini = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
const converse = { messages: [{ role: 'user', content: [{ text: 'Hello' }] }] };
const claude = { anthropic_version: 'bedrock-2023-05-31', max_tokens: 50, messages: chatBody.messages };

const WIRES = [
  ['openai', 'gpt-4o'],
  ['google', 'gemini-2.5-pro'],
  ['bedrock', 'anthropic.claude-3-5-sonnet-20240620-v1:0'],
] as const;

for (const [wire, model] of WIRES)
  for (const stream of [false, true])
    test(`the same money as chat over ${wire}, ${stream ? 'streamed' : 'whole'}`, async (t) => {
      const name = encodeURIComponent(model);
      const chat = await ask('/v1/chat/completions', wire, {
        model,
        ...chatBody,
        ...(stream ? { stream } : {}),
      });
      t.is(chat.status, 200);
      t.true(Number(chat.entry.cost) > 0);
      for (const [path, body] of [
        [`/v1beta/models/${name}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`, gemini],
        [`/model/${name}/converse${stream ? '-stream' : ''}`, converse],
        [`/model/${name}/invoke${stream ? '-with-response-stream' : ''}`, claude],
      ] as const) {
        const own = await ask(path, wire, body);
        t.is(own.status, 200, path);
        t.deepEqual(own.entry.cost, chat.entry.cost, path);
        t.is(own.entry.model, model, path);
      }
    });

test('an answer comes from the cache, whole and streamed', async (t) => {
  const config = {
    'x-gateway-config': JSON.stringify({
      provider: 'openai',
      custom_host: provider.origin,
      api_key: 'k',
      cache: { mode: 'simple' },
    }),
  };
  for (const [path, body] of [
    ['/v1beta/models/gpt-cached:generateContent', gemini],
    ['/v1beta/models/gpt-cached:streamGenerateContent?alt=sse', gemini],
    ['/model/gpt-cached/converse', converse],
    ['/model/gpt-cached/converse-stream', converse],
    ['/model/gpt-cached/invoke', claude],
  ] as const) {
    const first = await ask(path, '', body, config);
    const second = await ask(path, '', body, config);
    t.is(first.status, 200, path);
    t.is(second.entry.cache_status, 'HIT', path);
  }
});
