// One port: HTTP/1, HTTP/2, gRPC, gRPC-Web and Connect, cleartext and TLS.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import test from 'ava';
import { ErrorDetailSchema } from '../../gen/gateway/common/v2/error_pb.ts';
import { ChatService, CreateChatCompletionRequestSchema } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { Health, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health_pb.ts';
import { ServerReflection as V1 } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as V1Alpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { type Bench, type JsonObject, readEvents, startBench } from '../contract/runner.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

let bench: Bench;
let secure: TestGateway;
let dir: string;
let ca: string;

test.before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-tls-'));
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
      ...['-keyout', key, '-out', cert],
    ],
    { stdio: 'ignore' },
  );
  ca = readFileSync(cert, 'utf8');
  [bench, secure] = await Promise.all([
    startBench(),
    startGateway({ TLS_CERT_PATH: cert, TLS_KEY_PATH: key, GATEWAY_DRAIN_SECONDS: '1' }),
  ]);
});
test.after.always(async () => {
  await bench?.close();
  await secure?.close();
  rmSync(dir, { recursive: true, force: true });
});

const CONTENT = 'Hello, wörld! 👋';
const body = (model: string, stream = false): string =>
  JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'x' }] });
const message = (model: string) =>
  create(CreateChatCompletionRequestSchema, {
    model,
    messages: [{ role: 'user', content: { kind: { case: 'text', value: 'x' } } }],
  });

interface H2Answer {
  readonly status: number;
  readonly headers: http2.IncomingHttpHeaders;
  readonly body: Buffer;
}

async function h2(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  sent?: string | Uint8Array,
): Promise<H2Answer> {
  const stream = session.request(headers);
  const head = once(stream, 'response') as Promise<[http2.IncomingHttpHeaders]>;
  stream.end(sent);
  const [answer] = await head;
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return { status: Number(answer[':status']), headers: answer, body: Buffer.concat(chunks) };
}

const post = (headers: Record<string, string>, path = '/v1/chat/completions'): http2.OutgoingHttpHeaders => ({
  ':method': 'POST',
  ':path': path,
  'content-type': 'application/json',
  ...headers,
});

test('HTTP/2 cleartext: REST whole, streamed, refused and passed through', async (t) => {
  const session = http2.connect(bench.gateway.origin);
  t.teardown(() => session.destroy());
  const headers = bench.headers('/h2');
  const whole = await h2(session, post(headers), body('gpt-ok'));
  t.is(whole.status, 200);
  t.is((JSON.parse(whole.body.toString()) as JsonObject).id, 'chatcmpl-1');
  t.truthy(whole.headers['x-gateway-request-id']);

  const streamed = await h2(session, post(headers), body('gpt-ok', true));
  const { events, done } = readEvents(streamed.body.toString());
  t.true(done);
  t.is(events.length, 17);

  const broken = await h2(session, post(headers), body('cut', true));
  t.false(readEvents(broken.body.toString()).done);
  t.like(readEvents(broken.body.toString()).events.at(-1)!.error, { code: 'upstream_interrupted' });

  const refused = await h2(session, post(headers), '{');
  t.is(refused.status, 400);
  const large = await h2(session, { ...post(headers), 'content-length': String(27 * 1024 * 1024) }, '').catch(
    (error: Error) => error,
  );
  // The length that was declared is not what came: either is an end, none is a hang.
  t.true(large instanceof Error || large.status === 413 || large.status === 400);

  const bytes = Buffer.from([0, 1, 255]);
  bench.provider.next('/h2/things', (_req, res, sent) => {
    res.writeHead(201, { 'set-cookie': ['a=1', 'b=2'], connection: 'close' });
    res.end(Buffer.concat([sent, sent]));
  });
  const passed = await h2(session, { ...post(headers, '/v1/things'), 'content-type': 'x/y' }, bytes);
  t.is(passed.status, 201);
  t.deepEqual(passed.headers['set-cookie'], ['a=1', 'b=2']);
  t.true(passed.body.equals(Buffer.concat([bytes, bytes])));
  const sent = bench.sentTo('/h2').find(({ url }) => url === '/h2/things')!;
  t.false(sent.rawHeaders.some((name) => name.startsWith(':')));
  t.is(sent.headers['content-type'], 'x/y');
});

