// The official SDKs with options that few use, unchanged: typed streams and parsed answers, a runner of tools, betas, and
// conversations that go on elsewhere; over the wire that they know and over two others.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import test from 'ava';
import OpenAI from 'openai';
import { makeParseableTextFormat } from 'openai/lib/parser';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

type Json = Record<string, unknown>;

/** What a model says in one turn. */
interface Turn {
  readonly text?: string;
  readonly calls?: readonly (readonly [id: string, name: string, input: Json])[];
}

let gateway: TestGateway;
let server: http.Server;
let origin = '';
const turns = new Map<string, Turn[]>();
const asked = new Map<string, { readonly headers: http.IncomingHttpHeaders; readonly body: Json }[]>();

test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  server = http.createServer((req, res) => {
    const name = /\/s\/([^/]+)/.exec(req.url ?? '')?.[1] ?? '';
    let text = '';
    req.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    req.on('end', () => {
      const body = JSON.parse(text) as Json;
      asked.set(name, [...(asked.get(name) ?? []), { headers: req.headers, body }]);
      if (req.url?.includes('count_tokens')) {
        res.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":12}');
        return;
      }
      const { thread } = body as { thread?: { type: string; previous_message_id?: string } };
      if (name.startsWith('lost-') && thread?.type === 'continue') {
        res.writeHead(404, { 'content-type': 'application/json' });
        res.end(
          JSON.stringify({
            type: 'error',
            error: {
              type: 'not_found_error',
              message: 'no such thread',
              details: { error_code: 'thread_not_found' },
            },
          }),
        );
        return;
      }
      const turn = turns.get(name)?.shift() ?? { text: 'No more.' };
      const stream = body.stream === true || req.url?.includes('streamGenerate') === true;
      const wire = req.url?.includes('/messages')
        ? MESSAGES
        : req.url?.includes('enerateContent')
          ? GEMINI
          : CHAT;
      const [whole, events] = wire(turn);
      res.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      res.end(stream ? events.map(eventText).join('') : JSON.stringify(whole));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
test.after.always(async () => {
  await gateway?.close();
  server?.close();
  server?.closeAllConnections();
});

function eventText(event: Json | string): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  return `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`;
}

type Wire = (turn: Turn) => readonly [Json, readonly (Json | string)[]];

const CHAT: Wire = ({ text, calls = [] }) => {
  const head = { id: 'c1', created: 1, model: 'm' };
  const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
  const tools = calls.map(([id, name, input], index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  const finish = calls.length > 0 ? 'tool_calls' : 'stop';
  const message = {
    role: 'assistant',
    content: text ?? null,
    ...(calls.length > 0 ? { tool_calls: tools } : {}),
  };
  const chunk = (delta: Json, reason: string | null = null): Json => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const pieces = tools.flatMap((tool) => {
    const { arguments: given } = tool.function;
    return [
      chunk({ tool_calls: [{ ...tool, function: { ...tool.function, arguments: '' } }] }),
      ...[given.slice(0, 3), given.slice(3)].map((piece) =>
        chunk({ tool_calls: [{ index: tool.index, function: { arguments: piece } }] }),
      ),
    ];
  });
  return [
    { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage },
    [
      chunk({ role: 'assistant', content: text ?? '' }),
      ...pieces,
      chunk({}, finish),
      { ...head, object: 'chat.completion.chunk', choices: [], usage },
      '[DONE]',
    ],
  ];
};

const MESSAGES: Wire = ({ text, calls = [] }) => {
  const head = {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_sequence: null,
  };
  const usage = { input_tokens: 5, output_tokens: 3 };
  const reason = calls.length > 0 ? 'tool_use' : 'end_turn';
  const content: Json[] = [
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(([id, name, input]) => ({ type: 'tool_use', id, name, input })),
  ];
  return [
    { ...head, content, stop_reason: reason, usage },
    [
      { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage } },
      ...content.flatMap((block, index): Json[] => [
        {
          type: 'content_block_start',
          index,
          content_block: block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} },
        },
        {
          type: 'content_block_delta',
          index,
          delta:
            block.type === 'text'
              ? { type: 'text_delta', text: block.text }
              : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
        },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ],
  ];
};

const GEMINI: Wire = ({ text, calls = [] }) => {
  const parts: Json[] = [
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(([id, name, args]) => ({ functionCall: { id, name, args } })),
  ];
  const whole = {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
    modelVersion: 'm',
    responseId: 'r1',
  };
  return [whole, [whole]];
};

interface World {
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  readonly asked: () => readonly { readonly headers: http.IncomingHttpHeaders; readonly body: Json }[];
}

function world(wire: string, given: Turn[], key = WORKSPACE_KEY, prefix = ''): World {
  const name = prefix + randomUUID();
  turns.set(name, given);
  const config = JSON.stringify({ provider: wire, api_key: 'k', custom_host: `${origin}/s/${name}` });
  const defaultHeaders = { 'x-gateway-config': config };
  return {
    openai: new OpenAI({ baseURL: `${gateway.origin}/v1`, apiKey: key, maxRetries: 0, defaultHeaders }),
    anthropic: new Anthropic({ baseURL: gateway.origin, apiKey: key, maxRetries: 0, defaultHeaders }),
    asked: () => asked.get(name) ?? [],
  };
}

const WIRES = ['openai-compatible', 'anthropic', 'google'] as const;
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
} as const;
const ANSWER = { city: 'Ulm', degrees: 7 };
const CALLS: Turn = {
  calls: [
    ['call_1', 'weather', { city: 'Ulm' }],
    ['call_2', 'weather', { city: 'Bonn' }],
  ],
};
const format = makeParseableTextFormat(
  { type: 'json_schema', name: 'weather', strict: true, schema: SCHEMA },
  (text) => JSON.parse(text) as typeof ANSWER,
);

for (const wire of WIRES) {
  test(`${wire}: responses.parse and responses.stream give the parsed answer`, async (t) => {
    const { openai } = world(wire, [{ text: JSON.stringify(ANSWER) }, { text: JSON.stringify(ANSWER) }]);
    const asks = { model: 'm', input: 'hi', text: { format, verbosity: 'low' } } as const;
    const parsed = await openai.responses.parse(asks);
    t.deepEqual(parsed.output_parsed, ANSWER);
    const stream = openai.responses.stream(asks);
    const seen: string[] = [];
    stream.on('response.output_text.delta', ({ snapshot }) => seen.push(snapshot));
    t.deepEqual((await stream.finalResponse()).output_parsed, ANSWER);
    t.is(seen.at(-1), JSON.stringify(ANSWER));
  });

  test(`${wire}: a typed stream of two calls, their answers, and the turn after`, async (t) => {
    const { openai, asked } = world(wire, [CALLS, { text: 'Warm.' }]);
    const tools: OpenAI.Responses.FunctionTool[] = [
      { type: 'function', name: 'weather', strict: true, parameters: { ...SCHEMA } },
    ];
    const stream = openai.responses.stream({
      model: 'm',
      input: 'hi',
      tools,
      parallel_tool_calls: true,
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      metadata: { run: 'a' },
      truncation: 'auto',
      prompt_cache_key: 'k',
    });
    const first = await stream.finalResponse();
    const calls = first.output.filter((item) => item.type === 'function_call');
    t.deepEqual(
      calls.map(({ arguments: given }) => JSON.parse(given)),
      [{ city: 'Ulm' }, { city: 'Bonn' }],
    );
    const second = await openai.responses.create({
      model: 'm',
      previous_response_id: first.id,
      tools,
      input: calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: '7' })),
    });
    t.is(second.output_text, 'Warm.');
    t.is(second.previous_response_id, first.id);
    t.is(asked().length, 2);
    t.regex(JSON.stringify(asked()[1]!.body), /Bonn/);
  });

  for (const stream of [false, true])
    test(`${wire}: the runner of tools comes to its end, ${stream ? 'streamed' : 'whole'}`, async (t) => {
      const { anthropic, asked } = world(wire, [CALLS, { text: 'Warm.' }]);
      const ran: string[] = [];
      const weather = betaTool({
        name: 'weather',
        description: 'How warm it is.',
        inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        run: ({ city }) => {
          ran.push(city);
          return '7';
        },
      });
      const asks = {
        model: 'm',
        max_tokens: 100,
        messages: [{ role: 'user' as const, content: 'hi' }],
        tools: [weather],
        betas: ['context-management-2025-06-27', 'fine-grained-tool-streaming-2025-05-14'],
        max_iterations: 4,
      };
      const last = stream
        ? await anthropic.beta.messages.toolRunner({ ...asks, stream }).runUntilDone()
        : await anthropic.beta.messages.toolRunner({ ...asks, stream: false }).runUntilDone();
      t.deepEqual(ran, ['Ulm', 'Bonn']);
      t.like(last.content[0], { type: 'text', text: 'Warm.' });
      t.is(asked().length, 2);
      // The provider that has threads holds the first turn; the others are sent all of it.
      t.is(
        (asked()[1]!.body.messages as Json[] | undefined)?.length,
        wire === 'anthropic' ? 1 : wire === 'google' ? undefined : 4,
      );
      const betas = asked()[0]!.headers['anthropic-beta'];
      if (wire === 'anthropic') t.regex(String(betas), /fine-grained-tool-streaming/);
      else t.is(betas, undefined);
    });

  test(`${wire}: messages.stream with parsed output, thinking and a cache`, async (t) => {
    const text = JSON.stringify(ANSWER);
    const { anthropic } = world(wire, [{ text }, { text }]);
    const asks = {
      model: 'm',
      max_tokens: 4000,
      system: [{ type: 'text' as const, text: 'Short.', cache_control: { type: 'ephemeral' as const } }],
      messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }],
      output_config: { format: jsonSchemaOutputFormat(SCHEMA) },
      metadata: { user_id: 'u' },
      service_tier: 'auto' as const,
      stop_sequences: ['END'],
    };
    t.deepEqual((await anthropic.messages.parse(asks)).parsed_output, ANSWER);
    const stream = anthropic.messages.stream(asks);
    t.deepEqual((await stream.finalMessage()).parsed_output, ANSWER);
    t.is(await stream.finalText(), text);
  });

  test(`${wire}: tokens are counted, with betas too`, async (t) => {
    const { anthropic } = world(wire, []);
    const messages = [{ role: 'user' as const, content: 'hi' }];
    t.true((await anthropic.messages.countTokens({ model: 'm', messages })).input_tokens > 0);
    const counted = await anthropic.beta.messages.countTokens({ model: 'm', messages, betas: ['a-1'] });
    t.true(counted.input_tokens > 0);
  });
}

