// generateContent: over Google's own wire and over OpenAI's, limits of the published form, errors in its form.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { GeminiService } from '../../gen/gateway/inference/v2/gemini_pb.ts';
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

const { generateContent: method, streamGenerateContent: stream } = GeminiService.method;
const CONTENT = 'Hello, wörld! 👋';
const USER: JsonObject = { role: 'user', parts: [{ text: 'Hello' }] };
const BASE: JsonObject = { model: 'gpt-ok', contents: [USER] };
const NATIVE = { 'x-gateway-provider': 'google' };

const refusedField = (name: string, more: JsonObject, param: string): Case => ({
  name: `refused before any call: ${name}`,
  method,
  body: { ...BASE, ...more },
  refused: invalid(param),
});

function partsOf(response: JsonObject): JsonObject[] {
  const [candidate] = response.candidates as JsonObject[];
  return (candidate!.content as JsonObject).parts as JsonObject[];
}

const cases: Case[] = [
  {
    name: 'a whole answer over OpenAI’s wire',
    method,
    body: {
      ...BASE,
      systemInstruction: { parts: [{ text: 'Be kind' }] },
      generationConfig: { temperature: 0.5, topP: 0.9, maxOutputTokens: 64, stopSequences: ['x'], seed: 7 },
    },
    check(t, answer) {
      t.deepEqual(sentJson(t, answer), {
        model: 'gpt-ok',
        messages: [
          { role: 'system', content: 'Be kind' },
          { role: 'user', content: 'Hello' },
        ],
        temperature: 0.5,
        top_p: 0.9,
        max_completion_tokens: 64,
        stop: ['x'],
        seed: 7,
      });
      t.deepEqual(partsOf(answer.json), [{ text: CONTENT }]);
      t.like(answer.json, { modelVersion: 'gpt-ok', responseId: 'chatcmpl-1' });
      t.deepEqual(answer.json.usageMetadata, {
        promptTokenCount: 11,
        candidatesTokenCount: 7,
        totalTokenCount: 18,
        cachedContentTokenCount: 3,
      });
    },
  },
  {
    name: 'names of the protos are read as Google reads them',
    method,
    body: {
      ...BASE,
      system_instruction: { parts: [{ text: 'Be kind' }] },
      generation_config: { max_output_tokens: 3 },
    },
    check: (t, answer) => t.like(sentJson(t, answer), { max_completion_tokens: 3 }),
  },
  {
    name: 'a streamed answer over OpenAI’s wire',
    method: stream,
    body: BASE,
    check(t, { events, complete }) {
      t.true(complete);
      t.is(
        events
          .map((event) =>
            partsOf(event)
              .map(({ text = '' }) => text)
              .join(''),
          )
          .join(''),
        CONTENT,
      );
      const [last] = events.at(-1)!.candidates as JsonObject[];
      t.is(last?.finishReason, 'STOP');
      t.like(events.at(-1), { usageMetadata: { totalTokenCount: 18 } });
    },
  },
  {
    name: 'the body reaches Google’s wire as it came, unknown members too',
    method,
    body: { ...BASE, model: 'gemini-2.5-pro', labels: { a: 'b' }, tools: [{ googleSearch: {} }] },
    headers: NATIVE,
    check(t, answer) {
      t.deepEqual(sentJson(t, answer), {
        contents: [USER],
        labels: { a: 'b' },
        tools: [{ googleSearch: {} }],
      });
      t.regex(answer.sent[0]!.url, /\/v1beta\/models\/gemini-2\.5-pro:generateContent$/);
      t.is(partsOf(answer.json).length, 2);
    },
  },
  {
    name: 'parallel tools, streamed',
    method: stream,
    body: {
      ...BASE,
      tools: [
        {
          functionDeclarations: [
            {
              name: 'weather',
              parameters: { type: 'OBJECT', properties: { city: { type: 'STRING', nullable: true } } },
            },
          ],
        },
      ],
    },
    check(t, answer) {
      const [tool] = sentJson(t, answer).tools as JsonObject[];
      t.deepEqual((tool!.function as JsonObject).parameters, {
        type: 'object',
        properties: { city: { type: ['string', 'null'] } },
      });
      const calls = answer.events.flatMap((event) =>
        partsOf(event).flatMap(({ functionCall }) => functionCall ?? []),
      );
      t.deepEqual(calls, [
        { id: 'call_1', name: 'weather', args: { city: 'Zürich' } },
        { id: 'call_2', name: 'weather', args: { city: 'Bern' } },
      ]);
    },
  },
  {
    name: 'a fallback from Google’s wire to OpenAI’s',
    method,
    body: { ...BASE, model: 'status-503' },
    config: (host): JsonObject => ({
      strategy: { mode: 'fallback' },
      targets: [
        { provider: 'google', custom_host: host, api_key: 'a' },
        { provider: 'openai', custom_host: host, api_key: 'b', override_params: { model: 'gpt-ok' } },
      ],
    }),
    check(t, { json, sent }) {
      t.deepEqual(
        sent.map(({ url }) => url.slice(url.indexOf('/', 1))),
        ['/v1beta/models/status-503:generateContent', '/chat/completions'],
      );
      t.deepEqual(partsOf(json), [{ text: CONTENT }]);
    },
  },
  {
    name: 'what the wire cannot carry is named',
    method,
    body: { ...BASE, safetySettings: [{}], tools: [{ googleSearch: {} }], generationConfig: { topK: 4 } },
    headers: { 'x-gateway-explain': 'true' },
    check(t, { json, protocol }) {
      if (protocol !== 'rest') return;
      t.deepEqual((json.gateway_explain as JsonObject).dropped, [
        'tools[0].googleSearch',
        'generationConfig.topK',
        'safetySettings',
      ]);
    },
  },
  {
    name: 'and refused by name where the call wants nothing left out',
    method,
    body: { ...BASE, generationConfig: { topK: 3 } },
    headers: { 'x-gateway-strict-translation': 'true' },
    refused: { ...invalid('generationConfig.topK', /cannot be carried/), rule: 'untranslatable' },
  },
  {
    name: 'a guardrail denies the request',
    method,
    body: { ...BASE, contents: [{ parts: [{ text: 'the secret word' }] }] },
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
    method: GeminiService.method.countContentTokens,
    body: { model: 'gpt-ok', contents: [USER] },
    check(t, { json, sent }) {
      t.is(sent.length, 0);
      t.true(Number(json.totalTokens) > 0);
      t.true(json.estimated);
    },
  },
  {
    name: 'vectors over OpenAI’s wire',
    method: GeminiService.method.batchEmbedContents,
    body: {
      model: 'text-embedding-3-small',
      requests: [{ content: { parts: [{ text: 'a' }] } }, { content: { parts: [{ text: 'b' }] } }],
    },
    check(t, answer) {
      t.deepEqual(sentJson(t, answer).input, ['a', 'b']);
      t.is((answer.json.embeddings as JsonObject[]).length, 2);
    },
  },
  refusedField('no contents', { contents: [] }, 'contents'),
  refusedField(
    'a temperature above 2',
    { generationConfig: { temperature: 2.5 } },
    'generationConfig.temperature',
  ),
  refusedField('topP above 1', { generationConfig: { topP: 1.5 } }, 'generationConfig.topP'),
  refusedField('no tokens', { generationConfig: { maxOutputTokens: 0 } }, 'generationConfig.maxOutputTokens'),
  refusedField(
    'nine answers',
    { generationConfig: { candidateCount: 9 } },
    'generationConfig.candidateCount',
  ),
  refusedField(
    'six sequences',
    { generationConfig: { stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] } },
    'generationConfig.stopSequences',
  ),
  refusedField(
    'a result without a name',
    { contents: [{ parts: [{ functionResponse: { response: {} } }] }] },
    'contents[0].parts[0].functionResponse.name',
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

const call = (path: string, headers: Record<string, string>, body = JSON.stringify({ contents: [USER] })) =>
  raw(bench.gateway.origin, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });

