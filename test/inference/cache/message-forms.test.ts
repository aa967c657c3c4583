// Answers as messages through the cache: the provider's text stays what it was, and what is asked of it is read.
import { create } from '@bufbuild/protobuf';
import test from 'ava';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  CreateChatCompletionRequestSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { createLocalAnswers } from '../../../src/inference/cache/local-answers.ts';
import { createLocalVectors } from '../../../src/inference/cache/local-vectors.ts';
import { streamedMessages, wholeMessages } from '../../../src/inference/cache/message-forms.ts';
import { createResponseCache } from '../../../src/inference/cache/response-cache.ts';
import { rawJsonOf } from '../../../src/lib/raw-json.ts';
import { providerById } from '../../../src/providers/catalog/registry.ts';
import { createDialects } from '../../../src/providers/dialects/registry.ts';
import { codec } from '../../../src/rest/codec.ts';
import { ask, read, SIMPLE, subject } from './subject.ts';

const chat = createDialects(codec).get('openai')!.chat!;
const context = {
  target: {
    provider: providerById('openai')!,
    apiKey: 'k',
    options: {},
    customHost: undefined,
    strict: true,
  },
  now: Date.now,
};
const whole = wholeMessages(codec, ChatCompletionSchema);
const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
const request = codec.decodeRequest(CreateChatCompletionRequestSchema, body);
const ANSWER =
  '{"id":"c1", "object":"chat.completion","created":1,"model":"m-1","new_member":{"a":9007199254740993},"choices":[{"index":0,"message":{"role":"assistant","content":"Hello é"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}';

function build() {
  return createResponseCache({
    answers: createLocalAnswers({ maxBytes: 1e6 }),
    vectors: createLocalVectors({ maxBytes: 1e6 }),
  });
}

test('a whole answer comes back as the very text, and as a message', async (t) => {
  const cache = build();
  const run = async () => chat.response(Buffer.from(ANSWER), request, context).answer;
  await cache.whole(ask(subject(body, 'o'), SIMPLE).call, whole, run);
  const asked = ask(subject(body, 'o'), SIMPLE);
  const again = await cache.whole(asked.call, whole, async () => t.fail() as never);
  t.is(asked.report().status, 'HIT');
  t.is(Buffer.from(rawJsonOf(again)!).toString(), ANSWER);
  t.is(again.choices[0]?.message?.content, 'Hello é');
  t.is(again.usage?.totalTokens, 3n);
});

test('an answer of another dialect is kept in our words, and told in pieces', async (t) => {
  const cache = build();
  const anthropic = createDialects(codec).get('anthropic')!.chat!;
  const target = { ...context.target, provider: providerById('anthropic')! };
  const text = JSON.stringify({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm-1',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 2 },
  });
  const { answer } = anthropic.response(Buffer.from(text), request, { ...context, target });
  await cache.whole(ask(subject(body, 'o'), SIMPLE).call, whole, async () => answer);
  const kept = await cache.whole(ask(subject(body, 'o'), SIMPLE).call, whole, async () => t.fail() as never);
  t.deepEqual(codec.encode(ChatCompletionSchema, kept), codec.encode(ChatCompletionSchema, answer));
  const form = streamedMessages(codec, ChatCompletionChunkSchema, false, (bytes) =>
    anthropic.wholeAsChunks(whole.decode(bytes), request),
  );
  const stream = await cache.stream(
    ask(subject(body, 'o'), SIMPLE).call,
    form,
    async () => t.fail() as never,
  );
  t.is((await read(stream)).map((chunk) => chunk.choices[0]?.delta?.content ?? '').join(''), 'Hello');
});

test('a message without a text is written, kept and read', async (t) => {
  const cache = build();
  const answer = create(ChatCompletionSchema, {
    id: 'x',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' } }],
  });
  await cache.whole(ask(subject(body, 'o'), SIMPLE).call, whole, async () => answer);
  const again = await cache.whole(ask(subject(body, 'o'), SIMPLE).call, whole, async () => t.fail() as never);
  t.is(again.choices[0]?.message?.content, 'Hi');
});

test('a stream comes back with the same texts in the same order; a whole answer as pieces', async (t) => {
  const cache = build();
  const events = [
    '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"He"}}]}',
    '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","x":1.0,"choices":[{"index":0,"delta":{"content":"llo"},"finish_reason":"stop"}]}',
  ];
  const form = streamedMessages(codec, ChatCompletionChunkSchema, false, (bytes) =>
    chat.wholeAsChunks(whole.decode(bytes), request),
  );
  const stream = async function* (): AsyncGenerator<ChatCompletionChunk> {
    const translator = chat.stream(request, context);
    for (const data of events) yield* translator.push({ event: 'message', data });
  };
  const texts = (chunks: readonly ChatCompletionChunk[]): string[] =>
    chunks.map((chunk) => String(rawJsonOf(chunk)));
  const first = await read(
    await cache.stream(ask(subject(body, 'o'), SIMPLE).call, form, async () => stream()),
  );
  t.deepEqual(texts(first), events);
  const asked = ask(subject(body, 'o'), SIMPLE);
  const again = await read(await cache.stream(asked.call, form, async () => t.fail() as never));
  t.is(asked.report().status, 'HIT');
  t.deepEqual(texts(again), events);
  t.is(again.map((chunk) => chunk.choices[0]?.delta?.content).join(''), 'Hello');

  await cache.whole(
    ask(subject(body, 'p'), SIMPLE).call,
    whole,
    async () => chat.response(Buffer.from(ANSWER), request, context).answer,
  );
  const pieces = await read(
    await cache.stream(ask(subject(body, 'p'), SIMPLE).call, form, async () => t.fail() as never),
  );
  t.is(pieces.map((chunk) => chunk.choices[0]?.delta?.content ?? '').join(''), 'Hello é');
  t.is(pieces.at(-1)?.choices[0]?.finishReason, 'stop');
});
