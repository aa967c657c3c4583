// What only HTTP can say: bodies, verbs, paths, prefixes, browsers, and the bound on calls in flight.
import net from 'node:net';
import zlib from 'node:zlib';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ADMIN_KEY, startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, type JsonObject, raw, restErrorShape, startBench, UUID } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench({
    GATEWAY_BODY_LIMIT: '64KiB',
    GATEWAY_HEADER_PREFIXES: 'x-gateway-,x-portkey-',
    GATEWAY_CORS_ORIGINS: 'https://app.example.com,http://localhost:3000',
  });
});
test.after.always(() => bench?.close());

const CHAT = '/v1/chat/completions';
const body = JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'x' }] });

interface Options {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array | readonly Uint8Array[];
}

/** An ordinary call with parts replaced, and what the provider saw of it. */
async function call({ method = 'POST', path = CHAT, headers = {}, body: bytes }: Options) {
  const prefix = bench.mark();
  const answer = await raw(bench.gateway.origin, {
    method,
    path,
    headers: { ...bench.headers(prefix), 'content-type': 'application/json', ...headers },
    ...(bytes === undefined ? {} : { body: bytes }),
  });
  return { answer, sent: bench.sentTo(prefix) };
}

/** Asserts a refusal on the data plane that never reached the provider. */
const refuses = (
  name: string,
  options: Options,
  status: number,
  code: string,
  param: string | null,
): void => {
  test(name, async (t) => {
    const { answer, sent } = await call(options);
    t.is(answer.status, status, answer.text);
    restErrorShape(t, answer.json, false);
    t.like(answer.json.error, { code, param });
    t.regex(String(answer.headers['x-gateway-request-id']), UUID);
    t.regex(String(answer.headers['x-gateway-trace-id']), UUID);
    t.is(sent.length, 0);
  });
};

const accepts = (name: string, options: Options, model = 'gpt-ok'): void => {
  test(name, async (t) => {
    const { answer, sent } = await call(options);
    t.is(answer.status, 200, answer.text);
    t.is(answer.json.model, model);
    t.is(sent.length, 1);
    t.is((JSON.parse(sent[0]!.body.toString()) as JsonObject).model, model);
  });
};

