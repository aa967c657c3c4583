// What agents send and providers answer that no document says: members that a wire has no word for are left out and
// named, conversations go on after a model's mistakes, and nonsense is no answer.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Script, startScriptedProvider } from '../support/scripted-provider.ts';

type Json = Record<string, unknown>;

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

interface Answered {
  readonly status: number;
  readonly json: Json;
  readonly text: string;
  /** What the provider was asked last; empty: nothing. */
  readonly sent: Json;
  readonly dropped: readonly string[];
}

async function post(
  wire: string,
  path: string,
  body: Json,
  answers: Script,
  headers: Readonly<Record<string, string>> = {},
  verb = 'POST',
): Promise<Answered> {
  const provider = await startScriptedProvider(answers);
  const credentials =
    wire === 'bedrock'
      ? { aws_access_key_id: 'AK', aws_secret_access_key: 'SK', aws_region: 'us-east-1' }
      : { api_key: 'sk-of-the-provider' };
  const config = { provider: wire, ...credentials, custom_host: `${provider.origin}/v1` };
  const response = await fetch(`${gateway.origin}/v1${path}`, {
    method: verb,
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
      'x-gateway-explain': 'true',
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  provider.close();
  const json = text.startsWith('{') ? (JSON.parse(text) as Json) : {};
  const { dropped = [] } = (json.gateway_explain ?? {}) as { readonly dropped?: readonly string[] };
  return { status: response.status, json, text, sent: provider.asked.at(-1) ?? {}, dropped };
}

const chat = (message: Json, finish = 'stop'): Script => ({
  json: {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'gpt',
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finish }],
    usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
  },
});
const ok: Readonly<Record<string, Script>> = {
  anthropic: {
    json: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'text', text: 'ok' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 5, output_tokens: 3 },
    },
  },
  google: {
    json: {
      candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
    },
  },
  bedrock: {
    json: {
      output: { message: { role: 'assistant', content: [{ text: 'ok' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 5, outputTokens: 3, totalTokens: 8 },
    },
  },
  'openai-compatible': chat({ content: 'ok' }),
};
const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];

for (const [wire, model, member, named] of [
  ['google', 'gemini-2.5-pro', { parallel_tool_calls: false }, 'parallel_tool_calls'],
  ['bedrock', 'meta.llama3', { parallel_tool_calls: false }, 'parallel_tool_calls'],
  ['bedrock', 'meta.llama3', { reasoning: { effort: 'high' } }, 'reasoning.effort'],
  [
    'anthropic',
    'claude-sonnet-4-5',
    { reasoning: { effort: 'low' }, max_output_tokens: 100 },
    'reasoning.effort',
  ],
  ['anthropic', 'claude-x', { text: { format: { type: 'json_object' } } }, 'text.format'],
  ['bedrock', 'claude-x', { text: { format: { type: 'json_object' } } }, 'text.format'],
] as const)
  test(`${named} of a response is left out where ${wire} has no word for it (${model})`, async (t) => {
    const body = { model, input: 'hi', tools, ...member };
    const answer = await post(wire, '/responses', body, ok[wire]!);
    t.is(answer.status, 200, answer.text);
    t.true(answer.dropped.includes(named), JSON.stringify(answer.dropped));
    const stream = await post(wire, '/responses', { ...body, stream: true }, { status: 503, json: {} });
    t.not(Object.keys(stream.sent).length, 0, stream.text);
    const strict = await post(wire, '/responses', body, ok[wire]!, {
      'x-gateway-strict-translation': 'true',
    });
    t.is(strict.status, 400);
    t.regex(strict.text, new RegExp(`"field":"${named.replaceAll('.', '\\.')}"`));
    t.deepEqual(strict.sent, {});
  });

test('a tool choice that a wire cannot express is left out of a message, and named', async (t) => {
  const body = {
    model: 'meta.llama3',
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'r' }] },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    tool_choice: { type: 'none' },
  };
  const answer = await post('bedrock', '/messages', body, ok.bedrock!);
  t.is(answer.status, 200, answer.text);
  t.true(answer.dropped.includes('tool_choice'), JSON.stringify(answer.dropped));
});

test('one call at a time keeps the choice of the tool, in the words of Claude on Bedrock', async (t) => {
  const fields = async (choice: unknown): Promise<unknown> => {
    const body = { model: 'claude-x', input: 'hi', tools, tool_choice: choice, parallel_tool_calls: false };
    const { sent } = await post('bedrock', '/responses', body, ok.bedrock!);
    return (sent.additionalModelRequestFields as Json).tool_choice;
  };
  t.deepEqual(await fields('required'), { type: 'any', disable_parallel_tool_use: true });
  t.deepEqual(await fields('auto'), { type: 'auto', disable_parallel_tool_use: true });
  t.deepEqual(await fields({ type: 'function', name: 'f' }), {
    type: 'tool',
    name: 'f',
    disable_parallel_tool_use: true,
  });
});

