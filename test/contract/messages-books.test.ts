// What the books say of messages: the money of chat to the last digit, who asked, what was left out; the cache; a budget.
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
  const response = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      'x-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-provider': wire,
      'x-gateway-custom-host': provider.origin,
      authorization: 'Bearer sk-of-the-provider',
      'x-gateway-trace-id': trace,
      ...more,
    },
    body: JSON.stringify(body),
  });
  await response.text();
  return { status: response.status, headers: response.headers, entry: await entryOf(trace) };
}

/** The log's entry of a trace, as soon as it is there. */
async function entryOf(trace: string): Promise<JsonObject> {
  for (let i = 0; i < 100; i++) {
    const response = await fetch(`${gateway.origin}/v1/logs?trace_id=${trace}`, {
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    });
    const { data } = (await response.json()) as { readonly data?: readonly JsonObject[] };
    if (data?.[0] !== undefined) return data[0];
    await wait(50);
  }
  throw new Error('the log has no entry');
}

const messages = [{ role: 'user', content: 'Hello' }];

for (const [wire, model] of [
  ['openai', 'gpt-4o'],
  ['anthropic', 'claude-sonnet-4-5'],
] as const)
  for (const stream of [false, true])
    test(`the same money as chat over ${wire}, ${stream ? 'streamed' : 'whole'}`, async (t) => {
      const body = { model, max_tokens: 50, messages, ...(stream ? { stream } : {}) };
      const chat = await ask('/chat/completions', wire, body);
      const own = await ask('/messages', wire, body);
      t.is(own.status, 200);
      t.true(Number(chat.entry.cost) > 0);
      t.deepEqual(own.entry.cost, chat.entry.cost);
      t.deepEqual(own.entry.usage, chat.entry.usage);
      t.is(own.entry.model, model);
      const spoken = { model, max_output_tokens: 50, input: 'Hello', ...(stream ? { stream } : {}) };
      const responses = await ask('/responses', wire, spoken);
      t.is(responses.status, 200);
      t.deepEqual(responses.entry.cost, chat.entry.cost);
      if (wire === 'openai') {
        // 3 tokens at 1.25 instead of 2.50 US dollars for a million.
        t.is(chat.entry.prompt_cache_saved_exact, '3750000');
        t.is(chat.entry.prompt_cache_saved, 0.000375);
      }
      t.like(responses.entry.usage, chat.entry.usage as object);
    });

test('the client’s own user is metadata, unless the call gives one', async (t) => {
  const body = { model: 'gpt-4o', max_tokens: 5, messages, metadata: { user_id: 'user-7' } };
  t.like((await ask('/messages', 'openai', body)).entry.metadata, { _user: 'user-7' });
  const given = { 'x-gateway-metadata': '{"_user":"other"}' };
  t.like((await ask('/messages', 'openai', body, given)).entry.metadata, { _user: 'other' });
  const session = { 'x-claude-code-session-id': 's-1' };
  const { metadata: _, ...bare } = body;
  t.like((await ask('/messages', 'openai', bare, session)).entry.metadata, { _user: 's-1' });
});

for (const [path, input] of [
  ['/responses', { input: 'Hello' }],
  ['/chat/completions', { messages }],
] as const)
  test(`${path}: the client’s own user is metadata, by each of its names`, async (t) => {
    const userOf = async (more: JsonObject): Promise<unknown> =>
      (await ask(path, 'openai', { model: 'gpt-4o', ...input, ...more })).entry.metadata;
    t.like(await userOf({ safety_identifier: 'hash-1', user: 'older' }), { _user: 'hash-1' });
    t.like(await userOf({ user: 'older' }), { _user: 'older' });
    t.like(await userOf({ metadata: { user_id: 'user-8' } }), { _user: 'user-8' });
    t.like(await userOf({ safety_identifier: 'hash-1', stream: true }), { _user: 'hash-1' });
  });

test('what was left out is in the log', async (t) => {
  const { entry } = await ask('/messages', 'openai', { model: 'gpt-4o', max_tokens: 5, messages, top_k: 2 });
  const [span] = entry.spans as JsonObject[];
  t.like(span, { kind: 'translation', name: 'openai', verdict: 'dropped top_k' });
});

test('an answer is kept, whole and for streams', async (t) => {
  const config = {
    provider: 'openai',
    custom_host: provider.origin,
    api_key: 'k',
    cache: { mode: 'simple', max_age: 60 },
  };
  const body = { model: 'gpt-4o', max_tokens: 6, messages: [{ role: 'user', content: randomUUID() }] };
  const status = async (asked: JsonObject): Promise<string | null> => {
    const headers: Record<string, string> = {
      'x-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
    };
    const url = `${gateway.origin}/v1/messages`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(asked) });
    const text = await response.text();
    t.regex(text, /Hello|text_delta/);
    return response.headers.get('x-gateway-cache-status');
  };
  t.is(await status(body), 'MISS');
  t.is(await status(body), 'HIT');
  t.is(await status({ ...body, stream: true }), 'HIT');
});
