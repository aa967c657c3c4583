// The cache through the front door: statuses, keys, streams, one flight, meaning; REST and gRPC on one cache.
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import test from 'ava';
import { ChatService } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway, WORKSPACE_KEY } from '../../support/gateway.ts';
import { soon } from './subject.ts';

const provider = await startFakeProvider();
const gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
test.after.always(async () => {
  await provider.close();
  await gateway.close();
});

let paths = 0;

/** A provider's address of its own, so that a test's answers and counts are its own. */
function bench() {
  const prefix = `/cache-${++paths}`;
  const target = { provider: 'openai', api_key: 'sk-1', custom_host: provider.origin + prefix };
  const headers = (cache: unknown, more: object = {}): Record<string, string> => ({
    'x-gateway-api-key': WORKSPACE_KEY,
    'x-gateway-config': JSON.stringify({ ...target, cache, ...more }),
  });
  return {
    target,
    headers,
    sent: (operation = '/chat/completions') =>
      provider.seen.filter(({ url }) => url === prefix + operation).length,
    async chat(
      body: object,
      cache: unknown = 'simple',
      own: Readonly<Record<string, string>> = {},
      more: object = {},
    ) {
      const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers(cache, more), ...own },
        body: JSON.stringify(body),
      });
      return {
        status: answer.status,
        cache: answer.headers.get('x-gateway-cache-status'),
        shadow: answer.headers.get('x-gateway-cache-shadow'),
        text: await answer.text(),
      };
    },
  };
}

const HI = { model: 'gpt-ok', messages: [{ role: 'user', content: 'Hi' }] };

test('MISS, HIT, REFRESH; key, metadata and namespace keep apart; debug: false uses no cache', async (t) => {
  const { chat, sent } = bench();
  const first = await chat(HI);
  t.like(first, { status: 200, cache: 'MISS' });
  t.deepEqual(await chat(HI), { ...first, cache: 'HIT' });
  t.is(sent(), 1);
  t.is((await chat(HI, 'simple', { 'x-gateway-cache-force-refresh': 'true' })).cache, 'REFRESH');
  t.is((await chat(HI, 'simple', { 'x-gateway-cache-force-refresh': 'false' })).cache, 'HIT');
  t.is(sent(), 2);
  for (const [own, more] of [
    [{ 'x-gateway-cache-namespace': 'n' }, {}],
    [{ 'x-gateway-metadata': '{"user":"1"}' }, {}],
    [{}, { api_key: 'sk-2' }],
    [{}, { strict_open_ai_compliance: false }],
  ] as const) {
    t.is((await chat(HI, 'simple', own, more)).cache, 'MISS');
    t.is((await chat(HI, 'simple', own, more)).cache, 'HIT');
  }
  t.is(sent(), 6);
  const named = { 'x-gateway-cache-namespace': 'n', 'x-gateway-metadata': '{"user":"2"}' };
  t.is((await chat(HI, 'simple', named)).cache, 'HIT');
  t.is((await chat(HI, 'simple', { 'x-gateway-debug': 'false' })).cache, 'DISABLED');
  t.is((await chat(HI, null)).cache, 'DISABLED');
});

test('errors and broken streams are not kept', async (t) => {
  const { chat, sent } = bench();
  for (const body of [
    { ...HI, model: 'status-429' },
    { ...HI, model: 'status-429' },
  ])
    t.like(await chat(body), { status: 429, cache: 'MISS' });
  t.is(sent(), 2);
  for (let i = 0; i < 2; i++) {
    const { cache, text } = await chat({ ...HI, model: 'cut', stream: true });
    t.is(cache, 'MISS');
    t.false(text.includes('[DONE]'));
  }
  t.is(sent(), 4);
});

test('a stream is replayed as it was; a kept whole answer is told in pieces', async (t) => {
  const { chat, sent } = bench();
  const streamed = { ...HI, stream: true };
  const first = await chat(streamed);
  t.is(first.cache, 'MISS');
  t.true(first.text.endsWith('data: [DONE]\n\n'));
  t.deepEqual(await chat(streamed), { ...first, cache: 'HIT' });
  t.is(sent(), 1);
  await chat({ ...HI, seed: 1 });
  const pieces = await chat({ ...streamed, seed: 1 });
  t.is(pieces.cache, 'HIT');
  t.regex(pieces.text, /"chat\.completion\.chunk"/);
  t.true(pieces.text.endsWith('data: [DONE]\n\n'));
  t.is(sent(), 2);
});

test('200 identical concurrent calls, whole and in pieces, make one call each', async (t) => {
  const { chat, sent } = bench();
  const whole = await Promise.all(Array.from({ length: 200 }, () => chat(HI)));
  t.is(sent(), 1);
  t.is(new Set(whole.map(({ text }) => text)).size, 1);
  t.is(whole.filter(({ cache }) => cache === 'MISS').length, 1);
  const streams = await Promise.all(
    Array.from({ length: 200 }, () => chat({ ...HI, seed: 1, stream: true })),
  );
  t.is(sent(), 2);
  t.is(new Set(streams.map(({ text }) => text)).size, 1);
});

test('what REST asked, gRPC finds', async (t) => {
  const { chat, headers, sent } = bench();
  const client = createClient(ChatService, createGrpcTransport({ baseUrl: gateway.origin }));
  await chat(HI);
  const statuses: (string | null)[] = [];
  const answer = await client.createChatCompletion(
    { model: 'gpt-ok', messages: [{ role: 'user', content: { kind: { case: 'text', value: 'Hi' } } }] },
    {
      headers: headers('simple'),
      onHeader: (found) => {
        statuses.push(found.get('x-gateway-cache-status'));
      },
    },
  );
  t.deepEqual(statuses, ['HIT']);
  t.is(sent(), 1);
  t.true((answer.choices[0]?.message?.content ?? '') !== '');
});

test("semantic mode by the gateway's own embeddings; a shadow tells and does not answer", async (t) => {
  const { chat, sent, target } = bench();
  const embeddings = { ...target, override_params: { model: 'embed-1' } };
  const semantic = { mode: 'semantic', threshold: 0.5, embeddings };
  const say = (content: string) => ({ ...HI, messages: [{ role: 'user', content }] });
  t.is((await chat(say('what is love'), semantic)).cache, 'SEMANTIC MISS');
  await soon(20);
  t.is((await chat(say('love is what'), semantic)).cache, 'SEMANTIC HIT');
  t.is(sent(), 1);
  t.is(sent('/embeddings'), 2);
  const shadow = await chat({ ...say('is love what'), stream: false }, { ...semantic, shadow: true });
  t.is(shadow.cache, 'MISS');
  t.is(sent(), 2);
  const away = { ...semantic, embeddings: { ...target, override_params: { model: 'status-500' } } };
  t.like(await chat({ ...say('is what love'), seed: 3 }, away), { status: 200, cache: 'MISS' });
});

test('faults of the cache settings are told by their path', async (t) => {
  const { chat } = bench();
  const bad = await chat(HI, { mode: 'exact', max_age: 0 });
  t.is(bad.status, 400);
  t.regex(bad.text, /cache\.mode/);
  t.regex(bad.text, /cache\.max_age/);
  const long = await chat(HI, 'simple', { 'x-gateway-cache-namespace': 'x'.repeat(300) });
  t.is(long.status, 400);
  t.regex(long.text, /x-gateway-cache-namespace/);
});
