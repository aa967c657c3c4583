// Streams that are passed through under mandatory guardrails of answers: of every known form they are guarded while they
// pass, event by event and byte for byte; what cannot be read is not passed on; what came is in the books.
import test from 'ava';
import { type Bench, raw, startBench } from '../contract/runner.ts';
import { framed, unframed } from '../providers/support/aws-frames.ts';
import { type LimitsClient, limitsClient } from '../support/limits-client.ts';

type Json = Record<string, unknown>;

let bench: Bench;
let client: LimitsClient;
/** Of workspaces whose guardrail denies a word, denies it softly, and writes. */
const keys: Record<string, string> = {};
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
  const { admin } = client;
  const words = [{ id: 'default.contains', parameters: { words: ['forbidden'], operator: 'none' } }];
  const masks = [{ id: 'default.regexReplace', parameters: { rule: 'secret-\\d+', redactText: '[masked]' } }];
  for (const [slug, checks, actions] of [
    ['denies', words, { deny: true }],
    ['writes', masks, { deny: false }],
  ] as const) {
    const guardrail = await admin('POST', '/guardrails', { name: slug, checks, actions });
    await admin('POST', '/admin/workspaces', { name: slug, slug });
    await admin('PUT', `/admin/workspaces/${slug}`, { defaults: { output_guardrails: [guardrail.id] } });
    const made = await admin('POST', '/api-keys/workspace/service', {
      name: slug,
      workspace_id: slug,
      scopes: ['completions.write'],
    });
    keys[slug] = String(made.key);
  }
});
test.after.always(() => bench?.close());

interface Form {
  readonly path: string;
  readonly body: Json;
  readonly type: string;
  /** The stream that says these pieces. */
  readonly stream: (pieces: readonly string[]) => Buffer;
  /** What the last event says that the gateway writes in the place of a word that it holds back. */
  readonly error: RegExp;
}

const SSE = 'text/event-stream; charset=utf-8';
const AWS = 'application/vnd.amazon.eventstream';
const named = (...events: readonly Json[]): Buffer =>
  Buffer.from(
    `: a comment\n\n${events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('')}`,
  );
const bare = (end: string, ...events: readonly Json[]): string =>
  events.map((one) => `data: ${JSON.stringify(one)}${end}${end}`).join('');
const messageEvents = (pieces: readonly string[]): Json[] => [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      usage: { input_tokens: 9 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...pieces.map((text) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text },
  })),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];
const gemini = (text: string): Json => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 5, totalTokenCount: 14 },
});

