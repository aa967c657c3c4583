// The openai npm SDK, unchanged, against the gateway.
import test from 'ava';
import OpenAI from 'openai';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

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

const CONTENT = 'Hello, wörld! 👋';
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'hi' }];
const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } },
];
let count = 0;

/** A client with its provider's key as the SDK's key and the gateway's key as a header. */
function client(
  options: { retries?: number; prefix?: string; headers?: Record<string, string> } = {},
): OpenAI {
  return new OpenAI({
    baseURL: `${gateway.origin}/v1`,
    apiKey: 'sk-of-the-provider',
    maxRetries: options.retries ?? 0,
    defaultHeaders: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': provider.origin + (options.prefix ?? ''),
      ...options.headers,
    },
  });
}

const prefixed = (): string => `/sdk-${++count}`;
const sentTo = (prefix: string) => provider.seen.filter(({ url }) => url.startsWith(`${prefix}/`));

test('a whole answer', async (t) => {
  const { data, response } = await client()
    .chat.completions.create({ model: 'gpt-ok', messages })
    .withResponse();
  t.is(data.choices[0]?.message.content, CONTENT);
  t.is(data.choices[0]?.finish_reason, 'stop');
  t.is(data.usage?.total_tokens, 18);
  t.is(data.usage?.prompt_tokens_details?.cached_tokens, 3);
  t.truthy(response.headers.get('x-gateway-request-id'));
});

test('the gateway key as the SDK’s key, the provider keyless', async (t) => {
  const sdk = new OpenAI({
    baseURL: `${gateway.origin}/v1`,
    apiKey: WORKSPACE_KEY,
    maxRetries: 0,
    defaultHeaders: {
      'x-gateway-provider': 'openai-compatible',
      'x-gateway-custom-host': `${provider.origin}/keyless`,
    },
  });
  const answer = await sdk.chat.completions.create({ model: 'gpt-ok', messages });
  t.is(answer.choices[0]?.message.content, CONTENT);
  t.is(sentTo('/keyless')[0]?.headers.authorization, undefined);
});

test('a streamed answer', async (t) => {
  const stream = await client().chat.completions.create({ model: 'gpt-ok', messages, stream: true });
  let text = '';
  let finish: string | null = null;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    finish = chunk.choices[0]?.finish_reason ?? finish;
    t.is(chunk.usage, undefined);
  }
  t.is(text, CONTENT);
  t.is(finish, 'stop');
});

test('a streamed answer that is split at every byte, with its usage', async (t) => {
  const stream = await client().chat.completions.create({
    model: 'split',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  t.is(text, CONTENT);
  t.is(usage?.completion_tokens, 7);
});

test('the stream helper', async (t) => {
  const runner = client().chat.completions.stream({ model: 'gpt-ok', messages });
  const pieces: string[] = [];
  runner.on('content', (delta) => pieces.push(delta));
  const final = await runner.finalChatCompletion();
  t.is(final.choices[0]?.message.content, CONTENT);
  t.is(pieces.join(''), CONTENT);
  t.true(pieces.length > 5);
});

test('tools, whole', async (t) => {
  const answer = await client().chat.completions.create({ model: 'gpt-ok', messages, tools });
  const calls = answer.choices[0]?.message.tool_calls ?? [];
  t.is(answer.choices[0]?.finish_reason, 'tool_calls');
  t.deepEqual(
    calls.map((call) => (call.type === 'function' ? JSON.parse(call.function.arguments) : undefined)),
    [{ city: 'Zürich' }, { city: 'Bern' }],
  );
});

test('tools, streamed through the helper', async (t) => {
  const runner = client().chat.completions.stream({ model: 'gpt-ok', messages, tools });
  const message = await runner.finalMessage();
  t.deepEqual(
    message.tool_calls?.map((call) => (call.type === 'function' ? call.function.arguments : '')),
    ['{"city":"Zürich"}', '{"city":"Bern"}'],
  );
  t.is(message.tool_calls?.[1]?.id, 'call_2');
});

test('the tool runner calls the functions', async (t) => {
  const prefix = prefixed();
  const cities: string[] = [];
  provider.next(`${prefix}/chat/completions`, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({
        id: '1',
        object: 'chat.completion',
        created: 1,
        model: 'gpt-ok',
        choices: [
          {
            index: 0,
            finish_reason: 'tool_calls',
            message: {
              role: 'assistant',
              content: null,
              tool_calls: [
                { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Basel"}' } },
              ],
            },
          },
        ],
      }),
    );
  });
  provider.next(`${prefix}/chat/completions`, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({
        id: '2',
        object: 'chat.completion',
        created: 1,
        model: 'gpt-ok',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'sunny' } }],
      }),
    );
  });
  const runner = client({ prefix }).chat.completions.runTools({
    model: 'gpt-ok',
    messages: [{ role: 'user', content: 'Weather in Basel?' }],
    tools: [
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'w',
          parameters: { type: 'object', properties: { city: { type: 'string' } } },
          parse: (text: string) => JSON.parse(text) as { city: string },
          function: ({ city }: { city: string }) => {
            cities.push(city);
            return 'sunny';
          },
        },
      },
    ],
  });
  t.is(await runner.finalContent(), 'sunny');
  t.deepEqual(cities, ['Basel']);
  const second = JSON.parse(sentTo(prefix)[1]!.body.toString()) as { messages: { role: string }[] };
  t.deepEqual(
    second.messages.map(({ role }) => role),
    ['user', 'assistant', 'tool'],
  );
});

