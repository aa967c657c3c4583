// Messages that are cheap to send and expensive to decode are refused before they are decoded, over gRPC and Connect.
import { gzipSync } from 'node:zlib';
import { toBinary } from '@bufbuild/protobuf';
import { StructSchema } from '@bufbuild/protobuf/wkt';
import test from 'ava';
import fc from 'fast-check';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { codec } from '../../src/rest/codec.ts';
import { wireFault } from '../../src/rpc/wire-weight.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { enveloped, field, grpcStatus, repeated } from '../support/wire.ts';

const CHAT = `/${ChatService.typeName}/CreateChatCompletion`;
const chat = ChatService.method.createChatCompletion.input;
const HEADERS = { 'x-gateway-api-key': WORKSPACE_KEY, 'x-gateway-provider': 'openai' };
const MIB = 1024 * 1024;

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
});
test.after.always(() => gateway?.close());

const struct = field(StructSchema, 'fields', field(StructSchema, 1, 'k'));
const HEAVY: Readonly<Record<string, Buffer>> = {
  'empty submessages': repeated(field(chat, 'messages'), MIB),
  'unknown fields': repeated(Buffer.from([0xf8, 0x7f, 1]), MIB),
  'unknown groups': repeated(Buffer.from([0xfb, 0x7f, 0xfc, 0x7f]), MIB),
  'groups within a group': Buffer.concat([
    Buffer.from([0xfb, 0x7f]),
    repeated(Buffer.from([0x08, 1]), MIB),
    Buffer.from([0xfc, 0x7f]),
  ]),
  'a free-form object that is repeated': Buffer.concat([
    field(chat, 'extra', repeated(struct, 2000)),
    repeated(field(chat, 'extra'), 2000),
  ]),
  'members of a free-form object': field(chat, 'extra', repeated(struct, MIB)),
};

const named = (name: Uint8Array) =>
  field(chat, 'messages', field(chat.field.messages!.message!, 'name', name));

test('fields, submessages, groups and merges weigh; texts do not', (t) => {
  for (const [name, bytes] of Object.entries(HEAVY))
    t.is(wireFault(chat, bytes)?.reason, 'body_too_large', name);
  for (const light of [
    named(Buffer.alloc(24 * MIB, 'x')),
    named(repeated(Buffer.from('\u0130\u{1F9D1}'), 24 * MIB)),
    named(repeated(field(chat, 'messages'), MIB)),
  ])
    t.is(wireFault(chat, light), undefined);
});

test('ordinary messages of any shape do not weigh too much', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ role: fc.constant('user'), content: fc.string(), name: fc.string() }), {
        maxLength: 50,
      }),
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })),
      (messages, metadata) => {
        const message = codec.decodeRequest(chat, {
          model: 'm'.repeat(5000),
          messages,
          metadata,
          a_member: metadata,
        });
        t.is(wireFault(chat, toBinary(chat, message)), undefined);
      },
    ),
    { numRuns: 100 },
  );
});

for (const [name, bytes] of Object.entries(HEAVY))
  test(`${name} are refused over gRPC and Connect, compressed or not`, async (t) => {
    const expected = { status: '8', message: /too many fields and items/ };
    for (const isCompressed of [false, true]) {
      const body = isCompressed ? gzipSync(bytes) : bytes;
      const answer = await grpcStatus(gateway.origin, CHAT, enveloped(body, isCompressed), {
        ...HEADERS,
        'grpc-encoding': isCompressed ? 'gzip' : 'identity',
      });
      t.is(answer.status, expected.status, answer.message);
      t.regex(answer.message, expected.message);
      const connect = await fetch(`${gateway.origin}${CHAT}`, {
        method: 'POST',
        headers: {
          ...HEADERS,
          'content-type': 'application/proto',
          'content-encoding': isCompressed ? 'gzip' : 'identity',
        },
        body,
      });
      t.is(connect.status, 429);
      const { code, message } = (await connect.json()) as { code: string; message: string };
      t.is(code, 'resource_exhausted');
      t.regex(message, expected.message);
    }
  });

test('JSON over Connect and gRPC is weighed as JSON', async (t) => {
  const heavy = Buffer.from(`{"model":"m","messages":[${'{},'.repeat(100_000)}{}]}`);
  const connect = await fetch(`${gateway.origin}${CHAT}`, {
    method: 'POST',
    headers: { ...HEADERS, 'content-type': 'application/json' },
    body: heavy,
  });
  t.is(connect.status, 429);
  t.regex(await connect.text(), /too expensive to decode/);
  const grpc = await grpcStatus(gateway.origin, CHAT, enveloped(heavy), {
    ...HEADERS,
    'content-type': 'application/grpc+json',
  });
  t.is(grpc.status, '8');
  t.regex(grpc.message, /too expensive to decode/);
});

test('messages in pieces, compressed ones and empty ones arrive as they were sent', async (t) => {
  const body = field(
    chat,
    'metadata',
    field(StructSchema, 1, field(StructSchema, 1, Buffer.alloc(3 * MIB, 'x'))),
  );
  for (const [sent, encoding] of [
    [enveloped(body), 'identity'],
    [enveloped(gzipSync(body), true), 'gzip'],
    [enveloped(Buffer.alloc(0)), 'identity'],
    [enveloped(Buffer.alloc(0), true), 'gzip'],
  ] as const) {
    const { status, message } = await grpcStatus(gateway.origin, CHAT, sent, {
      ...HEADERS,
      'grpc-encoding': encoding,
    });
    // It was decoded: its messages are missing.
    t.is(status, '3', message);
  }
  const unknown = await grpcStatus(gateway.origin, CHAT, enveloped(body, true), {
    ...HEADERS,
    'grpc-encoding': 'snappy',
  });
  t.is(unknown.status, '12', unknown.message);
  const cut = await grpcStatus(gateway.origin, CHAT, enveloped(body).subarray(0, MIB), HEADERS);
  t.is(cut.status, '3', cut.message);
  const long = Buffer.alloc(5);
  long.writeUInt32BE(2 ** 31, 1);
  const tooLong = await grpcStatus(gateway.origin, CHAT, Buffer.concat([long, body]), HEADERS);
  t.is(tooLong.status, '8', tooLong.message);
});