const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
const turn = [
  { role: 'user', content: 'look' },
  { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
  { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'one' }, image] },
  {
    type: 'function_call_output',
    call_id: 'c2',
    output: [
      { type: 'input_text', text: 'two' },
      { type: 'input_text', text: 'three' },
    ],
  },
];

for (const more of [[], [{ role: 'user', content: 'go on' }], [{ role: 'assistant', content: 'seen' }]])
  test(`images of results follow all results of a turn, before ${JSON.stringify(more)}`, async (t) => {
    const { sent } = await post(
      'openai-compatible',
      '/responses',
      { model: 'm', input: [...turn, ...more], tools },
      ok['openai-compatible']!,
    );
    const messages = (sent.messages as Json[]).slice(2, 5);
    t.deepEqual(messages, [
      { role: 'tool', tool_call_id: 'c1', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: 'two\nthree' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Content of the result of c1:' },
          { type: 'image_url', image_url: { url: image.image_url } },
        ],
      },
    ]);
    t.is((sent.messages as Json[]).length, 5 + more.length);
  });

test('images of results stay in them where the wire has them there', async (t) => {
  const { sent } = await post('anthropic', '/responses', { model: 'm', input: turn, tools }, ok.anthropic!);
  const [result] = (sent.messages as { readonly content: Json[] }[]).at(-1)!.content;
  t.deepEqual(
    (result!.content as Json[]).map(({ type }) => type),
    ['text', 'image'],
  );
});

for (const text of ['{"a":', '[1]', 'null', ''])
  for (const wire of ['anthropic', 'google', 'bedrock', 'openai-compatible'])
    test(`a conversation goes on after arguments that are no object: ${text || 'none'}, ${wire}`, async (t) => {
      const input = [
        { role: 'user', content: 'q' },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: text },
        { type: 'function_call_output', call_id: 'c1', output: 'bad arguments' },
      ];
      const answer = await post(wire, '/responses', { model: 'claude-x', input, tools }, ok[wire]!);
      t.is(answer.status, 200, answer.text);
      const named = answer.dropped.includes('input[1].arguments (no JSON object)');
      t.is(named, text !== '' && wire !== 'openai-compatible');
      if (text !== '') t.true(JSON.stringify(answer.sent).includes(JSON.stringify(text).slice(1, -1)));
    });

test('a call without arguments is an empty object, whole and streamed', async (t) => {
  const call = { id: 'x', type: 'function', function: { name: 'f', arguments: '' } };
  const body = { model: 'm', input: 'hi', tools };
  const whole = await post(
    'openai-compatible',
    '/responses',
    body,
    chat({ tool_calls: [call] }, 'tool_calls'),
  );
  t.is((whole.json.output as Json[])[0]?.arguments, '{}');
  const chunk = (delta: Json, finish: string | null = null): Json => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const streamed = await post(
    'openai-compatible',
    '/responses',
    { ...body, stream: true },
    { events: [chunk({ tool_calls: [{ index: 0, ...call }] }), chunk({}, 'tool_calls'), '[DONE]'] },
  );
  const events = streamed.text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Json);
  const told = (type: string): Json | undefined => events.find((event) => event.type === type);
  t.is(told('response.function_call_arguments.delta')?.delta, '{}');
  t.is(told('response.function_call_arguments.done')?.arguments, '{}');
  t.is((told('response.output_item.done')!.item as Json).arguments, '{}');
});

