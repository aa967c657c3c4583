// Messages: over Anthropic's own wire and over OpenAI's, limits of the published form, errors in its form.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { MessagesService } from '../../gen/gateway/inference/v2/messages_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import {
  type Bench,
  type Case,
  invalid,
  type JsonObject,
  raw,
  runCases,
  sentJson,
  startBench,
} from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = MessagesService.method.createMessage;
const CONTENT = 'Hello, wörld! 👋';
const USER: JsonObject = { role: 'user', content: 'Hello' };
const BASE: JsonObject = { model: 'gpt-ok', max_tokens: 64, messages: [USER] };
const NATIVE = { 'x-gateway-provider': 'anthropic' };
const TOOL: JsonObject = { name: 'weather', input_schema: { type: 'object', properties: {} } };

const refusedField = (name: string, more: JsonObject, param: string): Case => ({
  name: `refused before any call: ${name}`,
  method,
  body: { ...BASE, ...more },
  refused: invalid(param),
});

const block = (more: JsonObject): JsonObject => ({ messages: [{ role: 'user', content: [more] }] });

const uses = (...ids: string[]): JsonObject => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
});
const results = (...ids: string[]): JsonObject => ({
  role: 'user',
  content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'x' })),
});
/** Turns out of their order, and the field that is named. */
const TURNS: readonly (readonly [name: string, messages: JsonObject[], param: string])[] = [
  ['a call without its result', [USER, uses('a', 'b'), results('a'), USER], 'messages[1].content[1].id'],
  ['a message of no words', [{ role: 'user', content: '' }], 'messages[0].content'],
  ['a message of no blocks', [USER, { role: 'assistant', content: [] }, USER], 'messages[1].content'],
  ['a call at the end', [USER, uses('a')], 'messages[1].content[0].id'],
  [
    'a result of another turn',
    [USER, uses('a'), results('a'), uses('b'), results('a')],
    'messages[4].content[0].tool_use_id',
  ],
  ['a result without a turn before it', [results('a')], 'messages[0].content[0].tool_use_id'],
  ['one id of two calls', [USER, uses('a', 'a'), results('a')], 'messages[1].content[1].id'],
  [
    'a text before a result',
    [
      USER,
      uses('a'),
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'tool_result', tool_use_id: 'a', content: 'x' },
        ],
      },
    ],
    'messages[2].content[1]',
  ],
];

