// A compressed body is held for like its plain twin: what it is decoded to counts, over every protocol.
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import type { Compression } from '@connectrpc/connect/protocol';
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
} from '@connectrpc/connect-node';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ProxyService } from '../../gen/gateway/inference/v2/proxy_pb.ts';
import { raw } from '../contract/runner.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatHeaders, limitsClient } from '../support/limits-client.ts';

const deflate = promisify(zlib.deflate);
const inflate = promisify(zlib.inflate);
const bytesOf = (buffer: Buffer): Uint8Array<ArrayBuffer> => buffer as Uint8Array<ArrayBuffer>;
const compressionDeflate: Compression = {
  name: 'deflate',
  compress: async (bytes) => bytesOf(await deflate(bytes)),
  decompress: async (bytes) => bytesOf(await inflate(bytes)),
};

/** 200,000 bytes are 50,000 tokens; compressed they are a few hundred. */
const LONG = 'word '.repeat(40_000);
const SHORT = 'word';
const ENCODE: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  identity: (body) => body,
  gzip: (body) => zlib.gzipSync(body),
  deflate: (body) => zlib.deflateSync(body),
  br: (body) => zlib.brotliCompressSync(body),
  zstd: (body) => zlib.zstdCompressSync(body),
  'gzip, br': (body) => zlib.brotliCompressSync(zlib.gzipSync(body)),
};

let gateway: TestGateway;
let provider: FakeProvider;
let key: string;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway(), startFakeProvider()]);
  const limits = { usage_limits: { type: 'tokens', credit_limit: 45_000 } };
  ({ key } = await limitsClient(gateway, provider).key(limits));
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

const body = (content: string): Buffer =>
  Buffer.from(JSON.stringify({ model: 'gpt-4o', max_tokens: 10, messages: [{ role: 'user', content }] }));

async function rest(path: string, encoding: string, content: string, chunked = false): Promise<number> {
  const bytes = (ENCODE[encoding] ?? ENCODE.identity!)(body(content));
  const { status } = await raw(gateway.origin, {
    method: 'POST',
    path,
    headers: {
      ...chatHeaders(provider, key),
      ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
    },
    body: chunked ? [bytes.subarray(0, 9), bytes.subarray(9)] : bytes,
  });
  return status;
}

for (const encoding of ['identity', 'gzip', 'deflate', 'br'])
  test(`REST, ${encoding}: refused with 412, and a short one is answered`, async (t) => {
    t.is(await rest('/v1/chat/completions', encoding, LONG), 412);
    t.is(await rest('/v1/chat/completions', encoding, SHORT), 200);
  });

for (const encoding of Object.keys(ENCODE))
  for (const chunked of [false, true])
    test(`passed through, ${encoding}, ${chunked ? 'in chunks' : 'whole'}: refused with 412`, async (t) => {
      t.is(await rest('/v1/proxy/responses', encoding, LONG, chunked), 412);
      t.not(await rest('/v1/proxy/responses', encoding, SHORT, chunked), 412);
    });

test('an encoding that is not known counts ten times its length', async (t) => {
  const long = 'x'.repeat(9000);
  t.is(await rest('/v1/proxy/responses', 'identity', long), 200);
  t.is(await rest('/v1/proxy/responses', 'x-own', long.repeat(3)), 412);
});

type TransportOptions = Pick<
  Parameters<typeof createGrpcTransport>[0],
  'sendCompression' | 'acceptCompression'
>;
const TRANSPORTS = {
  gRPC: (options: TransportOptions) =>
    createGrpcTransport({ baseUrl: gateway.origin, compressMinBytes: 0, ...options }),
  Connect: (options: TransportOptions) =>
    createConnectTransport({
      baseUrl: gateway.origin,
      httpVersion: '1.1',
      compressMinBytes: 0,
      ...options,
    }),
};

for (const [name, make] of Object.entries(TRANSPORTS))
  for (const compression of [undefined, compressionGzip, compressionDeflate, compressionBrotli])
    test(`${name}, ${compression?.name ?? 'identity'}: refused with 412`, async (t) => {
      const transport = make(
        compression === undefined ? {} : { sendCompression: compression, acceptCompression: [compression] },
      );
      const { 'content-type': _, ...headers } = chatHeaders(provider, key);
      const ask = (text: string) =>
        createClient(ChatService, transport).createChatCompletion(
          {
            model: 'gpt-4o',
            maxTokens: 10n,
            messages: [{ role: 'user', content: { kind: { case: 'text', value: text } } }],
          },
          { headers },
        );
      const refused = await t.throwsAsync(ask(LONG), { instanceOf: ConnectError });
      t.is(refused?.code, Code.FailedPrecondition, refused?.message);
      t.regex(String(refused?.message), /usage limit/);
      t.is((await ask(SHORT)).object, 'chat.completion');
    });

test('gRPC, passed through: the length of the body counts, compressed or not', async (t) => {
  const { 'content-type': _, ...headers } = chatHeaders(provider, key);
  const client = createClient(ProxyService, createGrpcTransport({ baseUrl: gateway.origin }));
  for (const encoding of ['identity', 'gzip']) {
    const call = async (content: string): Promise<string> => {
      const messages = (async function* () {
        const head = {
          method: 'POST',
          path: '/v1/responses',
          headers: [{ name: 'content-encoding', value: encoding }],
        };
        yield { kind: { case: 'head' as const, value: head } };
        yield { kind: { case: 'chunk' as const, value: bytesOf(ENCODE[encoding]!(body(content))) } };
      })();
      try {
        for await (const { kind } of client.forward(messages, { headers })) return `${kind.case}`;
        return 'nothing';
      } catch (thrown) {
        return Code[ConnectError.from(thrown).code]!;
      }
    };
    t.is(await call(LONG), 'FailedPrecondition', encoding);
    t.is(await call(SHORT), 'head', encoding);
  }
});
