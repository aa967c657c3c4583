// Bodies of strangers and of callers, in every protocol: a stranger's is never read, a caller's comes within bounds.
import { once } from 'node:events';
import http2 from 'node:http2';
import test, { type ExecutionContext } from 'ava';
import { type Bench, raw, startBench } from '../contract/runner.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { until } from './child.ts';
import { Wire } from './wire.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench({
    GATEWAY_BODY_STALL_SECONDS: '1',
    GATEWAY_BODY_LIMIT: '2MiB',
    GATEWAY_KEY_READING_BYTES: '1MiB',
  });
});
test.after.always(() => bench?.close());

const RPC = '/gateway.inference.v2.ChatService/';
const UNARY = `${RPC}CreateChatCompletion`;
const STREAM = `${RPC}StreamChatCompletion`;
const chat = { model: 'gpt-ok', messages: [{ role: 'user', content: 'x' }] };

function open(t: ExecutionContext, bytes: string): Wire {
  const wire = new Wire(bench.gateway.port);
  t.teardown(() => void wire.socket.destroy());
  return wire.write(bytes);
}

const head = (path: string, type: string, more: string, key?: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\n${key === undefined ? '' : `x-gateway-api-key: ${key}\r\n`}${more}\r\n\r\n`;

const unfinished = {
  'a short body that does not come': 'content-length: 50',
  'a long body that does not come': 'content-length: 2000000',
  'chunks that do not come': 'transfer-encoding: chunked',
};

for (const [what, framing] of Object.entries(unfinished))
  for (const [protocol, path, type, status] of [
    ['REST', '/v1/chat/completions', 'application/json', 401],
    ['REST, control plane', '/v1/configs', 'application/json', 401],
    ['pass-through', '/v1/no/such/thing', 'application/json', 401],
    ['Connect', UNARY, 'application/json', 401],
    ['Connect in binary', UNARY, 'application/proto', 401],
    ["Connect's stream", STREAM, 'application/connect+json', 200],
    ['gRPC-Web', UNARY, 'application/grpc-web+proto', 200],
  ] as const)
    test(`a stranger over ${protocol} with ${what}: refused from the headers`, async (t) => {
      for (const key of [undefined, 'slk_unknown_0123456789abcdef', 'aaaa.bbbb.cccc']) {
        const answer = await open(t, head(path, type, framing, key)).answer();
        t.is(answer.status, status, answer.body);
        if (status === 401) t.regex(answer.body, /API key|token|unauthenticated/);
        else t.regex(answer.body, /unauthenticated|grpc-status: ?16/);
        t.regex(answer.headers['x-gateway-request-id'] ?? answer.body, /[0-9a-f-]{36}/);
      }
    });

test('a stranger over gRPC who leaves the stream open: status 16 in the trailers, and the stream is reset', async (t) => {
  const session = http2.connect(bench.gateway.origin);
  t.teardown(() => session.destroy());
  for (const path of [UNARY, STREAM, '/gateway.inference.v2.ProxyService/Forward']) {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => {});
    stream.resume();
    stream.write(Buffer.from([0, 0, 0x10, 0, 0, 1, 2, 3]));
    const all: http2.IncomingHttpHeaders = {};
    stream.on('response', (headers) => Object.assign(all, headers));
    stream.on('trailers', (headers) => Object.assign(all, headers));
    await once(stream, 'close');
    t.is(all['grpc-status'], '16');
    t.truthy(all['x-gateway-request-id']);
  }
});

test('refusals from the headers are counted and audited like others', async (t) => {
  const read = async (): Promise<number> => {
    const { text } = await raw(bench.gateway.origin, { path: '/metrics' });
    return Number(/sluice_errors_total\{reason="unauthenticated"\} (\d+)/.exec(text)?.[1] ?? 0);
  };
  const before = await read();
  const path = '/gateway.admin.v2.ConfigService/CreateConfig';
  await open(t, head(path, 'application/json', 'content-length: 50')).answer();
  await open(t, head('/v1/configs', 'application/json', 'content-length: 50')).answer();
  t.true((await read()) >= before + 2);
  await until(async () => {
    const { json } = await raw(bench.gateway.origin, {
      path: '/v1/audit-logs?page_size=100',
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    });
    return (
      JSON.stringify(json).split('"response_status_code":401').length >= 3 ||
      JSON.stringify(json).split('401').length >= 3
    );
  });
});

for (const [protocol, path, type, status, body] of [
  ['REST', '/v1/chat/completions', 'application/json', 408, /did not arrive in time/],
  ['Connect', UNARY, 'application/json', 504, /deadline_exceeded/],
  ['gRPC-Web', UNARY, 'application/grpc-web+proto', 200, /grpc-status: ?4/],
] as const)
  test(`a caller over ${protocol} whose body comes a byte at a time: ended`, async (t) => {
    const wire = open(t, head(path, type, 'content-length: 5000', WORKSPACE_KEY));
    const drip = setInterval(() => wire.write(' '), 200);
    t.teardown(() => clearInterval(drip));
    const answer = await wire.answer();
    t.is(answer.status, status, answer.body);
    t.regex(answer.body, body);
  });

test('a pass-through body that comes a byte at a time: ended', async (t) => {
  const more = `content-length: 5000\r\nx-gateway-provider: openai\r\nx-gateway-custom-host: ${bench.provider.origin}\r\nauthorization: Bearer sk-x`;
  const wire = open(t, `${head('/v1/no/such/thing', 'application/json', more, WORKSPACE_KEY)}x`);
  const drip = setInterval(() => wire.write(' '), 200);
  t.teardown(() => clearInterval(drip));
  t.is((await wire.answer()).status, 408);
});

test('a body in chunks of one byte is read like any other', async (t) => {
  const headers = Object.entries(bench.headers(bench.mark()))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const user = 'x'.repeat(20_000);
  for (const [path, body] of [
    ['/v1/chat/completions', { ...chat, user }],
    [UNARY, { model: 'gpt-ok', messages: [{ role: 'user', content: { text: 'x' } }], user }],
  ] as const) {
    const chunks = [...JSON.stringify(body)].map((byte) => `1\r\n${byte}\r\n`).join('');
    const answer = await open(
      t,
      `${head(path, 'application/json', `${headers}transfer-encoding: chunked`)}${chunks}0\r\n\r\n`,
    ).answer();
    t.is(answer.status, 200, answer.body);
    t.regex(answer.body, /gpt-ok/);
  }
});

test('one key may have so many bytes of bodies under way, in all protocols together', async (t) => {
  const first = open(
    t,
    head('/v1/chat/completions', 'application/json', 'content-length: 1500000', ADMIN_KEY),
  );
  first.write(Buffer.alloc(700_000, 32));
  const { budget } = bench.gateway.app;
  await until(() => budget.bytes >= 700_000);
  const second = open(t, head(UNARY, 'application/json', 'content-length: 1500000', ADMIN_KEY));
  second.write(Buffer.alloc(700_000, 32));
  const answer = await second.answer();
  t.is(answer.status, 503, answer.body);
  t.regex(answer.body, /of this key are being read/);
  const other = await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { ...bench.headers(bench.mark()), 'content-type': 'application/json' },
    body: JSON.stringify(chat),
  });
  t.is(other.status, 200);
  first.socket.destroy();
  await until(() => budget.bytes === 0);
});

test('bodies of strangers at the OAuth endpoints share one small budget, whatever their pieces are', async (t) => {
  const head = (path: string, type: string): string =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: 32000\r\n\r\n`;
  const form = 'application/x-www-form-urlencoded';
  const opened = Array.from({ length: 150 }, (_, i) =>
    open(t, head(i % 2 === 0 ? '/oauth/token' : '/oauth/revoke', form) + 'x'.repeat(31_999)),
  );
  const answers = await Promise.all(opened.map((wire) => wire.answer()));
  const statuses = new Set(answers.map(({ status }) => status));
  t.true(statuses.has(503), [...statuses].join());
  // A body that does not come is ended as well.
  t.true([...statuses].every((status) => status === 503 || status === 408 || status === 429));
  const { status } = await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/oauth/token',
    headers: { 'content-type': form },
    body: 'grant_type=nothing',
  });
  t.true(status === 400 || status === 429, String(status));
});
