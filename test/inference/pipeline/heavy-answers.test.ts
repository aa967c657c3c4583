// A provider's whole answers that are cheap to send and expensive to read are refused before they are read.
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../../support/gateway.ts';

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

async function asked(path: string, body: object, answer: string, status = 200): Promise<Response> {
  provider.next(`/heavy${path}`, (_req, res) => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(answer);
  });
  return fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': `${provider.origin}/heavy`,
      authorization: 'Bearer sk-x',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'm', ...body }),
  });
}

const chat = { messages: [{ role: 'user', content: 'x' }] };
const completion = (extra: string): string =>
  `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2},"extra":${extra}}`;

test('an answer with too many items is a 502 that says so, and a long one is read', async (t) => {
  const heavy = await asked('/chat/completions', chat, completion(`[${'{},'.repeat(500_000)}{}]`));
  t.is(heavy.status, 502);
  t.regex(await heavy.text(), /too many members and items/);
  const names = Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join();
  t.is((await asked('/chat/completions', chat, completion(`{${names}}`))).status, 502);
  const long = await asked('/chat/completions', chat, completion(JSON.stringify('x, '.repeat(3_000_000))));
  t.is(long.status, 200);
  await long.arrayBuffer();
});

test('two million numbers of vectors are an answer', async (t) => {
  const vector = `[${'0.25,'.repeat(1499)}0.25]`;
  const data = Array.from(
    { length: 1400 },
    (_, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`,
  );
  const answer = `{"object":"list","model":"m","data":[${data.join()}],"usage":{"prompt_tokens":1,"total_tokens":1}}`;
  const { status } = await asked('/embeddings', { input: 'x' }, answer);
  t.is(status, 200);
});

test('a refusal of many megabytes keeps its status', async (t) => {
  const { status } = await asked('/chat/completions', chat, `[${'{},'.repeat(1_000_000)}{}]`, 418);
  t.is(status, 418);
});
