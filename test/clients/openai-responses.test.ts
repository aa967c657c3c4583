// The openai npm SDK's Responses, unchanged, against a provider that publishes them and against one that only chats.
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

const TEXT = 'Hello, wörld! 👋';
const WIRES = ['openai', 'openai-compatible', 'anthropic'] as const;
const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  parameters: { type: 'object' },
  strict: false,
};

function client(wire: string, headers: Record<string, string> = {}): OpenAI {
  return new OpenAI({
    baseURL: `${gateway.origin}/v1`,
    apiKey: WORKSPACE_KEY,
    maxRetries: 0,
    defaultHeaders: {
      'x-gateway-config': JSON.stringify({
        provider: wire,
        api_key: 'sk-of-the-provider',
        custom_host: `${provider.origin}/v1`,
      }),
      ...headers,
    },
  });
}

for (const wire of WIRES) {
  test(`${wire}: a whole answer`, async (t) => {
    const answer = await client(wire).responses.create({
      model: 'gpt-ok',
      input: 'hi',
      max_output_tokens: 64,
    });
    t.is(answer.output_text, TEXT);
    t.is(answer.status, 'completed');
    t.is(answer.object, 'response');
    t.true((answer.usage?.total_tokens ?? 0) > 0);
  });

  test(`${wire}: a streamed answer, put together by the SDK`, async (t) => {
    const stream = client(wire).responses.stream({ model: 'gpt-ok', input: 'hi' });
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => {
      text += delta;
    });
    const answer = await stream.finalResponse();
    t.is(text, TEXT);
    t.is(answer.output_text, TEXT);
    t.true((answer.usage?.total_tokens ?? 0) > 0);
  });

  test(`${wire}: a turn goes on from the one before, which can be read, listed and deleted`, async (t) => {
    const sdk = client(wire);
    const first = await sdk.responses.create({ model: 'gpt-ok', input: 'hi' });
    const second = await sdk.responses.create({
      model: 'gpt-ok',
      input: 'and now?',
      previous_response_id: first.id,
    });
    t.is(second.previous_response_id, first.id);
    t.is((await sdk.responses.retrieve(first.id)).id, first.id);
    const items = await sdk.responses.inputItems.list(second.id);
    t.true(items.data.length > 0);
    await sdk.responses.delete(first.id);
    const gone = await t.throwsAsync(sdk.responses.retrieve(first.id), { instanceOf: OpenAI.NotFoundError });
    t.is(gone?.status, 404);
  });

  test(`${wire}: what is not to be kept is not`, async (t) => {
    const sdk = client(wire);
    const { id } = await sdk.responses.create({ model: 'gpt-ok', input: 'hi', store: false });
    await t.throwsAsync(sdk.responses.retrieve(id), { instanceOf: OpenAI.NotFoundError });
    await t.throwsAsync(sdk.responses.create({ model: 'gpt-ok', input: 'x', previous_response_id: id }), {
      instanceOf: OpenAI.NotFoundError,
    });
  });
}

for (const wire of ['openai', 'openai-compatible'] as const) {
  test(`${wire}: a streamed call of a tool, and its answer`, async (t) => {
    const sdk = client(wire);
    const stream = sdk.responses.stream({ model: 'gpt-ok', input: 'weather?', tools: [weather] });
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    t.deepEqual(
      events.map(({ sequence_number: number }) => number),
      events.map((_, i) => i),
    );
    const answer = await stream.finalResponse();
    const [call] = answer.output;
    t.is(call?.type, 'function_call');
    if (call?.type !== 'function_call') return;
    t.is(call.name, 'weather');
    t.deepEqual(JSON.parse(call.arguments), { city: 'Zürich' });
    const outputs = answer.output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'sunny' }]
        : [],
    );
    const next = await sdk.responses.create({
      model: 'gpt-ok',
      input: outputs,
      previous_response_id: answer.id,
    });
    t.is(next.output_text, TEXT);
  });

  test(`${wire}: a stream that breaks ends with an event of the form`, async (t) => {
    const stream = await client(wire).responses.create({ model: 'cut', input: 'hi', stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    t.is(types[0], 'response.created');
    t.is(types.at(-1), 'response.failed');
  });
}

test('tools that only the provider of the API runs are left out, and refused by name where none may be', async (t) => {
  const tools = [weather, { type: 'web_search' as const }];
  const body = { model: 'gpt-ok', input: 'left out', tools };
  await client('openai-compatible').responses.create(body);
  const bodies = provider.seen.map(({ body }) => String(body));
  // Others run at the same time: this one's request has no bound and one tool.
  const sent = JSON.parse(bodies.findLast((body) => body.includes('"left out"')) ?? '{}');
  t.deepEqual(
    sent.tools.map(({ type }: { type: string }) => type),
    ['function'],
  );
  const error = await t.throwsAsync(
    client('openai-compatible', { 'x-gateway-strict-translation': 'true' }).responses.create(body),
    { instanceOf: OpenAI.BadRequestError },
  );
  t.regex(error?.message ?? '', /tools\[1\] \(web_search\)/);
});

test('a free-form tool comes back as it was asked', async (t) => {
  const sdk = client('openai-compatible');
  const stream = sdk.responses.stream({
    model: 'gpt-ok',
    input: 'x',
    tools: [{ type: 'custom', name: 'weather' }],
  });
  const { output } = await stream.finalResponse();
  t.is(output[0]?.type, 'custom_tool_call');
});

test('errors have OpenAI’s form', async (t) => {
  const sdk = client('anthropic');
  const background = await t.throwsAsync(
    sdk.responses.create({ model: 'gpt-ok', input: 'x', background: true, store: false }),
    { instanceOf: OpenAI.BadRequestError },
  );
  t.is(background?.param, 'background');
  const compact = await t.throwsAsync(sdk.responses.compact({ model: 'gpt-ok', input: 'x' }), {
    instanceOf: OpenAI.BadRequestError,
  });
  t.regex(compact?.message ?? '', /compact/);
  const { id } = await sdk.responses.create({ model: 'gpt-ok', input: 'x' });
  await t.throwsAsync(sdk.responses.cancel(id), { instanceOf: OpenAI.BadRequestError });
  const broken = await fetch(`${gateway.origin}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${WORKSPACE_KEY}`, 'content-type': 'application/json' },
    body: 'no json',
  });
  t.is(broken.status, 400);
  t.is(((await broken.json()) as { error: { type: string } }).error.type, 'invalid_request_error');
});
