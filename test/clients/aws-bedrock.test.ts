// @aws-sdk/client-bedrock-runtime, unchanged, against the gateway: over Bedrock's own wire and over OpenAI's.
import {
  BedrockRuntimeClient,
  BedrockRuntimeServiceException,
  type ContentBlock,
  ConverseCommand,
  ConverseStreamCommand,
  type ConverseStreamOutput,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
  type Message,
  type ToolConfiguration,
} from '@aws-sdk/client-bedrock-runtime';
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
const MODELS = { bedrock: 'anthropic.claude-sonnet-4-v1:0', openai: 'gpt-ok' } as const;
type Wire = keyof typeof MODELS;
const messages: Message[] = [{ role: 'user', content: [{ text: 'hi' }] }];
const toolConfig: ToolConfiguration = {
  tools: [
    {
      toolSpec: {
        name: 'weather',
        inputSchema: { json: { type: 'object', properties: { city: { type: 'string' } } } },
      },
    },
  ],
};
let count = 0;

/** A client whose bearer token is the gateway's key. */
function client(wire: Wire, token = WORKSPACE_KEY): BedrockRuntimeClient {
  const bedrock = new BedrockRuntimeClient({
    region: 'us-east-1',
    endpoint: gateway.origin,
    token: { token },
    authSchemePreference: ['httpBearerAuth'],
    maxAttempts: 1,
  });
  const host = `${provider.origin}/aws-${++count}`;
  bedrock.middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      headers['x-gateway-provider'] = wire;
      headers['x-gateway-custom-host'] = host;
      headers['x-gateway-aws-region'] = 'us-east-1';
      headers['x-api-key'] = 'key-of-the-provider';
      return next(args);
    },
    { step: 'build' },
  );
  return bedrock;
}

for (const wire of ['bedrock', 'openai'] as const) {
  const modelId = MODELS[wire];

  test(`Converse over ${wire}`, async (t) => {
    const answer = await client(wire).send(
      new ConverseCommand({
        modelId,
        messages,
        system: [{ text: 'Be kind' }],
        inferenceConfig: { maxTokens: 100 },
      }),
    );
    t.deepEqual(answer.output?.message, { role: 'assistant', content: [{ text: CONTENT }] });
    t.is(answer.stopReason, 'end_turn');
    t.is(answer.usage?.totalTokens, 18);
    t.is(answer.usage?.cacheReadInputTokens, 3);
    t.falsy(provider.seen.some(({ headers }) => JSON.stringify(headers).includes(WORKSPACE_KEY)));
  });

  test(`ConverseStream over ${wire}`, async (t) => {
    const { stream } = await client(wire).send(new ConverseStreamCommand({ modelId, messages }));
    const events = await all(stream);
    t.is(events[0]?.messageStart?.role, 'assistant');
    t.is(events.map(({ contentBlockDelta: d }) => d?.delta?.text ?? '').join(''), CONTENT);
    t.is(events.at(-2)?.messageStop?.stopReason, 'end_turn');
    t.is(events.at(-1)?.metadata?.usage?.totalTokens, 18);
  });

  test(`tools and their results, streamed, over ${wire}`, async (t) => {
    const bedrock = client(wire);
    const own = `/aws-${count}/`;
    const { stream } = await bedrock.send(new ConverseStreamCommand({ modelId, messages, toolConfig }));
    const content = foldedCalls(await all(stream));
    t.deepEqual(
      content.map(({ toolUse }) => [toolUse?.name, toolUse?.input]),
      [
        ['weather', { city: 'Zürich' }],
        ['weather', { city: 'Bern' }],
      ],
    );
    const results: ContentBlock[] = content.map(({ toolUse }) => ({
      toolResult: { toolUseId: toolUse?.toolUseId, content: [{ text: 'sunny' }] },
    }));
    const second = await bedrock.send(
      new ConverseCommand({
        modelId,
        messages: [...messages, { role: 'assistant', content }, { role: 'user', content: results }],
        ...(wire === 'bedrock' ? { toolConfig } : {}),
      }),
    );
    t.deepEqual(second.output?.message?.content, [{ text: CONTENT }]);
    t.is(
      String(provider.seen.filter(({ url }) => url.startsWith(own)).at(-1)?.body).split('sunny').length,
      3,
      'both results are sent',
    );
  });

  test(`InvokeModel with a body of Anthropic’s over ${wire}`, async (t) => {
    const body = JSON.stringify({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hi' }],
    });
    const whole = await client(wire).send(
      new InvokeModelCommand({ modelId, body, contentType: 'application/json' }),
    );
    const answer = JSON.parse(whole.body.transformToString()) as Record<string, unknown>;
    t.deepEqual(answer.content, [{ type: 'text', text: CONTENT }]);
    t.is(answer.stop_reason, 'end_turn');
    const streamed = await client(wire).send(new InvokeModelWithResponseStreamCommand({ modelId, body }));
    let text = '';
    for await (const { chunk } of streamed.body ?? []) {
      const event = JSON.parse(Buffer.from(chunk?.bytes ?? []).toString('utf8')) as {
        delta?: { text?: string };
      };
      text += event.delta?.text ?? '';
    }
    t.is(text, CONTENT);
  });
}

