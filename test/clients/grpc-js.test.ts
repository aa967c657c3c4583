// A @grpc/grpc-js client whose service definitions are loaded from the protos as they stand.

import { fromBinary } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import test from 'ava';
import { type ErrorDetail, ErrorDetailSchema } from '../../gen/gateway/common/v2/error_pb.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

interface Chunk {
  choices: { delta: { content?: string; toolCalls: unknown[] } }[];
}
interface Forwarded {
  kind: 'head' | 'chunk';
  head?: { status: number; headers: { name: string; value: string }[] };
  chunk?: Buffer;
}
interface Clients {
  readonly chat: grpc.Client & {
    createChatCompletion(
      request: object,
      metadata: grpc.Metadata,
      options: grpc.CallOptions,
      done: (error: grpc.ServiceError | null, answer?: Record<string, unknown>) => void,
    ): grpc.ClientUnaryCall;
    streamChatCompletion(request: object, metadata: grpc.Metadata): grpc.ClientReadableStream<Chunk>;
  };
  readonly proxy: grpc.Client & {
    forward(metadata: grpc.Metadata): grpc.ClientDuplexStream<object, Forwarded>;
  };
}

let gateway: TestGateway;
let provider: FakeProvider;
let clients: Clients;
let count = 0;

test.before(async () => {
  [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFakeProvider(),
  ]);
  const definition = protoLoader.loadSync(
    ['gateway/inference/v2/chat.proto', 'gateway/inference/v2/proxy.proto'],
    { includeDirs: ['proto'], longs: Number, oneofs: true, defaults: false, arrays: true },
  );
  const loaded = grpc.loadPackageDefinition(definition) as unknown as {
    gateway: { inference: { v2: Record<string, grpc.ServiceClientConstructor> } };
  };
  const { ChatService, ProxyService } = loaded.gateway.inference.v2;
  const address = `127.0.0.1:${gateway.port}`;
  const credentials = grpc.credentials.createInsecure();
  clients = {
    chat: new ChatService!(address, credentials) as unknown as Clients['chat'],
    proxy: new ProxyService!(address, credentials) as unknown as Clients['proxy'],
  };
});
test.after.always(async () => {
  clients?.chat.close();
  clients?.proxy.close();
  await provider?.close();
  await gateway?.close();
});

function metadataOf(more: Record<string, string | undefined> = {}): grpc.Metadata {
  const metadata = new grpc.Metadata();
  const all = {
    'x-gateway-api-key': WORKSPACE_KEY,
    'x-gateway-provider': 'openai',
    'x-gateway-custom-host': provider.origin,
    authorization: 'Bearer sk-provider',
    ...more,
  };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) metadata.set(name, value);
  return metadata;
}

const requestOf = (model: string): object => ({
  model,
  messages: [{ role: 'user', content: { text: 'hi' } }],
});

interface Unary {
  readonly error: grpc.ServiceError | null;
  readonly answer: Record<string, unknown> | undefined;
  readonly head: grpc.Metadata | undefined;
}

function unary(request: object, metadata: grpc.Metadata, options: grpc.CallOptions = {}): Promise<Unary> {
  return new Promise((resolve) => {
    let head: grpc.Metadata | undefined;
    clients.chat
      .createChatCompletion(request, metadata, options, (error, answer) => resolve({ error, answer, head }))
      .on('metadata', (received: grpc.Metadata) => {
        head = received;
      });
  });
}

/** google.rpc.Status: code 1, message 2, details 3; its Any is the typed detail. */
function detailOf(error: grpc.ServiceError): ErrorDetail {
  const [bytes] = error.metadata.get('grpc-status-details-bin') as Buffer[];
  if (bytes === undefined) throw new Error('no grpc-status-details-bin');
  for (let i = 0; i < bytes.length; ) {
    const tag = bytes[i++]!;
    const varint = (): number => {
      let value = 0;
      let shift = 0;
      for (;;) {
        const byte = bytes[i++]!;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return value;
        shift += 7;
      }
    };
    if ((tag & 7) === 0) {
      varint();
      continue;
    }
    const length = varint();
    const value = bytes.subarray(i, i + length);
    i += length;
    if (tag >> 3 === 3) {
      const any = fromBinary(AnySchema, value);
      if (any.typeUrl !== 'type.googleapis.com/gateway.common.v2.ErrorDetail') throw new Error(any.typeUrl);
      return fromBinary(ErrorDetailSchema, any.value);
    }
  }
  throw new Error('the status has no details');
}

