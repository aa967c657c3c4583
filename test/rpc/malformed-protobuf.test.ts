// Bytes that are no message of the method are the caller's fault over gRPC, gRPC-Web and Connect, unary and streamed: never
// INTERNAL or a 500. The field is named.
import http from 'node:http';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { enveloped, field, grpcStatus, varint } from '../support/wire.ts';

const UNARY = `/${ChatService.typeName}/CreateChatCompletion`;
const STREAM = `/${ChatService.typeName}/StreamChatCompletion`;
const PROMPT = `/${PromptsService.typeName}/CreatePrompt`;
const chat = ChatService.method.createChatCompletion.input;
const message = chat.field.messages!.message!;
const HEADERS = { 'x-gateway-api-key': WORKSPACE_KEY, 'x-gateway-provider': 'openai' };
const ADMIN = { 'x-gateway-api-key': ADMIN_KEY };
const MIB = 1024 * 1024;

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
});
test.after.always(() => gateway?.close());

const tag = (name: string, wireType: number) => varint((chat.field[name]!.number << 3) | wireType);
const MALFORMED: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
  'a text that is not UTF-8': [field(chat, 'model', Buffer.from([0xff, 0xfe])), /model: .*UTF-8/],
  'a text that is not UTF-8, deep inside': [
    field(chat, 'messages', field(message, 'name', Buffer.from([0xc3]))),
    /messages\.name: .*UTF-8/,
  ],
  'a text that is cut off': [field(chat, 'model', 'gpt-ok').subarray(0, 4), /model: .*middle/],
  'a message that is cut off': [
    field(chat, 'messages', field(message, 'role', 'user')).subarray(0, 6),
    /messages: .*middle/,
  ],
  'a field that is longer than the message around it': [
    Buffer.concat([field(chat, 'messages', Buffer.from([0x0a, 9])), Buffer.alloc(9, 'x')]),
    /messages: .*middle/,
  ],
  'a tag alone': [tag('model', 2), /model: .*middle/],
  'a number where a text belongs': [Buffer.concat([tag('model', 0), varint(7)]), /model: wire type 0/],
  'a text where a number belongs': [field(chat, 'n', 'one'), /n: wire type 2/],
  'a fixed number where a message belongs': [
    Buffer.concat([tag('messages', 5), Buffer.alloc(4)]),
    /messages: wire type 5/,
  ],
  'wire type 7': [Buffer.from([0x0f]), /no message of Protobuf/],
  'field number 0': [Buffer.from([0x00, 0x00]), /no message of Protobuf/],
  'the end of a group without its start': [Buffer.from([0x0c]), /model: wire type 4|no message/],
  'an unknown group without an end': [Buffer.from([0xfb, 0x7f, 0x08, 1]), /middle/],
  'a number of eleven bytes': [Buffer.concat([tag('n', 0), Buffer.alloc(11, 0x80)]), /n: .*ten bytes/],
};