test('HTTP/2: a client that resets its stream ends the provider’s', async (t) => {
  const session = http2.connect(bench.gateway.origin);
  t.teardown(() => session.destroy());
  const before = bench.provider.aborted;
  const stream = session.request(post(bench.headers('/h2-reset')));
  stream.on('error', () => {});
  stream.end(body('pace-200', true));
  await once(stream, 'data');
  stream.close(http2.constants.NGHTTP2_CANCEL);
  await eventually('the abort at the provider', () => bench.provider.aborted > before);
  t.true(bench.provider.aborted > before);
});

test('HTTP/2: many calls over one connection', async (t) => {
  const session = http2.connect(bench.gateway.origin);
  t.teardown(() => session.destroy());
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => h2(session, post(bench.headers('/h2-many')), body('gpt-ok'))),
  );
  t.true(answers.every(({ status }) => status === 200));
  t.is(new Set(answers.map(({ headers }) => headers['x-gateway-request-id'])).size, 100);
});

const TRANSPORTS = {
  gRPC: () => createGrpcTransport({ baseUrl: bench.gateway.origin }),
  'gRPC-Web over HTTP/1': () => createGrpcWebTransport({ baseUrl: bench.gateway.origin, httpVersion: '1.1' }),
  'gRPC-Web over HTTP/2': () => createGrpcWebTransport({ baseUrl: bench.gateway.origin, httpVersion: '2' }),
  'Connect binary over HTTP/1': () =>
    createConnectTransport({ baseUrl: bench.gateway.origin, httpVersion: '1.1', useBinaryFormat: true }),
  'Connect JSON over HTTP/2': () =>
    createConnectTransport({ baseUrl: bench.gateway.origin, httpVersion: '2' }),
  'gRPC over TLS': () =>
    createGrpcTransport({ baseUrl: `https://127.0.0.1:${secure.port}`, nodeOptions: { ca } }),
  'Connect over TLS and HTTP/1': () =>
    createConnectTransport({
      baseUrl: `https://127.0.0.1:${secure.port}`,
      httpVersion: '1.1',
      nodeOptions: { ca },
    }),
} satisfies Record<string, () => Transport>;

for (const [name, make] of Object.entries(TRANSPORTS)) {
  test(`${name}: whole, streamed, refused whole and in a stream`, async (t) => {
    const client = createClient(ChatService, make());
    const options = { headers: bench.headers(bench.mark()) };
    const whole = await client.createChatCompletion(message('gpt-ok'), options);
    t.is(whole.choices[0]?.message?.content, CONTENT);
    t.is(whole.usage?.totalTokens, 18n);
    let text = '';
    for await (const chunk of client.streamChatCompletion(message('gpt-ok'), options))
      text += chunk.choices[0]?.delta?.content ?? '';
    t.is(text, CONTENT);
    const refused = await t.throwsAsync(client.createChatCompletion(message(''), options), {
      instanceOf: ConnectError,
    });
    t.is(refused?.code, Code.InvalidArgument);
    t.is(refused?.findDetails(ErrorDetailSchema)[0]?.param, 'model');
    t.truthy(refused?.metadata.get('x-gateway-request-id'));
    for (const [model, code, count] of [
      ['status-429', Code.ResourceExhausted, 0],
      ['stream-error-later', Code.Unavailable, 3],
    ] as const) {
      let chunks = 0;
      const error = await t.throwsAsync(
        (async () => {
          for await (const _ of client.streamChatCompletion(message(model), options)) chunks++;
        })(),
        { instanceOf: ConnectError },
      );
      t.is(error?.code, code);
      t.is(chunks, count);
      t.is(error?.findDetails(ErrorDetailSchema)[0]?.provider, 'openai');
    }
  });
}

test('a deadline of the client ends the call with DeadlineExceeded over every protocol', async (t) => {
  for (const name of ['gRPC', 'gRPC-Web over HTTP/1', 'Connect JSON over HTTP/2'] as const) {
    const client = createClient(ChatService, TRANSPORTS[name]());
    const error = await t.throwsAsync(
      client.createChatCompletion(message('hang'), { headers: bench.headers('/dl'), timeoutMs: 250 }),
      { instanceOf: ConnectError },
    );
    t.is(error?.code, Code.DeadlineExceeded, name);
  }
});

