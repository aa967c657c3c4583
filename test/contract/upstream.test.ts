// Providers that misbehave: their status and retry-after kept, the rest 502, 503 or 504, never 500 and never a hang.

import { Code, ConnectError, createClient } from '@connectrpc/connect';
import test from 'ava';
import { ErrorDetailSchema } from '../../gen/gateway/common/v2/error_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { type Bench, type Case, type JsonObject, type Refusal, runCases, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = ChatService.method.createChatCompletion;
const bodyOf = (model: string, stream: boolean): JsonObject => ({
  model,
  messages: [{ role: 'user', content: 'x' }],
  ...(stream ? { stream } : {}),
});

const both = (name: string, model: string, expected: Refusal, headers?: Case['headers']): Case[] =>
  [false, true].map((stream) => ({
    name: `${name}, ${stream ? 'streamed' : 'whole'}`,
    method,
    body: bodyOf(model, stream),
    ...(headers ? { headers } : {}),
    refused: { provider: 'openai', upstream: true, ...expected },
  }));

const STATUSES: readonly (readonly [number, Code])[] = [
  [400, Code.InvalidArgument],
  [401, Code.Unauthenticated],
  [402, Code.InvalidArgument],
  [403, Code.PermissionDenied],
  [404, Code.NotFound],
  [408, Code.DeadlineExceeded],
  [409, Code.Aborted],
  [413, Code.ResourceExhausted],
  [422, Code.InvalidArgument],
  [429, Code.ResourceExhausted],
  [500, Code.Internal],
  [501, Code.Unimplemented],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.DeadlineExceeded],
  [529, Code.Unavailable],
];

const garbage: Refusal = { status: 502, code: Code.Unavailable, reason: 'upstream_garbage', param: '' };
const interrupted: Refusal = {
  status: 502,
  code: Code.Unavailable,
  reason: 'upstream_interrupted',
  param: '',
};

/** A stream that breaks after its beginning: what came is given, then an error event and no [DONE]. */
const broken = (name: string, model: string, count: number, error: JsonObject): Case[] => [
  {
    name: `${name}: an event`,
    method,
    body: bodyOf(model, true),
    over: ['rest'],
    check: (t, { events, complete }) => {
      t.false(complete);
      t.is(events.length, count + 1);
      const last = events.at(-1)!;
      t.is(last.status, 'failure');
      t.is(last.provider, 'openai');
      t.like(last.error, error);
      t.is(last.message, (last.error as JsonObject).message!);
    },
  },
  {
    name: `${name}: a status`,
    method,
    body: bodyOf(model, true),
    over: ['connect', 'grpc'],
    check: (t, { events, complete }) => {
      t.false(complete);
      t.is(events.length, count);
    },
  },
];

const CASES: Case[] = [
  ...STATUSES.flatMap(([status, code]) =>
    both(`the provider’s ${status} is kept`, `status-${status}`, {
      status,
      code,
      reason: 'upstream_status',
      errorCode: 'fake_code',
      param: 'model',
      message: `openai error: no: status-${status}`,
      retryAfterMs: 7000,
    }),
  ),
  ...both('a redirect is not followed', 'status-302', { ...garbage, message: '302' }),
  ...both('a connection that is reset', 'reset', {
    status: 502,
    code: Code.Unavailable,
    reason: 'upstream_unreachable',
    param: '',
  }),
  {
    name: 'an answer that is no JSON',
    method,
    body: bodyOf('garbage', false),
    refused: { ...garbage, provider: 'openai', upstream: true },
  },
  {
    name: 'an answer that is HTML',
    method,
    body: bodyOf('html', false),
    refused: { ...garbage, provider: 'openai', upstream: true },
  },
  {
    name: 'an answer that is cut',
    method,
    body: bodyOf('cut', false),
    refused: { ...interrupted, provider: 'openai', upstream: true },
  },
  {
    name: 'an answer of 80 MB is not read to its end',
    method,
    body: bodyOf('huge', false),
    over: ['rest', 'grpc'],
    refused: { ...garbage, provider: 'openai', upstream: true },
  },
  {
    name: 'a stream whose first event is an error keeps its status',
    method,
    body: bodyOf('stream-error-first', true),
    refused: {
      status: 503,
      code: Code.Unavailable,
      reason: 'upstream_status',
      errorCode: '503',
      message: 'overloaded right away',
      provider: 'openai',
      upstream: true,
    },
  },
  ...broken('a stream that is cut', 'cut', 3, { code: 'upstream_interrupted', type: 'upstream_error' }),
  ...broken('a stream that ends in silence', 'silent-end', 3, {
    code: 'upstream_interrupted',
    type: 'upstream_error',
  }),
  ...broken('a stream that turns into garbage', 'garbage', 2, {
    code: 'upstream_garbage',
    type: 'upstream_error',
  }),
  ...broken('a stream whose provider reports an error', 'stream-error-later', 3, {
    code: 'mid',
    type: 'server_error',
    message: 'broke in the middle',
  }),
  {
    name: 'a port on which nobody listens',
    method,
    body: bodyOf('gpt-ok', false),
    headers: { 'x-gateway-custom-host': 'http://127.0.0.1:9' },
    refused: {
      status: 400,
      code: Code.InvalidArgument,
      reason: 'host_refused',
      param: 'x-gateway-custom-host',
      message: 'its operator adds 127.0.0.1:9 to GATEWAY_EGRESS_ALLOW',
    },
  },
  {
    name: 'a private address that is not allowed',
    method,
    body: bodyOf('gpt-ok', false),
    headers: { 'x-gateway-custom-host': 'http://192.168.3.4:8080/v1' },
    refused: {
      status: 400,
      code: Code.InvalidArgument,
      reason: 'host_refused',
      param: 'x-gateway-custom-host',
      message: 'its operator adds 192.168.3.4:8080 to GATEWAY_EGRESS_ALLOW',
    },
  },
  {
    name: 'a connection that is refused',
    method,
    body: bodyOf('gpt-ok', false),
    headers: { 'x-gateway-custom-host': 'http://127.0.0.1:59' },
    refused: {
      status: 502,
      code: Code.Unavailable,
      reason: 'upstream_unreachable',
      message: 'refused',
      provider: 'openai',
    },
  },
];

