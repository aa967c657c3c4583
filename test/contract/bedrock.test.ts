// Converse and InvokeModel: over Bedrock's own wire and over OpenAI's, limits of the published form, errors in its form.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { BedrockService } from '../../gen/gateway/inference/v2/bedrock_pb.ts';
import { type Bench, type Case, invalid, type JsonObject, runCases, sentJson, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const {
  converse: method,
  converseStream: stream,
  invokeModel,
  invokeModelWithResponseStream,
} = BedrockService.method;
const CONTENT = 'Hello, wörld! 👋';
const USER: JsonObject = { role: 'user', content: [{ text: 'Hello' }] };
const BASE: JsonObject = { model: 'gpt-ok', messages: [USER] };
const NATIVE = { 'x-gateway-provider': 'bedrock', 'x-gateway-aws-region': 'eu-west-1' };
const TOOLS: JsonObject = {
  tools: [
    { toolSpec: { name: 'weather', inputSchema: { json: { type: 'object', properties: {} } } } },
    { cachePoint: { type: 'default' } },
  ],
  toolChoice: { any: {} },
};

const refusedField = (name: string, more: JsonObject, param: string): Case => ({
  name: `refused before any call: ${name}`,
  method,
  body: { ...BASE, ...more },
  refused: invalid(param),
});

const textOf = (events: readonly JsonObject[]): string =>
  events
    .map(
      ({ contentBlockDelta: one }) =>
        ((one as JsonObject | undefined)?.delta as JsonObject | undefined)?.text ?? '',
    )
    .join('');

const cases: Case[] = [
  {
    name: 'a whole answer over OpenAI’s wire',
    method,
    body: {
      ...BASE,
      system: [{ text: 'Be kind' }],
      inferenceConfig: { maxTokens: 64, temperature: 0.5, topP: 0.9, stopSequences: ['x'] },
      toolConfig: TOOLS,
    },
    check(t, answer) {
      t.deepEqual(sentJson(t, answer), {
        model: 'gpt-ok',
        messages: [
          { role: 'system', content: 'Be kind' },
          { role: 'user', content: 'Hello' },
        ],
        tools: [
          { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } },
        ],
        tool_choice: 'required',
        max_completion_tokens: 64,
        temperature: 0.5,
        top_p: 0.9,
        stop: ['x'],
      });
      const { message } = answer.json.output as JsonObject;
      t.deepEqual((message as JsonObject).content, [
        { toolUse: { toolUseId: 'call_1', name: 'weather', input: { city: 'Zürich' } } },
        { toolUse: { toolUseId: 'call_2', name: 'weather', input: { city: 'Bern' } } },
      ]);
      t.is(answer.json.stopReason, 'tool_use');
      t.deepEqual(answer.json.usage, {
        inputTokens: 8,
        outputTokens: 7,
        totalTokens: 18,
        cacheReadInputTokens: 3,
        cacheWriteInputTokens: 0,
      });
    },
  },
  {
    name: 'a streamed answer over OpenAI’s wire',
    method: stream,
    body: BASE,
    check(t, { events, complete }) {
      t.true(complete);
      t.deepEqual(events[0], { messageStart: { role: 'assistant' } });
      t.is(textOf(events), CONTENT);
      t.deepEqual(events.at(-2), { messageStop: { stopReason: 'end_turn' } });
      t.like(events.at(-1), { metadata: { usage: { totalTokens: 18 } } });
    },
  },
  {
    name: 'the body reaches Bedrock as it came, unknown members too',
    method,
    body: {
      ...BASE,
      model: 'eu.amazon.nova-pro-v1:0',
      performanceConfig: { latency: 'optimized' },
      toolConfig: TOOLS,
    },
    headers: NATIVE,
    check(t, answer) {
      t.deepEqual(sentJson(t, answer), {
        messages: [USER],
        performanceConfig: { latency: 'optimized' },
        toolConfig: TOOLS,
      });
      t.regex(answer.sent[0]!.url, /\/model\/eu\.amazon\.nova-pro-v1%3A0\/converse$/);
      t.like(answer.json, { stopReason: 'tool_use', metrics: { latencyMs: 5 } });
    },
  },
  {
    name: 'a streamed answer over Bedrock’s wire',
    method: stream,
    body: { ...BASE, model: 'amazon.nova-pro-v1:0' },
    headers: NATIVE,
    check(t, { events }) {
      t.is(textOf(events), CONTENT);
      t.like(events.at(-1), { metadata: { usage: { totalTokens: 18 } } });
      t.false(JSON.stringify(events).includes('"p"'), 'padding is of a frame');
    },
  },
  {
    name: 'a fallback from Bedrock’s wire to OpenAI’s',
    method,
    body: { ...BASE, model: 'status-503' },
    config: (host): JsonObject => ({
      strategy: { mode: 'fallback' },
      targets: [
        { provider: 'anthropic', custom_host: host, api_key: 'a' },
        { provider: 'openai', custom_host: host, api_key: 'b', override_params: { model: 'gpt-ok' } },
      ],
    }),
    check: (t, { sent }) => t.is(sent.length, 2),
  },
  {
    name: 'what the wire cannot carry is named',
    method,
    body: {
      ...BASE,
      guardrailConfig: { guardrailIdentifier: 'g' },
      additionalModelRequestFields: { top_k: 3, other: 1 },
    },
    headers: { 'x-gateway-explain': 'true' },
    check(t, { json, protocol }) {
      if (protocol !== 'rest') return;
      t.deepEqual((json.gateway_explain as JsonObject).dropped, [
        'guardrailConfig',
        'additionalModelRequestFields.other',
        'additionalModelRequestFields.top_k',
      ]);
    },
  },
  {
    name: 'and refused by name where the call wants nothing left out',
    method,
    body: { ...BASE, guardrailConfig: { guardrailIdentifier: 'g' } },
    headers: { 'x-gateway-strict-translation': 'true' },
    refused: { ...invalid('guardrailConfig', /cannot be carried/), rule: 'untranslatable' },
  },
  {
    name: 'a guardrail denies the request',
    method,
    body: { ...BASE, messages: [{ role: 'user', content: [{ text: 'the secret word' }] }] },
    config: (host) => denying(host, 'input_guardrails', 'secret'),
    refused: { status: 446, code: Code.FailedPrecondition, reason: 'guardrail_denied' },
  },
  ...[method, stream].map(
    (one): Case => ({
      name: `a guardrail denies the answer of ${one.name}`,
      method: one,
      body: BASE,
      config: (host) => denying(host, 'output_guardrails', 'Hello'),
      refused: { status: 446, code: Code.FailedPrecondition, reason: 'guardrail_denied', upstream: true },
    }),
  ),
  ...[invokeModel, invokeModelWithResponseStream].map(
    (one): Case => ({
      name: `a guardrail reads the body of ${one.name}`,
      method: one,
      body: {
        model: 'gpt-ok',
        anthropic_version: 'x',
        max_tokens: 5,
        messages: [{ role: 'user', content: 'the secret word' }],
      },
      config: (host) => denying(host, 'input_guardrails', 'secret'),
      refused: { status: 446, code: Code.FailedPrecondition, reason: 'guardrail_denied' },
    }),
  ),
  {
    name: 'a guardrail denies the answer of a streamed InvokeModel',
    method: invokeModelWithResponseStream,
    body: {
      model: 'gpt-ok',
      anthropic_version: 'x',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'hi' }],
    },
    config: (host) => denying(host, 'output_guardrails', 'Hello'),
    refused: { status: 446, code: Code.FailedPrecondition, reason: 'guardrail_denied', upstream: true },
  },
  {
    name: 'InvokeModel with a body of Nova’s over OpenAI’s wire',
    method: invokeModel,
    body: {
      model: 'gpt-ok',
      schemaVersion: 'messages-v1',
      messages: [USER],
      inferenceConfig: { max_new_tokens: 9 },
    },
    check(t, answer) {
      t.like(sentJson(t, answer), {
        max_completion_tokens: 9,
        messages: [{ role: 'user', content: 'Hello' }],
      });
      t.deepEqual(answer.json.output, { message: { role: 'assistant', content: [{ text: CONTENT }] } });
    },
  },
  {
    name: 'InvokeModel with a body of OpenAI’s chat',
    method: invokeModel,
    body: { model: 'gpt-ok', messages: [{ role: 'user', content: 'Hello' }] },
    check: (t, { json }) => t.is(((json.choices as JsonObject[])[0]!.message as JsonObject).content, CONTENT),
  },
  refusedField('no messages', { messages: [] }, 'messages'),
  refusedField('a role that there is not', { messages: [{ role: 'tool', content: [] }] }, 'messages[0].role'),
  refusedField(
    'a temperature above 1',
    { inferenceConfig: { temperature: 1.5 } },
    'inferenceConfig.temperature',
  ),
  refusedField('no tokens', { inferenceConfig: { maxTokens: 0 } }, 'inferenceConfig.maxTokens'),
  refusedField(
    'a call without its name',
    { messages: [{ role: 'assistant', content: [{ toolUse: { toolUseId: 'a' } }] }] },
    'messages[0].content[0].toolUse.name',
  ),
];

runCases(test, () => bench, cases);

function denying(host: string, side: string, word: string): JsonObject {
  const check = { id: 'default.contains', parameters: { words: [word], operator: 'none' } };
  return {
    provider: 'openai',
    custom_host: host,
    api_key: 'k',
    [side]: [{ id: 'g', deny: true, checks: [check] }],
  };
}
