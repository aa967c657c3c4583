// WebSockets over HTTP/2: the same sessions, opened by CONNECT on a stream.
import http from 'node:http';
import http2, { type ClientHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { WebSocketServer } from 'ws';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const TEXT = 0x81;
const CLOSE = 0x88;
const MASKED = 0x80;

let gateway: TestGateway;
let provider: http.Server;
let origin = '';
let session: http2.ClientHttp2Session;

test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  provider = http.createServer();
  const sockets = new WebSocketServer({ server: provider });
  sockets.on('connection', (ws) => ws.on('message', (data) => ws.send(data.toString())));
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  session = http2.connect(gateway.origin);
  await new Promise((resolve) => session.once('remoteSettings', resolve));
});

test.after.always(async () => {
  session?.destroy();
  await gateway?.close();
  provider?.closeAllConnections();
  provider?.close();
});

interface Opened {
  readonly stream: ClientHttp2Stream;
  readonly headers: http2.IncomingHttpHeaders;
}

function open(path: string, more: http2.OutgoingHttpHeaders = {}): Promise<Opened> {
  const stream = session.request(
    {
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':scheme': 'http',
      ':path': path,
      'sec-websocket-version': '13',
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': origin,
      authorization: 'Bearer sk-provider',
      ...more,
    },
    { endStream: false },
  );
  return new Promise((resolve, reject) => {
    stream.once('error', reject);
    stream.once('response', (headers) => resolve({ stream, headers }));
  });
}

/** A frame of a client, masked with zeros. */
function frame(kind: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([kind, MASKED | content.length, 0, 0, 0, 0]), content]);
}

/** The content of the next frame; those of this test are short. */
function nextFrame(stream: ClientHttp2Stream): Promise<{ readonly kind: number; readonly content: Buffer }> {
  let bytes = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    stream.once('close', () => reject(new Error('the stream ended')));
    const take = (piece: Buffer): void => {
      bytes = Buffer.concat([bytes, piece]);
      const [kind, length = 0] = bytes;
      if (kind === undefined || bytes.length < 2 + length) return;
      stream.off('data', take);
      resolve({ kind, content: bytes.subarray(2, 2 + length) });
    };
    stream.on('data', take);
  });
}

test('the settings tell that it is there, and a session relays frames both ways', async (t) => {
  t.true(session.remoteSettings.enableConnectProtocol);
  const { stream, headers } = await open('/v1/realtime?model=rt', { 'sec-websocket-protocol': 'realtime' });
  t.is(Number(headers[':status']), 200);
  t.is(headers['sec-websocket-protocol'], 'realtime');
  t.is(headers['sec-websocket-accept'], undefined);
  t.is(headers.upgrade, undefined);
  const event = '{"type":"echo"}';
  stream.write(frame(TEXT, Buffer.from(event)));
  const { kind, content } = await nextFrame(stream);
  t.is(kind, TEXT);
  t.is(content.toString(), event);
  const closed = new Promise((resolve) => stream.once('close', resolve));
  stream.write(frame(CLOSE, Buffer.from([0x03, 0xe8])));
  t.is((await nextFrame(stream)).kind, CLOSE);
  stream.end();
  await closed;
});

test('a refusal has its status and its body', async (t) => {
  const { stream, headers } = await open('/v1/realtime?model=rt', { 'x-gateway-api-key': 'slk_none' });
  t.is(Number(headers[':status']), 401);
  let body = '';
  for await (const piece of stream) body += String(piece);
  t.is((JSON.parse(body) as { error: { code: string } }).error.code, 'unauthenticated');
});

for (const [what, path, more, status] of [
  ['a path without sessions', '/v1/models', {}, 404],
  ['another protocol', '/v1/realtime?model=rt', { ':protocol': 'connect-udp' }, 501],
] as const)
  test(`${what} is refused, and the connection goes on`, async (t) => {
    const { stream, headers } = await open(path, more);
    t.is(Number(headers[':status']), status);
    stream.close();
    const again = await open('/v1/realtime?model=rt');
    t.is(Number(again.headers[':status']), 200);
    again.stream.close();
  });

test('refused streams end, although their client leaves its side open', async (t) => {
  for (const [path, more] of [
    ['/v1/realtime?model=rt', { 'x-gateway-api-key': 'slk_none' }],
    ['/v1/responses', { 'x-gateway-api-key': undefined }],
    ['/v1/models', {}],
  ] as const) {
    const { stream } = await open(path, more);
    stream.resume();
    await new Promise((resolve) => stream.once('close', resolve));
    t.is(stream.rstCode, http2.constants.NGHTTP2_NO_ERROR);
  }
});

test('more upgrades at once than begin in one turn are all answered', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 90 }, () => open('/v1/realtime?model=rt', { 'x-gateway-api-key': 'slk_none' })),
  );
  for (const { headers } of answers) t.true([401, 429].includes(Number(headers[':status'])));
});