test('embeddings: the SDK asks for base64 and decodes it', async (t) => {
  const prefix = prefixed();
  const answer = await client({ prefix }).embeddings.create({ model: 'embed', input: ['a', 'b'] });
  const sent = JSON.parse(sentTo(prefix)[0]!.body.toString()) as { encoding_format: string };
  t.is(sent.encoding_format, 'base64');
  t.is(answer.data.length, 2);
  t.deepEqual([...answer.data[1]!.embedding], [0.10000000149011612, -0.25, 3]);
});

test('moderations', async (t) => {
  const prefix = prefixed();
  const answer = await client({ prefix }).moderations.create({ input: 'x' });
  t.is(answer.model, 'text-moderation-latest');
  t.true(answer.results[0]?.flagged);
  t.true(answer.results[0]?.categories.violence);
  t.false(answer.results[0]?.categories['self-harm/intent']);
});

test('models', async (t) => {
  const ids: string[] = [];
  for await (const model of client().models.list()) ids.push(model.id);
  t.deepEqual(ids, ['gpt-ok']);
  t.is((await client().models.retrieve('meta/llama')).id, 'meta/llama');
});

test('text completions, whole and streamed', async (t) => {
  const whole = await client().completions.create({ model: 'gpt-ok', prompt: ['a'], max_tokens: 0 });
  t.is(whole.choices[0]?.text, CONTENT);
  let text = '';
  for await (const piece of await client().completions.create({ model: 'gpt-ok', prompt: 'a', stream: true }))
    text += piece.choices[0]?.text ?? '';
  t.is(text, 'Hello, wörld');
});

const CLASSES = [
  [400, OpenAI.BadRequestError],
  [401, OpenAI.AuthenticationError],
  [403, OpenAI.PermissionDeniedError],
  [404, OpenAI.NotFoundError],
  [409, OpenAI.ConflictError],
  [422, OpenAI.UnprocessableEntityError],
  [429, OpenAI.RateLimitError],
  [500, OpenAI.InternalServerError],
  [503, OpenAI.InternalServerError],
] as const;

for (const [status, type] of CLASSES) {
  test(`the provider’s ${status} becomes ${type.name}`, async (t) => {
    for (const stream of [false, true]) {
      const error = await t.throwsAsync(
        client().chat.completions.create({ model: `status-${status}`, messages, stream }) as Promise<unknown>,
        { instanceOf: type },
      );
      t.is(error?.status, status);
      t.is(error?.code, 'fake_code');
      t.is(error?.param, 'model');
      t.is(error?.type, 'fake_error');
      t.regex(String(error?.message), new RegExp(`no: status-${status}`));
      t.is(error?.headers?.get('retry-after'), '7');
    }
  });
}

test('the gateway’s own errors become the SDK’s classes', async (t) => {
  const bad = await t.throwsAsync(
    client().chat.completions.create({ model: 'm', messages, temperature: 9 }),
    {
      instanceOf: OpenAI.BadRequestError,
    },
  );
  t.is(bad?.param, 'temperature');
  t.is(bad?.code, 'validation_failed');
  t.is(bad?.type, 'invalid_request_error');
  await t.throwsAsync(
    client({ headers: { 'x-gateway-api-key': 'slk_wrong' } }).chat.completions.create({
      model: 'm',
      messages,
    }),
    { instanceOf: OpenAI.AuthenticationError },
  );
});

