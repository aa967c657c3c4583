// The openai npm SDK, unchanged, through a config: a fallback, a cache and guardrails, whole and streamed.
import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const CONTENT = 'Hello, wörld! 👋';

let gateway: TestGateway;
let first: FakeProvider;
let second: FakeProvider;
let count = 0;
test.before(async () => {
  [gateway, first, second] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFakeProvider(),
    startFakeProvider(),
  ]);
});
test.after.always(async () => {
  await Promise.all([first?.close(), second?.close()]);
  await gateway?.close();
});

type Json = { readonly [name: string]: unknown };

const ask = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }];
const none = (word: string, more: Json = {}): Json => ({
  'default.contains': { words: [word], operator: 'none' },
  ...more,
});

/** A client whose first provider fails as `broken` says; both providers' hosts are its own. */
function client(broken: string, more: Json = {}): { sdk: OpenAI; calls: () => readonly [number, number] } {
  const mark = `/config-${++count}`;
  const config = {
    strategy: { mode: 'fallback' },
    retry: { attempts: 0 },
    cache: { mode: 'simple', max_age: 60 },
    input_guardrails: [none('password', { deny: true })],
    output_guardrails: [none('forbidden', { deny: true })],
    targets: [
      {
        provider: 'openai',
        api_key: 'k1',
        custom_host: first.origin + mark,
        override_params: { model: broken },
      },
      { provider: 'openai', api_key: 'k2', custom_host: second.origin + mark },
    ],
    ...more,
  };
  const sdk = new OpenAI({
    baseURL: `${gateway.origin}/v1`,
    apiKey: WORKSPACE_KEY,
    maxRetries: 0,
    defaultHeaders: { 'x-gateway-config': JSON.stringify(config) },
  });
  const sent = ({ seen }: FakeProvider): number =>
    seen.filter(({ url }) => url.startsWith(`${mark}/`)).length;
  return { sdk, calls: () => [sent(first), sent(second)] };
}

async function streamed(sdk: OpenAI, content: string) {
  const { data, response } = await sdk.chat.completions
    .create({ model: 'gpt-ok', messages: ask(content), stream: true })
    .withResponse();
  let text = '';
  let finish: string | null = null;
  for await (const chunk of data) {
    text += chunk.choices[0]?.delta.content ?? '';
    finish = chunk.choices[0]?.finish_reason ?? finish;
  }
  return { text, finish, headers: response.headers };
}

function answeredBySecond(t: ExecutionContext, headers: Headers): void {
  t.is(headers.get('x-gateway-last-used-option-index'), 'config.targets[1]');
  t.is(headers.get('x-gateway-cache-status'), 'MISS');
  t.is(headers.get('x-gateway-provider'), 'openai');
}

test('a whole answer comes from the second provider, and then from the cache', async (t) => {
  const { sdk, calls } = client('status-503');
  const create = () => sdk.chat.completions.create({ model: 'gpt-ok', messages: ask('hi') }).withResponse();
  const { data, response } = await create();
  t.is(data.choices[0]?.message.content, CONTENT);
  t.is(data.usage?.total_tokens, 18);
  answeredBySecond(t, response.headers);
  t.deepEqual(calls(), [1, 1]);
  const again = await create();
  t.is(again.response.headers.get('x-gateway-cache-status'), 'HIT');
  t.is(again.data.choices[0]?.message.content, CONTENT);
  // The first target's answers are its own: it is asked again.
  t.deepEqual(calls(), [2, 1]);
});

for (const broken of ['status-429', 'reset', 'stream-error-first']) {
  test(`a streamed answer comes from the second provider behind ${broken}, and then from the cache`, async (t) => {
    const { sdk, calls } = client(broken);
    const one = await streamed(sdk, 'hi');
    t.deepEqual([one.text, one.finish], [CONTENT, 'stop']);
    answeredBySecond(t, one.headers);
    t.deepEqual(calls(), [1, 1]);
    const two = await streamed(sdk, 'hi');
    t.deepEqual([two.text, two.finish], [CONTENT, 'stop']);
    t.is(two.headers.get('x-gateway-cache-status'), 'HIT');
    t.deepEqual(calls(), [2, 1]);
  });
}

test('the stream helper and tools', async (t) => {
  const { sdk } = client('status-500');
  const runner = sdk.chat.completions.stream({
    model: 'gpt-ok',
    messages: ask('weather?'),
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
  });
  const final = await runner.finalChatCompletion();
  t.deepEqual(
    final.choices[0]?.message.tool_calls?.map((call) =>
      call.type === 'function' ? call.function.arguments : '',
    ),
    ['{"city":"Zürich"}', '{"city":"Bern"}'],
  );
  t.is(final.choices[0]?.finish_reason, 'tool_calls');
});

test('a denied request is an error of status 446, and no provider is called', async (t) => {
  const { sdk, calls } = client('status-500');
  for (const stream of [false, true]) {
    const error = await t.throwsAsync(
      sdk.chat.completions.create({
        model: 'gpt-ok',
        messages: ask('my password is x'),
        stream,
      }) as Promise<unknown>,
      { instanceOf: OpenAI.APIError },
    );
    t.is(error?.status, 446);
    t.is(error?.type, 'hooks_failed');
    t.is(error?.code, 'guardrail_denied');
  }
  t.deepEqual(calls(), [0, 0]);
});

test('a denied answer of the first provider moves on, whole and streamed; the last one’s is an error', async (t) => {
  const guarded = (word: string) => (host: string) => ({
    provider: 'openai',
    api_key: 'k',
    custom_host: host,
    output_guardrails: [none(word, { deny: true })],
  });
  const [denying, passing] = [guarded('Hello'), guarded('nothing')];
  const moves = client('unused', {
    targets: [denying(first.origin), passing(second.origin)],
  });
  const whole = await moves.sdk.chat.completions.create({ model: 'gpt-ok', messages: ask('hi') });
  t.is(whole.choices[0]?.message.content, CONTENT);
  const stream = await streamed(moves.sdk, 'hello');
  t.is(stream.text, CONTENT);
  t.is(stream.headers.get('x-gateway-last-used-option-index'), 'config.targets[1]');
  const { sdk } = client('unused', { targets: [denying(first.origin), denying(second.origin)] });
  for (const one of [
    sdk.chat.completions.create({ model: 'gpt-ok', messages: ask('hi') }),
    streamed(sdk, 'hi'),
  ]) {
    const error = await t.throwsAsync(one as Promise<unknown>, { instanceOf: OpenAI.APIError });
    t.is(error?.status, 446);
  }
});

test('a stream that breaks behind its first content is thrown, kept by nobody', async (t) => {
  const { sdk, calls } = client('stream-error-later', { output_guardrails: [] });
  for (let i = 1; i <= 2; i++) {
    const error = await t.throwsAsync(streamed(sdk, 'hi'), { instanceOf: OpenAI.APIError });
    t.regex(String(error?.message), /broke in the middle/);
    t.deepEqual(calls(), [i, 0]);
  }
});

test('all providers failing is the last one’s error', async (t) => {
  const { sdk, calls } = client('status-500');
  const error = await t.throwsAsync(
    sdk.chat.completions.create({ model: 'status-429', messages: ask('hi') }),
    { instanceOf: OpenAI.RateLimitError },
  );
  t.is(error?.headers?.get('retry-after'), '7');
  t.deepEqual(calls(), [1, 1]);
});
