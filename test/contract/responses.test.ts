// Responses over every protocol: native, over another wire, streamed, kept, refused; and what chat has, it has.
import test from 'ava';
import { ApiKeysService } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { ResponsesService } from '../../gen/gateway/inference/v2/responses_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, type JsonObject, runCases, sentJson, startBench } from './runner.ts';
import { storiesOf } from './story.ts';

const { createResponse, getResponse, streamKeptResponse, listInputItems, cancelResponse, compactResponse } =
  ResponsesService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const TEXT = 'Hello, wörld! 👋';
const over =
  (provider: string, more: JsonObject = {}) =>
  (host: string): JsonObject => ({
    provider,
    api_key: 'sk-provider-secret-0123456789',
    custom_host: host,
    ...more,
  });
const ask: JsonObject = { model: 'gpt-4o-mini', input: 'hi' };

/** What is said in a response. */
function said({ output }: JsonObject): string {
  return (output as JsonObject[])
    .flatMap(({ content }) => (content ?? []) as JsonObject[])
    .map(({ text }) => String(text))
    .join('');
}

const func: JsonObject = { type: 'function', name: 'f', parameters: {} };
/** A request's members, and the field that is named. */
const REFUSED: readonly (readonly [name: string, body: JsonObject, param: string])[] = [
  ['15 tokens', { max_output_tokens: 15 }, 'max_output_tokens'],
  ['21 logprobs', { top_logprobs: 21 }, 'top_logprobs'],
  ['-1 logprobs', { top_logprobs: -1 }, 'top_logprobs'],
  ['top_p over 1', { top_p: 1.5 }, 'top_p'],
  ['no tool calls', { max_tool_calls: 0 }, 'max_tool_calls'],
  ['129 tools', { tools: Array.from({ length: 129 }, (_, i) => ({ ...func, name: `f${i}` })) }, 'tools'],
  ['a name with a space', { tools: [{ ...func, name: 'a b' }] }, 'tools[0].name'],
  ['a function without a name', { tools: [{ type: 'function' }] }, 'tools[0].name'],
  [
    'a name of 65 letters',
    { text: { format: { type: 'json_schema', name: 'n'.repeat(65), schema: {} } } },
    'text.format.name',
  ],
  ['a schema without a name', { text: { format: { type: 'json_schema', schema: {} } } }, 'text.format.name'],
  ['an unknown format', { text: { format: { type: 'yaml' } } }, 'text.format.type'],
  ['an unknown verbosity', { text: { verbosity: 'loud' } }, 'text.verbosity'],
  ['an unknown summary', { reasoning: { summary: 'long' } }, 'reasoning.summary'],
  ['an unknown part', { include: ['nonsense'] }, 'include[0]'],
  ['an unknown choice', { tool_choice: 'perhaps' }, 'tool_choice'],
  ['an unknown truncation', { truncation: 'half' }, 'truncation'],
  ['a long name of metadata', { metadata: { ['k'.repeat(65)]: 'v' } }, `metadata["${'k'.repeat(65)}"]`],
  ['a long value of metadata', { metadata: { k: 'v'.repeat(513) } }, 'metadata["k"]'],
  ['a long key of the cache', { prompt_cache_key: 'k'.repeat(65) }, 'prompt_cache_key'],
  ['a long identifier', { safety_identifier: 'k'.repeat(65) }, 'safety_identifier'],
  ['an unknown role', { input: [{ role: 'king', content: 'x' }] }, 'input[0].role'],
  ['an output of no call', { input: [{ type: 'function_call_output', output: 'x' }] }, 'input[0].call_id'],
  ['a message without content', { input: [{ role: 'user' }] }, 'input[0].content'],
  [
    'a conversation and a response',
    { conversation: 'conv_1', previous_response_id: 'resp_1' },
    'conversation',
  ],
];