test('a unary call, its metadata both ways', async (t) => {
  const { error, answer, head } = await unary(
    requestOf('gpt-ok'),
    metadataOf({ 'x-gateway-trace-id': 'trace-grpc' }),
  );
  t.is(error, null);
  const choices = answer!.choices as { message: { content: string }; finishReason: string }[];
  t.is(choices[0]!.message.content, 'Hello, wörld! 👋');
  t.is(choices[0]!.finishReason, 'stop');
  t.is((answer!.usage as { totalTokens: number }).totalTokens, 18);
  t.deepEqual(head!.get('x-gateway-trace-id'), ['trace-grpc']);
  t.is(head!.get('x-gateway-request-id').length, 1);
  t.deepEqual(head!.get('x-gateway-provider'), ['openai']);
});

test('a server stream', async (t) => {
  const call = clients.chat.streamChatCompletion(requestOf('gpt-ok'), metadataOf());
  let text = '';
  let pieces = 0;
  for await (const chunk of call as AsyncIterable<Chunk>) {
    text += chunk.choices[0]?.delta.content ?? '';
    pieces++;
  }
  t.is(text, 'Hello, wörld! 👋');
  t.true(pieces > 10);
});

test('an error has its code, its message and the typed detail', async (t) => {
  const { error } = await unary({ model: 'm', messages: [{ role: 'user' }], temperature: 3 }, metadataOf());
  t.is(error?.code, grpc.status.INVALID_ARGUMENT);
  t.regex(error!.details, /temperature/);
  const detail = detailOf(error!);
  t.is(detail.reason, 'validation_failed');
  t.is(detail.param, 'temperature');
  t.is(detail.httpStatus, 400);
  t.is(detail.violations[0]?.rule, 'double.gte_lte');
  t.deepEqual(error!.metadata.get('x-gateway-request-id'), [detail.requestId]);
});

test('a wrong key is UNAUTHENTICATED', async (t) => {
  const { error } = await unary(requestOf('gpt-ok'), metadataOf({ 'x-gateway-api-key': 'slk_wrong' }));
  t.is(error?.code, grpc.status.UNAUTHENTICATED);
  t.is(detailOf(error!).reason, 'unauthenticated');
});

test('the provider’s 429 is RESOURCE_EXHAUSTED with its retry-after', async (t) => {
  const { error } = await unary(requestOf('status-429'), metadataOf());
  t.is(error?.code, grpc.status.RESOURCE_EXHAUSTED);
  const detail = detailOf(error!);
  t.is(detail.retryAfterMs, 7000n);
  t.is(detail.code, 'fake_code');
  t.is(detail.type, 'fake_error');
  t.is(detail.provider, 'openai');
  t.is(detail.httpStatus, 429);
  t.deepEqual(error!.metadata.get('retry-after'), ['7']);
});

test('an error in mid-stream ends the stream with its status and the typed detail', async (t) => {
  const call = clients.chat.streamChatCompletion(requestOf('stream-error-later'), metadataOf());
  let pieces = 0;
  const error = await new Promise<grpc.ServiceError>((resolve, reject) => {
    call.on('data', () => pieces++);
    call.on('error', resolve);
    call.on('end', () => reject(new Error('a silent end')));
  });
  t.is(pieces, 3);
  t.is(error.code, grpc.status.UNAVAILABLE);
  t.is(detailOf(error).code, 'mid');
});

test('a deadline ends the call and the provider’s', async (t) => {
  const before = provider.aborted;
  const { error } = await unary(requestOf('hang'), metadataOf(), { deadline: Date.now() + 300 });
  t.is(error?.code, grpc.status.DEADLINE_EXCEEDED);
  for (let i = 0; i < 200 && provider.aborted === before; i++) await pause(10);
  t.true(provider.aborted > before);
});

