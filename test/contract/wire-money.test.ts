// One prompt, one price: what chat, Responses, Messages and pass-through book for one report of usage is the same to the
// last digit, with all of its details, whole and streamed.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { framed } from '../providers/support/aws-frames.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

type Json = Record<string, unknown>;

let gateway: TestGateway;
let provider: http.Server;
let origin: string;
/** The usage that the provider reports next, by its wire. */
const usages = new Map<string, Json>();
/** What it put into its answer in addition: members of a candidate, items before a response's message. */
let said: Pick<Case, 'candidate' | 'items'> = {};
/** The tier of service that it says it served. */
let tier: string | undefined;

test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  provider = http.createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    req.on('end', () => answer(res, req.url ?? '', JSON.parse(body) as Json));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
test.after.always(async () => {
  provider?.close();
  provider?.closeAllConnections();
  await gateway?.close();
});

const sse = (events: readonly Json[]): string =>
  events
    .map((event) => `${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');

function answer(res: http.ServerResponse, url: string, { model: named, stream }: Json): void {
  const model = named ?? /models\/([^:]+):/.exec(url)?.[1];
  const wire = url.includes('/model/')
    ? 'converse'
    : url.includes('enerateContent')
      ? 'gemini'
      : url.endsWith('/messages')
        ? 'messages'
        : url.endsWith('/responses')
          ? 'responses'
          : 'chat';
  const [whole, events] = ANSWERS[wire]!(String(model), usages.get(wire)!);
  if (wire === 'converse' && url.includes('stream')) {
    res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    res.end(framed(events as [string, Json][]));
    return;
  }
  const streams = stream || url.includes('streamGenerate');
  res.writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' });
  res.end(
    streams ? sse(events as Json[]) + (wire === 'chat' ? 'data: [DONE]\n\n' : '') : JSON.stringify(whole),
  );
}

type Wire = (model: string, usage: Json) => readonly [Json, readonly (Json | [string, Json])[]];

const ANSWERS: Readonly<Record<string, Wire>> = {
  messages(model, usage) {
    const head = { id: 'msg_1', type: 'message', role: 'assistant', model, stop_sequence: null };
    const { output_tokens: output, ...begun } = usage;
    const { server_tool_use: tools, ...asked } = begun;
    return [
      { ...head, content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn', usage },
      [
        {
          type: 'message_start',
          message: { ...head, content: [], stop_reason: null, usage: { ...asked, output_tokens: 1 } },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: { output_tokens: output, ...(tools === undefined ? {} : { server_tool_use: tools }) },
        },
        { type: 'message_stop' },
      ],
    ];
  },
  chat(model, usage) {
    const head = { id: 'c1', created: 1, model, ...(tier === undefined ? {} : { service_tier: tier }) };
    const chunk = { ...head, object: 'chat.completion.chunk' };
    return [
      {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
        usage,
      },
      [
        { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' } }] },
        { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        { ...chunk, choices: [], usage },
      ],
    ];
  },
  responses(model, usage) {
    const item = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
    };
    const head = {
      id: `resp_${randomUUID()}`,
      object: 'response',
      created_at: 1,
      model,
      ...(tier === undefined ? {} : { service_tier: tier }),
    };
    const items = said.items ?? [];
    const whole = { ...head, status: 'completed', output: [...items, item], usage };
    return [
      whole,
      [
        {
          type: 'response.created',
          sequence_number: 0,
          response: { ...head, status: 'in_progress', output: [] },
        },
        ...items.map((one, i) => ({
          type: 'response.output_item.done',
          sequence_number: 1,
          output_index: i,
          item: one,
        })),
        { type: 'response.completed', sequence_number: 1, response: whole },
      ],
    ];
  },
  gemini(modelVersion, usageMetadata) {
    const parts = [{ text: 'Hi' }];
    const candidate = {
      content: { role: 'model', parts },
      finishReason: 'STOP',
      index: 0,
      ...said.candidate,
    };
    const { finishReason: _, groundingMetadata: __, ...begun } = candidate as Json;
    const whole = { candidates: [candidate], usageMetadata, modelVersion, responseId: 'r1' };
    const rest = { ...candidate, content: { role: 'model', parts: [] } };
    return [
      whole,
      [
        { ...whole, candidates: [begun], usageMetadata: { ...usageMetadata, candidatesTokenCount: 1 } },
        { ...whole, candidates: [rest] },
      ],
    ];
  },
  converse: (_model, usage) => [
    {
      output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
      stopReason: 'end_turn',
      usage,
      metrics: { latencyMs: 1 },
      ...(tier === undefined ? {} : { serviceTier: { type: tier } }),
    },
    [
      ['messageStart', { role: 'assistant' }],
      ['contentBlockDelta', { delta: { text: 'Hi' }, contentBlockIndex: 0 }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['messageStop', { stopReason: 'end_turn' }],
      [
        'metadata',
        {
          usage,
          metrics: { latencyMs: 1 },
          ...(tier === undefined ? {} : { serviceTier: { type: tier } }),
        },
      ],
    ],
  ],
};

async function ask(wire: string, path: string, body: Json): Promise<Json> {
  const trace = randomUUID();
  const response = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-provider': wire,
      'x-gateway-custom-host': origin,
      'x-gateway-aws-region': 'us-east-1',
      authorization: 'Bearer sk-of-the-provider',
      'x-gateway-trace-id': trace,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return eventually('the entry', async () => {
    const logs = await fetch(`${gateway.origin}/v1/logs?trace_id=${trace}`, {
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    });
    return ((await logs.json()) as { readonly data?: readonly Json[] }).data?.[0];
  });
}

const input = 'Hello';
const messages = [{ role: 'user', content: input }];

interface Case {
  readonly wire: string;
  readonly model: string;
  readonly usages: Readonly<Record<string, Json>>;
  readonly tier?: string;
  /** In 1e-12 USD. */
  readonly cost: number;
  /** Searches that the entry counts. */
  readonly searches?: number;
  readonly candidate?: Json;
  readonly items?: readonly Json[];
  /** What is asked in the forms that all wires have; absent: all of them. */
  readonly forms?: readonly string[];
  /** Paths that reach the wire as they are; `:generate` is Gemini's verb. */
  readonly raw?: Readonly<Record<string, Json>>;
}

const GEMINI_USAGE = { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 };
const GEMINI_3 = { input: 1_500_000, output: 9_000_000 };

const geminiPaths = (model: string): Readonly<Record<string, Json>> => {
  const body = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
  return { [`/proxy/models/${model}:generate`]: body, [`beta/models/${model}:generate`]: body };
};

const CASES: Readonly<Record<string, Case>> = {
  'Anthropic: cached reads, writes for 5 minutes and for an hour': {
    wire: 'anthropic',
    model: 'claude-sonnet-4-5',
    usages: {
      messages: {
        input_tokens: 11,
        cache_read_input_tokens: 1000,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
        output_tokens: 7,
        service_tier: 'standard',
      },
    },
    cost: 11 * 3_000_000 + 1000 * 300_000 + 100 * 3_750_000 + 200 * 6_000_000 + 7 * 15_000_000,
    raw: { '/proxy/messages': { messages, max_tokens: 5 } },
  },
  'Anthropic: searches of the web': {
    wire: 'anthropic',
    model: 'claude-sonnet-4-5',
    usages: {
      messages: {
        input_tokens: 11,
        output_tokens: 7,
        cache_creation_input_tokens: 0,
        server_tool_use: { web_search_requests: 3, web_fetch_requests: 1 },
      },
    },
    cost: 11 * 3_000_000 + 7 * 15_000_000 + 3 * 10_000_000_000,
    raw: { '/proxy/messages': { messages, max_tokens: 5 } },
  },
  'Bedrock: cached reads, writes for 5 minutes and for an hour': {
    wire: 'bedrock',
    model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    usages: {
      converse: {
        inputTokens: 11,
        outputTokens: 7,
        totalTokens: 1318,
        cacheReadInputTokens: 1000,
        cacheWriteInputTokens: 300,
        cacheDetails: [
          { ttl: '5m', inputTokens: 100 },
          { ttl: '1h', inputTokens: 200 },
        ],
      },
    },
    cost: 11 * 3_000_000 + 1000 * 300_000 + 100 * 3_750_000 + 200 * 6_000_000 + 7 * 15_000_000,
  },
  'OpenAI: cached, reasoning': {
    wire: 'openai',
    model: 'gpt-4o',
    usages: {
      chat: {
        prompt_tokens: 1111,
        completion_tokens: 77,
        total_tokens: 1188,
        prompt_tokens_details: { cached_tokens: 1000 },
        completion_tokens_details: { reasoning_tokens: 70 },
      },
      responses: {
        input_tokens: 1111,
        output_tokens: 77,
        total_tokens: 1188,
        input_tokens_details: { cached_tokens: 1000 },
        output_tokens_details: { reasoning_tokens: 70 },
      },
    },
    cost: 111 * 2_500_000 + 1000 * 1_250_000 + 77 * 10_000_000,
    raw: { '/proxy/chat/completions': { messages }, '/proxy/responses': { input } },
  },
  'Anthropic: the batch tier, which only the answer says': {
    wire: 'anthropic',
    model: 'claude-sonnet-4-5',
    usages: {
      messages: {
        input_tokens: 11,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 20,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 20 },
        output_tokens: 7,
        service_tier: 'batch',
      },
    },
    cost: 11 * 1_500_000 + 20 * 3_000_000 + 7 * 7_500_000,
    raw: { '/proxy/messages': { messages, max_tokens: 5 } },
  },
  'OpenAI: audio in and out': {
    wire: 'openai',
    model: 'gpt-audio',
    usages: {
      chat: {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 20 },
      },
      responses: {
        input_tokens: 100,
        output_tokens: 50,
        total_tokens: 150,
        input_tokens_details: { cached_tokens: 0, audio_tokens: 30 },
        output_tokens_details: { reasoning_tokens: 0, audio_tokens: 20 },
      },
    },
    cost: 70 * 2_500_000 + 30 * 32_000_000 + 30 * 10_000_000 + 20 * 64_000_000,
    raw: { '/proxy/chat/completions': { messages }, '/proxy/responses': { input } },
  },
  'Bedrock: the flex tier': {
    wire: 'bedrock',
    model: 'amazon.nova-pro-v1:0',
    tier: 'flex',
    usages: { converse: { inputTokens: 11, outputTokens: 7, totalTokens: 18 } },
    cost: 11 * 400_000 + 7 * 1_600_000,
  },
  'x-ai: reasoning apart from the completion': {
    wire: 'x-ai',
    model: 'grok-4.3',
    usages: {
      chat: {
        prompt_tokens: 291,
        completion_tokens: 26,
        total_tokens: 506,
        prompt_tokens_details: { cached_tokens: 100, text_tokens: 291 },
        completion_tokens_details: { reasoning_tokens: 189 },
        num_sources_used: 0,
      },
      responses: {
        input_tokens: 291,
        output_tokens: 215,
        total_tokens: 506,
        input_tokens_details: { cached_tokens: 100 },
        output_tokens_details: { reasoning_tokens: 189 },
      },
    },
    cost: 191 * 1_250_000 + 100 * 200_000 + 215 * 2_500_000,
    raw: { '/proxy/chat/completions': { messages }, '/proxy/responses': { input } },
  },
  'Gemini 3: each query of a search': {
    wire: 'google',
    model: 'gemini-3.5-flash',
    usages: { gemini: GEMINI_USAGE },
    candidate: { groundingMetadata: { webSearchQueries: ['one', 'two', ''] } },
    searches: 2,
    cost: 11 * GEMINI_3.input + 7 * GEMINI_3.output + 2 * 14_000_000_000,
    raw: geminiPaths('gemini-3.5-flash'),
  },
  'Gemini 2.5: a prompt that searches': {
    wire: 'google',
    model: 'gemini-2.5-flash',
    usages: { gemini: GEMINI_USAGE },
    candidate: { groundingMetadata: { webSearchQueries: ['one', 'two'] } },
    searches: 1,
    cost: 11 * 300_000 + 7 * 2_500_000 + 35_000_000_000,
    raw: geminiPaths('gemini-2.5-flash'),
  },
  'Perplexity: a request that searches': {
    wire: 'perplexity-ai',
    model: 'sonar-pro',
    usages: {
      chat: {
        prompt_tokens: 11,
        completion_tokens: 7,
        total_tokens: 18,
        search_context_size: 'medium',
        num_search_queries: 3,
      },
    },
    cost: 11 * 3_000_000 + 7 * 15_000_000 + 10_000_000_000,
    raw: { '/proxy/chat/completions': { messages } },
  },
  'Perplexity: the queries of deep research': {
    wire: 'perplexity-ai',
    model: 'sonar-deep-research',
    usages: {
      chat: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, num_search_queries: 21 },
    },
    searches: 21,
    cost: 11 * 2_000_000 + 7 * 8_000_000 + 21 * 5_000_000_000,
    raw: { '/proxy/chat/completions': { messages } },
  },
  'OpenAI: searches of a response, and not the pages that it opened': {
    wire: 'openai',
    model: 'gpt-5',
    usages: { responses: { input_tokens: 11, output_tokens: 7, total_tokens: 18 } },
    items: [
      { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'a' } },
      { id: 'ws_2', type: 'web_search_call', status: 'completed', action: { type: 'open_page', url: 'b' } },
      { id: 'ws_3', type: 'web_search_call', status: 'completed' },
    ],
    forms: ['/responses'],
    cost: 11 * 1_250_000 + 7 * 10_000_000 + 2 * 10_000_000_000,
    raw: { '/proxy/responses': { input } },
  },
  'OpenAI: a chat model that searches for each answer': {
    wire: 'openai',
    model: 'gpt-5-search-api',
    usages: { chat: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } },
    forms: ['/chat/completions', '/messages'],
    cost: 11 * 1_250_000 + 7 * 10_000_000 + 10_000_000_000,
    raw: { '/proxy/chat/completions': { messages } },
  },
  'x-ai: sources, which have no price in the list': {
    wire: 'x-ai',
    model: 'grok-4.3',
    usages: {
      chat: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, num_sources_used: 4 },
    },
    forms: ['/chat/completions', '/messages'],
    searches: 4,
    cost: 11 * 1_250_000 + 7 * 2_500_000,
    raw: { '/proxy/chat/completions': { messages } },
  },
  'OpenAI: the priority tier': {
    wire: 'openai',
    model: 'gpt-4o',
    tier: 'priority',
    usages: {
      chat: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
      responses: { input_tokens: 1000, output_tokens: 100, total_tokens: 1100 },
    },
    cost: 1000 * 4_250_000 + 100 * 17_000_000,
    raw: { '/proxy/chat/completions': { messages }, '/proxy/responses': { input } },
  },
};

for (const [name, { wire, model, cost, raw = {}, ...given }] of Object.entries(CASES))
  test.serial(`${name}: the same money by each form`, async (t) => {
    for (const [form, usage] of Object.entries(given.usages)) usages.set(form, usage);
    tier = given.tier;
    said = given;
    const bodies: readonly (readonly [string, Json])[] = [
      ['/chat/completions', { messages, max_tokens: 50 }],
      ['/responses', { input, max_output_tokens: 50 }],
      ['/messages', { messages, max_tokens: 50 }],
    ];
    const asked = [...bodies.filter(([path]) => given.forms?.includes(path) ?? true), ...Object.entries(raw)];
    for (const [route, body] of asked)
      for (const stream of [undefined, true]) {
        const isGemini = route.endsWith(':generate');
        const verb = stream ? ':streamGenerateContent?alt=sse' : ':generateContent';
        const path = route.replace(':generate', verb);
        const members = isGemini ? {} : { model, ...(stream ? { stream } : {}) };
        const entry = await ask(wire, path, { ...members, ...body });
        t.is(
          entry.cost_exact,
          String(cost),
          `${path} ${stream ? 'streamed' : 'whole'} ${JSON.stringify(entry.usage)}`,
        );
        t.falsy(entry.unpriced, path);
        if (given.searches !== undefined)
          t.is(((entry.usage as Json).units as Json).web_searches, given.searches, path);
      }
  });