runCases(test, () => bench, CASES);

for (const [name, text] of [
  ['null', 'null'],
  ['a list', '[]'],
  ['a text', '"hello"'],
  ['nothing', ''],
] as const) {
  test(`an answer that is ${name} is 502`, async (t) => {
    const prefix = bench.mark();
    bench.provider.next(`${prefix}/chat/completions`, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
    const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...bench.headers(prefix), 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf('gpt-ok', false)),
    });
    t.is(answer.status, 502);
    t.like(await answer.json(), { error: { code: 'upstream_garbage' }, provider: 'openai' });
  });
}

test('an answer that is nested 5,000 deep is no failure of ours: given as it is, or 502', async (t) => {
  const text = `{"id":"x","object":"chat.completion","choices":[],"v":${'['.repeat(5000)}${']'.repeat(5000)}}`;
  const prefix = bench.mark();
  for (let i = 0; i < 2; i++) {
    bench.provider.next(`${prefix}/chat/completions`, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
  }
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bench.headers(prefix), 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf('gpt-ok', false)),
  });
  if (answer.status === 200) t.is(await answer.text(), text);
  else t.is(answer.status, 502);
  const client = createClient(ChatService, bench.transports.grpc);
  const error = await t.throwsAsync(
    client.createChatCompletion(
      { model: 'm', messages: [{ role: 'user' }] },
      { headers: bench.headers(prefix) },
    ),
    { instanceOf: ConnectError },
  );
  t.is(Code[error!.code], 'Unavailable');
  t.is(error?.findDetails(ErrorDetailSchema)[0]?.reason, 'upstream_garbage');
});

test('an answer with strange values is given over every protocol', async (t) => {
  const text =
    '{"id":7,"object":"chat.completion","created":1.5,"model":null,"choices":[{"index":99999999999,"message":{"role":"assistant","content":"a\\ud800b","tool_calls":null}}],"usage":{"prompt_tokens":"many","total_tokens":1e300}}';
  for (const transport of [bench.transports.grpc, bench.transports.connect]) {
    const prefix = bench.mark();
    bench.provider.next(`${prefix}/chat/completions`, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
    const client = createClient(ChatService, transport);
    const answer = await client.createChatCompletion(
      { model: 'm', messages: [{ role: 'user' }] },
      { headers: bench.headers(prefix) },
    );
    t.is(answer.object, 'chat.completion');
    // What does not fit its field is beside it.
    t.is(answer.extra?.id, 7);
    t.is(answer.extra?.created, 1.5);
  }
});

test('a provider that is slow but within its time is waited for', async (t) => {
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      ...bench.headers(bench.mark()),
      'content-type': 'application/json',
      'x-gateway-request-timeout': '10000',
    },
    body: JSON.stringify(bodyOf('slow-300', false)),
  });
  t.is(answer.status, 200);
  t.is(((await answer.json()) as JsonObject).model, 'slow-300');
});

test('what a provider says in an error is bounded and without control characters', async (t) => {
  const prefix = bench.mark();
  bench.provider.next(`${prefix}/chat/completions`, (_req, res) => {
    res.writeHead(400, { 'content-type': 'text/plain' });
    res.end(`a\u0000b\nc${'x'.repeat(100_000)}`);
  });
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bench.headers(prefix), 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf('gpt-ok', false)),
  });
  t.is(answer.status, 400);
  const { message } = (await answer.json()) as { message: string };
  t.true(message.length < 600);
  t.false(/\p{Cc}/u.test(message));
});

test('retry-after as a date becomes seconds', async (t) => {
  const prefix = bench.mark();
  bench.provider.next(`${prefix}/chat/completions`, (_req, res) => {
    res.writeHead(429, { 'retry-after': new Date(Date.now() + 30_000).toUTCString() }).end('{}');
  });
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bench.headers(prefix), 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf('gpt-ok', false)),
  });
  t.is(answer.status, 429);
  const seconds = Number(answer.headers.get('retry-after'));
  t.true(seconds >= 27 && seconds <= 31, String(seconds));
});
