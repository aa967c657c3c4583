// Chat completions: whole and streamed, tools, images, unions, nulls, unknown members, limits.
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import {
  type Bench,
  bad,
  type Case,
  invalid,
  type Json,
  type JsonObject,
  runCases,
  sentJson,
  startBench,
} from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = ChatService.method.createChatCompletion;
const USER: JsonObject = { role: 'user', content: 'Hello' };
const BASE: JsonObject = { model: 'gpt-ok', messages: [USER] };
const CONTENT = 'Hello, wörld! 👋';
const TOOL: JsonObject = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    strict: true,
  },
};

/** A body that must reach the provider exactly as it is. */
const kept = (name: string, more: JsonObject, over?: Case['over']): Case => ({
  name: `${name} reaches the provider unchanged`,
  method,
  body: { ...BASE, ...more },
  ...(over ? { over } : {}),
  check: (t, answer) => {
    t.deepEqual(sentJson(t, answer), { ...BASE, ...more });
    t.is(answer.json.object, 'chat.completion');
  },
});

const refusedField = (name: string, more: JsonObject, param: string, message?: string | RegExp): Case => ({
  name,
  method,
  body: { ...BASE, ...more },
  refused: invalid(param, message),
});

const wrongType = (
  name: string,
  more: JsonObject,
  param: string,
  message: string | RegExp = 'must be',
): Case => ({
  name,
  method,
  body: { ...BASE, ...more },
  over: ['rest'],
  refused: invalid(param, message),
});

const first = (json: JsonObject): JsonObject => (json.choices as JsonObject[])[0]!;
const deltaOf = (event: JsonObject): JsonObject => (first(event).delta ?? {}) as JsonObject;

const limits = (field: string, low: number, high: number, step: number): Case[] => [
  kept(`${field} at its least`, { [field]: low }),
  kept(`${field} at its most`, { [field]: high }),
  refusedField(
    `${field} below its least is refused`,
    { [field]: low - step },
    field,
    /greater than or equal/,
  ),
  refusedField(`${field} above its most is refused`, { [field]: high + step }, field, /less than or equal/),
  wrongType(`${field} as text is refused`, { [field]: String(low) }, field),
];

