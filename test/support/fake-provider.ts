// A provider on a real socket that behaves as the request's model says, well or badly.
// It speaks OpenAI's dialect, Anthropic's on /v1/messages, Google's and Bedrock's (fake-native.ts), and remembers what it
// was sent.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { fakeNative } from './fake-native.ts';
import { fakeResponses } from './fake-responses.ts';

/** What the provider was sent. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface FakeProvider {
  /** http://127.0.0.1:port */
  readonly origin: string;
  readonly port: number;
  /** Everything sent so far, oldest first. */
  readonly seen: Seen[];
  /** Requests whose socket was closed by the caller before the answer was complete. */
  readonly aborted: number;
  /** Replaces the behaviour for the next request to the path. */
  next(path: string, answer: Answer): void;
  close(): Promise<void>;
}

export type Answer = (
  req: http.IncomingMessage,
  res: http.ServerResponse,
  body: Buffer,
) => void | Promise<void>;

const CONTENT = 'Hello, wörld! 👋';

/** Starts a provider on a free port of the loopback. */
export async function startFakeProvider(): Promise<FakeProvider> {
  const seen: Seen[] = [];
  const queued = new Map<string, Answer[]>();
  const failures = new Map<string, number>();
  const responses = fakeResponses(new Map());
  let aborted = 0;
  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = Buffer.concat(chunks);
      seen.push({
        method: req.method ?? '',
        url: req.url ?? '',
        headers: req.headers,
        rawHeaders: req.rawHeaders,
        body,
      });
      res.on('close', () => {
        if (!res.writableFinished) aborted++;
      });
      const path = (req.url ?? '').split('?')[0]!;
      const answer = queued.get(path)?.shift() ?? ((q, s, b) => behave(q, s, b, failures, responses));
      void Promise.resolve(answer(req, res, body)).catch(() => res.destroy());
    });
    req.on('error', () => {});
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    seen,
    get aborted() {
      return aborted;
    },
    next(path, answer) {
      queued.set(path, [...(queued.get(path) ?? []), answer]);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function behave(
  req: http.IncomingMessage,
  res: http.ServerResponse,
  body: Buffer,
  failures: Map<string, number>,
  responses: ReturnType<typeof fakeResponses>,
): Promise<void> {
  const path = (req.url ?? '').split('?')[0]!;
  if (path.endsWith('/models') && req.method === 'GET') {
    return json(res, 200, {
      object: 'list',
      data: [{ id: 'gpt-ok', object: 'model', created: 1, owned_by: 'fake', extra_member: [1] }],
    });
  }
  const one = /\/models\/(.+)$/.exec(path)?.[1];
  if (one !== undefined && req.method === 'GET') {
    const id = decodeURIComponent(one);
    if (id.startsWith('absent')) {
      return json(res, 404, {
        error: {
          message: `The model '${id}' does not exist`,
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      });
    }
    return json(res, 200, { id, object: 'model', created: 1, owned_by: 'fake', extra_member: { a: [1] } });
  }
  const request = parse(body);
  if (fakeNative(res, path, request, req.url ?? '')) return;
  const model = String(request.model ?? '');
  const status = /^status-(\d{3})$/.exec(model);
  if (status) {
    res.setHeader('retry-after', '7');
    return json(res, Number(status[1]), {
      error: { message: `no: ${model}`, type: 'fake_error', param: 'model', code: 'fake_code' },
    });
  }
  const flaky = /^flaky-(\d+)-/.exec(model);
  if (flaky) {
    const count = failures.get(model) ?? 0;
    failures.set(model, count + 1);
    if (count < Number(flaky[1])) {
      res.setHeader('retry-after-ms', '5');
      return json(res, 429, {
        error: { message: 'slow down', type: 'rate_limit', param: null, code: 'rate_limited' },
      });
    }
  }
  const slow = /^slow-(\d+)$/.exec(model);
  if (slow) await sleep(Number(slow[1]));
  if (model === 'hang') return;
  if (model === 'reset') return void req.socket.destroy();
  if (/\/responses(?:\/|$)/.test(path)) return responses(req, res, path, request);
  if (path.endsWith('/messages')) return anthropic(res, request);
  if (path.endsWith('/chat/completions'))
    return request.stream === true ? chatStream(res, request, model) : chatWhole(res, request, model);
  if (path.endsWith('/completions'))
    return request.stream === true ? textStream(res, model) : textWhole(res, model);
  if (path.endsWith('/embeddings')) {
    const inputs = Array.isArray(request.input) ? request.input : [request.input];
    const vector = [0.1, -0.25, 3];
    const floats = Buffer.from(new Float32Array(vector).buffer).toString('base64');
    return json(res, 200, {
      object: 'list',
      data: inputs.map((_, index) => ({
        object: 'embedding',
        index,
        embedding: request.encoding_format === 'base64' ? floats : vector,
      })),
      model,
      usage: { prompt_tokens: 5, total_tokens: 5 },
    });
  }
  if (path.endsWith('/rerank')) {
    const documents = request.documents as readonly unknown[];
    const results = documents.map((_, index) => ({ index, relevance_score: (index + 1) / 10 })).reverse();
    const most = (request.top_n as number | undefined) ?? documents.length;
    return json(res, 200, { id: 'rr-1', model, results: results.slice(0, most), usage: { total_tokens: 9 } });
  }
  if (path.endsWith('/images/generations')) return images(res, request, model);
  if (path.endsWith('/image/generation')) return json(res, 200, { images: [{ index: 0, image: IMAGE }] });
  if (path.endsWith('/ocr'))
    return json(res, 200, {
      model,
      pages: [{ index: 0, markdown: '# A', images: [], dimensions: null }],
      usage_info: { pages_processed: 1, doc_size_bytes: 9 },
    });
  if (path.endsWith('/moderations')) {
    const names = [
      'hate',
      'hate/threatening',
      'harassment',
      'harassment/threatening',
      'self-harm',
      'self-harm/intent',
      'self-harm/instructions',
      'sexual',
      'sexual/minors',
      'violence',
      'violence/graphic',
    ];
    const count = Array.isArray(request.input) ? request.input.length : 1;
    return json(res, 200, {
      id: 'modr-1',
      model,
      results: Array.from({ length: count }, () => ({
        flagged: true,
        categories: Object.fromEntries(names.map((n) => [n, n === 'violence'])),
        category_scores: Object.fromEntries(names.map((n, i) => [n, i / 100])),
      })),
    });
  }
  json(res, 404, { error: { message: `nothing at ${path}`, type: 'not_found', param: null, code: null } });
}

const IMAGE = 'iVBORw0KGgo=';
const IMAGE_USAGE = {
  input_tokens: 10,
  output_tokens: 20,
  total_tokens: 30,
  input_tokens_details: { text_tokens: 10, image_tokens: 0 },
};

/** As many images as are asked for; models named gpt-image-… count tokens. */
function images(res: http.ServerResponse, request: Readonly<Record<string, unknown>>, model: string): void {
  const count = Number(request.n ?? 1);
  const usage = model.startsWith('gpt-image') ? { usage: IMAGE_USAGE } : {};
  if (request.stream !== true) {
    const data = Array.from({ length: count }, () => ({ b64_json: IMAGE, revised_prompt: 'a brass lamp' }));
    json(res, 200, { created: 1, data, ...usage });
    return;
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (type: string, more: object): void => {
    const data = JSON.stringify({ type, b64_json: IMAGE, created_at: 1, ...more });
    res.write(`event: ${type}\ndata: ${data}\n\n`);
  };
  for (let i = 0; i < Number(request.partial_images ?? 0); i++)
    event('image_generation.partial_image', { partial_image_index: i });
  event('image_generation.completed', usage);
  res.end();
}

const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 3 },
};

function chatWhole(res: http.ServerResponse, request: Record<string, unknown>, model: string): void {
  if (model === 'garbage')
    return void res.writeHead(200, { 'content-type': 'application/json' }).end('{"id": "x", "choi');
  if (model === 'html')
    return void res.writeHead(200, { 'content-type': 'text/html' }).end('<html>hello</html>');
  if (model === 'cut') {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
    res.write('{"id": "half');
    return void setTimeout(() => res.destroy(), 20);
  }
  if (model === 'huge') {
    res.writeHead(200, { 'content-type': 'application/json' });
    const piece = Buffer.alloc(1024 * 1024, 0x20);
    const write = (left: number): void => {
      if (left === 0 || res.destroyed) return void res.end('{}');
      if (res.write(piece)) setImmediate(write, left - 1);
      else res.once('drain', () => write(left - 1));
    };
    write(80);
    return;
  }
  if (model === 'redirect') return void res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
  const tools = Array.isArray(request.tools) && request.tools.length > 0;
  const message = tools
    ? {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Zürich"}' } },
          { id: 'call_2', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } },
        ],
      }
    : { role: 'assistant', content: CONTENT, refusal: null, annotations: [] };
  json(res, 200, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1700000000,
    model,
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: tools ? 'tool_calls' : 'stop',
        vendor_extra: { a: [1, null] },
      },
    ],
    usage: USAGE,
    system_fingerprint: 'fp_1',
  });
}

