// Requests that no ordinary client sends: each is answered or ended, none is a 500 and none a hang.
import net from 'node:net';
import test from 'ava';
import { type Bench, raw, startBench } from '../contract/runner.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

/** Sends bytes as they are; resolves with all that came back when the connection is closed. */
function exchange(bytes: string | Buffer, ms = 4000): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = '';
    const socket = net.connect(bench.gateway.port, '127.0.0.1', () => socket.write(bytes));
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end within ${ms} ms; so far: ${got.slice(0, 200)}`));
    }, ms);
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(got);
    });
  });
}

const END = 'host: x\r\nconnection: close\r\n\r\n';
const KEY = `x-gateway-api-key: ${WORKSPACE_KEY}\r\n`;

for (const line of [
  'OPTIONS * HTTP/1.1',
  'GET * HTTP/1.1',
  'GET //v1/models HTTP/1.1',
  'GET http://evil.example.org/v1/models HTTP/1.1',
  'GET /v1 HTTP/1.1',
  'GET /v1/ HTTP/1.1',
  'GET /v1? HTTP/1.1',
  'GET /v1/proxy/ HTTP/1.1',
  'GET /v1/proxy HTTP/1.1',
  'GET /v1/% HTTP/1.1',
  'GET /v1/models/%ff%fe HTTP/1.1',
  'GET /%zz HTTP/1.1',
  'GET /docs/%zz HTTP/1.1',
  'GET /docs/..%2f..%2fpackage.json HTTP/1.1',
  'GET /metrics/%zz HTTP/1.1',
  'POST /healthz HTTP/1.1',
  'HEAD /healthz HTTP/1.1',
  'PUT /openapi.json HTTP/1.1',
  'GET /gateway.inference.v2.ChatService/CreateChatCompletion HTTP/1.1',
  'POST /gateway.inference.v2.ChatService/CreateChatCompletion HTTP/1.1',
  'POST /grpc.reflection.v1.ServerReflection/ServerReflectionInfo HTTP/1.1',
  'PURGE /v1/models HTTP/1.1',
  'GET /v1/models HTTP/1.0',
]) {
  test(`${line}: an answer that is no failure`, async (t) => {
    const got = await exchange(`${line}\r\n${KEY}${END}`);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(got)?.[1]);
    // A stream both ways needs HTTP/2, which 505 says.
    t.true((status >= 200 && status < 500) || status === 505, got.slice(0, 300));
  });
}

test('both lengths at once are refused', async (t) => {
  const got = await exchange(
    `POST /v1/chat/completions HTTP/1.1\r\n${KEY}host: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  );
  t.regex(got, /^HTTP\/1\.1 400 /);
});

test('two requests in one packet are answered in order', async (t) => {
  const got = await exchange(`GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /v1/models HTTP/1.1\r\n${END}`);
  t.deepEqual(
    [...got.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status),
    ['200', '401'],
  );
});

test('an upgrade is not made', async (t) => {
  const got = await exchange(
    `GET /v1/realtime HTTP/1.1\r\n${KEY}host: x\r\nconnection: close, upgrade\r\nupgrade: websocket\r\n\r\n`,
  );
  t.regex(got, /^HTTP\/1\.1 4\d\d /);
});

test('CONNECT opens nothing', async (t) => {
  const got = await exchange(`CONNECT 10.0.0.1:22 HTTP/1.1\r\n${END}`);
  t.false(/^HTTP\/1\.1 2/.test(got));
});

test('100-continue is answered before the body', async (t) => {
  const body = '{"model":"m","messages":[]}';
  const got = await exchange(
    `POST /v1/chat/completions HTTP/1.1\r\n${KEY}content-type: application/json\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\n${END}${body}`,
  );
  t.regex(got, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 /);
});

test('a body that is shorter than it says: the client leaves and nothing is sent on', async (t) => {
  const prefix = bench.mark();
  const headers = Object.entries(bench.headers(prefix))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  await new Promise<void>((resolve) => {
    const socket = net.connect(bench.gateway.port, '127.0.0.1', () => {
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\n${headers}content-type: application/json\r\ncontent-length: 500\r\nhost: x\r\n\r\n{"model"`,
      );
      setTimeout(() => socket.destroy(), 100);
    });
    socket.on('close', () => resolve());
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.is(bench.sentTo(prefix).length, 0);
  t.is((await raw(bench.gateway.origin, { path: '/healthz' })).status, 200);
});

test('no request fails inside', (t) => {
  t.deepEqual(
    bench.gateway.logLines.filter((line) => /the edge failed|a call failed/.test(line)),
    [],
  );
});