for (const [wire, path, body] of [
  ['anthropic', '/messages', { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
  ['anthropic', '/messages/count_tokens', { model: 'm', messages: [{ role: 'user', content: 'hi' }] }],
  ['openai', '/responses', { model: 'm', input: 'hi' }],
] as const)
  test(`${path}: an answer that is none is a 502, and the next target is asked`, async (t) => {
    for (const json of [{}, { hello: 1 }, { content: 'text', output: null }, null]) {
      const answer = await post(wire, path, body, { json });
      t.is(answer.status, 502, JSON.stringify(json));
    }
  });

test('a key that the provider refuses is an authentication_error of a message, whatever it calls it', async (t) => {
  const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
  for (const [status, type] of [
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [429, 'rate_limit_error'],
    [400, 'invalid_request_error'],
  ] as const) {
    const json = { error: { message: 'no', type: 'invalid_request_error', param: null, code: null } };
    const answer = await post('openai', '/messages', body, { status, json });
    t.is(answer.status, status);
    t.is((answer.json.error as Json).type, type);
  }
});

test('a verb that is no operation is refused in the form of its path', async (t) => {
  const refused = await post('anthropic', '/messages', {}, {}, {}, 'PATCH');
  t.is(refused.status, 405);
  t.is(refused.json.type, 'error');
  t.is((refused.json.error as Json).type, 'invalid_request_error');
});

const message = { model: 'gpt', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
const pieces = (...deltas: Json[]): Script => ({
  events: [
    ...deltas.map((delta) => ({ id: 'c', model: 'gpt', choices: [{ index: 0, delta }] })),
    { id: 'c', model: 'gpt', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    '[DONE]',
  ],
});

test('a refusal of another wire ends a message with `refusal`, whole and streamed', async (t) => {
  const whole = await post('openai-compatible', '/messages', message, chat({ refusal: 'No.' }));
  t.like(whole.json, { stop_reason: 'refusal', content: [{ type: 'text', text: 'No.' }] });
  const asked = { ...message, stream: true };
  const streamed = await post('openai-compatible', '/messages', asked, pieces({ refusal: 'No.' }));
  t.regex(streamed.text, /"stop_reason":"refusal"/);
  const said = await post('openai-compatible', '/messages', asked, pieces({ content: 'Yes.' }));
  t.regex(said.text, /"stop_reason":"end_turn"/);
});

test('calls without ids get ids that no other turn of the conversation has', async (t) => {
  const call = { type: 'function', function: { name: 'f', arguments: '{}' } };
  const ids = async (id: string, stream: boolean): Promise<string[]> => {
    const answer = chat({ tool_calls: [call, call] });
    const whole = { json: { ...(answer.json as Json), id } };
    const streamed = pieces({ tool_calls: [0, 1].map((index) => ({ ...call, index })) });
    const { text } = await post(
      'openai-compatible',
      '/messages',
      { ...message, stream },
      stream ? streamed : whole,
    );
    return [...text.matchAll(/"id":"((?:call|toolu)_[\w-]+)"/g)].map(([, found]) => found!);
  };
  const [first, second, unnamed, again] = await Promise.all([
    ids('turn-1', false),
    ids('turn-2', false),
    ids('', false),
    ids('', false),
  ]);
  const all = [...first, ...second, ...unnamed, ...again];
  t.is(all.length, 8);
  t.is(new Set(all).size, 8);
  t.deepEqual(await ids('c', true), await ids('c', false));
  const toolUse = { toolUse: { name: 'f', input: {} } };
  const content = [toolUse, toolUse];
  const converse = { json: { output: { message: { role: 'assistant', content } }, stopReason: 'tool_use' } };
  const { json } = await post('bedrock', '/messages', message, converse);
  const [one, other] = (json.content as Json[]).map(({ id }) => String(id));
  t.regex(one!, /^toolu_[\w-]{8,}_0$/);
  t.not(one, other);
});

test('a response that comes whole to a streamed call has not ended when it begins', async (t) => {
  const asked = { model: 'gpt', input: 'hi', stream: true, store: false };
  const { text } = await post('openai-compatible', '/responses', asked, chat({ content: 'ok' }, 'length'));
  const [created, ended] = ['response.created', 'response.incomplete'].map((type) => {
    const event = text.split('\n').find((line) => line.startsWith(`data: {"type":"${type}"`));
    return (JSON.parse(event!.slice('data: '.length)) as { response: Json }).response;
  });
  t.like(created, { status: 'in_progress', completed_at: null, incomplete_details: null });
  t.like(ended, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
});

test('a condition of a provider is no bill', async (t) => {
  const failed = { status: 412, json: { error: { message: 'not now', type: 'some_type' } } };
  const { status, json } = await post('openai-compatible', '/messages', message, failed);
  t.is(status, 412);
  t.like(json, { type: 'error', error: { type: 'invalid_request_error' } });
});

for (const path of ['/messages', '/responses', '/chat/completions'])
  test(`an answer of Anthropic's that breaks off is booked with what was said of it: ${path}`, async (t) => {
    const words = Array.from({ length: 40 }, (_, i) => `word number ${i}, `);
    const start = {
      type: 'message_start',
      message: {
        ...(ok.anthropic!.json as Json),
        content: [],
        usage: { input_tokens: 500, output_tokens: 1 },
      },
    };
    const begun = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
    const said = words.map((text) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text },
    }));
    const asked =
      path === '/responses' ? { model: 'claude-x', input: 'hi', stream: true } : { ...message, stream: true };
    const trace = `broken${path.replace('/', '-')}`.replace('/', '-');
    const script = { events: [start, begun, ...said] };
    const { text } = await post('anthropic', path, asked, script, { 'x-gateway-trace-id': trace });
    t.true(text.includes('word number 39'));
    const entry = await eventually('the entry of the call', async () => {
      const answer = await fetch(`${gateway.origin}/v1/logs?trace_id=${trace}`, {
        headers: { 'x-gateway-api-key': ADMIN_KEY },
      });
      const { data } = (await answer.json()) as { data: Json[] };
      return data[0];
    });
    const { prompt_tokens: prompt, completion_tokens: completion } = entry.usage as Record<string, number>;
    t.is(prompt, 500);
    t.true(completion! > 100 && completion! < 400, String(completion));
  });