/** The events of a chat stream as SSE text, one element an event. */
function chatEvents(request: Record<string, unknown>, model: string): string[] {
  const chunk = (delta: object, finish: string | null = null): string =>
    event({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1700000000,
      model,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...usageNull(request),
    });
  const tools = Array.isArray(request.tools) && request.tools.length > 0;
  const events = tools
    ? [
        chunk({
          role: 'assistant',
          content: null,
          tool_calls: [
            { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } },
          ],
        }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '"Zürich"}' } }] }),
        chunk({
          tool_calls: [
            {
              index: 1,
              id: 'call_2',
              type: 'function',
              function: { name: 'weather', arguments: '{"city":"Bern"}' },
            },
          ],
        }),
        chunk({}, 'tool_calls'),
      ]
    : [
        chunk({ role: 'assistant', content: '' }),
        ...[...CONTENT].map((content) => chunk({ content })),
        chunk({}, 'stop'),
      ];
  if (wantsUsage(request))
    events.push(
      event({
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1700000000,
        model,
        choices: [],
        usage: USAGE,
      }),
    );
  return [...events, 'data: [DONE]\n\n'];
}

async function chatStream(
  res: http.ServerResponse,
  request: Record<string, unknown>,
  model: string,
): Promise<void> {
  if (model === 'stream-error-first') {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    return void res.end(
      event({ error: { message: 'overloaded right away', type: 'server_error', code: 503 } }),
    );
  }
  if (model === 'whole-anyway') return chatWhole(res, request, model);
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const events = chatEvents(request, model);
  if (model === 'split') {
    for (const byte of Buffer.from(events.join(''))) {
      res.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return void res.end();
  }
  if (model === 'cut') {
    res.write(events.slice(0, 3).join(''));
    await sleep(20);
    return void res.destroy();
  }
  if (model === 'silent-end') return void res.end(events.slice(0, 3).join(''));
  if (model === 'garbage') {
    res.write(events.slice(0, 2).join(''));
    return void res.end('data: {not json\n\n');
  }
  if (model === 'stream-error-later') {
    res.write(events.slice(0, 3).join(''));
    return void res.end(
      event({ error: { message: 'broke in the middle', type: 'server_error', code: 'mid' } }),
    );
  }
  const stall = /^stall-(\d+)$/.exec(model);
  const pace = /^pace-(\d+)$/.exec(model);
  for (const [i, text] of events.entries()) {
    if (res.destroyed) return;
    res.write(text);
    if (stall && i === 2) await sleep(Number(stall[1]));
    if (pace) await sleep(Number(pace[1]));
  }
  res.end();
}

function textWhole(res: http.ServerResponse, model: string): void {
  json(res, 200, {
    id: 'cmpl-1',
    object: 'text_completion',
    created: 1700000000,
    model,
    choices: [{ index: 0, text: CONTENT, logprobs: null, finish_reason: 'stop' }],
    usage: USAGE,
  });
}

function textStream(res: http.ServerResponse, model: string): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const text of ['Hello', ', ', 'wörld']) {
    res.write(
      event({
        id: 'cmpl-1',
        object: 'text_completion',
        created: 1700000000,
        model,
        choices: [{ index: 0, text, logprobs: null, finish_reason: null }],
      }),
    );
  }
  res.write(
    event({
      id: 'cmpl-1',
      object: 'text_completion',
      created: 1700000000,
      model,
      choices: [{ index: 0, text: '', logprobs: null, finish_reason: 'stop' }],
      usage: USAGE,
    }),
  );
  res.end('data: [DONE]\n\n');
}

function anthropic(res: http.ServerResponse, request: Record<string, unknown>): void {
  const model = String(request.model);
  const usage = { input_tokens: 10, output_tokens: 4, cache_read_input_tokens: 2 };
  if (request.stream !== true) {
    json(res, 200, {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: CONTENT }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage,
    });
    return;
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const say = (name: string, data: object): void =>
    void res.write(`event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`);
  say('message_start', {
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    },
  });
  say('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
  say('ping', {});
  for (const text of [...CONTENT])
    say('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
  say('content_block_stop', { index: 0 });
  say('message_delta', {
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 4 },
  });
  say('message_stop', {});
  res.end();
}

function event(json: object): string {
  return `data: ${JSON.stringify(json)}\n\n`;
}

function wantsUsage(request: Record<string, unknown>): boolean {
  const options = request.stream_options as { include_usage?: unknown } | undefined;
  return options?.include_usage === true;
}

function usageNull(request: Record<string, unknown>): object {
  return wantsUsage(request) ? { usage: null } : {};
}

function json(res: http.ServerResponse, status: number, value: object): void {
  const text = JSON.stringify(value);
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-request-id': 'upstream-1',
  });
  res.end(text);
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(body.toString('utf8')) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