test('a cancelled stream ends the provider’s', async (t) => {
  const before = provider.aborted;
  const call = clients.chat.streamChatCompletion(requestOf('pace-200'), metadataOf());
  call.on('error', () => {});
  await new Promise((resolve) => call.once('data', resolve));
  call.cancel();
  for (let i = 0; i < 200 && provider.aborted === before; i++) await pause(10);
  t.true(provider.aborted > before);
});

test('stream set on the unary method is refused', async (t) => {
  const { error } = await unary({ ...requestOf('gpt-ok'), stream: true }, metadataOf());
  t.is(error?.code, grpc.status.INVALID_ARGUMENT);
  t.is(detailOf(error!).param, 'stream');
});

test('an unknown method is UNIMPLEMENTED', async (t) => {
  const error = await new Promise<grpc.ServiceError | null>((resolve) => {
    clients.chat.makeUnaryRequest(
      '/gateway.inference.v2.ChatService/Nothing',
      (value: Buffer) => value,
      (value: Buffer) => value,
      Buffer.alloc(0),
      metadataOf(),
      (failure) => resolve(failure),
    );
  });
  t.is(error?.code, grpc.status.UNIMPLEMENTED);
});

test('bytes that are no message are refused with the ids of every answer', async (t) => {
  const error = await new Promise<grpc.ServiceError | null>((resolve) => {
    clients.chat.makeUnaryRequest(
      '/gateway.inference.v2.ChatService/CreateChatCompletion',
      (value: Buffer) => value,
      (value: Buffer) => value,
      Buffer.from([0xff, 0xff, 0xff]),
      metadataOf(),
      (failure) => resolve(failure),
    );
  });
  // gRPC's own libraries say INTERNAL here, since a client made from the contract cannot send such bytes.
  t.true([grpc.status.INVALID_ARGUMENT, grpc.status.INTERNAL].includes(error!.code));
  t.is(error!.metadata.get('x-gateway-request-id').length, 1);
  t.is(error!.metadata.get('x-gateway-trace-id').length, 1);
});

test('Forward: the head, then pieces, both ways', async (t) => {
  const prefix = `/fwd-${++count}`;
  const call = clients.proxy.forward(metadataOf({ 'x-gateway-custom-host': provider.origin + prefix }));
  provider.next(`${prefix}/files/a%2Fb`, (_req, res, body) => {
    res.writeHead(201, [
      'content-type',
      'application/octet-stream',
      'set-cookie',
      'a=1',
      'set-cookie',
      'b=2',
      'X-Kept',
      'Yes',
    ]);
    res.end(Buffer.concat([Buffer.from('got '), body]));
  });
  call.write({
    head: {
      method: 'PUT',
      path: '/files/a%2Fb?x=%20&y',
      headers: [
        { name: 'Content-Type', value: 'application/octet-stream' },
        { name: 'X-Twice', value: '1' },
        { name: 'X-Twice', value: '2' },
      ],
    },
  });
  call.write({ chunk: Buffer.from([1, 2]) });
  call.write({ chunk: Buffer.from([3, 255]) });
  call.end();
  const messages: Forwarded[] = [];
  for await (const message of call as AsyncIterable<Forwarded>) messages.push(message);
  const { head } = messages[0]!;
  t.is(head?.status, 201);
  const named = (name: string) =>
    head!.headers.filter((h) => h.name.toLowerCase() === name).map((h) => h.value);
  t.deepEqual(named('set-cookie'), ['a=1', 'b=2']);
  t.deepEqual(named('x-kept'), ['Yes']);
  const bytes = Buffer.concat(messages.slice(1).map(({ chunk }) => chunk!));
  t.deepEqual(bytes, Buffer.concat([Buffer.from('got '), Buffer.from([1, 2, 3, 255])]));
  const seen = provider.seen.find(({ url }) => url.startsWith(prefix))!;
  t.is(seen.url, `${prefix}/files/a%2Fb?x=%20&y`);
  t.is(seen.method, 'PUT');
  t.is(seen.headers['x-twice'], '1, 2');
  t.is(seen.headers.authorization, 'Bearer sk-provider');
  t.false(seen.rawHeaders.some((text) => /x-gateway/i.test(text)));
});