test('a body that only Bedrock has is refused by name for others', async (t) => {
  const body = JSON.stringify({ inputText: 'hi' });
  const error = await t.throwsAsync(
    client('openai').send(new InvokeModelCommand({ modelId: 'gpt-ok', body })),
    { instanceOf: BedrockRuntimeServiceException },
  );
  t.is(error?.name, 'ValidationException');
  t.regex(String(error?.message), /messages: .*Bedrock alone/);
});

test('errors have the form that the SDK reads', async (t) => {
  const refused = await t.throwsAsync(
    client('openai').send(new ConverseCommand({ modelId: 'status-429', messages })),
    { instanceOf: BedrockRuntimeServiceException },
  );
  t.is(refused?.name, 'ThrottlingException');
  t.is(refused?.$metadata.httpStatusCode, 429);
  const invalid = await t.throwsAsync(
    client('openai').send(
      new ConverseCommand({ modelId: 'gpt-ok', messages, inferenceConfig: { temperature: 3 } }),
    ),
    { instanceOf: BedrockRuntimeServiceException },
  );
  t.is(invalid?.name, 'ValidationException');
  t.regex(String(invalid?.message), /inferenceConfig\.temperature/);
  const unknown = await t.throwsAsync(
    client('openai', 'no-such-key').send(new ConverseCommand({ modelId: 'gpt-ok', messages })),
    { instanceOf: BedrockRuntimeServiceException },
  );
  t.is(unknown?.$metadata.httpStatusCode, 401);
});

test('a stream that breaks ends in an exception of the stream', async (t) => {
  const { stream } = await client('openai').send(new ConverseStreamCommand({ modelId: 'cut', messages }));
  await t.throwsAsync(all(stream), { instanceOf: BedrockRuntimeServiceException });
});

async function all(stream: AsyncIterable<ConverseStreamOutput> | undefined): Promise<ConverseStreamOutput[]> {
  const events: ConverseStreamOutput[] = [];
  for await (const event of stream ?? []) events.push(event);
  return events;
}

function foldedCalls(events: readonly ConverseStreamOutput[]): ContentBlock[] {
  const calls: { toolUseId: string; name: string; text: string }[] = [];
  for (const { contentBlockStart: begun, contentBlockDelta: piece } of events) {
    const use = begun?.start?.toolUse;
    if (use !== undefined) calls.push({ toolUseId: use.toolUseId ?? '', name: use.name ?? '', text: '' });
    const last = calls.at(-1);
    if (last !== undefined) last.text += piece?.delta?.toolUse?.input ?? '';
  }
  return calls.map(({ text, ...use }) => ({ toolUse: { ...use, input: JSON.parse(text) } }));
}