// Bodies.
const big = JSON.stringify({ ...(JSON.parse(body) as JsonObject), user: 'u'.repeat(70_000) });
const nearly = JSON.stringify({ ...(JSON.parse(body) as JsonObject), user: 'u'.repeat(60_000) });
const deep = `{"model":"gpt-ok","messages":${'['.repeat(50_000)}`;
const deepBalanced = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)},"model":"m","messages":[]}`;

accepts('a body just under the limit', { body: nearly });
refuses(
  'a declared length over the limit is 413',
  { body: big, headers: { 'content-length': String(big.length) } },
  413,
  'body_too_large',
  null,
);
refuses(
  'a chunked body over the limit is 413',
  { body: [Buffer.from(big.slice(0, 40_000)), Buffer.from(big.slice(40_000))] },
  413,
  'body_too_large',
  null,
);
refuses(
  'a compressed body that unpacks over the limit is 413',
  { body: zlib.gzipSync(Buffer.alloc(10_000_000, 0x20)), headers: { 'content-encoding': 'gzip' } },
  413,
  'body_too_large',
  null,
);
accepts('a gzip body', { body: zlib.gzipSync(body), headers: { 'content-encoding': 'gzip' } });
accepts('a deflate body', { body: zlib.deflateSync(body), headers: { 'content-encoding': 'deflate' } });
accepts('a brotli body', { body: zlib.brotliCompressSync(body), headers: { 'content-encoding': 'br' } });
accepts('a chunked body', { body: [Buffer.from(body.slice(0, 10)), Buffer.from(body.slice(10))] });
accepts('a body in UTF-8 with its charset named', {
  body,
  headers: { 'content-type': 'application/json; charset=utf-8' },
});
accepts('a body of another JSON type', { body, headers: { 'content-type': 'application/vnd.api+json' } });
refuses(
  'a body that says gzip and is none',
  { body, headers: { 'content-encoding': 'gzip' } },
  400,
  'malformed_body',
  null,
);
refuses(
  'an unknown encoding is 415',
  { body, headers: { 'content-encoding': 'zstd2' } },
  415,
  'unsupported_media_type',
  'content-encoding',
);
refuses(
  'text is 415',
  { body, headers: { 'content-type': 'text/plain' } },
  415,
  'unsupported_media_type',
  'content-type',
);
refuses(
  'a form is 415',
  { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  415,
  'unsupported_media_type',
  'content-type',
);
for (const [name, text] of [
  ['nothing', ''],
  ['half of an object', '{"model":"gpt-ok"'],
  ['words', 'hello'],
  ['single quotes', "{'model':'x'}"],
  ['a trailing comma', '{"model":"x",}'],
  ['NaN', '{"model":"x","temperature":NaN}'],
  ['two values', '{} {}'],
  ['a bomb of brackets', deep],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00])],
] as const) {
  refuses(`malformed JSON: ${name}`, { body: text }, 400, 'malformed_body', null);
}
for (const [name, text] of [
  ['a list', '[]'],
  ['null', 'null'],
  ['a number', '7'],
  ['a string', '"x"'],
] as const) {
  refuses(`a body that is ${name}`, { body: text }, 400, 'validation_failed', null);
}
refuses('a body nested 20,000 deep', { body: deepBalanced }, 400, 'validation_failed', 'a');

test('a member named twice: the last one is checked, and it alone is sent', async (t) => {
  const { answer, sent } = await call({
    body: '{"model":"evil","messages":[{"role":"user","content":"x"}],"temperature":1,"model":"gpt-ok"}',
  });
  t.is(answer.status, 200);
  const text = sent[0]!.body.toString();
  t.is(text.match(/"model"/g)?.length, 1);
  t.false(text.includes('evil'));
  const late = await call({
    body: '{"temperature":1,"model":"m","messages":[{"role":"user"}],"temperature":9}',
  });
  t.is(late.answer.status, 400);
  t.like(late.answer.json.error, { param: 'temperature' });
});

test('a member named __proto__ stays a member and changes nothing', async (t) => {
  const { answer, sent } = await call({
    body: '{"model":"gpt-ok","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"messages":[{"role":"user","content":"x","__proto__":{"polluted":2}}],"logit_bias":{"__proto__":5}}',
  });
  t.is(answer.status, 200, answer.text);
  t.is(({} as { polluted?: unknown }).polluted, undefined);
  const text = sent[0]!.body.toString();
  t.regex(text, /"__proto__":\{"polluted":1\}/);
  t.regex(text, /"__proto__":\{"polluted":2\}/);
  t.regex(text, /"logit_bias":\{"__proto__":5\}/);
  t.regex(text, /"constructor":\{"prototype"/);
});

test('numbers and text go through as they are', async (t) => {
  const { sent } = await call({
    body: '{"model":"gpt-ok","messages":[{"role":"user","content":"\\u0000\\ud83d\\ude00é\\u2028"}],"vendor":[0.1,1e21,0,12345678901]}',
  });
  const json = JSON.parse(sent[0]!.body.toString()) as JsonObject;
  t.is((json.messages as JsonObject[])[0]!.content, '\u0000😀é\u2028');
  t.deepEqual(json.vendor, [0.1, 1e21, 0, 12345678901]);
});

test('a body that never ends is ended when its time is up', async (t) => {
  const headers = Object.entries({
    ...bench.headers(bench.mark()),
    'content-type': 'application/json',
    'content-length': '1000',
    'x-gateway-request-timeout': '300',
    host: 'x',
  });
  const socket = net.connect(bench.gateway.port, '127.0.0.1');
  t.teardown(() => void socket.destroy());
  socket.write(`POST ${CHAT} HTTP/1.1\r\n${headers.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n{"model"`);
  const answer = await Promise.race([
    new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(chunk.toString('latin1')))),
    new Promise<string>((resolve) => setTimeout(() => resolve('no answer within 4 s'), 4000)),
  ]);
  t.regex(answer, /^HTTP\/1\.1 408 /);
});

test('a body whose text is no UTF-8 is malformed', async (t) => {
  const { answer, sent } = await call({
    body: Buffer.concat([
      Buffer.from('{"model":"gpt-ok","messages":[{"role":"user","content":"a'),
      Buffer.from([0xff, 0xc0]),
      Buffer.from('b"}]}'),
    ]),
  });
  t.is(answer.status, 400);
  t.like(answer.json.error, { code: 'malformed_body' });
  t.is(sent.length, 0);
});

// Verbs and paths.
for (const base of ['/v1', '/v2']) {
  accepts(`${base} is a base path`, { path: `${base}/chat/completions`, body });
}
accepts('a trailing slash', { path: '/v1/chat/completions/', body });
accepts('an encoded path', { path: '/v1/chat/%63ompletions', body });
accepts('a query on an operation with a body is ignored', {
  path: '/v1/chat/completions?api-version=1',
  body,
});

for (const verb of ['POST', 'PUT', 'DELETE', 'PATCH']) {
  test(`${verb} on a control-plane path is 405 and forwards nothing`, async (t) => {
    const { answer, sent } = await call({
      method: verb,
      path: '/v1/audit-logs/verify',
      headers: { 'x-gateway-api-key': ADMIN_KEY },
      body,
    });
    t.is(answer.status, 405);
    t.is(answer.headers.allow, 'GET');
    restErrorShape(t, answer.json, true);
    t.like(answer.json.error, { code: 'method_not_allowed' });
    t.like(answer.json.data, { errorCode: 'AB02' });
    t.regex(String(answer.headers['x-gateway-request-id']), UUID);
    t.is(sent.length, 0);
  });
}

const ONE = 'audit-logs/verify';
for (const path of [`/v1/${ONE}/`, `/v1/%61${ONE.slice(1)}`, `/v2/${ONE}?x=1`, `/v1/${ONE}/?`]) {
  test(`POST ${path} is a control-plane path too`, async (t) => {
    const { answer, sent } = await call({ path, headers: { 'x-gateway-api-key': ADMIN_KEY }, body });
    t.is(answer.status, 405);
    t.is(sent.length, 0);
  });
}

test('an undeclared verb on an inference path passes through', async (t) => {
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const { answer, sent } = await call({ method, path: CHAT });
    t.is(sent.length, 1, method);
    t.is(sent[0]!.method, method);
    t.is(answer.status, 200);
  }
});

for (const method of ['PATCH', 'OPTIONS', 'TRACE', 'HEAD']) {
  test(`${method} is not passed through`, async (t) => {
    for (const path of [CHAT, '/v1/some/path', '/v1/proxy/some/path']) {
      const { answer, sent } = await call({ method, path });
      t.is(answer.status, 405, path);
      t.regex(String(answer.headers.allow), /POST/);
      t.is(sent.length, 0);
    }
  });
}

for (const path of [
  '/',
  '/v3/chat/completions',
  '/chat/completions',
  '/v1x/models',
  '/metricsx',
  '/favicon.ico',
]) {
  test(`there is nothing at ${path}`, async (t) => {
    const { answer, sent } = await call({ path, body });
    t.is(answer.status, 404);
    restErrorShape(t, answer.json, false);
    t.like(answer.json.error, { code: 'route_unknown' });
    t.regex(String((answer.json.error as { message: string }).message), /the API is under \/v1/);
    t.regex(String(answer.headers['x-gateway-request-id']), UUID);
    t.regex(String(answer.headers['x-gateway-trace-id']), UUID);
    t.is(sent.length, 0);
  });
}

test('an unknown RPC is 404 and forwards nothing', async (t) => {
  for (const path of ['/gateway.inference.v2.ChatService/Nothing', '/gateway.inference.v2.NoService/X']) {
    const { answer, sent } = await call({ path, body: '{}' });
    t.is(answer.status, 404, path);
    t.is(sent.length, 0);
  }
});

test('broken HTTP is 400 and the connection ends', async (t) => {
  for (const bytes of [
    'GARBAGE\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n',
    'P',
  ]) {
    const text = await new Promise<string>((resolve) => {
      let got = '';
      const socket = net.connect(bench.gateway.port, '127.0.0.1', () => socket.end(bytes));
      socket.on('data', (chunk) => {
        got += chunk.toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(got));
    });
    if (!bytes.startsWith('P')) t.regex(text, /^HTTP\/1\.1 400 /);
  }
  t.is((await raw(bench.gateway.origin, { path: '/healthz' })).status, 200);
});

test('headers over the bound are refused', async (t) => {
  const answer = await raw(bench.gateway.origin, {
    path: '/v1/models',
    headers: { 'x-large': 'x'.repeat(100_000) },
  });
  t.is(answer.status, 431);
  t.regex(String((answer.json.error as JsonObject).message), /65536 bytes/);
});

// Pages.
test('health, readiness, metrics, the document and its rendering', async (t) => {
  const get = (path: string) => raw(bench.gateway.origin, { path });
  t.deepEqual((await get('/healthz')).json, { status: 'ok' });
  t.deepEqual((await get('/health')).json, { status: 'ok' });
  t.deepEqual((await get('/readyz')).json, { status: 'ready' });
  await call({ body });
  const metrics = await get('/metrics');
  t.regex(String(metrics.headers['content-type']), /^text\/plain/);
  t.regex(
    metrics.text,
    /sluice_call_duration_seconds_count\{operation="gateway\.inference\.v2\.ChatService\/CreateChatCompletion",status="200"\} [1-9]/,
  );
  t.regex(metrics.text, /sluice_calls_in_flight \d/);
  const openapi = await get('/openapi.json');
  t.is(openapi.headers['content-type'], 'application/json; charset=utf-8');
  t.regex(String(openapi.json.openapi), /^3\./);
  t.truthy((openapi.json.paths as JsonObject)['/chat/completions']);
  t.is((await get('/docs')).status, 308);
  const docs = await get('/docs/');
  t.is(docs.status, 200);
  t.regex(docs.text, /swagger-ui-bundle\.js/);
  t.false(/https?:\/\//.test(docs.text), 'nothing from elsewhere');
  t.regex(String(docs.headers['content-security-policy']), /default-src 'self'/);
  t.is((await get('/docs/../package.json')).status, 404);
  t.is((await get('/docs/%2e%2e/package.json')).status, 404);
});

// Prefix aliases.
const alias = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace('x-gateway-', 'x-portkey-'), value]),
  );

test('an alias of the prefix is accepted, and the answer repeats it', async (t) => {
  const prefix = bench.mark();
  const headers = {
    ...alias(bench.headers(prefix)),
    'content-type': 'application/json',
    'x-portkey-trace-id': 'trace-under-alias',
    'x-portkey-metadata': '{"_user":"a"}',
  };
  const answer = await raw(bench.gateway.origin, { method: 'POST', path: CHAT, headers, body });
  t.is(answer.status, 200, answer.text);
  t.regex(String(answer.headers['x-portkey-request-id']), UUID);
  t.is(answer.headers['x-portkey-trace-id'], 'trace-under-alias');
  t.is(answer.headers['x-portkey-provider'], 'openai');
  t.deepEqual(
    Object.keys(answer.headers).filter((name) => name.startsWith('x-gateway-')),
    [],
  );
  t.deepEqual(
    Object.keys(bench.sentTo(prefix)[0]!.headers).filter((name) => name.startsWith('x-p')),
    [],
  );
});

test('an alias of the prefix is repeated on errors and streams too', async (t) => {
  const prefix = bench.mark();
  const headers = { ...alias(bench.headers(prefix)), 'content-type': 'application/json' };
  const send = (text: string) =>
    raw(bench.gateway.origin, { method: 'POST', path: CHAT, headers, body: text });
  for (const text of ['{}', '{', body.replace('{', '{"stream":true,')]) {
    const answer = await send(text);
    t.regex(String(answer.headers['x-portkey-request-id']), UUID, text);
    t.regex(String(answer.headers['x-portkey-trace-id']), UUID);
    t.is(answer.headers['x-gateway-request-id'], undefined);
  }
});

test('an alias works as gRPC metadata, and the answer repeats it, errors too', async (t) => {
  const client = createClient(ChatService, bench.transports.grpc);
  let head = new Headers();
  const headers = alias(bench.headers(bench.mark()));
  const answer = await client.createChatCompletion(
    { model: 'gpt-ok', messages: [{ role: 'user' }] },
    {
      headers,
      onHeader: (received) => {
        head = received;
      },
    },
  );
  t.is(answer.id, 'chatcmpl-1');
  t.regex(String(head.get('x-portkey-request-id')), UUID);
  t.is(head.get('x-gateway-request-id'), null);
  const error = await t.throwsAsync(client.createChatCompletion({ model: '' }, { headers }), {
    instanceOf: ConnectError,
  });
  t.regex(String(error?.metadata.get('x-portkey-request-id')), UUID);
});

test('an alias header never reaches the provider on pass-through', async (t) => {
  const { sent } = await call({
    method: 'GET',
    path: '/v1/some/path',
    headers: { 'x-portkey-config-x': 'y' },
  });
  t.deepEqual(
    Object.keys(sent[0]!.headers).filter((name) => /x-(gateway|portkey)/.test(name)),
    [],
  );
});

test('without the setting an alias is a header like any other', async (t) => {
  const gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '0' });
  const answer = await raw(gateway.origin, {
    path: '/v1/models',
    headers: { 'x-portkey-api-key': WORKSPACE_KEY },
  });
  t.is(answer.status, 401);
  await gateway.close();
});

// Browsers.
test('a preflight from a listed origin is allowed', async (t) => {
  for (const path of [CHAT, '/v1/anything', '/gateway.inference.v2.ChatService/CreateChatCompletion']) {
    const answer = await raw(bench.gateway.origin, {
      method: 'OPTIONS',
      path,
      headers: {
        origin: 'https://app.example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-gateway-api-key,content-type',
      },
    });
    t.is(answer.status, 204, path);
    t.is(answer.headers['access-control-allow-origin'], 'https://app.example.com');
    t.regex(String(answer.headers['access-control-allow-methods']), /POST/);
    t.is(answer.headers['access-control-allow-headers'], 'x-gateway-api-key,content-type');
  }
});

test('a preflight from another origin is not', async (t) => {
  for (const origin of [
    'https://evil.example.com',
    'https://app.example.com.evil.org',
    'null',
    'http://app.example.com',
  ]) {
    const answer = await raw(bench.gateway.origin, {
      method: 'OPTIONS',
      path: CHAT,
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    t.is(answer.headers['access-control-allow-origin'], undefined, origin);
    t.is(answer.headers['access-control-allow-methods'], undefined);
  }
});

test('an answer to a listed origin names it and exposes the ids', async (t) => {
  for (const [text, status] of [
    [body, 200],
    ['{', 400],
    [body.replace('{', '{"stream":true,'), 200],
  ] as const) {
    const { answer } = await call({ body: text, headers: { origin: 'http://localhost:3000' } });
    t.is(answer.status, status);
    t.is(answer.headers['access-control-allow-origin'], 'http://localhost:3000');
    t.regex(String(answer.headers['access-control-expose-headers']), /x-gateway-request-id/);
    t.regex(String(answer.headers.vary), /origin/i);
  }
});

test('a pass-through answer to a listed origin is readable to it', async (t) => {
  const { answer } = await call({
    method: 'GET',
    path: '/v1/some',
    headers: { origin: 'http://localhost:3000' },
  });
  t.is(answer.headers['access-control-allow-origin'], 'http://localhost:3000');
});

// Calls in flight.
test('above the bound of calls in flight: 503 with retry-after, over every way in', async (t) => {
  const small = await startBench({ GATEWAY_MAX_IN_FLIGHT: '2', GATEWAY_DRAIN_SECONDS: '0' });
  t.teardown(() => small.close());
  const send = (model: string, path = CHAT) =>
    raw(small.gateway.origin, {
      method: 'POST',
      path,
      headers: { ...small.headers('/f'), 'content-type': 'application/json' },
      body: body.replace('gpt-ok', model),
    });
  const slow = [send('slow-1500'), send('slow-1500')];
  while (small.provider.seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const path of [CHAT, '/v1/proxy/chat/completions']) {
    const answer = await send('gpt-ok', path);
    t.is(answer.status, 503);
    t.is(answer.headers['retry-after'], '1');
    restErrorShape(t, answer.json, false);
    t.like(answer.json.error, { code: 'overloaded' });
    t.regex(String(answer.headers['x-gateway-request-id']), UUID);
    t.regex(String(answer.headers['x-gateway-trace-id']), UUID);
  }
  const client = createClient(ChatService, small.transports.grpc);
  const error = await t.throwsAsync(
    client.createChatCompletion({ model: 'm' }, { headers: small.headers('/f') }),
    { instanceOf: ConnectError },
  );
  t.is(error?.code, Code.Unavailable);
  t.is(error?.metadata.get('retry-after'), '1');
  t.is((await raw(small.gateway.origin, { path: '/healthz' })).status, 200);
  t.deepEqual(
    (await Promise.all(slow)).map(({ status }) => status),
    [200, 200],
  );
  t.is((await send('gpt-ok')).status, 200, 'the bound is free again');
  t.is(small.provider.seen.length, 3);
});