/** What all protocols say of one body. */
async function answers(path: string, body: Buffer, headers: Record<string, string>) {
  const post = async (type: string, bytes: Buffer): Promise<readonly [number, string]> => {
    const answer = await fetch(`${gateway.origin}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      body: new Uint8Array(bytes),
    });
    return [answer.status, `${await answer.text()} ${JSON.stringify([...answer.headers])}`];
  };
  const { status, message: text } = await grpcStatus(gateway.origin, path, enveloped(body), headers);
  return {
    grpc: [status, text] as const,
    grpcWeb: await post('application/grpc-web+proto', enveloped(body)),
    connect: path === STREAM ? undefined : await post('application/proto', body),
    connectStream: path === STREAM ? await post('application/connect+proto', enveloped(body)) : undefined,
  };
}

async function isRefused(
  t: ExecutionContext,
  path: string,
  body: Buffer,
  text: RegExp,
  headers: Record<string, string> = HEADERS,
) {
  const told = await answers(path, body, headers);
  t.is(told.grpc[0], '3', told.grpc[1]);
  t.regex(told.grpc[1], text);
  t.regex(told.grpcWeb[1], /grpc-status[^0-9]*3\b/);
  if (told.connect !== undefined) {
    t.is(told.connect[0], 400);
    t.regex(told.connect[1], /"invalid_argument"/);
    t.regex(told.connect[1], text);
  }
  if (told.connectStream !== undefined) {
    t.regex(told.connectStream[1], /"invalid_argument"/);
    t.regex(told.connectStream[1], text);
  }
}

for (const [name, [body, text]] of Object.entries(MALFORMED))
  test(`malformed protobuf: ${name}`, async (t) => {
    await isRefused(t, UNARY, body, text);
    await isRefused(t, STREAM, body, text);
  });

test('malformed protobuf on the control plane has its error code', async (t) => {
  const input = PromptsService.method.createPrompt.input;
  await isRefused(t, PROMPT, field(input, 'name', Buffer.from([0xff])), /name: .*UTF-8/, ADMIN);
});

test('a text far over its limit is refused before it is decoded, with the limit', async (t) => {
  const long = field(PromptsService.method.createPrompt.input, 'name', Buffer.alloc(3 * MIB, 'x'));
  await isRefused(t, PROMPT, long, /name: must be at most \d+ characters/, ADMIN);
});

test('fields that the schema does not know are passed over', async (t) => {
  const body = Buffer.concat([Buffer.from([0xf8, 0x7f, 1]), field(chat, 'model', 'm')]);
  const { status, message: text } = await grpcStatus(gateway.origin, UNARY, enveloped(body), HEADERS);
  t.is(status, '3');
  t.regex(text, /messages/);
});

test('messages with unknown flags, and compressed ones without a compression, are the caller’s fault', async (t) => {
  const body = field(chat, 'model', 'm');
  for (const flags of [1, 2, 0x80, 0xff]) {
    const sent = enveloped(body);
    sent[0] = flags;
    const { status, message: text } = await grpcStatus(gateway.origin, UNARY, sent, HEADERS);
    t.is(status, '3', text);
  }
});

test('compressed messages that cannot be read are the caller’s fault', async (t) => {
  const whole = gzipSync(field(chat, 'model', 'm'));
  for (const body of [whole.subarray(0, 12), Buffer.from('no gzip'), Buffer.alloc(30, 0xff)]) {
    const grpc = await grpcStatus(gateway.origin, UNARY, enveloped(body, true), {
      ...HEADERS,
      'grpc-encoding': 'gzip',
    });
    t.is(grpc.status, '3', grpc.message);
    const connect = await fetch(`${gateway.origin}${UNARY}`, {
      method: 'POST',
      headers: { ...HEADERS, 'content-type': 'application/proto', 'content-encoding': 'gzip' },
      body: new Uint8Array(body),
    });
    t.is(connect.status, 400);
    t.regex(await connect.text(), /gzip/);
  }
});

test('messages of the control plane have at most 4 MiB over every protocol, inserted logs more', async (t) => {
  const input = PromptsService.method.createPrompt.input;
  const long = Buffer.alloc(5 * MIB, field(input, 'name', 'x'.repeat(100)));
  for (const [path, limited] of [
    [PROMPT, true],
    [`/${LogsService.typeName}/CreateLogs`, false],
  ] as const) {
    const { message: text } = await grpcStatus(gateway.origin, path, enveloped(long), HEADERS);
    t.is(/larger than 4194304 bytes/.test(text), limited, text);
    const connect = await fetch(`${gateway.origin}${path}`, {
      method: 'POST',
      headers: { ...HEADERS, 'content-type': 'application/proto' },
      body: new Uint8Array(long),
    });
    t.is(/larger than 4194304 bytes/.test(await connect.text()), limited);
  }
  for (const [path, status] of [
    ['prompts', 413],
    ['logs', 400],
  ] as const) {
    const rest = await fetch(`${gateway.origin}/v1/${path}`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': path === 'logs' ? WORKSPACE_KEY : ADMIN_KEY,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: 'x'.repeat(5 * MIB) }),
    });
    t.is(rest.status, status, path);
  }
});

test('a connection serves the next request after one whose body was refused half way', async (t) => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const post = (body: Buffer) =>
    new Promise<readonly [string, boolean]>((resolve, reject) => {
      const headers = {
        ...HEADERS,
        'content-type': 'application/grpc-web+proto',
        'content-length': body.length,
      };
      const req = http.request(
        `${gateway.origin}${UNARY}`,
        { method: 'POST', agent, headers },
        async (res) => {
          resolve([Buffer.concat(await res.toArray()).toString(), req.reusedSocket]);
        },
      );
      req.on('error', reject).end(body);
    });
  // The first of two messages is refused, so the second one is not waited for.
  const refused = enveloped(field(chat, 'model', Buffer.from([0xff])));
  const more = enveloped(Buffer.alloc(200_000));
  const [first] = await post(Buffer.concat([refused, more]));
  t.regex(first, /UTF-8/);
  const [second, reused] = await post(refused);
  t.regex(second, /UTF-8/);
  t.true(reused);
});