const cases: Case[] = [
  {
    name: 'a whole answer over OpenAI’s wire',
    method,
    body: BASE,
    check(t, answer) {
      t.like(sentJson(t, answer), { model: 'gpt-ok', messages: [USER], max_completion_tokens: 64 });
      t.like(answer.json, {
        type: 'message',
        role: 'assistant',
        stop_reason: 'end_turn',
        stop_sequence: null,
      });
      t.deepEqual(answer.json.content, [{ type: 'text', text: CONTENT }]);
      t.like(answer.json.usage, { input_tokens: 8, cache_read_input_tokens: 3, output_tokens: 7 });
    },
  },
  {
    name: 'a streamed answer over OpenAI’s wire',
    method,
    body: { ...BASE, stream: true },
    check(t, { events, complete }) {
      t.true(complete);
      t.is(events[0]?.type, 'message_start');
      t.is(events.at(-1)?.type, 'message_stop');
      const text = events.map(({ delta }) => (delta as JsonObject | undefined)?.text ?? '').join('');
      t.is(text, CONTENT);
      t.like(events.at(-2), { type: 'message_delta', delta: { stop_reason: 'end_turn' } });
    },
  },
  {
    name: 'the body reaches Anthropic’s wire as it came, unknown members too',
    method,
    body: { ...BASE, model: 'claude-ok', context_management: { edits: [] }, container: null },
    headers: { ...NATIVE, 'anthropic-beta': 'one-2026-01-01', 'anthropic-version': '2024-01-01' },
    check(t, answer) {
      t.deepEqual(sentJson(t, answer), {
        ...BASE,
        model: 'claude-ok',
        context_management: { edits: [] },
        container: null,
      });
      const { headers } = answer.sent[0]!;
      t.is(headers['anthropic-beta'], 'one-2026-01-01');
      t.is(headers['anthropic-version'], '2024-01-01');
      t.deepEqual(answer.json.content, [{ type: 'text', text: CONTENT }]);
    },
  },
  {
    name: 'with interleaved thinking the budget may be above the bound',
    method,
    body: { ...BASE, model: 'claude-ok', thinking: { type: 'enabled', budget_tokens: 2000 } },
    headers: { ...NATIVE, 'anthropic-beta': 'interleaved-thinking-2025-05-14' },
    check: (t, answer) => t.is(answer.json.type, 'message'),
  },
  {
    name: 'parallel tools, streamed',
    method,
    body: { ...BASE, stream: true, tools: [TOOL] },
    check(t, { events }) {
      const begun = events.filter(({ type }) => type === 'content_block_start');
      t.deepEqual(
        begun.map(({ content_block: b }) => (b as JsonObject).name),
        ['weather', 'weather'],
      );
      t.like(events.at(-2), { delta: { stop_reason: 'tool_use' } });
    },
  },
  {
    name: 'a fallback from Anthropic’s wire to OpenAI’s',
    method,
    body: { ...BASE, model: 'status-529' },
    config: (host): JsonObject => ({
      strategy: { mode: 'fallback' },
      targets: [
        { provider: 'anthropic', custom_host: host, api_key: 'a' },
        { provider: 'openai', custom_host: host, api_key: 'b', override_params: { model: 'gpt-ok' } },
      ],
    }),
    check(t, { json, sent }) {
      t.deepEqual(
        sent.map(({ url }) => url.slice(url.indexOf('/', 1))),
        ['/messages', '/chat/completions'],
      );
      t.deepEqual(json.content, [{ type: 'text', text: CONTENT }]);
    },
  },
  {
    name: 'what the wire cannot carry is named',
    method,
    body: {
      ...BASE,
      top_k: 3,
      context_management: {},
      tools: [TOOL, { type: 'web_search_20250305', name: 'w' }],
    },
    headers: { 'x-gateway-explain': 'true' },
    check(t, { json, protocol }) {
      if (protocol !== 'rest') return;
      t.deepEqual((json.gateway_explain as JsonObject).dropped, [
        'tools[1] (web_search_20250305)',
        'top_k',
        'context_management',
      ]);
    },
  },
  {
    name: 'and refused by name where the call wants nothing left out',
    method,
    body: { ...BASE, top_k: 3 },
    headers: { 'x-gateway-strict-translation': 'true' },
    refused: { ...invalid('top_k', /cannot be carried/), rule: 'untranslatable' },
  },
  {
    name: 'a guardrail denies the request',
    method,
    body: { ...BASE, messages: [{ role: 'user', content: [{ type: 'text', text: 'the secret word' }] }] },
    config: (host) => denying(host, 'input_guardrails', 'secret'),
    refused: { status: 446, code: Code.FailedPrecondition, reason: 'guardrail_denied' },
  },
  {
    name: 'a guardrail denies the answer',
    method,
    body: BASE,
    config: (host) => denying(host, 'output_guardrails', 'Hello'),
    refused: { status: 446, code: Code.FailedPrecondition, reason: 'guardrail_denied', upstream: true },
  },
  {
    name: 'a guardrail denies a streamed answer',
    method,
    body: { ...BASE, stream: true },
    config: (host) => denying(host, 'output_guardrails', 'Hello'),
    refused: { status: 446, code: Code.FailedPrecondition, reason: 'guardrail_denied', upstream: true },
  },
  {
    name: 'the provider’s error keeps its status',
    method,
    body: { ...BASE, model: 'status-429' },
    refused: {
      status: 429,
      code: Code.ResourceExhausted,
      reason: 'upstream_status',
      provider: 'openai',
      upstream: true,
      retryAfterMs: 7000,
      errorCode: 'fake_code',
    },
  },
  {
    name: 'tokens are counted where no provider can',
    method: MessagesService.method.countMessageTokens,
    body: { model: 'gpt-ok', messages: [USER], tools: [TOOL] },
    check(t, { json, sent }) {
      t.is(sent.length, 0);
      t.true(Number(json.input_tokens) > 0);
      t.true(json.estimated);
    },
  },
  refusedField('no max_tokens', { max_tokens: null }, 'max_tokens'),
  refusedField('a negative max_tokens', { max_tokens: -1 }, 'max_tokens'),
  refusedField('no messages', { messages: [] }, 'messages'),
  refusedField(
    'a role that there is not',
    { messages: [{ role: 'tool', content: 'x' }] },
    'messages[0].role',
  ),
  refusedField('a temperature above 1', { temperature: 1.5 }, 'temperature'),
  refusedField('top_p above 1', { top_p: 1.1 }, 'top_p'),
  refusedField('a negative top_k', { top_k: -1 }, 'top_k'),
  refusedField('a tool’s name', { tools: [{ ...TOOL, name: 'a b' }] }, 'tools[0].name'),
  refusedField('a tool without a schema', { tools: [{ name: 'a' }] }, 'tools[0].input_schema'),
  refusedField('a choice that there is not', { tool_choice: { type: 'some' } }, 'tool_choice.type'),
  refusedField('a choice without a name', { tool_choice: { type: 'tool' } }, 'tool_choice.name'),
  refusedField(
    'a small budget',
    { thinking: { type: 'enabled', budget_tokens: 1 } },
    'thinking.budget_tokens',
  ),
  refusedField(
    'a budget above the bound',
    { thinking: { type: 'enabled', budget_tokens: 2000 } },
    'thinking.budget_tokens',
  ),
  refusedField('a long user id', { metadata: { user_id: 'x'.repeat(513) } }, 'metadata.user_id'),
  refusedField('an empty text', block({ type: 'text', text: '' }), 'messages[0].content[0].text'),
  refusedField('a block without its text', block({ type: 'text' }), 'messages[0].content[0].text'),
  refusedField(
    'a result of no call',
    block({ type: 'tool_result', content: 'x' }),
    'messages[0].content[0].tool_use_id',
  ),
  ...TURNS.map(([name, messages, param]) => refusedField(name, { messages }, param)),
  refusedField(
    'a life of the cache that there is not',
    block({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '2h' } }),
    'messages[0].content[0].cache_control.ttl',
  ),
];

