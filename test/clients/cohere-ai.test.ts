// The cohere-ai npm SDK, unchanged, against the gateway: by base URL and key, over Cohere's own paths. And the AI SDK, by
// chat completions, against the same provider.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, streamText, tool } from 'ai';
import test from 'ava';
import { CohereClientV2, CohereError } from 'cohere-ai';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const GOLDEN = join(import.meta.dirname, '../providers/golden/cohere');
const golden = (file: string): string => readFileSync(join(GOLDEN, file), 'utf8');

interface Sent {
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

let gateway: TestGateway;
let cohere: http.Server;
const sent: Sent[] = [];
test.before(async () => {
  cohere = http.createServer(async (req, res) => {
    let text = '';
    for await (const piece of req) text += String(piece);
    const body = JSON.parse(text || '{}') as Record<string, unknown>;
    sent.push({ url: req.url ?? '', headers: req.headers, body });
    const answer = (json: string, status = 200) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(json);
    const kind = Array.isArray(body.tools) ? 'tools' : 'text';
    if (body.model === 'no-such-model') return answer('{"id":"e","message":"model not found"}', 404);
    if (req.url === '/v2/embed') return answer(golden('embeddings/provider-response.json'));
    if (req.url === '/v2/rerank') return answer(golden('rerank/provider-response.json'));
    if (req.url !== '/v2/chat') return answer('{"message":"no such path"}', 405);
    if (body.stream !== true) return answer(golden(`${kind}/provider-response.json`));
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of golden(`${kind}/stream.sse`).split('\n\n')) res.write(`${event}\n\n`);
    return res.end();
  });
  await new Promise<void>((resolve) => cohere.listen(0, '127.0.0.1', resolve));
  gateway = await startGateway();
});
test.beforeEach(() => void sent.splice(0));
test.after.always(async () => {
  await gateway?.close();
  cohere?.close();
});

const config = (): string =>
  JSON.stringify({
    provider: 'cohere',
    api_key: 'co-of-the-provider',
    custom_host: `http://127.0.0.1:${(cohere.address() as AddressInfo).port}`,
  });

const client = (path = '') =>
  new CohereClientV2({
    token: WORKSPACE_KEY,
    baseUrl: gateway.origin + path,
    headers: { 'x-gateway-config': config() },
    maxRetries: 0,
  });

const MESSAGES = [{ role: 'user' as const, content: 'Weather in Paris?' }];
const TOOLS = [
  {
    type: 'function' as const,
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];
const MODEL = 'command-a-03-2025';

for (const path of ['', '/v1/proxy'])
  test.serial(`a whole answer, with the provider’s key and never the gateway’s${path}`, async (t) => {
    const { message, finishReason, usage } = await client(path).chat({ model: MODEL, messages: MESSAGES });
    t.is(message.role, 'assistant');
    t.true((message.content?.length ?? 0) > 0);
    t.is(finishReason, 'COMPLETE');
    t.true((usage?.billedUnits?.inputTokens ?? 0) > 0);
    t.is(sent[0]?.url, '/v2/chat');
    t.is(sent[0]?.headers.authorization, 'Bearer co-of-the-provider');
    t.false(JSON.stringify(sent).includes(WORKSPACE_KEY));
  });

test.serial('a streamed answer', async (t) => {
  const kinds: string[] = [];
  let text = '';
  for await (const event of await client().chatStream({ model: MODEL, messages: MESSAGES })) {
    kinds.push(event.type ?? '');
    if (event.type === 'content-delta') text += event.delta?.message?.content?.text ?? '';
  }
  t.is(kinds[0], 'message-start');
  t.is(kinds.at(-1), 'message-end');
  t.true(text.length > 0);
});

test.serial('tools, whole and streamed, and their results', async (t) => {
  const { message, finishReason } = await client().chat({ model: MODEL, messages: MESSAGES, tools: TOOLS });
  t.is(finishReason, 'TOOL_CALL');
  const calls = message.toolCalls ?? [];
  t.true(calls.length > 0);
  t.is(calls[0]?.function?.name, 'get_weather');

  const streamed: { id: string; name: string; text: string }[] = [];
  for await (const event of await client().chatStream({ model: MODEL, messages: MESSAGES, tools: TOOLS })) {
    const call = 'delta' in event ? (event.delta as Delta)?.message?.toolCalls : undefined;
    if (event.type === 'tool-call-start')
      streamed.push({ id: call?.id ?? '', name: call?.function?.name ?? '', text: '' });
    if (event.type === 'tool-call-delta') streamed.at(-1)!.text += call?.function?.arguments ?? '';
  }
  t.deepEqual(
    streamed.map(({ id, name, text }) => [id, name, text]),
    [
      ['get_weather_a', 'get_weather', '{"city":"Paris"}'],
      ['get_weather_b', 'get_weather', ''],
    ],
  );

  await client().chat({
    model: MODEL,
    messages: [
      ...MESSAGES,
      { role: 'assistant', toolCalls: calls, toolPlan: message.toolPlan },
      { role: 'tool', toolCallId: calls[0]!.id, content: 'sunny' },
    ],
  });
  const back = sent.at(-1)?.body.messages as Record<string, unknown>[];
  t.is(back[2]?.tool_call_id, calls[0]?.id);
});

interface Delta {
  readonly message?: {
    readonly toolCalls?: { readonly id?: string; readonly function?: { name?: string; arguments?: string } };
  };
}

test.serial('embeddings and rerank', async (t) => {
  const { embeddings } = await client().embed({
    model: 'embed-v4.0',
    inputType: 'search_document',
    embeddingTypes: ['float'],
    texts: ['a', 'b'],
  });
  t.true((embeddings.float?.length ?? 0) > 0);
  const { results } = await client().rerank({ model: 'rerank-v3.5', query: 'q', documents: ['a', 'b'] });
  t.true(results.length > 0);
  t.is(typeof results[0]?.relevanceScore, 'number');
});

test.serial('an error is the provider’s, by its status', async (t) => {
  const error = await t.throwsAsync(client().chat({ model: 'no-such-model', messages: MESSAGES }), {
    instanceOf: CohereError,
  });
  t.is((error as CohereError | undefined)?.statusCode, 404);
  t.regex(error?.message ?? '', /model not found/);
});

const ai = () =>
  createOpenAI({
    baseURL: `${gateway.origin}/v1`,
    apiKey: WORKSPACE_KEY,
    headers: { 'x-gateway-config': config() },
  }).chat(MODEL);

test.serial('the AI SDK by chat completions, whole and streamed, with tools', async (t) => {
  t.true((await generateText({ model: ai(), prompt: 'hi' })).text.length > 0);
  const streamed = streamText({ model: ai(), prompt: 'hi' });
  t.true((await streamed.text).length > 0);
  t.is(await streamed.finishReason, 'stop');
  const schema = jsonSchema<{ city?: string }>({ type: 'object', properties: { city: { type: 'string' } } });
  const weather = tool({ inputSchema: schema });
  const whole = await generateText({ model: ai(), prompt: 'hi', tools: { get_weather: weather } });
  t.true(whole.toolCalls.length > 0);
  const calls = await streamText({ model: ai(), prompt: 'hi', tools: { get_weather: weather } }).toolCalls;
  t.deepEqual(
    calls.map(({ toolName, input }) => [toolName, input]),
    [
      ['get_weather', { city: 'Paris' }],
      ['get_weather', {}],
    ],
  );
});
