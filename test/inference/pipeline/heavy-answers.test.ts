// A provider's whole answers that are cheap to send and expensive to read are refused before they are read; long ones are read
// on a thread of their own, and say the same as short ones.
import test from 'ava';
import { eventually } from '../../support/eventually.ts';
import { type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../../support/gateway.ts';

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

/** @param at the provider, and the path that it is asked at */
async function asked(
  path: string,
  body: object,
  answer: string,
  status = 200,
  at: { readonly provider: string; readonly path: string; readonly headers?: Record<string, string> } = {
    provider: 'openai',
    path,
  },
): Promise<Response> {
  provider.next(`/heavy${at.path}`, (_req, res) => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(answer);
  });
  return fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      ...(at.headers ?? {
        'x-gateway-provider': at.provider,
        'x-gateway-custom-host': `${provider.origin}/heavy`,
        authorization: 'Bearer sk-x',
      }),
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'm', ...body }),
  });
}

const chat = { messages: [{ role: 'user', content: 'x' }] };
const completion = (extra: string): string =>
  `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2},"extra":${extra}}`;

test.serial('an answer with too many items is a 502 that says so, and a long one is read', async (t) => {
  const heavy = await asked('/chat/completions', chat, completion(`[${'{},'.repeat(500_000)}{}]`));
  t.is(heavy.status, 502);
  t.regex(await heavy.text(), /too many members and items/);
  const names = Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join();
  t.is((await asked('/chat/completions', chat, completion(`{${names}}`))).status, 502);
  const long = await asked('/chat/completions', chat, completion(JSON.stringify('x, '.repeat(3_000_000))));
  t.is(long.status, 200);
  await long.arrayBuffer();
});

test.serial('two million numbers of vectors are an answer', async (t) => {
  const vector = `[${'0.25,'.repeat(1499)}0.25]`;
  const data = Array.from(
    { length: 1400 },
    (_, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`,
  );
  const answer = `{"object":"list","model":"m","data":[${data.join()}],"usage":{"prompt_tokens":1,"total_tokens":1}}`;
  const { status } = await asked('/embeddings', { input: 'x' }, answer);
  t.is(status, 200);
});

test.serial('a refusal of many megabytes keeps its status', async (t) => {
  const { status } = await asked('/chat/completions', chat, `[${'{},'.repeat(1_000_000)}{}]`, 418);
  t.is(status, 418);
});

/** Longer than what is read on the event loop. */
const LONG = 'é\n'.repeat(1_200_000);
const anthropic = (content: string): string =>
  JSON.stringify({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [{ type: 'text', text: content }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 7, output_tokens: 3, service_tier: 'priority' },
  });

test.serial('a long answer says the same as a short one, translated and as it came', async (t) => {
  const at = { provider: 'anthropic', path: '/messages' };
  const told = async (content: string) =>
    JSON.parse(await (await asked('/chat/completions', chat, anthropic(content), 200, at)).text());
  const [long, short] = [await told(LONG), await told('short')];
  t.true(long.choices[0].message.content === LONG, 'the text is as it was');
  long.choices[0].message.content = 'short';
  t.deepEqual({ ...long, created: 0 }, { ...short, created: 0 });
  const same = completion(JSON.stringify(LONG)).replace('{"id"', ' {"id"');
  t.true((await (await asked('/chat/completions', chat, same)).text()) === same, 'the same bytes');
});

test.serial('what is wrong with a long answer is said as of a short one', async (t) => {
  const broken = await asked('/chat/completions', chat, `{"a":"${'x'.repeat(3_000_000)}`);
  t.is(broken.status, 502);
  t.regex(await broken.text(), /not JSON/);
  const error = { error: { message: 'no room', type: 'server_error' }, more: LONG };
  const inside = await asked('/chat/completions', chat, JSON.stringify(error));
  t.true(inside.status >= 400);
  t.regex(await inside.text(), /no room/);
});

test.serial('a long answer that is nested too deeply to be translated is a 502', async (t) => {
  const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`;
  const tool = `{"type":"tool_use","id":"t","name":"n","input":{"a":${deep}}}`;
  const answer = anthropic('hi').replace('"content":[', `"content":[${tool},`);
  const at = { provider: 'anthropic', path: '/messages' };
  const { status } = await asked('/chat/completions', chat, answer, 200, at);
  t.is(status, 502);
});

test.serial('usage of long answers is booked as reported, and estimated where it is not', async (t) => {
  const entryOf = (id: string | null) =>
    eventually('the entry', async () => {
      const answer = await fetch(`${gateway.origin}/v1/logs?page_size=50`, {
        headers: { 'x-gateway-api-key': ADMIN_KEY },
      });
      const { data } = (await answer.json()) as {
        data: { id: string; usage: object; usage_estimated?: boolean }[];
      };
      return data.find((entry) => entry.id === id);
    });
  const at = { provider: 'anthropic', path: '/messages' };
  const told = await asked('/chat/completions', chat, anthropic(LONG), 200, at);
  await told.arrayBuffer();
  t.like(await entryOf(told.headers.get('x-gateway-request-id')), {
    usage: { prompt_tokens: 7, completion_tokens: 3 },
  });
  const untold = completion('1')
    .replace(/"usage":{[^}]*},/, '')
    .replace('"hi"', JSON.stringify(LONG));
  const answer = await asked('/chat/completions', chat, untold);
  await answer.arrayBuffer();
  const { usage, usage_estimated } = await entryOf(answer.headers.get('x-gateway-request-id'));
  t.true(usage_estimated);
  t.true((usage as { completion_tokens: number }).completion_tokens > 100_000);
});

test.serial(
  'an answer that is too long to be made anew goes out as it is, and is an error where it is read',
  async (t) => {
    const answer = completion('1').replace('"hi"', JSON.stringify('x'.repeat(22_000_000)));
    const whole = await asked('/chat/completions', chat, answer);
    t.is(whole.status, 200);
    t.is((await whole.arrayBuffer()).byteLength, answer.length);
    const streamed = await asked('/chat/completions', { ...chat, stream: true }, answer);
    t.is(streamed.status, 502);
    t.regex(await streamed.text(), /too long, or has too many members and items/);
    const checks = [{ id: 'contains', parameters: { words: ['zzz'], operator: 'none' } }];
    const guarded = await asked('/chat/completions', chat, answer, 200, {
      provider: 'openai',
      path: '/chat/completions',
      headers: {
        'x-gateway-config': JSON.stringify({
          provider: 'openai',
          api_key: 'k',
          custom_host: `${provider.origin}/heavy`,
          output_guardrails: [{ deny: true, checks }],
        }),
      },
    });
    t.is(guarded.status, 502);
    t.regex(await guarded.text(), /without guardrails of the answer/);
  },
);