runCases(test, () => bench, cases);

runCases(test, () => bench, [
  {
    name: 'results of one turn may stand in several messages, and blocks of tomorrow anywhere',
    method,
    config: (host) => ({ provider: 'anthropic', custom_host: host, api_key: 'k' }),
    body: {
      ...BASE,
      messages: [
        USER,
        uses('a', 'b'),
        results('a'),
        { role: 'system', content: 'be brief' },
        results('b'),
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
            { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
            { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'x', server_name: 'y', input: {} },
            { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', content: [] },
            { type: 'redacted_thinking', data: 'abc' },
            { type: 'of_tomorrow', anything: [1] },
            { type: 'text', text: 'x' },
          ],
        },
        { role: 'user', content: [{ type: 'container_upload', file_id: 'file_1' }] },
      ],
    },
    check: (t, answer) => t.is((sentJson(t, answer).messages as JsonObject[]).length, 7),
  },
]);

function denying(host: string, side: string, word: string): JsonObject {
  const check = { id: 'default.contains', parameters: { words: [word], operator: 'none' } };
  return {
    provider: 'openai',
    custom_host: host,
    api_key: 'k',
    [side]: [{ id: 'g', deny: true, checks: [check] }],
  };
}

const HEADERS = { 'x-gateway-provider': 'openai', 'content-type': 'application/json' };

test('a body that is not JSON is a 400 in Anthropic’s form', async (t) => {
  const { status, json } = await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/v1/messages',
    headers: { ...HEADERS, 'x-api-key': WORKSPACE_KEY },
    body: '{"model":',
  });
  t.is(status, 400);
  t.like(json, { type: 'error', error: { type: 'invalid_request_error' } });
  t.is(typeof json.request_id, 'string');
});

test('a key that is not known is a 401 in Anthropic’s form', async (t) => {
  const { status, json } = await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/v1/messages',
    headers: { ...HEADERS, 'x-api-key': 'sk-none' },
    body: JSON.stringify(BASE),
  });
  t.is(status, 401);
  t.like(json, { type: 'error', error: { type: 'authentication_error' } });
});

test('a stream that breaks ends in an error event of Anthropic’s form', async (t) => {
  for (const [provider, model] of [
    ['openai', 'cut'],
    ['openai', 'stream-error-later'],
    ['openai', 'garbage'],
  ]) {
    const { status, text } = await raw(bench.gateway.origin, {
      method: 'POST',
      path: '/v1/messages',
      headers: {
        ...bench.headers(bench.mark()),
        'content-type': 'application/json',
        'x-gateway-provider': provider!,
      },
      body: JSON.stringify({ ...BASE, model: model!, stream: true }),
    });
    t.is(status, 200, model);
    const events = text.trim().split('\n\n');
    t.true(
      events.every((event) => /^event: [a-z_]+\ndata: \{.*\}$/.test(event)),
      model,
    );
    t.regex(events.at(-1)!, /^event: error\ndata: \{"type":"error","error":\{"type":"[a-z_]+"/, model);
  }
});