const refusedForward = async (first: object): Promise<grpc.ServiceError> => {
  const call = clients.proxy.forward(metadataOf());
  call.write(first);
  call.end();
  return new Promise((resolve, reject) => {
    call.on('data', () => {});
    call.on('error', (error) => resolve(error as grpc.ServiceError));
    call.on('end', () => reject(new Error('answered')));
  });
};

for (const [name, first, param] of [
  ['a chunk first', { chunk: Buffer.from('x') }, 'head'],
  ['PATCH', { head: { method: 'PATCH', path: '/x' } }, 'head.method'],
  ['a path without a slash', { head: { method: 'GET', path: 'x' } }, 'head.path'],
  ['a path that is another host', { head: { method: 'GET', path: '@evil.example.org/' } }, 'head.path'],
  ['a path with a line break', { head: { method: 'GET', path: '/x\r\nhost: y' } }, 'head.path'],
  [
    'a header with a line break',
    { head: { method: 'GET', path: '/x', headers: [{ name: 'a', value: 'b\r\nc: d' }] } },
    'head.headers[0].value',
  ],
  [
    'a header that is none',
    { head: { method: 'GET', path: '/x', headers: [{ name: 'a b', value: 'c' }] } },
    'head.headers[0].name',
  ],
  ['nothing', {}, ''],
] as const) {
  test(`Forward: ${name} is refused`, async (t) => {
    const seen = provider.seen.filter(({ url }) => url === '/x').length;
    const error = await refusedForward(first);
    t.is(error.code, grpc.status.INVALID_ARGUMENT);
    const detail = detailOf(error);
    t.is(detail.reason, 'validation_failed');
    if (param !== '') t.is(detail.param, param);
    t.is(provider.seen.filter(({ url }) => url === '/x').length, seen);
  });
}

test('Forward: a call that sends nothing is ended when its time is up', async (t) => {
  const call = clients.proxy.forward(metadataOf({ 'x-gateway-request-timeout': '300' }));
  const ended = new Promise<grpc.ServiceError>((resolve) => {
    call.on('data', () => {});
    call.on('error', (error) => resolve(error as grpc.ServiceError));
  });
  // The head is only sent with a first write or an end; metadata alone must not hold a call for ever.
  const error = await Promise.race([ended, pause(4000)]);
  call.cancel();
  t.is((error as grpc.ServiceError | undefined)?.code, grpc.status.DEADLINE_EXCEEDED);
});

test('Forward: a body that stops half-way is ended when its time is up', async (t) => {
  const call = clients.proxy.forward(metadataOf({ 'x-gateway-request-timeout': '400' }));
  const ended = new Promise<grpc.ServiceError>((resolve) => {
    call.on('data', () => {});
    call.on('error', (error) => resolve(error as grpc.ServiceError));
  });
  call.write({ head: { method: 'POST', path: '/half', headers: [] } });
  call.write({ chunk: Buffer.from('half') });
  const error = await Promise.race([ended, pause(4000)]);
  call.cancel();
  t.is((error as grpc.ServiceError | undefined)?.code, grpc.status.DEADLINE_EXCEEDED);
  t.is(detailOf(error as grpc.ServiceError).reason, 'request_timeout');
});

test('Forward: a head whose body never comes is ended when its time is up', async (t) => {
  const call = clients.proxy.forward(metadataOf({ 'x-gateway-request-timeout': '400' }));
  const ended = new Promise<grpc.ServiceError>((resolve) => {
    call.on('data', () => {});
    call.on('error', (error) => resolve(error as grpc.ServiceError));
  });
  call.write({ head: { method: 'POST', path: '/half', headers: [] } });
  const error = await Promise.race([ended, pause(4000)]);
  call.cancel();
  t.is((error as grpc.ServiceError | undefined)?.code, grpc.status.DEADLINE_EXCEEDED);
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