const CASES: Case[] = [
  {
    name: 'the whole answer, with the members that the contract does not name',
    method,
    body: BASE,
    check: (t, answer) => {
      t.deepEqual(answer.json, {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1700000000,
        model: 'gpt-ok',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: CONTENT, refusal: null, annotations: [] },
            logprobs: null,
            finish_reason: 'stop',
            vendor_extra: { a: [1, null] },
          },
        ],
        usage: {
          prompt_tokens: 11,
          completion_tokens: 7,
          total_tokens: 18,
          prompt_tokens_details: { cached_tokens: 3 },
        },
        system_fingerprint: 'fp_1',
      });
      t.deepEqual(sentJson(t, answer), BASE);
      const { headers, url, method: verb } = answer.sent[0]!;
      t.is(verb, 'POST');
      t.regex(url, /^\/case-\d+\/chat\/completions$/);
      t.is(headers.authorization, 'Bearer sk-provider-secret-0123456789');
      t.is(headers['content-type'], 'application/json');
      t.is(headers['accept-encoding'], 'identity');
      t.deepEqual(
        Object.keys(headers).filter((name) => name.startsWith('x-gateway')),
        [],
      );
      t.is(answer.headers.get('x-gateway-provider'), 'openai');
    },
  },
  {
    name: 'the streamed answer, event by event',
    method,
    body: { ...BASE, stream: true },
    check: (t, answer) => {
      t.true(answer.complete);
      t.is(answer.events.map((event) => deltaOf(event).content ?? '').join(''), CONTENT);
      t.is(deltaOf(answer.events[0]!).role, 'assistant');
      t.is(first(answer.events.at(-1)!).finish_reason, 'stop');
      t.is(first(answer.events[0]!).finish_reason, null);
      t.is(answer.events.length, [...CONTENT].length + 2);
      for (const event of answer.events) {
        t.is(event.object, 'chat.completion.chunk');
        t.false('usage' in event, 'usage was not asked for');
      }
      const sent = sentJson(t, answer);
      t.is(sent.stream, true);
      t.deepEqual(sent.stream_options, { include_usage: true });
      if (answer.protocol === 'rest') {
        t.is(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
        t.is(answer.headers.get('cache-control'), 'no-cache');
      }
    },
  },
  {
    name: 'usage of a stream when it is asked for',
    method,
    body: { ...BASE, stream: true, stream_options: { include_usage: true, vendor: 1 } },
    check: (t, answer) => {
      t.deepEqual(sentJson(t, answer).stream_options, { include_usage: true, vendor: 1 });
      const last = answer.events.at(-1)!;
      t.deepEqual(last.choices, []);
      t.is((last.usage as JsonObject).prompt_tokens, 11);
      t.is((last.usage as JsonObject).completion_tokens, 7);
    },
  },
  {
    name: 'a stream that is split at every byte',
    method,
    body: { ...BASE, model: 'split', stream: true },
    check: (t, answer) => {
      t.true(answer.complete);
      t.is(answer.events.map((event) => deltaOf(event).content ?? '').join(''), CONTENT);
    },
  },
  {
    name: 'a provider that answers a streamed request whole',
    method,
    body: { ...BASE, model: 'whole-anyway', stream: true },
    check: (t, answer) => {
      t.true(answer.complete);
      t.is(answer.events.map((event) => deltaOf(event).content ?? '').join(''), CONTENT);
      t.is(first(answer.events.at(-1)!).finish_reason, 'stop');
      for (const event of answer.events) t.is(event.object, 'chat.completion.chunk');
    },
  },
  {
    name: 'parallel tool calls, whole',
    method,
    body: { ...BASE, tools: [TOOL], tool_choice: 'auto', parallel_tool_calls: true },
    check: (t, answer) => {
      t.deepEqual(sentJson(t, answer).tools, [TOOL]);
      const message = first(answer.json).message as JsonObject;
      t.is(message.content, null);
      t.deepEqual(message.tool_calls, [
        { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Zürich"}' } },
        { id: 'call_2', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } },
      ]);
      t.is(first(answer.json).finish_reason, 'tool_calls');
    },
  },
  {
    name: 'parallel tool calls, streamed',
    method,
    body: { ...BASE, tools: [TOOL], stream: true },
    check: (t, answer) => {
      const calls: string[] = [];
      for (const event of answer.events) {
        for (const call of (deltaOf(event).tool_calls ?? []) as JsonObject[]) {
          const i = Number(call.index);
          calls[i] = (calls[i] ?? '') + String((call.function as JsonObject).arguments);
        }
      }
      t.deepEqual(calls, ['{"city":"Zürich"}', '{"city":"Bern"}']);
      t.is(first(answer.events.at(-1)!).finish_reason, 'tool_calls');
    },
  },
  kept('a conversation with a tool’s answer', {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: 'Really.' },
      { role: 'user', content: 'Weather?', name: 'ann' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ],
  }),
  kept('an image by address and as data', {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://images.example.org/a.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        ],
      },
    ],
  }),
  kept('stop as text', { stop: 'END' }),
  kept('stop as texts', { stop: ['a', 'b'] }),
  kept('stop as an empty list', { stop: [] }),
  kept('empty lists', { tools: [], modalities: [], functions: [] }),
  kept('an empty map', { logit_bias: {} }),
  kept('empty content parts', { messages: [{ role: 'user', content: [] }] }),
  kept('empty text', { messages: [{ role: 'user', content: '' }] }),
  kept('tool_choice none', { tools: [TOOL], tool_choice: 'none' }),
  kept('tool_choice naming a function', {
    tools: [TOOL],
    tool_choice: { type: 'function', function: { name: 'weather' } },
  }),
  kept('the deprecated functions', {
    functions: [{ name: 'f', parameters: {} }],
    function_call: { name: 'f' },
  }),
  kept('function_call auto', { functions: [{ name: 'f' }], function_call: 'auto' }),
  kept('response_format', {
    response_format: {
      type: 'json_schema',
      json_schema: { name: 's', strict: true, schema: { type: 'object' } },
    },
  }),
  kept('every other named member', {
    frequency_penalty: 0.5,
    presence_penalty: -0.5,
    logit_bias: { '50256': -100, '7': 1.25 },
    logprobs: true,
    top_logprobs: 3,
    max_tokens: 5_000_000_000,
    max_completion_tokens: 16,
    n: 2,
    seed: 42,
    temperature: 0,
    top_p: 1,
    user: 'u',
    reasoning_effort: 'low',
    service_tier: 'auto',
    store: false,
    metadata: { a: 'b' },
    modalities: ['text'],
    audio: { voice: 'alloy', format: 'mp3' },
    prediction: { type: 'content', content: 'x' },
    web_search_options: {},
    prompt_cache_key: 'k',
    safety_identifier: 's',
    verbosity: 'high',
    stream: false,
  }),
  kept('null members', {
    temperature: null,
    tools: null,
    tool_choice: null,
    stop: null,
    response_format: null,
    logit_bias: null,
    user: null,
    stream_options: null,
    messages: [{ role: 'assistant', content: null, tool_calls: null, refusal: null }],
  }),
  kept('unknown members at every level', {
    vendor: { deep: [1, { two: [null, 'three'] }] },
    messages: [
      {
        role: 'user',
        vendor_message: [1],
        content: [
          { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
          { type: 'image_url', image_url: { url: 'https://images.example.org/a.png', vendor_image: true } },
        ],
      },
      {
        role: 'assistant',
        tool_calls: [
          {
            id: 'c',
            type: 'function',
            function: { name: 'f', arguments: '{}', vendor_function: 1 },
            vendor_call: 'x',
          },
        ],
      },
    ],
    tools: [{ type: 'function', vendor_tool: 1, function: { name: 'f', vendor_definition: { x: 1 } } }],
    tool_choice: { type: 'function', function: { name: 'f', vendor: 1 }, vendor_choice: null },
    response_format: { type: 'text', vendor_format: [] },
    thinking: { type: 'enabled', budget_tokens: 1024, vendor_thinking: true },
  }),
  kept('members that begin with a number or are spelled in camelCase', { '1': 2, maxTokens: 3, topP: 9 }),
  ...limits('frequency_penalty', -2, 2, 0.01),
  ...limits('presence_penalty', -2, 2, 0.01),
  ...limits('temperature', 0, 2, 0.01),
  ...limits('top_p', 0, 1, 0.01),
  ...limits('n', 1, 128, 1),
  ...limits('top_logprobs', 0, 20, 1),
  refusedField('no messages are refused', { messages: [] }, 'messages'),
  {
    name: 'absent messages are refused',
    method,
    body: { model: 'gpt-ok' },
    refused: invalid('messages'),
  },
  refusedField('a message without role is refused', { messages: [{ content: 'x' }] }, 'messages[0].role'),
  refusedField(
    'a part without type is refused',
    { messages: [USER, { role: 'user', content: [{ text: 'x' }] }] },
    'messages[1].content[0].type',
  ),
  refusedField(
    'a tool without a name is refused',
    { tools: [TOOL, { type: 'function', function: {} }] },
    'tools[1].function.name',
  ),
  refusedField('stream_options without stream are refused', { stream_options: {} }, 'stream_options'),
  refusedField('a broken logit_bias is refused', { logit_bias: { '7': 101 } }, 'logit_bias["7"]'),
  refusedField('a seed that is no whole number is refused', { seed: 0.5 }, 'seed', 'whole number'),
  wrongType('messages as text are refused', { messages: 'x' }, 'messages', 'must be an array'),
  wrongType('a message as text is refused', { messages: ['x'] }, 'messages[0]', 'must be an object'),
  wrongType('a null message is refused', { messages: [null] }, 'messages[0]', 'must not be null'),
  wrongType(
    'a role as number is refused',
    { messages: [{ role: 1 }] },
    'messages[0].role',
    'must be a string',
  ),
  wrongType(
    'content as number is refused',
    { messages: [{ role: 'user', content: 5 }] },
    'messages[0].content',
    /must be a string, or an array/,
  ),
  wrongType(
    'content as object is refused',
    { messages: [{ role: 'user', content: { text: 'x' } }] },
    'messages[0].content',
  ),
  wrongType(
    'an image address as object is refused',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: {} } }] }] },
    'messages[0].content[0].image_url.url',
    'must be a string',
  ),
  wrongType('tools as object are refused', { tools: {} }, 'tools', 'must be an array'),
  wrongType('tool_choice as list is refused', { tool_choice: ['x'] }, 'tool_choice'),
  wrongType('stream as text is refused', { stream: 'yes' }, 'stream', 'must be true or false'),
  wrongType('metadata as list is refused', { metadata: [] }, 'metadata', 'must be an object'),
  wrongType('max_tokens as fraction is refused', { max_tokens: 1.5 }, 'max_tokens', 'must be a whole number'),
  wrongType(
    'a whole number that is too large is refused',
    { max_tokens: 1e300 },
    'max_tokens',
    'must be a whole number',
  ),
  {
    name: 'an absent model is refused',
    method,
    body: { messages: [USER] },
    refused: bad('model_missing', 'model', 'is required'),
  },
  {
    name: 'an absent model of a stream is refused',
    method,
    body: { messages: [USER], stream: true },
    refused: bad('model_missing', 'model', 'is required'),
  },
  {
    name: 'an empty model is refused',
    method,
    body: { ...BASE, model: '' },
    refused: invalid('model'),
  },
  {
    name: 'a model of more than 2048 characters is refused',
    method,
    body: { ...BASE, model: 'm'.repeat(2049) },
    refused: invalid('model'),
  },
  {
    name: 'a null model is refused',
    method,
    body: { ...BASE, model: null },
    refused: bad('model_missing', 'model'),
  },
  {
    name: 'nesting of 60 levels inside free members is kept',
    method,
    body: { ...BASE, vendor: nested(60) },
    // Protobuf's own bound is 100 messages, three per level of a Struct.
    over: ['rest'],
    check: (t, answer) => t.deepEqual(sentJson(t, answer).vendor, nested(60)),
  },
  kept('nesting of 25 levels', { vendor: nested(25) }),
  {
    name: 'nesting of 70 levels is refused',
    method,
    body: { ...BASE, vendor: nested(70) },
    over: ['rest'],
    refused: invalid('vendor', 'nested deeper'),
  },
];

function nested(levels: number): Json {
  return levels === 0 ? 1 : { a: nested(levels - 1) };
}

runCases(test, () => bench, CASES);