runCases(test, () => bench, [
  {
    name: 'native: the body goes as it came',
    method: createResponse,
    body: { ...ask, input: [{ role: 'user', content: 'hi' }], vendor: { a: [1, null] } },
    check(t, answer) {
      t.is(said(answer.json), TEXT);
      t.like(sentJson(t, answer), { vendor: { a: [1, null] }, input: [{ role: 'user', content: 'hi' }] });
      t.true(answer.sent[0]?.url.endsWith('/responses'));
    },
  },
  {
    name: 'over chat: the answer has the form',
    method: createResponse,
    config: over('openai-compatible'),
    body: { ...ask, instructions: 'be brief', metadata: { a: 'b' } },
    check(t, answer) {
      t.is(said(answer.json), TEXT);
      t.like(answer.json, { object: 'response', status: 'completed', metadata: { a: 'b' } });
      t.like(answer.json.usage as JsonObject, {
        input_tokens: 11,
        input_tokens_details: { cached_tokens: 3 },
        output_tokens: 7,
        total_tokens: 18,
      });
      t.deepEqual(sentJson(t, answer).messages, [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hi' },
      ]);
    },
  },
  {
    name: 'over Messages: the answer has the form',
    method: createResponse,
    config: over('anthropic'),
    body: ask,
    check: (t, answer) => t.is(said(answer.json), TEXT),
  },
  {
    name: 'streamed over chat: events in their order',
    // Over REST the official client reads them (test/clients/openai-responses.test.ts).
    over: ['connect', 'grpc'],
    method: createResponse,
    config: over('openai-compatible'),
    body: { ...ask, stream: true },
    check(t, { events }) {
      t.deepEqual(
        events.map(({ sequence_number: number }) => Number(number)),
        events.map((_, i) => i),
      );
      t.is(events.at(0)?.type, 'response.created');
      t.is(events.at(-1)?.type, 'response.completed');
      t.is(said(events.at(-1)?.response as JsonObject), TEXT);
    },
  },
  {
    name: 'a fallback may cross wires',
    method: createResponse,
    config: (host) => ({
      strategy: { mode: 'fallback' },
      targets: [
        { ...over('openai')(host), override_params: { model: 'status-503' } },
        over('anthropic')(host),
      ],
    }),
    body: ask,
    check(t, answer) {
      t.is(said(answer.json), TEXT);
      t.deepEqual(
        answer.sent.map(({ url }) => url.split('/').at(-1)),
        ['responses', 'messages'],
      );
    },
  },
  {
    name: 'what no other wire can carry is named in the explanation',
    method: createResponse,
    config: over('openai-compatible'),
    headers: { 'x-gateway-explain': 'true' },
    body: { ...ask, tools: [{ type: 'web_search' }], context_management: [{ type: 'compaction' }] },
    check(t, { json }) {
      const dropped = (json.gateway_explain as JsonObject | undefined)?.dropped;
      t.deepEqual(dropped, ['tools[0] (web_search)', 'context_management']);
    },
  },
  {
    name: 'a guardrail denies what is asked',
    method: createResponse,
    config: over('openai-compatible', {
      input_guardrails: [{ 'default.contains': { words: ['forbidden'], operator: 'none' }, deny: true }],
    }),
    body: { ...ask, input: 'something forbidden' },
    refused: { status: 446, code: 9, reason: 'guardrail_denied', param: '' },
  },
  ...(['openai', 'openai-compatible', 'anthropic'] as const).flatMap((provider) =>
    [false, true].map((stream) => ({
      name: `a guardrail denies what ${provider} answers${stream ? ', streamed' : ''}`,
      method: createResponse,
      config: over(provider, {
        output_guardrails: [{ 'default.contains': { words: ['Hello'], operator: 'none' }, deny: true }],
      }),
      body: { ...ask, ...(stream ? { stream } : {}) },
      refused: { status: 446, code: 9, reason: 'guardrail_denied' as const, param: '', upstream: true },
    })),
  ),
  {
    name: 'an unknown response before it is none',
    method: createResponse,
    headers: { 'x-gateway-config': undefined },
    config: over('openai-compatible'),
    body: { ...ask, previous_response_id: 'resp_unknown' },
    refused: {
      status: 404,
      code: 5,
      reason: 'not_found',
      param: 'response_id',
      errorCode: 'response_not_found',
    },
  },
  {
    name: 'temperature is bounded',
    method: createResponse,
    body: { ...ask, temperature: 3 },
    refused: { status: 400, code: 3, reason: 'validation_failed', param: 'temperature' },
  },
  {
    name: 'metadata has 16 pairs at the most',
    method: createResponse,
    body: { ...ask, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])) },
    refused: { status: 400, code: 3, reason: 'validation_failed', param: 'metadata' },
  },
  ...REFUSED.map(([name, body, param]) => ({
    name: `refused by its name: ${name}`,
    method: createResponse,
    body: { ...ask, ...body },
    refused: { status: 400, code: 3, reason: 'validation_failed' as const, param },
  })),
  {
    name: 'items and parts of the answer that nobody here knows go on',
    over: ['rest'],
    method: createResponse,
    body: {
      ...ask,
      input: [
        { role: 'user', content: 'hi' },
        { type: 'mcp_call', id: 'mcp_1', server_label: 'x', name: 'y', arguments: '{}', output: 'z' },
        { type: 'shell_call_output', call_id: 'call_1', output: [{ stdout: 'x' }] },
        { type: 'of_tomorrow', anything: { a: [1] } },
      ],
      tools: [{ type: 'of_tomorrow', secret: 1 }],
      include: ['reasoning.encrypted_content'],
    },
    check: (t, answer) => t.is((sentJson(t, answer).input as JsonObject[]).length, 4),
  },
  {
    name: 'in the background where the provider has no such thing',
    method: createResponse,
    config: over('anthropic'),
    body: { ...ask, background: true },
    check: (t, { json }) => t.like(json, { object: 'response', status: 'queued', background: true }),
  },
  {
    name: 'in the background it is kept',
    method: createResponse,
    config: over('anthropic'),
    body: { ...ask, background: true, store: false },
    refused: { status: 400, code: 3, reason: 'validation_failed', param: 'background' },
  },
  {
    name: 'compaction only where it is published',
    method: compactResponse,
    config: over('anthropic'),
    body: ask,
    refused: { status: 400, code: 12, reason: 'operation_unsupported', provider: 'anthropic' },
  },
  {
    name: 'compaction where it is published',
    method: compactResponse,
    body: ask,
    check: (t, { json }) => t.is(json.object, 'response.compaction'),
  },
  {
    name: 'the caller’s own credential reads its own responses',
    method: getResponse,
    body: { response_id: 'resp_of_before' },
    refused: { status: 404, code: 5, reason: 'upstream_status', provider: 'openai', upstream: true },
  },
]);

