// Google's Gemini API and Amazon Bedrock Runtime as a fake provider speaks them: text, or two calls where the request
// has tools and no result of one yet.
import type http from 'node:http';
import { framed } from '../providers/support/aws-frames.ts';

type Json = Record<string, unknown>;

const CONTENT = 'Hello, wörld! 👋';
const CITIES = ['Zürich', 'Bern'];

/** Answers where the path is one of theirs. @returns whether it was */
export function fakeNative(res: http.ServerResponse, path: string, request: Json, url: string): boolean {
  const gemini = /\/models\/([^/]+):([A-Za-z]+)$/.exec(decodeURIComponent(path));
  if (gemini !== null) answerGemini(res, gemini[1]!, gemini[2]!, request, url);
  const bedrock = /\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/.exec(
    path,
  );
  if (bedrock !== null) answerBedrock(res, bedrock[2]!, request);
  return gemini !== null || bedrock !== null;
}

const GEMINI_USAGE = {
  promptTokenCount: 11,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 2,
  cachedContentTokenCount: 3,
  totalTokenCount: 18,
};

function answerGemini(
  res: http.ServerResponse,
  model: string,
  verb: string,
  request: Json,
  url: string,
): void {
  const status = /^status-(\d{3})$/.exec(model)?.[1];
  if (status !== undefined)
    return void send(res, Number(status), {
      error: { code: Number(status), message: `no: ${model}`, status: 'RESOURCE_EXHAUSTED' },
    });
  if (verb === 'countTokens') return void send(res, 200, { totalTokens: 42 });
  if (verb === 'embedContent') return void send(res, 200, { embedding: { values: [0.1, -0.25, 3] } });
  if (verb === 'batchEmbedContents')
    return void send(res, 200, {
      embeddings: (request.requests as unknown[]).map(() => ({ values: [0.1, -0.25, 3] })),
    });
  const pieces = geminiParts(request);
  const response = (parts: unknown[], more: Json): Json => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
    usageMetadata: GEMINI_USAGE,
    modelVersion: model,
    responseId: 'gemini-1',
  });
  if (verb === 'generateContent')
    return void send(res, 200, response(pieces.flat(), { finishReason: 'STOP' }));
  const responses = pieces.map((parts, i) =>
    response(parts, i === pieces.length - 1 ? { finishReason: 'STOP' } : {}),
  );
  if (!url.includes('alt=sse')) return void send(res, 200, responses);
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.end(responses.map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`).join(''));
}

/** The parts of each piece. */
function geminiParts({ tools, contents }: Json): Json[][] {
  const answered = JSON.stringify(contents).includes('functionResponse');
  if (Array.isArray(tools) && tools.length > 0 && !answered)
    return CITIES.map((city, i) => [
      {
        functionCall: { id: `call-${i}`, name: 'weather', args: { city } },
        ...(i === 0 ? { thoughtSignature: 'c2lnbmF0dXJl' } : {}),
      },
    ]);
  return [[{ text: CONTENT.slice(0, 5) }], [{ text: CONTENT.slice(5) }]];
}

const USAGE = {
  inputTokens: 8,
  outputTokens: 7,
  totalTokens: 18,
  cacheReadInputTokens: 3,
  cacheWriteInputTokens: 0,
};

function answerBedrock(res: http.ServerResponse, verb: string, request: Json): void {
  if (verb.startsWith('invoke')) return void answerInvoke(res, verb, request);
  const answered = JSON.stringify(request.messages).includes('toolResult');
  const tools = request.toolConfig !== undefined && !answered;
  const stopReason = tools ? 'tool_use' : 'end_turn';
  const uses = CITIES.map((city, i) => ({
    toolUse: { toolUseId: `tooluse_${i}`, name: 'weather', input: { city } },
  }));
  if (verb === 'converse')
    return void send(res, 200, {
      output: { message: { role: 'assistant', content: tools ? uses : [{ text: CONTENT }] } },
      stopReason,
      usage: USAGE,
      metrics: { latencyMs: 5 },
    });
  const blocks = tools
    ? uses.flatMap(({ toolUse: { input, ...start } }, contentBlockIndex) => [
        ['contentBlockStart', { start: { toolUse: start }, contentBlockIndex }],
        [
          'contentBlockDelta',
          { delta: { toolUse: { input: JSON.stringify(input).slice(0, 8) } }, contentBlockIndex },
        ],
        [
          'contentBlockDelta',
          { delta: { toolUse: { input: JSON.stringify(input).slice(8) } }, contentBlockIndex },
        ],
        ['contentBlockStop', { contentBlockIndex }],
      ])
    : [
        ...[...CONTENT].map((text) => [
          'contentBlockDelta',
          { delta: { text }, contentBlockIndex: 0, p: 'abcd' },
        ]),
        ['contentBlockStop', { contentBlockIndex: 0 }],
      ];
  stream(res, [
    ['messageStart', { role: 'assistant', p: 'ab' }],
    ...blocks,
    ['messageStop', { stopReason }],
    ['metadata', { usage: USAGE, metrics: { latencyMs: 5 } }],
  ]);
}

/** The answer of one of Anthropic's models. */
function answerInvoke(res: http.ServerResponse, verb: string, _request: Json): void {
  const usage = { input_tokens: 8, cache_read_input_tokens: 3, output_tokens: 7 };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-ok',
    stop_sequence: null,
  };
  if (verb === 'invoke')
    return void send(res, 200, {
      ...message,
      content: [{ type: 'text', text: CONTENT }],
      stop_reason: 'end_turn',
      usage,
    });
  const events = [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...[...CONTENT].map((text) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text },
    })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 7 },
    },
    { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 8, outputTokenCount: 7 } },
  ];
  stream(
    res,
    events.map((event) => [
      'chunk',
      { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' },
    ]),
  );
}

function stream(res: http.ServerResponse, frames: unknown[]): void {
  res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
  res.end(framed(frames));
}

function send(res: http.ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}
