// How long a connection may be in each state, with short times in the place of the port's own.
import { once } from 'node:events';
import http2, { type ClientHttp2Session } from 'node:http2';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { CONNECTION_TIMES, type ConnectionTimes } from '../../src/edge/connections.ts';
import { createListener } from '../../src/edge/listener.ts';
import { makeCertificates, type Pair } from '../support/certificates.ts';
import { until } from './child.ts';

const LONG = { ...CONNECTION_TIMES, sweepMs: 10 };

/** A port that answers everything with 200; a request with a key is a caller's. Resolves with the port. */
async function start(t: ExecutionContext, times: Partial<ConnectionTimes>, pair?: Pair): Promise<number> {
  const listener = createListener({
    dispatch(req, res) {
      if (req.headers['x-key'] !== undefined) listener.prove(req);
      res.writeHead(200);
      res.end('ok');
    },
    limits: { total: 100, perAddress: 100 },
    times: { ...LONG, ...times },
    tls: pair,
  });
  t.teardown(() => listener.drain(0));
  return (await listener.listen('127.0.0.1', 0)).port;
}

function connect(t: ExecutionContext, port: number): Socket {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  t.teardown(() => void socket.destroy());
  return socket;
}

/** A session that has made one request. */
async function session(
  t: ExecutionContext,
  port: number,
  headers: Record<string, string>,
): Promise<ClientHttp2Session> {
  const client = http2.connect(`http://127.0.0.1:${port}`);
  client.on('error', () => {});
  t.teardown(() => client.destroy());
  const request = client.request({ ':path': '/', ...headers });
  request.resume();
  await once(request, 'end');
  return client;
}

const ping = (client: ClientHttp2Session): Promise<void> =>
  new Promise((resolve, reject) => {
    client.ping((error) => (error ? reject(error) : resolve()));
  });

for (const [what, says] of [
  ['nothing', ''],
  ['half a request line', 'GET /v1/mo'],
  ['half a head', 'GET / HTTP/1.1\r\nhost: x\r\n'],
  ["HTTP/2's preface", 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
] as const)
  test(`a connection that sends ${what} ends when its first request is late`, async (t) => {
    const port = await start(t, { headMs: 50 });
    const socket = connect(t, port);
    const since = Date.now();
    if (says !== '') socket.write(says);
    // A reset is an end, too: what was sent may come after it.
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    t.true(Date.now() - since >= 50);
  });

test("a stranger's idle session gets GOAWAY and ends, with pings too", async (t) => {
  const port = await start(t, { strangerIdleMs: 100 });
  const client = await session(t, port, {});
  let code: number | undefined;
  client.on('goaway', (errorCode: number) => {
    code = errorCode;
  });
  const pings = setInterval(() => {
    if (!client.closed && !client.destroyed) client.ping(() => {});
  }, 10);
  t.teardown(() => clearInterval(pings));
  await once(client, 'close');
  t.is(code, http2.constants.NGHTTP2_NO_ERROR);
});

test("a caller's session lives past the strangers' time, and past its own while it pings", async (t) => {
  const port = await start(t, { strangerIdleMs: 20, callerIdleMs: 2000 });
  const client = await session(t, port, { 'x-key': 'k' });
  const until = Date.now() + 2500;
  while (Date.now() < until) {
    await ping(client);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  t.false(client.closed || client.destroyed, 'pings keep it');
  const closed = once(client, 'close');
  await closed;
  t.true(Date.now() >= until, 'without pings it ends');
});

test('a session with a request under way is not idle', async (t) => {
  const listener = createListener({
    dispatch: (_req, res) => void setTimeout(() => res.end('late'), 400),
    limits: { total: 100, perAddress: 100 },
    times: { ...LONG, strangerIdleMs: 50 },
    tls: undefined,
  });
  t.teardown(() => listener.drain(0));
  const { port } = await listener.listen('127.0.0.1', 0);
  const client = http2.connect(`http://127.0.0.1:${port}`);
  client.on('error', () => {});
  t.teardown(() => client.destroy());
  const request = client.request({ ':path': '/' });
  let text = '';
  for await (const piece of request) text += String(piece);
  t.is(text, 'late');
});

test('a session that is refused a request for its idle time is told which streams were taken', async (t) => {
  const port = await start(t, { strangerIdleMs: 50 });
  const client = await session(t, port, {});
  const [, lastStream] = (await once(client, 'goaway')) as [number, number];
  t.true(lastStream >= 1, 'a client may send again what came later');
});

test('a handshake of TLS that does not end is ended, one that ends in time is served', async (t) => {
  const { server, authority } = await makeCertificates();
  const port = await start(t, { handshakeMs: 150 }, server);
  const silent = connect(t, port);
  const half = connect(t, port);
  // A record of a handshake that announces 512 bytes, and its beginning.
  half.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252]));
  const dripping = connect(t, port);
  const drip = setInterval(() => dripping.writable && dripping.write(Buffer.from([22])), 20);
  t.teardown(() => clearInterval(drip));
  let closed = 0;
  for (const socket of [silent, half, dripping]) socket.on('close', () => closed++);
  await until(() => closed === 3);

  const whole = tls.connect({ port, host: '127.0.0.1', ca: authority.cert, ALPNProtocols: ['http/1.1'] });
  t.teardown(() => void whole.destroy());
  await once(whole, 'secureConnect');
  await new Promise((resolve) => setTimeout(resolve, 200));
  whole.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [bytes] = (await once(whole, 'data')) as [Buffer];
  t.regex(bytes.toString('latin1'), /^HTTP\/1\.1 200/);
});

test('over TLS, a connection without a request and a half-closed one are like those without it', async (t) => {
  const { server, authority } = await makeCertificates();
  const port = await start(t, { headMs: 300 }, server);
  const options = { port, host: '127.0.0.1', ca: authority.cert };
  const idle = tls.connect({ ...options, ALPNProtocols: ['h2'] });
  idle.on('error', () => {});
  await once(idle, 'secureConnect');
  await once(idle.resume(), 'close');
  const halfOpen = { ...options, allowHalfOpen: true, ALPNProtocols: ['http/1.1'] };
  const half = tls.connect(halfOpen);
  await once(half, 'secureConnect');
  half.end('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [bytes] = (await once(half, 'data')) as [Buffer];
  t.regex(bytes.toString('latin1'), /^HTTP\/1\.1 200/);
  half.destroy();
});
