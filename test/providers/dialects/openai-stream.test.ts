// What of a stream reaches the caller byte for byte, and what OpenAI's own client makes of it.
import test from 'ava';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import type { ChatCompletionChunk } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import {
  ChatCompletionChunkSchema,
  CreateChatCompletionRequestSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { rawJsonOf } from '../../../src/lib/raw-json.ts';
import type { Dialect } from '../../../src/providers/dialect.ts';
import { codec } from '../../../src/rest/codec.ts';
import { dialects } from '../support/golden.ts';
import { contextOf, targetOf } from '../support/target.ts';

const openai = dialects.get('openai') as Dialect & { chat: NonNullable<Dialect['chat']> };
const context = contextOf(targetOf('openai'));

function request(more: object = {}) {
  return codec.decodeRequest(CreateChatCompletionRequestSchema, {
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
    ...more,
  });
}

function run(datas: readonly string[], more: object = {}): ChatCompletionChunk[] {
  const translator = openai.chat.stream(request(more), context);
  return [
    ...datas.flatMap((data) => translator.push({ event: 'message', data })),
    ...translator.end(),
  ] as ChatCompletionChunk[];
}

const odd =
  '{ "id":"c", "object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"h\\u00e9"},"logprobs":{"content":[{"token":"h","logprob":-1.0e0,"bytes":[104],"top_logprobs":[]}]},"finish_reason":"stop"}],"x":1.0,"usage":null}';
const usage = '{"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}';

test('the caller asked for usage: every byte is passed on', (t) => {
  const chunks = run([odd, usage, '[DONE]'], { stream_options: { include_usage: true } });
  t.deepEqual(
    chunks.map((chunk) => rawJsonOf(chunk)),
    [odd, usage],
  );
  t.is(chunks[1]?.usage?.totalTokens, 3n);
});

test('the gateway asked for usage: the member goes, every other byte stays', (t) => {
  const chunks = run([odd, usage, '[DONE]']);
  t.deepEqual(
    chunks.map((chunk) => rawJsonOf(chunk)),
    [odd.replace(',"usage":null', '')],
  );
  t.is(chunks[0]?.usage, undefined);
});

test('a member that is spelt with escapes is hidden all the same', (t) => {
  const [chunk] = run([
    '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"us\\u0061ge":{"prompt_tokens":1}}',
  ]);
  t.false(String(rawJsonOf(chunk as ChatCompletionChunk)).includes('prompt_tokens'));
});

test('data of several lines is not passed on as one line', (t) => {
  const [chunk] = run([
    '{"choices":[{"index":0,\n"delta":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}',
  ]);
  t.is(rawJsonOf(chunk as ChatCompletionChunk), undefined);
  t.is(chunk?.choices[0]?.delta?.content, 'x');
});

test('an error says the status that it names, when that is one', (t) => {
  for (const [error, status] of [
    ['{"error":{"message":"m","code":429}}', 429],
    ['{"error":{"message":"m","status":503}}', 503],
    ['{"error":{"message":"m","code":"model_not_found"}}', 502],
    ['{"error":{"message":"m","code":200}}', 502],
    ['{"error":{"message":"m","code":99999}}', 502],
    ['{"error":"words"}', 502],
    ['{"object":"error","message":"m","code":400}', 400],
  ] as const) {
    const thrown = t.throws(() => run([error]), { instanceOf: GatewayError });
    t.is(thrown?.reason, 'upstream_status');
    t.is(thrown?.status, status, error);
  }
  t.notThrows(() => run([odd.replace('"x":1.0', '"error":null')]));
});

test("OpenAI's client reads an emulated stream as it reads the whole answer", async (t) => {
  const body = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-4o',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Hello',
          refusal: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
          ],
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  };
  const asked = request({ stream_options: { include_usage: true } });
  const { answer } = openai.chat.response(Buffer.from(JSON.stringify(body)), asked, context);
  const lines = openai.chat
    .wholeAsChunks(answer, asked)
    .map((chunk) => `${JSON.stringify(codec.encode(ChatCompletionChunkSchema, chunk))}\n`);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const line of lines) controller.enqueue(Buffer.from(line));
      controller.close();
    },
  });
  const seen = await ChatCompletionStream.fromReadableStream(stream).finalChatCompletion();
  const message = seen.choices[0]?.message;
  t.is(message?.content, 'Hello');
  t.deepEqual(
    message?.tool_calls?.map((call) => (call.type === 'function' ? call.function.arguments : '')),
    ['{"x":1}', '{}'],
  );
  t.is(seen.choices[0]?.finish_reason, 'tool_calls');
  t.is(openai.chat.wholeAsChunks(answer, request()).length, lines.length - 1);
});