const story = storiesOf(() => bench);
let count = 0;
const configOf = (provider: string, prefix: string): Record<string, string | undefined> => ({
  'x-gateway-provider': undefined,
  'x-gateway-custom-host': undefined,
  'x-gateway-config': JSON.stringify(over(provider)(bench.provider.origin + prefix)),
});

story('a response is kept for its workspace alone, and is listed and deleted there', async (t, admin) => {
  const workspace = async (): Promise<{ key: string }> => {
    const { id } = await admin.ok(WorkspacesService.method.createWorkspace, { name: `responses-${++count}` });
    const { key } = await admin.ok(ApiKeysService.method.createApiKey, {
      type: 'workspace',
      sub_type: 'service',
      name: `key-${++count}`,
      workspace_id: id!,
      scopes: ['completions.write'],
    });
    return { key: String(key) };
  };
  const [own, other] = [admin.as((await workspace()).key), admin.as((await workspace()).key)];
  const config = configOf('anthropic', '/kept');
  const { json: made } = await own.exchange(createResponse, ask, config);
  const id = String(made.id);
  t.is((await own.exchange(getResponse, { response_id: id }, config)).json.id, id);
  const { json: next } = await own.exchange(
    createResponse,
    { ...ask, input: 'more', previous_response_id: id },
    config,
  );
  t.is(next.previous_response_id, id);
  const { json: list } = await own.exchange(
    listInputItems,
    { response_id: String(next.id), order: 'asc' },
    config,
  );
  t.is((list.data as JsonObject[]).length, 3);
  t.is(list.has_more, false);
  for (const [method, body] of [
    [getResponse, { response_id: id }],
    [listInputItems, { response_id: id }],
    [cancelResponse, { response_id: id }],
    [ResponsesService.method.deleteResponse, { response_id: id }],
    [createResponse, { ...ask, previous_response_id: id }],
  ] as const)
    t.is((await other.refused(method, body, config)).status, 404, method.name);
  t.is((await own.refused(cancelResponse, { response_id: id }, config)).status, 400);
  // Over REST the official client reads them (test/clients/responses-background.test.ts).
  if (own.protocol !== 'rest') {
    const { events } = await own.exchange(streamKeptResponse, { response_id: id }, config);
    t.deepEqual(
      events.map(({ sequence_number: number }) => Number(number)),
      events.map((_, i) => i),
    );
    t.is(events.at(-1)?.type, 'response.completed');
    t.is((await other.refused(streamKeptResponse, { response_id: id }, config)).status, 404);
  }
  t.is(
    (await own.exchange(ResponsesService.method.deleteResponse, { response_id: id }, config)).json.deleted,
    true,
  );
  t.is((await own.refused(getResponse, { response_id: id }, config)).status, 404);
});

story('of several targets the one that made a response is asked for it', async (t, admin) => {
  const own = admin.as(WORKSPACE_KEY);
  const place = `/made-${++count}`;
  const host = bench.provider.origin + place;
  const config = {
    'x-gateway-provider': undefined,
    'x-gateway-custom-host': undefined,
    'x-gateway-config': JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [{ ...over('groq')(host), override_params: { model: 'status-500' } }, over('openai')(host)],
    }),
  };
  const { json: made } = await own.exchange(createResponse, ask, config);
  const before = bench.sentTo(place).length;
  const { json: next } = await own.exchange(
    createResponse,
    { ...ask, previous_response_id: made.id! },
    config,
  );
  t.is(next.previous_response_id, made.id);
  t.is(bench.sentTo(place).length, before + 1);
  t.is((await own.exchange(getResponse, { response_id: String(made.id) }, config)).json.id, made.id);
});