/** The key of another workspace. */
async function otherWorkspace(): Promise<string> {
  const made = await fetch(`${gateway.origin}/v1/admin/workspaces`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ name: randomUUID() }),
  });
  const { id: workspace } = (await made.json()) as Json;
  const key = await fetch(`${gateway.origin}/v1/api-keys/workspace/service`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'other', workspace_id: workspace, scopes: ['completions.write'] }),
  });
  return ((await key.json()) as { readonly key: string }).key;
}

test('a conversation goes on at other providers, and in no other workspace', async (t) => {
  const first = world('anthropic', [CALLS]);
  const begun = await first.openai.responses.create({
    model: 'm',
    input: 'How warm is it?',
    tools: [{ type: 'function', name: 'weather', strict: false, parameters: { type: 'object' } }],
  });
  const outputs = ['call_1', 'call_2'].map((call_id) => ({
    type: 'function_call_output' as const,
    call_id,
    output: '7',
  }));
  const second = world('google', [{ text: 'Seven.' }]);
  const next = await second.openai.responses.create({
    model: 'm',
    previous_response_id: begun.id,
    input: outputs,
  });
  t.is(next.output_text, 'Seven.');
  const third = world('openai-compatible', [{ text: 'Celsius.' }]);
  const last = await third.openai.responses.create({
    model: 'm',
    previous_response_id: next.id,
    input: [{ role: 'user', content: 'Of what?' }],
  });
  t.is(last.output_text, 'Celsius.');
  t.deepEqual(
    (third.asked()[0]!.body.messages as Json[]).map(({ role }) => role),
    ['user', 'assistant', 'tool', 'tool', 'assistant', 'user'],
  );
  // Items by reference.
  const items = await third.openai.responses.inputItems.list(last.id);
  t.true(items.data.length >= 5);
  const other = await otherWorkspace();
  const stranger = world('openai-compatible', [], other);
  for (const call of [
    () => stranger.openai.responses.create({ model: 'm', previous_response_id: last.id, input: 'x' }),
    () => stranger.openai.responses.retrieve(last.id),
    () => stranger.openai.responses.delete(last.id),
    () => stranger.openai.responses.inputItems.list(last.id),
  ])
    t.is(((await t.throwsAsync(async () => call())) as { status?: number }).status, 404);
  t.is(stranger.asked().length, 0);
});

