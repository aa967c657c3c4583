// What is passed through is in the books: usage, model and money are read by the form of the answer, at whichever
// provider, on whichever path, however its bytes are cut and compressed. No byte of it changes.
import { randomInt } from 'node:crypto';
import zlib from 'node:zlib';
import test from 'ava';
import { type Bench, raw, startBench } from '../contract/runner.ts';
import { framed } from '../providers/support/aws-frames.ts';
import { type LimitsClient, limitsClient } from '../support/limits-client.ts';

let bench: Bench;
let client: LimitsClient;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
});
test.after.always(() => bench?.close());

type Json = Record<string, unknown>;

interface Form {
  readonly path: string;
  readonly provider?: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly answer: string | Uint8Array;
  /** Prompt, completion, read from a cache, written to a cache; undefined: what it used cannot be known. */
  readonly counts?: readonly (number | undefined)[];
  readonly model: string;
  readonly responseModel?: string;
}

const sse = (...events: readonly object[]): string =>
  events.map((event) => `event: ${(event as Json).type ?? 'x'}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const crlf = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('');
const long = 'x"\\}]{['.repeat(40_000);
const wrapped = (event: object): object => ({
  bytes: Buffer.from(JSON.stringify(event)).toString('base64'),
  p: 'abcd',
});

const CHAT = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 3 },
};
const RESPONSES = {
  input_tokens: 100,
  output_tokens: 50,
  total_tokens: 150,
  input_tokens_details: { cached_tokens: 40 },
};
const MESSAGES = {
  input_tokens: 5,
  cache_read_input_tokens: 7,
  cache_creation_input_tokens: 2,
  output_tokens: 9,
};
const GEMINI = { promptTokenCount: 10, candidatesTokenCount: 8, thoughtsTokenCount: 4, totalTokenCount: 22 };
const CONVERSE = { inputTokens: 10, outputTokens: 3, totalTokens: 13 };

const FORMS: Readonly<Record<string, Form>> = {
  'chat, whole and long': {
    path: '/proxy/chat/completions',
    body: { model: 'gpt-4o', messages: [] },
    answer: JSON.stringify({
      id: 'x',
      choices: [{ message: { content: long.repeat(8) } }],
      model: 'gpt-4o-2',
      usage: CHAT,
    }),
    counts: [11, 7, 3],
    model: 'gpt-4o',
    responseModel: 'gpt-4o-2',
  },
  'chat, streamed': {
    path: '/proxy/chat/completions',
    body: { model: 'gpt-4o', stream: true },
    type: 'text/event-stream',
    answer: `: comment\n\n${sse({ model: 'gpt-4o-2', choices: [] }, { choices: [], usage: CHAT })}data: [DONE]\n\n`,
    counts: [11, 7, 3],
    model: 'gpt-4o',
    responseModel: 'gpt-4o-2',
  },
  'Responses, whole': {
    path: '/proxy/responses',
    body: { model: 'gpt-4o', input: 'hi' },
    answer: JSON.stringify({
      object: 'response',
      output: [{ content: [{ text: long }] }],
      model: 'gpt-4o',
      usage: RESPONSES,
    }),
    counts: [100, 50, 40],
    model: 'gpt-4o',
  },
  'Responses, its terminal event': {
    path: '/proxy/responses',
    body: { model: 'gpt-4o', input: 'hi', stream: true },
    type: 'text/event-stream; charset=utf-8',
    answer: sse(
      { type: 'response.created', response: { model: 'gpt-4o', usage: null } },
      { type: 'response.output_text.delta', delta: 'usage' },
      {
        type: 'response.completed',
        response: { model: 'gpt-4o', output: [{ text: long }], usage: RESPONSES },
      },
    ),
    counts: [100, 50, 40],
    model: 'gpt-4o',
  },
  'Messages at a provider of another wire, whole': {
    path: '/proxy/messages',
    body: { model: 'claude-sonnet-4-5', messages: [] },
    answer: JSON.stringify({
      type: 'message',
      model: 'claude-sonnet-4-5',
      content: [{ text: long }],
      usage: MESSAGES,
    }),
    counts: [14, 9, 7, 2],
    model: 'claude-sonnet-4-5',
  },
  'Messages, streamed': {
    provider: 'anthropic',
    path: '/proxy/messages',
    body: { model: 'claude-sonnet-4-5', messages: [], stream: true },
    type: 'text/event-stream',
    answer: sse(
      {
        type: 'message_start',
        message: { model: 'claude-sonnet-4-5', usage: { ...MESSAGES, output_tokens: 1 } },
      },
      { type: 'content_block_delta', delta: { text: 'a' } },
      { type: 'message_delta', usage: { output_tokens: 9 } },
    ),
    counts: [14, 9, 7, 2],
    model: 'claude-sonnet-4-5',
  },
  'generateContent, whole': {
    path: '/proxy/models/gemini-2.5-flash:generateContent',
    body: { contents: [{ parts: [{ text: 'hi' }] }] },
    answer: JSON.stringify(
      { candidates: [{ content: { parts: [{ text: long }] } }], usageMetadata: GEMINI, modelVersion: 'g' },
      undefined,
      2,
    ),
    counts: [10, 12],
    model: 'gemini-2.5-flash',
    responseModel: 'g',
  },
  'streamGenerateContent as events': {
    path: '/proxy/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    body: { contents: [] },
    type: 'text/event-stream',
    answer: crlf(
      { candidates: [], usageMetadata: { promptTokenCount: 10 } },
      { usageMetadata: GEMINI, modelVersion: 'g' },
    ),
    counts: [10, 12],
    model: 'gemini-2.5-flash',
    responseModel: 'g',
  },
  'streamGenerateContent as one long list': {
    path: '/proxy/models/gemini-2.5-flash:streamGenerateContent',
    body: { contents: [] },
    answer: `[${Array.from({ length: 20 }, (_, i) =>
      JSON.stringify({
        candidates: [{ content: { parts: [{ text: long }] } }],
        usageMetadata: i === 19 ? GEMINI : { promptTokenCount: 10 },
        modelVersion: 'g',
      }),
    ).join(',\r\n')}]`,
    counts: [10, 12],
    model: 'gemini-2.5-flash',
    responseModel: 'g',
  },
  'Converse, whole': {
    path: '/proxy/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse',
    body: { messages: [] },
    answer: JSON.stringify({ output: { message: { content: [{ text: long }] } }, usage: CONVERSE }),
    counts: [10, 3],
    model: 'anthropic.claude-3-haiku-20240307-v1:0',
  },
  'Converse, streamed in frames': {
    path: '/proxy/model/amazon.nova-lite-v1:0/converse-stream',
    body: { messages: [] },
    type: 'application/vnd.amazon.eventstream',
    answer: framed([
      ['contentBlockDelta', { delta: { text: 'a' } }],
      ['metadata', { usage: CONVERSE, metrics: { latencyMs: 1 } }],
    ]),
    counts: [10, 3],
    model: 'amazon.nova-lite-v1:0',
  },
  'InvokeModel, streamed in frames': {
    path: '/proxy/model/anthropic.claude-3-haiku-20240307-v1:0/invoke-with-response-stream',
    body: { messages: [] },
    type: 'application/vnd.amazon.eventstream',
    answer: framed([
      [
        'chunk',
        wrapped({ type: 'message_start', message: { model: 'c', usage: { ...MESSAGES, output_tokens: 1 } } }),
      ],
      ['chunk', wrapped({ type: 'message_delta', usage: { output_tokens: 9 } })],
      [
        'chunk',
        wrapped({
          type: 'message_stop',
          'amazon-bedrock-invocationMetrics': { inputTokenCount: 5, outputTokenCount: 9 },
        }),
      ],
    ]),
    counts: [14, 9, 7, 2],
    model: 'anthropic.claude-3-haiku-20240307-v1:0',
    responseModel: 'c',
  },
  "InvokeModel's metrics alone": {
    path: '/proxy/model/meta.llama3-8b-instruct-v1:0/invoke-with-response-stream',
    body: { prompt: 'hi' },
    type: 'application/vnd.amazon.eventstream',
    answer: framed([
      ['chunk', wrapped({ generation: 'a' })],
      [
        'chunk',
        wrapped({
          generation: '',
          'amazon-bedrock-invocationMetrics': { inputTokenCount: 5, outputTokenCount: 9 },
        }),
      ],
    ]),
    counts: [5, 9],
    model: 'meta.llama3-8b-instruct-v1:0',
  },
  'embeddings, many': {
    path: '/proxy/embeddings',
    body: { model: 'text-embedding-3-small', input: ['a'] },
    answer: JSON.stringify({
      data: Array.from({ length: 200 }, (_, index) => ({
        index,
        embedding: Array.from({ length: 1536 }, () => 0.012345678),
      })),
      model: 'text-embedding-3-small',
      usage: { prompt_tokens: 5, total_tokens: 5 },
    }),
    counts: [5, undefined],
    model: 'text-embedding-3-small',
  },
  "a rerank's tokens": {
    path: '/proxy/rerank',
    body: { model: 'jina-reranker-m0', query: 'q', documents: ['a'] },
    answer: JSON.stringify({
      model: 'jina-reranker-m0',
      results: [{ index: 0, relevance_score: 1 }],
      usage: { total_tokens: 12 },
    }),
    counts: [12, undefined],
    model: 'jina-reranker-m0',
  },
  "a rerank's searches": {
    path: '/proxy/rerank',
    body: { model: 'rerank-v3.5', query: 'q', documents: ['a'] },
    answer: JSON.stringify({ results: [], meta: { billed_units: { search_units: 1 } } }),
    model: 'rerank-v3.5',
  },
  'images by tokens': {
    path: '/proxy/images/generations',
    body: { model: 'gpt-image-1', prompt: 'a' },
    answer: JSON.stringify({
      data: [{ b64_json: 'A'.repeat(2_000_000) }],
      usage: {
        input_tokens: 50,
        output_tokens: 4000,
        total_tokens: 4050,
        input_tokens_details: { text_tokens: 10, image_tokens: 40 },
      },
    }),
    counts: [50, 4000],
    model: 'gpt-image-1',
  },
  'images without a report': {
    path: '/proxy/images/generations',
    body: { model: 'dall-e-3', prompt: 'a' },
    answer: JSON.stringify({ created: 1, data: [{ url: 'https://x' }] }),
    model: 'dall-e-3',
  },
  'a transcription by tokens': {
    path: '/proxy/audio/transcriptions',
    body: { model: 'gpt-4o-transcribe' },
    answer: JSON.stringify({
      text: 'hi',
      usage: {
        type: 'tokens',
        input_tokens: 14,
        input_token_details: { text_tokens: 0, audio_tokens: 14 },
        output_tokens: 45,
        total_tokens: 59,
      },
    }),
    counts: [14, 45],
    model: 'gpt-4o-transcribe',
  },
  'a transcription by seconds': {
    path: '/proxy/audio/transcriptions',
    body: { model: 'whisper-1' },
    answer: JSON.stringify({ text: 'hi', usage: { type: 'duration', seconds: 9 } }),
    model: 'whisper-1',
  },
  'speech, which reports nothing': {
    path: '/proxy/audio/speech',
    body: { model: 'tts-1', input: 'hi' },
    type: 'audio/mpeg',
    answer: Buffer.from([123, 1, 2, 3]),
    model: 'tts-1',
  },
  "Ollama's lines": {
    path: '/api/chat',
    body: { model: 'llama3', messages: [] },
    type: 'application/x-ndjson',
    answer: `${JSON.stringify({ model: 'llama3', done: false })}\n${JSON.stringify({ model: 'llama3', done: true, prompt_eval_count: 26, eval_count: 29 })}\n`,
    counts: [26, 29],
    model: 'llama3',
  },
  'events under a plain type': {
    path: '/anything',
    body: { model: 'gpt-4o' },
    type: 'text/plain',
    answer: sse({ model: 'gpt-4o', usage: CHAT }),
    counts: [11, 7, 3],
    model: 'gpt-4o',
  },
};

const CODINGS: Readonly<Record<string, (bytes: Uint8Array) => Buffer>> = {
  identity: (bytes) => Buffer.from(bytes),
  gzip: (bytes) => zlib.gzipSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 2 } }),
};

async function passed(form: Form, coding: string) {
  const prefix = bench.mark();
  const bytes = CODINGS[coding]!(Buffer.from(form.answer));
  bench.provider.next(prefix + form.path.replace(/^\/proxy/, '').split('?')[0]!, (_req, res) => {
    res.writeHead(200, {
      'content-type': form.type ?? 'application/json',
      ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
    });
    for (let at = 0; at < bytes.length; ) {
      const size = bytes.length > 10_000 ? randomInt(1, 20_000) : randomInt(1, 40);
      res.write(bytes.subarray(at, at + size));
      at += size;
    }
    res.end();
  });
  const answer = await raw(bench.gateway.origin, {
    method: 'POST',
    path: `/v1${form.path}`,
    headers: {
      ...bench.headers(prefix),
      'x-gateway-provider': form.provider ?? 'openai',
      'content-type': 'application/json',
      'x-gateway-trace-id': prefix.slice(1),
    },
    body: JSON.stringify(form.body),
  });
  const [entry = {}] = await client.logs(prefix.slice(1));
  return { answer, entry, bytes, sent: bench.sentTo(prefix)[0]! };
}

for (const [name, form] of Object.entries(FORMS)) {
  for (const coding of Object.keys(CODINGS)) {
    test(`${name} [${coding}]`, async (t) => {
      const { answer, entry, bytes, sent } = await passed(form, coding);
      t.is(answer.status, 200);
      t.true(answer.body.equals(bytes), 'not a byte changes');
      t.is(sent.body.toString(), JSON.stringify(form.body));
      t.is(entry.model, form.model);
      if (form.responseModel !== undefined) t.is(entry.response_model, form.responseModel);
      t.falsy(entry.usage_estimated);
      const { counts } = form;
      if (counts === undefined) {
        t.true(entry.unpriced);
        t.is(entry.cost, undefined);
        return;
      }
      const usage = entry.usage as Json;
      t.is(Number(usage.prompt_tokens), counts[0]!);
      t.is(Number(usage.completion_tokens ?? 0), counts[1] ?? 0);
      const details = usage.prompt_tokens_details as Json | undefined;
      if (counts[2] !== undefined) t.is(Number(details?.cached_tokens ?? usage.cached_tokens), counts[2]);
      t.not(entry.cost ?? entry.unpriced, undefined);
      if (entry.unpriced) t.is(entry.cost, undefined);
      else t.true(Number(entry.cost) > 0);
    });
  }
}

test('reads cost nothing, and are not without a price', async (t) => {
  const prefix = bench.mark();
  bench.provider.next(`${prefix}/files`, (_req, res) => void res.end('{"data":[]}'));
  await raw(bench.gateway.origin, {
    path: '/v1/files',
    headers: { ...bench.headers(prefix), 'x-gateway-trace-id': prefix.slice(1) },
  });
  const [entry = {}] = await client.logs(prefix.slice(1));
  t.falsy(entry.unpriced);
});

test('a report that cannot be true is refused, and an estimate takes its place', async (t) => {
  for (const usage of [
    { prompt_tokens: -5, completion_tokens: 1 },
    { input_tokens: 2 ** 63, output_tokens: 1 },
    { prompt_tokens: 1e308, completion_tokens: 1 },
    { prompt_tokens: 1, completion_tokens: '7' },
  ]) {
    const { entry } = await passed(
      { path: '/anything', body: { model: 'gpt-4o' }, answer: JSON.stringify({ usage }), model: 'gpt-4o' },
      'identity',
    );
    t.true(entry.usage_estimated, JSON.stringify(usage));
    t.true(Number(entry.cost) > 0);
  }
});

test('a budget is charged for Responses, Messages and generateContent that are passed through', async (t) => {
  for (const name of [
    'Responses, whole',
    'Responses, its terminal event',
    'Messages, streamed',
    'Converse, whole',
  ]) {
    const form = FORMS[name]!;
    const { key } = await client.key({ usage_limits: { type: 'tokens', credit_limit: 100 } });
    const statuses: number[] = [];
    for (let i = 0; i < 12 && statuses.at(-1) !== 412; i++) {
      const prefix = bench.mark();
      bench.provider.next(prefix + form.path.replace(/^\/proxy/, ''), (_req, res) => {
        res.writeHead(200, { 'content-type': form.type ?? 'application/json' }).end(form.answer);
      });
      const answer = await raw(bench.gateway.origin, {
        method: 'POST',
        path: `/v1${form.path}`,
        headers: {
          ...bench.headers(prefix),
          'x-gateway-provider': form.provider ?? 'openai',
          'x-gateway-api-key': key,
        },
        body: JSON.stringify(form.body),
      });
      statuses.push(answer.status);
    }
    t.is(statuses.at(-1), 412, `${name}: ${statuses.join()}`);
  }
});