test('a body that is not JSON is a 400 in Google’s form', async (t) => {
  const { status, json } = await call(
    '/v1beta/models/m:generateContent',
    { 'x-goog-api-key': WORKSPACE_KEY },
    '{"a":',
  );
  t.is(status, 400);
  t.like(json, { error: { code: 400, status: 'INVALID_ARGUMENT' } });
});

test('the key may stand in the query: it is not forwarded, and not in the log', async (t) => {
  const mark = bench.mark();
  const { 'x-gateway-api-key': _, authorization: __, ...headers } = bench.headers(mark);
  for (const path of [
    '/v1beta/models/gpt-ok:generateContent',
    '/v1beta/cachedContents',
    '/v1/models/gpt-ok:generateContent',
  ]) {
    const { status } = await call(`${path}?key=${WORKSPACE_KEY}`, headers);
    t.true(status === 200 || status === 404, `${path}: ${status}`);
  }
  const sent = bench.sentTo(mark);
  t.is(sent.length, 3);
  t.false(sent.some(({ url, headers: got }) => `${url}${JSON.stringify(got)}`.includes(WORKSPACE_KEY)));
  t.false(bench.gateway.logLines.some((line) => line.includes(WORKSPACE_KEY)));
  t.is((await call('/v1beta/models/gpt-ok:generateContent?key=nobody', headers)).status, 401);
});

test('a stream is events with alt=sse, else one array', async (t) => {
  const headers = { ...bench.headers(bench.mark()), 'content-type': 'application/json' };
  const body = JSON.stringify({ contents: [USER] });
  const ask = (query: string) =>
    fetch(`${bench.gateway.origin}/v1beta/models/gpt-ok:streamGenerateContent${query}`, {
      method: 'POST',
      headers,
      body,
    });
  const events = await ask('?alt=sse');
  t.regex(events.headers.get('content-type') ?? '', /^text\/event-stream/);
  t.regex(await events.text(), /^data: \{.*\}\r\n\r\ndata: /);
  const array = await ask('');
  t.regex(array.headers.get('content-type') ?? '', /^application\/json/);
  t.true(((await array.json()) as unknown[]).length > 1);
});

test('a slug in the path’s model names a provider', async (t) => {
  const { status, json } = await call(`/v1beta/models/@no-such/gpt-ok:generateContent`, {
    'x-goog-api-key': WORKSPACE_KEY,
  });
  t.true(status >= 400 && status < 500);
  t.regex(JSON.stringify(json), /no-such/);
});
