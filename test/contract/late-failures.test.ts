// Streams that fail after they have said something: every form, over every wire and passed through, is in the books as
// one that broke off, with what its provider counted.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { framed } from '../providers/support/aws-frames.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient } from '../support/limits-client.ts';

let gateway: TestGateway;
let server: http.Server;
let origin = '';

const sse = (events: readonly Json[]): string =>
  events
    .map((event) => `${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');

const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'in_progress',
  model: 'gpt-4o',
  output: [],
};
const item = { id: 'm1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
const at = { item_id: 'm1', output_index: 0, content_index: 0 };
const SAID = [
  { type: 'response.created', sequence_number: 0, response },
  { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item },
  {
    type: 'response.content_part.added',
    sequence_number: 2,
    ...at,
    part: { type: 'output_text', text: '', annotations: [] },
  },
  { type: 'response.output_text.delta', sequence_number: 3, ...at, delta: 'Half' },
];
const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
const chunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' };
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] };

interface Ending {
  readonly provider: string;
  readonly model: string;
  readonly body: string | Buffer;
  readonly type?: string;
  readonly status: number;
  /** What the provider counted before it failed. */
  readonly counted?: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const ENDINGS: Readonly<Record<string, Ending>> = {
  'response.failed': {
    provider: 'openai',
    model: 'gpt-4o',
    status: 502,
    counted: { prompt_tokens: 11, completion_tokens: 7 },
    body: sse([
      ...SAID,
      {
        type: 'response.failed',
        sequence_number: 4,
        response: {
          ...response,
          status: 'failed',
          error: { code: 'server_error', message: 'no luck' },
          usage,
        },
      },
    ]),
  },
  'response.incomplete with an error': {
    provider: 'openai',
    model: 'gpt-4o',
    status: 429,
    counted: { prompt_tokens: 11, completion_tokens: 7 },
    body: sse([
      ...SAID,
      {
        type: 'response.incomplete',
        sequence_number: 4,
        response: {
          ...response,
          status: 'incomplete',
          error: { code: 'rate_limit_exceeded', message: 'no luck' },
          usage,
        },
      },
    ]),
  },
  'an error event of Responses': {
    provider: 'openai',
    model: 'gpt-4o',
    status: 502,
    body: sse([
      ...SAID,
      { type: 'error', sequence_number: 4, code: 'server_error', message: 'no luck', param: null },
    ]),
  },
  'an error event of Messages': {
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
    status: 529,
    body: sse([
      { type: 'message_start', message: { ...message, usage: { input_tokens: 11, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } },
      { type: 'error', error: { type: 'overloaded_error', message: 'no luck' } },
    ]),
  },
  'an error chunk of chat': {
    provider: 'mistral-ai',
    model: 'mistral-large-latest',
    status: 429,
    counted: { prompt_tokens: 11, completion_tokens: 7 },
    body: sse([
      { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Half' } }] },
      {
        ...chunk,
        error: { code: 429, message: 'no luck' },
        choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
        usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
      },
    ]),
  },
  'an error of Gemini': {
    provider: 'google',
    model: 'gemini-2.5-flash',
    status: 503,
    body: sse([
      {
        candidates: [{ content: { role: 'model', parts: [{ text: 'Half' }] }, index: 0 }],
        usageMetadata: { promptTokenCount: 11, totalTokenCount: 11 },
        modelVersion: 'gemini-2.5-flash',
        responseId: 'r1',
      },
      { error: { code: 503, message: 'no luck', status: 'UNAVAILABLE' } },
    ]),
  },
  'an exception of Bedrock': {
    provider: 'bedrock',
    model: 'amazon.nova-pro-v1:0',
    status: 429,
    type: 'application/vnd.amazon.eventstream',
    body: framed([
      ['messageStart', { role: 'assistant' }],
      ['contentBlockDelta', { delta: { text: 'Half' }, contentBlockIndex: 0 }],
      ['throttlingException', { message: 'no luck' }, 'exception'],
    ]),
  },
};

test.before(async () => {
  server = http.createServer((req, res) => {
    const name = decodeURIComponent(/\/case\/([^/]+)/.exec(req.url ?? '')?.[1] ?? '');
    const { type = 'text/event-stream', body } = ENDINGS[name]!;
    req.resume().on('end', () => res.writeHead(200, { 'content-type': type }).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway = await startGateway();
});
test.after.always(async () => {
  server?.close();
  await gateway?.close();
});

async function ask(name: string, path: string, body: Json): Promise<{ text: string; entry: Json }> {
  const { provider, model } = ENDINGS[name]!;
  const trace = randomUUID();
  const answer = await fetch(gateway.origin + path, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-provider': provider,
      'x-gateway-custom-host': `${origin}/case/${encodeURIComponent(name)}`,
      'x-gateway-aws-region': 'us-east-1',
      authorization: 'Bearer sk-of-the-provider',
      'x-gateway-trace-id': trace,
    },
    body: JSON.stringify({ model, ...body }),
  });
  const text = await answer.text();
  const [entry] = await limitsClient(gateway, { origin } as never).logs(trace);
  return { text: `${answer.status} ${text}`, entry: entry! };
}

const turn = [{ role: 'user', content: 'hi' }];
const FORMS: Readonly<Record<string, (model: string) => readonly [string, Json]>> = {
  chat: () => ['/v1/chat/completions', { messages: turn, stream: true }],
  Responses: () => ['/v1/responses', { input: 'hi', stream: true }],
  Messages: () => ['/v1/messages', { messages: turn, max_tokens: 50, stream: true }],
  Gemini: (model) => [
    `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  Converse: (model) => [
    `/model/${encodeURIComponent(model)}/converse-stream`,
    { messages: [{ role: 'user', content: [{ text: 'hi' }] }] },
  ],
};
/** Where the wire is reached as it is. */
const RAW: Readonly<Record<string, (model: string) => readonly [string, Json]>> = {
  openai: () => ['/v1/proxy/responses', { input: 'hi', stream: true }],
  'mistral-ai': () => ['/v1/proxy/chat/completions', { messages: turn, stream: true }],
  anthropic: () => ['/v1/proxy/messages', { messages: turn, max_tokens: 50, stream: true }],
  google: (model) => [
    `/v1/proxy/models/${model}:streamGenerateContent?alt=sse`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  bedrock: (model) => [
    `/v1/proxy/model/${model}/converse-stream`,
    { messages: [{ role: 'user', content: [{ text: 'hi' }] }] },
  ],
};

for (const [name, { provider, model, status, counted }] of Object.entries(ENDINGS)) {
  const forms = Object.entries(FORMS).filter(([form]) => provider !== 'openai' || form === 'Responses');
  for (const [form, bodyOf] of [...forms, ['pass-through', RAW[provider]!] as const])
    test(`${name}, ${form}: the entry says that it failed`, async (t) => {
      const { text, entry } = await ask(name, ...bodyOf(model));
      t.regex(text, /^200 /);
      t.true(text.includes('no luck'), text);
      t.like(entry, { status_code: status, outcome: 'interrupted' }, JSON.stringify(entry));
      const [attempt, ...more] = entry.attempts as Json[];
      t.is(more.length, 0);
      t.like(attempt, { status_code: status, outcome: 'interrupted' });
      t.truthy(attempt!.error);
      t.true(Number(entry.cost) > 0);
      if (counted !== undefined) t.like(entry.usage, counted);
    });
}
