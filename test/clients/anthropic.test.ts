// The @anthropic-ai/sdk npm SDK, unchanged, against the gateway: over Anthropic's wire and over OpenAI's.
import Anthropic from '@anthropic-ai/sdk';
import test from 'ava';
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
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'hi' }];
let count = 0;

/** A client with the gateway's key as its own. */
function client(wire: 'anthropic' | 'openai', headers: Record<string, string> = {}): Anthropic {
  return new Anthropic({
    baseURL: gateway.origin,
    apiKey: null,
    authToken: 'sk-of-the-provider',
    maxRetries: 0,
    defaultHeaders: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': wire,
      'x-gateway-custom-host': `${provider.origin}/sdk-${++count}${wire === 'anthropic' ? '/v1' : ''}`,
      ...headers,
    },
  });
}

const MODELS = { anthropic: 'claude-ok', openai: 'gpt-ok' } as const;

for (const wire of ['anthropic', 'openai'] as const) {
  test(`a whole answer over ${wire}`, async (t) => {
    const message = await client(wire).messages.create({ model: MODELS[wire], max_tokens: 100, messages });
    t.deepEqual(
      message.content.map((block) => (block.type === 'text' ? block.text : block.type)),
      [CONTENT],
    );
    t.is(message.stop_reason, 'end_turn');
    t.is(message.role, 'assistant');
    t.true(message.usage.input_tokens > 0);
    t.truthy(message._request_id);
  });

  test(`a streamed answer over ${wire}`, async (t) => {
    const stream = client(wire).messages.stream({ model: MODELS[wire], max_tokens: 100, messages });
    let text = '';
    stream.on('text', (piece) => {
      text += piece;
    });
    const message = await stream.finalMessage();
    t.is(text, CONTENT);
    t.is(message.stop_reason, 'end_turn');
    t.true(message.usage.input_tokens > 0);
    t.true(message.usage.output_tokens > 0);
  });
}

test('its files go as they are: no purpose, and the provider’s own object', async (t) => {
  const own = client('anthropic');
  const file = new File([Buffer.from('of a file, wörld')], 'notes.txt', { type: 'text/plain' });
  // The fake provider has no files: what counts is what it was asked.
  await t.throwsAsync(own.beta.files.upload({ file }), { message: /nothing at/ });
  const sent = provider.seen.findLast(({ url }) => url.includes('/files'))!;
  t.regex(sent.url, /^\/sdk-\d+\/v1\/files/);
  t.is(sent.method, 'POST');
  t.true(sent.body.toString('utf8').includes('of a file, wörld'));
  t.false(sent.body.toString('utf8').includes('purpose'));
  t.truthy(sent.headers['anthropic-version']);
  await t.throwsAsync(async () => own.beta.files.list(), { message: /nothing at/ });
  t.is(provider.seen.findLast(({ url }) => url.includes('/files'))!.method, 'GET');
});
