// The @google/genai npm SDK, unchanged, against the gateway: over Google's own wire and over OpenAI's.
import { ApiError, FinishReason, FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai';
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
const MODELS = { google: 'gemini-2.5-pro', openai: 'gpt-ok' } as const;
type Wire = keyof typeof MODELS;
let count = 0;

/** A client with the gateway's key as Google's. */
function client(wire: Wire, headers: Record<string, string> = {}): GoogleGenAI {
  return new GoogleGenAI({
    apiKey: WORKSPACE_KEY,
    httpOptions: {
      baseUrl: gateway.origin,
      headers: {
        authorization: 'Bearer sk-of-the-provider',
        'x-gateway-provider': wire,
        'x-gateway-custom-host': `${provider.origin}/genai-${++count}`,
        ...headers,
      },
    },
  });
}

const CONFIG = {
  tools: [
    {
      functionDeclarations: [
        {
          name: 'weather',
          description: 'The weather of a city',
          parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
        },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
};

for (const wire of ['google', 'openai'] as const) {
  const model = MODELS[wire];

  test(`a whole answer over ${wire}`, async (t) => {
    const response = await client(wire).models.generateContent({
      model,
      contents: 'hi',
      config: { systemInstruction: 'Be kind', temperature: 0.5, maxOutputTokens: 100 },
    });
    t.is(response.text, CONTENT);
    t.is(response.candidates?.[0]?.finishReason, FinishReason.STOP);
    t.is(response.modelVersion, model);
    const { promptTokenCount = 0, totalTokenCount = 0 } = response.usageMetadata ?? {};
    t.is(promptTokenCount, 11);
    t.is(totalTokenCount, 18);
    t.falsy(
      provider.seen.some(({ url, headers }) => `${url} ${JSON.stringify(headers)}`.includes(WORKSPACE_KEY)),
    );
  });

  test(`a streamed answer over ${wire}`, async (t) => {
    const stream = await client(wire).models.generateContentStream({ model, contents: 'hi' });
    let text = '';
    let reason: FinishReason | undefined;
    let total = 0;
    let pieces = 0;
    for await (const piece of stream) {
      pieces++;
      text += piece.text ?? '';
      reason = piece.candidates?.[0]?.finishReason ?? reason;
      total = piece.usageMetadata?.totalTokenCount ?? total;
    }
    t.is(text, CONTENT);
    t.true(pieces > 1);
    t.is(reason, FinishReason.STOP);
    t.is(total, 18);
  });

  test(`tools and their results, streamed, over ${wire}`, async (t) => {
    const genai = client(wire);
    const own = `/genai-${count}/`;
    const calls = [];
    const parts = [];
    for await (const piece of await genai.models.generateContentStream({
      model,
      contents: 'hi',
      config: CONFIG,
    })) {
      calls.push(...(piece.functionCalls ?? []));
      parts.push(...(piece.candidates?.[0]?.content?.parts ?? []));
    }
    t.deepEqual(
      calls.map(({ name, args }) => [name, args]),
      [
        ['weather', { city: 'Zürich' }],
        ['weather', { city: 'Bern' }],
      ],
    );
    const answers = calls.map(({ id, name }) => ({
      functionResponse: { ...(id === undefined ? {} : { id }), name: name!, response: { output: 'sunny' } },
    }));
    const { tools } = CONFIG;
    const second = await genai.models.generateContent({
      model,
      contents: [
        { role: 'user', parts: [{ text: 'hi' }] },
        { role: 'model', parts },
        { role: 'user', parts: answers },
      ],
      config: wire === 'google' ? { tools } : {},
    });
    t.is(second.text, CONTENT);
    const text = String(provider.seen.filter(({ url }) => url.startsWith(own)).at(-1)?.body);
    t.is(text.split('sunny').length, 3, 'both results are sent');
    if (wire === 'google') t.true(text.includes('c2lnbmF0dXJl'), 'the signature comes back');
    else t.false(text.includes('functionCall'));
  });
}

test('tokens are counted by the provider, or by the gateway', async (t) => {
  const counted = await client('google').models.countTokens({ model: MODELS.google, contents: 'hi' });
  t.is(counted.totalTokens, 42);
  const estimated = await client('openai').models.countTokens({ model: 'gpt-ok', contents: 'hello there' });
  t.true((estimated.totalTokens ?? 0) >= 2);
});

for (const wire of ['google', 'openai'] as const)
  test(`embeddings over ${wire}`, async (t) => {
    const { embeddings = [] } = await client(wire).models.embedContent({
      model: wire === 'google' ? 'gemini-embedding-001' : 'text-embedding-3-small',
      contents: ['one', 'two'],
    });
    t.is(embeddings.length, 2);
    t.deepEqual(
      embeddings[1]?.values?.map((n) => Math.round(n * 100) / 100),
      [0.1, -0.25, 3],
    );
  });

test('errors have the form that the SDK reads', async (t) => {
  const refused = await t.throwsAsync(
    client('google').models.generateContent({ model: 'status-429', contents: 'hi' }),
    { instanceOf: ApiError },
  );
  t.is(refused?.status, 429);
  t.regex(String(refused?.message), /RESOURCE_EXHAUSTED/);
  const invalid = await t.throwsAsync(
    client('openai').models.generateContent({ model: 'gpt-ok', contents: 'hi', config: { temperature: 3 } }),
    { instanceOf: ApiError },
  );
  t.is(invalid?.status, 400);
  t.regex(String(invalid?.message), /generationConfig\.temperature/);
  const stranger = new GoogleGenAI({ apiKey: 'no-such-key', httpOptions: { baseUrl: gateway.origin } });
  const unknown = await t.throwsAsync(stranger.models.generateContent({ model: 'gpt-ok', contents: 'hi' }), {
    instanceOf: ApiError,
  });
  t.is(unknown?.status, 401);
  t.regex(String(unknown?.message), /UNAUTHENTICATED/);
});
