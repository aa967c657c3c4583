// A long request is translated and written in turns of its own: the provider gets what it would get of a short one.
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

const SHORT = 'a text';
/** Pairs, escapes and letters of each length in UTF-8, at each offset of the pieces in which it is written. */
const LONG = `${'é漢😀"\\\n\u2028'.repeat(40_000)}${'😀'.repeat(100_000)}`;

/** Requests of each form with one text. */
const FORMS: Readonly<Record<string, readonly [path: string, (text: string) => object]>> = {
  chat: ['/chat/completions', (text) => ({ messages: [{ role: 'user', content: text }] })],
  'chat, renamed': [
    '/chat/completions',
    (text) => ({ messages: [{ role: 'user', content: text }], max_completion_tokens: 9 }),
  ],
  'chat, streamed': [
    '/chat/completions',
    (text) => ({ stream: true, messages: [{ role: 'user', content: text }] }),
  ],
  messages: ['/messages', (text) => ({ max_tokens: 9, messages: [{ role: 'user', content: text }] })],
  'messages, streamed': [
    '/messages',
    (text) => ({ stream: true, max_tokens: 9, messages: [{ role: 'user', content: text }] }),
  ],
  responses: ['/responses', (text) => ({ input: text, store: false })],
  gemini: ['/models/gpt-ok:generateContent', (text) => ({ contents: [{ role: 'user', parts: [{ text }] }] })],
  converse: ['/model/gpt-ok/converse', (text) => ({ messages: [{ role: 'user', content: [{ text }] }] })],
};
const AWS = { aws_access_key_id: 'a', aws_secret_access_key: 'b', aws_region: 'us-east-1' };
const WIRES: Readonly<Record<string, object>> = {
  openai: { api_key: 'k' },
  ollama: {},
  anthropic: { api_key: 'k' },
  google: { api_key: 'k' },
  bedrock: AWS,
  cohere: { api_key: 'k' },
};

async function sentOf(wire: string, form: string, text: string): Promise<string> {
  const [path, bodyOf] = FORMS[form]!;
  const mark = `${wire}, ${form}, ${text.length}`;
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-config': JSON.stringify({
        provider: wire,
        custom_host: provider.origin,
        forward_headers: ['x-mark'],
        ...WIRES[wire],
      }),
      'x-mark': mark,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'gpt-ok', ...bodyOf(text) }),
  });
  await answer.text();
  const seen = provider.seen.find(({ headers }) => headers['x-mark'] === mark);
  if (seen === undefined) throw new Error(`${mark}: nothing was sent, the answer is ${answer.status}`);
  return seen.body.toString('utf8');
}

for (const wire of Object.keys(WIRES))
  for (const form of Object.keys(FORMS))
    test(`${form} at ${wire}: a long text arrives as a short one does`, async (t) => {
      const short = await sentOf(wire, form, SHORT);
      const long = await sentOf(wire, form, LONG);
      t.is(short.split(JSON.stringify(SHORT)).length, 2, 'the text is sent once');
      t.true(long === short.replace(JSON.stringify(SHORT), () => JSON.stringify(LONG)));
    });
