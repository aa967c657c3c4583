// The AI SDK and LangChain on Responses, unchanged, against a provider that publishes them and against one that only chats.
import { createOpenAI } from '@ai-sdk/openai';
import { HumanMessage } from '@langchain/core/messages';
import { tool as chainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway(), startFakeProvider()]);
});
test.after.always(async () => {
  await provider?.close();
  await gateway?.close();
});

const TEXT = 'Hello, wörld! 👋';
const headersOf = (wire: string): Record<string, string> => ({
  'x-gateway-config': JSON.stringify({
    provider: wire,
    api_key: 'sk-of-the-provider',
    custom_host: `${provider.origin}/v1`,
  }),
});
const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
};

for (const wire of ['openai', 'openai-compatible']) {
  const model = () =>
    createOpenAI({
      baseURL: `${gateway.origin}/v1`,
      apiKey: WORKSPACE_KEY,
      headers: headersOf(wire),
    }).responses('gpt-ok');

  test(`${wire}: the AI SDK, whole and streamed`, async (t) => {
    t.is((await generateText({ model: model(), prompt: 'hi' })).text, TEXT);
    const streamed = streamText({ model: model(), prompt: 'hi' });
    t.is(await streamed.text, TEXT);
    t.is(await streamed.finishReason, 'stop');
    t.is((await streamed.usage).inputTokens, 11);
  });

  test(`${wire}: the AI SDK calls a tool and goes on by references to kept items`, async (t) => {
    const cities: string[] = [];
    const weather = tool({
      inputSchema: jsonSchema<{ city: string }>(parameters),
      execute: ({ city }) => {
        cities.push(city);
        return 'sunny';
      },
    });
    const result = streamText({
      model: model(),
      prompt: 'weather?',
      tools: { weather },
      stopWhen: stepCountIs(2),
    });
    await result.consumeStream();
    t.is((await result.steps).length, 2);
    t.true(cities.includes('Zürich'));
    const sent = JSON.parse(
      String(provider.seen.findLast(({ body }) => String(body).includes('sunny'))?.body),
    );
    t.true(JSON.stringify(sent).includes('sunny'));
  });

  test(`${wire}: LangChain, whole, streamed and with a tool`, async (t) => {
    const chain = new ChatOpenAI({
      model: 'gpt-ok',
      apiKey: WORKSPACE_KEY,
      useResponsesApi: true,
      maxRetries: 0,
      configuration: { baseURL: `${gateway.origin}/v1`, defaultHeaders: headersOf(wire) },
    });
    const answer = await chain.invoke([new HumanMessage('hi')]);
    t.is(answer.text, TEXT);
    let text = '';
    for await (const piece of await chain.stream('hi')) text += piece.text;
    t.is(text, TEXT);
    const weather = chainTool(() => 'sunny', {
      name: 'weather',
      description: 'the weather',
      schema: parameters,
    });
    const called = await chain.bindTools([weather]).invoke('weather?');
    t.is(called.tool_calls?.[0]?.name, 'weather');
    t.deepEqual(called.tool_calls?.[0]?.args, { city: 'Zürich' });
  });
}