test('gRPC health: the server, its services and unknown ones; no key is needed', async (t) => {
  const client = createClient(Health, bench.transports.grpc);
  // Ready is what the disk and the store are within two seconds: on a busy machine not always.
  for (const service of ['', 'gateway.inference.v2.ChatService'])
    t.true(
      await eventually(
        `${service || 'the server'} serves`,
        async () => (await client.check({ service })).status === Status.SERVING,
      ),
    );
  const error = await t.throwsAsync(client.check({ service: 'nothing' }), { instanceOf: ConnectError });
  t.is(error?.code, Code.NotFound);
  const controller = new AbortController();
  const states: Status[] = [];
  try {
    for await (const { status } of client.watch({ service: '' }, { signal: controller.signal })) {
      states.push(status);
      if (status === Status.SERVING) controller.abort();
    }
  } catch (thrown) {
    t.is(ConnectError.from(thrown).code, Code.Canceled);
  }
  t.is(states.at(-1), Status.SERVING);
  t.true(
    states.every((status, i) => status !== states[i - 1]),
    'a state is told when it changes',
  );
});

for (const service of [V1, V1Alpha]) {
  test(`reflection under ${service.typeName}`, async (t) => {
    const client = createClient(service, bench.transports.grpc);
    const ask = async (messageRequest: object) => {
      for await (const answer of client.serverReflectionInfo(
        (async function* () {
          yield { host: '', messageRequest } as never;
        })(),
      ))
        return answer.messageResponse;
      throw new Error('no answer');
    };
    const list = await ask({ case: 'listServices', value: '' });
    if (list.case !== 'listServicesResponse') return void t.fail(list.case);
    const names = list.value.service.map(({ name }) => name);
    for (const name of [
      'gateway.inference.v2.ChatService',
      'gateway.inference.v2.ProxyService',
      'gateway.admin.v2.LogsService',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
    ])
      t.true(names.includes(name), name);
    for (const [kind, value, file] of [
      ['fileContainingSymbol', 'gateway.inference.v2.ChatService', 'gateway/inference/v2/chat.proto'],
      [
        'fileContainingSymbol',
        'gateway.inference.v2.ChatService.StreamChatCompletion',
        'gateway/inference/v2/chat.proto',
      ],
      ['fileContainingSymbol', 'gateway.inference.v2.Usage', 'gateway/inference/v2/common.proto'],
      ['fileByFilename', 'google/api/http.proto', 'google/api/http.proto'],
    ] as const) {
      const answer = await ask({ case: kind, value });
      if (answer.case !== 'fileDescriptorResponse') {
        t.fail(`${value}: ${answer.case}`);
        continue;
      }
      const files = answer.value.fileDescriptorProto.map((bytes) =>
        fromBinary(FileDescriptorProtoSchema, bytes),
      );
      t.is(files[0]?.name, file);
      const given = new Set(files.map(({ name }) => name));
      for (const { dependency } of files) for (const needed of dependency) t.true(given.has(needed), needed);
    }
    const missing = await ask({ case: 'fileContainingSymbol', value: 'no.Such' });
    t.is(missing.case, 'errorResponse');
    if (missing.case === 'errorResponse') t.is(missing.value.errorCode, 5);
  });
}

test('TLS: REST over HTTP/1 and HTTP/2 on the same port', async (t) => {
  const headers = { ...bench.headers('/tls'), 'content-type': 'application/json' };
  const text = await new Promise<string>((resolve, reject) => {
    const req = https.request(
      {
        host: '127.0.0.1',
        port: secure.port,
        path: '/v1/chat/completions',
        method: 'POST',
        headers,
        ca,
        agent: false,
      },
      (res) => {
        let got = '';
        res.on('data', (chunk) => {
          got += String(chunk);
        });
        res.on('end', () => resolve(`${res.statusCode} ${res.httpVersion} ${got}`));
      },
    );
    req.on('error', reject);
    req.end(body('gpt-ok', true));
  });
  t.regex(text, /^200 1\.1 data: /);
  t.true(text.endsWith('data: [DONE]\n\n'));
  const session = http2.connect(`https://127.0.0.1:${secure.port}`, { ca });
  t.teardown(() => session.destroy());
  const answer = await h2(session, post(bench.headers('/tls2')), body('gpt-ok'));
  t.is(answer.status, 200);
  t.is((session as unknown as { alpnProtocol: string }).alpnProtocol, 'h2');
});

test('TLS: cleartext on the port is refused and harms nobody', async (t) => {
  await t.throwsAsync(fetch(`http://127.0.0.1:${secure.port}/healthz`));
  const answer = await new Promise<number>((resolve, reject) => {
    https
      .get({ host: '127.0.0.1', port: secure.port, path: '/healthz', ca, agent: false }, (res) => {
        res.resume();
        resolve(res.statusCode ?? 0);
      })
      .on('error', reject);
  });
  t.is(answer, 200);
});