const FORMS: Readonly<Record<string, Form>> = {
  'chat completions': {
    path: '/proxy/chat/completions',
    body: { model: 'm', messages: [], stream: true },
    type: SSE,
    stream: (pieces) =>
      Buffer.from(
        `${bare('\n', ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content } }] })), {
          choices: [],
          usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 },
        })}data: [DONE]\n\n`,
      ),
    error: /^data: \{"status":"failure".*"hook_results"/,
  },
  completions: {
    path: '/proxy/completions',
    body: { model: 'm', prompt: 'x', stream: true },
    type: SSE,
    stream: (pieces) =>
      Buffer.from(bare('\r\n', ...pieces.map((text) => ({ choices: [{ index: 0, text }] })))),
    error: /^data: \{"status":"failure"/,
  },
  Responses: {
    path: '/proxy/v1/responses',
    body: { model: 'm', input: 'x', stream: true },
    type: SSE,
    stream: (pieces) =>
      named(
        { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', output: [] } },
        ...pieces.map((delta, i) => ({
          type: 'response.output_text.delta',
          sequence_number: i + 1,
          output_index: 0,
          content_index: 0,
          delta,
        })),
        {
          type: 'response.completed',
          response: {
            id: 'resp_1',
            model: 'm',
            usage: { input_tokens: 9, output_tokens: 5, total_tokens: 14 },
          },
        },
      ),
    error: /^event: response.failed\ndata: .*"id":"resp_1".*"code":"guardrail_denied"/,
  },
  Messages: {
    path: '/proxy/messages',
    body: { model: 'm', messages: [], stream: true },
    type: SSE,
    stream: (pieces) => named(...messageEvents(pieces)),
    error: /^event: error\ndata: \{"type":"error","error":\{"type":"invalid_request_error"/,
  },
  'generateContent as events': {
    path: '/proxy/v1beta/models/m:streamGenerateContent?alt=sse',
    body: { contents: [] },
    type: SSE,
    stream: (pieces) => Buffer.from(bare('\r\n', ...pieces.map(gemini))),
    error: /^data: \{"error":\{"code":446/,
  },
  Converse: {
    path: '/proxy/model/m/converse-stream',
    body: { messages: [] },
    type: AWS,
    stream: (pieces) =>
      framed([
        ['messageStart', { role: 'assistant' }],
        ...pieces.map((text) => ['contentBlockDelta', { contentBlockIndex: 0, delta: { text }, p: 'ab' }]),
        ['messageStop', { stopReason: 'end_turn' }],
        ['metadata', { usage: { inputTokens: 9, outputTokens: 5, totalTokens: 14 } }],
      ]),
    error: /^validationException/,
  },
  'InvokeModel of an Anthropic model': {
    path: '/proxy/model/anthropic.m/invoke-with-response-stream',
    body: { anthropic_version: 'x', messages: [] },
    type: AWS,
    stream: (pieces) =>
      framed(
        messageEvents(pieces).map((event) => [
          'chunk',
          { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' },
        ]),
      ),
    error: /^validationException/,
  },
};

/** One call. `cut`: bytes of each write of the provider. */
async function send(form: Form, answer: Buffer, key = 'denies', cut = answer.length) {
  const mark = bench.mark();
  const [at] = form.path.replace(/^\/proxy/, '').split('?');
  bench.provider.next(mark + at!, async (_req, res) => {
    res.writeHead(200, { 'content-type': form.type, 'x-of-the-provider': 'kept' });
    for (let from = 0; from < answer.length; from += cut) {
      res.write(answer.subarray(from, from + cut));
      await new Promise((resolve) => setImmediate(resolve));
    }
    res.end();
  });
  const response = await raw(bench.gateway.origin, {
    method: 'POST',
    path: `/v1${form.path}`,
    headers: { ...bench.headers(mark), 'content-type': 'application/json', 'x-gateway-api-key': keys[key]! },
    body: JSON.stringify(form.body),
  });
  return { status: response.status, text: response.text, bytes: response.body, headers: response.headers };
}

const fine = ['All of this ', 'is fïne 👋, ', 'from the beginning ', 'to its end.'];
/** Long enough that its beginning is released before the word comes. */
const long = Array.from({ length: 40 }, (_, i) => `piece ${i} of a long and harmless text, `);

for (const [name, form] of Object.entries(FORMS)) {
  test.serial(`${name}: a stream is guarded while it passes`, async (t) => {
    for (const cut of [1 << 20, 7]) {
      const passed = await send(form, form.stream(fine), 'denies', cut);
      t.is(passed.status, 200, passed.text);
      t.deepEqual(passed.bytes, form.stream(fine), 'the same bytes');
      t.is(passed.headers['x-of-the-provider'], 'kept');
    }
    const denied = await send(form, form.stream(['this is for', 'bidden, ', ...fine]));
    t.is(denied.status, 446, denied.text);
    t.truthy((JSON.parse(denied.text) as Json).hook_results);

    const later = form.stream([...long, 'then comes some', 'thing forbid', 'den.', ...fine]);
    const cutOff = await send(form, later, 'denies', 97);
    t.is(cutOff.status, 200);
    const same = common(cutOff.bytes, later);
    t.true(same > 200, `${same} bytes of the beginning`);
    t.false(cutOff.bytes.subarray(0, same).includes('forbid'));
    t.false(cutOff.bytes.includes('to its end'));
    const rest = form.type === AWS ? ends(cutOff.bytes) : lastEvent(cutOff.text);
    t.regex(rest, form.error);
  });

  test.serial(`${name}: what a denied stream used is in the books`, async (t) => {
    const trace = `raw-stream-${bench.mark().slice(1)}`;
    const answer = form.stream(['forbidden at once', ...fine]);
    const mark = bench.mark();
    const [at] = form.path.replace(/^\/proxy/, '').split('?');
    bench.provider.next(mark + at!, (_req, res) => {
      res.writeHead(200, { 'content-type': form.type }).end(answer);
    });
    await raw(bench.gateway.origin, {
      method: 'POST',
      path: `/v1${form.path}`,
      headers: {
        ...bench.headers(mark),
        'content-type': 'application/json',
        'x-gateway-api-key': keys.denies!,
        'x-gateway-trace-id': trace,
      },
      body: JSON.stringify(form.body),
    });
    const [entry = {}] = await client.logs(trace);
    t.is(entry.response_status_code ?? entry.status_code, 446, JSON.stringify(entry));
    t.true(Number((entry.usage as Json | undefined)?.total_tokens) > 0, JSON.stringify(entry));
  });
}

test.serial("Gemini's stream as one list is guarded, too", async (t) => {
  const form: Form = {
    ...FORMS['generateContent as events']!,
    path: '/proxy/v1beta/models/m:streamGenerateContent',
    type: 'application/json',
  };
  const list = (pieces: readonly string[]): Buffer =>
    Buffer.from(`[${pieces.map((one) => JSON.stringify(gemini(one))).join(',\r\n')}]`);
  const passed = await send(form, list(fine));
  t.is(passed.status, 200, passed.text);
  t.deepEqual(passed.bytes, list(fine));
  t.is((await send(form, list(['for', 'bidden']))).status, 446);
});

test.serial('events that cannot be read are not passed on', async (t) => {
  const form = FORMS['chat completions']!;
  for (const text of ['data: forbidden\n\n', 'data: ["forbidden"]\n\n', 'data: {"choices":[{"delta":\n\n']) {
    const first = await send(form, Buffer.from(text));
    t.is(first.status, 403, first.text);
    t.false(first.text.includes('data: '));
    const later = await send(form, Buffer.concat([form.stream(long), Buffer.from(text)]));
    t.is(later.status, 200);
    t.regex(lastEvent(later.text), /must see every answer/);
  }
  const packed = await send({ ...form, type: SSE }, form.stream(fine));
  t.is(packed.status, 200);
});

test.serial('a text that comes only when its item is done is seen', async (t) => {
  const form = FORMS.Responses!;
  const begun = { type: 'response.created', response: { id: 'resp_1', output: [] } };
  const item = { type: 'message', content: [{ type: 'output_text', text: 'some forbidden text' }] };
  const calls = { type: 'function_call', name: 'say', arguments: '{"text":"forbidden"}' };
  for (const events of [
    [{ type: 'response.output_item.done', output_index: 0, item }],
    [{ type: 'response.completed', response: { id: 'resp_1', output: [item] } }],
    [{ type: 'response.output_item.done', output_index: 1, item: calls }],
  ]) {
    const { status, text } = await send(form, named(begun, ...events));
    t.is(status, 446, text);
  }
});

test.serial('a guardrail that writes cannot change a stream that is passed through', async (t) => {
  for (const form of Object.values(FORMS)) {
    const { status, text } = await send(form, form.stream(fine), 'writes');
    t.is(status, 403, text);
    t.regex(text, /change streams that are passed through/);
  }
});

/** Bytes at the beginning that are the same. */
function common(one: Buffer, other: Buffer): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

function lastEvent(text: string): string {
  return (
    text
      .trimEnd()
      .split(/\r?\n\r?\n/)
      .at(-1) ?? ''
  );
}

function ends(bytes: Buffer): string {
  const last = unframed(bytes).at(-1)!;
  return `${last.name} ${JSON.stringify(last.json)}`;
}