test('retries on 429 until it succeeds', async (t) => {
  const prefix = prefixed();
  const answer = await client({ prefix, retries: 3 }).chat.completions.create({
    model: 'flaky-2-whole',
    messages,
  });
  t.is(answer.choices[0]?.message.content, CONTENT);
  t.is(sentTo(prefix).length, 3);
});

test('retries of a stream on 429 until it succeeds', async (t) => {
  const prefix = prefixed();
  const stream = await client({ prefix, retries: 3 }).chat.completions.create({
    model: 'flaky-2-stream',
    messages,
    stream: true,
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  t.is(text, CONTENT);
  t.is(sentTo(prefix).length, 3);
});

test('an error in mid-stream is thrown, not swallowed', async (t) => {
  for (const [model, pattern] of [
    ['stream-error-later', /broke in the middle/],
    ['cut', /broke off|interrupted|middle/],
    ['silent-end', /ended before/],
  ] as const) {
    const stream = await client().chat.completions.create({ model, messages, stream: true });
    let chunks = 0;
    const error = await t.throwsAsync(
      (async () => {
        for await (const _ of stream) chunks++;
      })(),
      { instanceOf: OpenAI.APIError },
    );
    t.is(chunks, 3);
    t.regex(String(error?.message), pattern);
  }
});

test('an aborted call aborts the provider’s', async (t) => {
  const prefix = prefixed();
  const before = provider.aborted;
  const controller = new AbortController();
  const pending = client({ prefix }).chat.completions.create(
    { model: 'hang', messages },
    { signal: controller.signal },
  );
  while (sentTo(prefix).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort();
  await t.throwsAsync(pending, { instanceOf: OpenAI.APIUserAbortError });
  for (let i = 0; i < 200 && provider.aborted === before; i++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  t.true(provider.aborted > before);
});

test('a stream that is left aborts the provider’s', async (t) => {
  const prefix = prefixed();
  const before = provider.aborted;
  const stream = await client({ prefix }).chat.completions.create({
    model: 'pace-200',
    messages,
    stream: true,
  });
  for await (const _ of stream) break;
  for (let i = 0; i < 200 && provider.aborted === before; i++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  t.true(provider.aborted > before);
});

test('an SDK’s other calls pass through', async (t) => {
  const prefix = prefixed();
  provider.next(`${prefix}/files`, (req, res, body) => {
    t.regex(String(req.headers['content-type']), /^multipart\/form-data; boundary=/);
    t.true(body.toString().includes('line one'));
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(
      '{"id":"file-1","object":"file","bytes":8,"created_at":1,"filename":"a.jsonl","purpose":"batch"}',
    );
  });
  const file = await client({ prefix }).files.create({
    file: new File(['line one'], 'a.jsonl'),
    purpose: 'batch',
  });
  t.is(file.id, 'file-1');
  provider.next(`${prefix}/audio/speech`, (_req, res) => {
    res.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.from([0, 255, 1, 254]));
  });
  const speech = await client({ prefix }).audio.speech.create({ model: 'tts', voice: 'alloy', input: 'x' });
  t.deepEqual([...new Uint8Array(await speech.arrayBuffer())], [0, 255, 1, 254]);
});

test('Anthropic’s way: x-api-key and its own path', async (t) => {
  const answer = await fetch(`${gateway.origin}/v1/messages`, {
    method: 'POST',
    headers: {
      'x-api-key': WORKSPACE_KEY,
      authorization: 'Bearer sk-ant-provider',
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      'x-gateway-provider': 'anthropic',
      'x-gateway-custom-host': `${provider.origin}/ant`,
    },
    body: JSON.stringify({ model: 'claude', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }),
  });
  t.is(answer.status, 200);
  const json = (await answer.json()) as { content: { text: string }[]; usage: { output_tokens: number } };
  t.is(json.content[0]?.text, CONTENT);
  t.is(json.usage.output_tokens, 4);
  const [sent] = sentTo('/ant');
  t.is(sent!.headers['x-api-key'], 'sk-ant-provider');
  t.is(sent!.headers.authorization, undefined);
  t.is(sent!.headers['anthropic-version'], '2023-06-01');
});