test('a thread that its provider has lost is sent again as a whole', async (t) => {
  const { anthropic, asked } = world(
    'anthropic',
    [{ text: 'One.' }, { text: 'Two.' }],
    WORKSPACE_KEY,
    'lost-',
  );
  const thread = anthropic.beta.messages.thread({ model: 'm', max_tokens: 50 });
  await thread.send({ role: 'user', content: 'a' });
  const second = await thread.send({ role: 'user', content: 'b' });
  t.like(second.content[0], { type: 'text', text: 'Two.' });
  t.deepEqual(
    asked().map(({ body }) => [(body.thread as Json).type, (body.messages as Json[]).length]),
    [
      ['create', 1],
      ['continue', 1],
      ['create', 3],
    ],
  );
});

test('a thread of another workspace is none, and is sent as a whole', async (t) => {
  const first = world('anthropic', [{ text: 'One.' }]);
  const begun = await first.anthropic.beta.messages
    .thread({ model: 'm', max_tokens: 50 })
    .send({ role: 'user', content: 'a' });
  const ask = {
    model: 'm',
    max_tokens: 50,
    messages: [{ role: 'user' as const, content: 'b' }],
    thread: { type: 'continue' as const, previous_message_id: begun.id },
  };
  const stranger = world('anthropic', [{ text: 'Two.' }], await otherWorkspace());
  const error = await t.throwsAsync(async () => stranger.anthropic.beta.messages.create(ask));
  t.like(error as object, { status: 404, error: { error: { details: { error_code: 'thread_not_found' } } } });
  t.is(stranger.asked().length, 0);
  const own = world('anthropic', [{ text: 'Two.' }]);
  const next = await own.anthropic.beta.messages.create(ask);
  t.like(next.content[0], { type: 'text', text: 'Two.' });
});
