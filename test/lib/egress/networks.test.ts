// Ways out of their own: whose certificate, whose authorities and whose proxy a call goes with.
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import type { Network } from '../../../src/lib/egress/network.ts';
import { type Certificates, makeCertificates } from '../../support/certificates.ts';
import { call, dialer, pause, refusedWith, serveOn, until } from './upstreams.ts';

let certificates: Certificates;
test.before(async () => {
  certificates = await makeCertificates();
});

const network = (over: Partial<Network>): Network => ({ id: 'one', version: 1, ...over });
const trusting = (over: Partial<Network> = {}): Network =>
  network({ caCertificates: certificates.authority.cert, ...over });
const proving = (over: Partial<Network> = {}): Network => {
  const { cert, key } = certificates.client;
  return trusting({ clientCertificate: cert, clientKey: key, ...over });
};

/** A server that lets in whom the authority knows, and says who that is. */
function serveMutual(t: ExecutionContext, strict: boolean, maxVersion?: 'TLSv1.2') {
  const { authority, server } = certificates;
  const options = { ...server, ca: authority.cert, requestCert: true, rejectUnauthorized: strict };
  return serveOn(
    t,
    https.createServer({ ...options, ...(maxVersion ? { maxVersion } : {}) }, (req, res) =>
      res.end(String((req.socket as TLSSocket).getPeerCertificate().subject?.CN)),
    ),
  );
}

/** A proxy that counts whom it let through; `wants` is the authorization that it demands. */
async function serveProxy(t: ExecutionContext, to: number, wants?: string) {
  const seen: string[] = [];
  const server = http.createServer((req, res) => {
    seen.push(String(req.url));
    res.end('forwarded');
  });
  server.on('connect', (req: http.IncomingMessage, socket: net.Socket) => {
    seen.push(String(req.url));
    if (wants !== undefined && req.headers['proxy-authorization'] !== wants)
      return socket.end('HTTP/1.1 407 Who\r\n\r\n');
    const inner = net.connect(to, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      inner.pipe(socket).pipe(inner);
    });
    inner.on('error', () => socket.destroy());
    socket.on('error', () => inner.destroy());
  });
  return { ...(await serveOn(t, server)), seen };
}

const text = ({ body }: { readonly body: Uint8Array }): string => Buffer.from(body).toString();

for (const version of [undefined, 'TLSv1.2'] as const) {
  test(`a client certificate is shown by its network alone (${version ?? 'TLSv1.3'})`, async (t) => {
    const { port } = await serveMutual(t, true, version);
    const origin = `https://127.0.0.1:${port}`;
    const out = dialer(t);
    const whole = (own?: Network) => out.whole(call(origin, { network: own }), 100);
    t.is(text(await whole(proving())), 'test client');
    const missing = await refusedWith(t, 'upstream_unreachable', whole(trusting({ id: 'two' })));
    t.regex(
      missing.message,
      /^127\.0\.0\.1 cannot be reached: .*it (?:asks|may ask) for a client certificate$/,
    );
    const { cert, key } = certificates.stranger;
    const wrong = proving({ id: 'three', clientCertificate: cert, clientKey: key });
    const refused = await refusedWith(t, 'upstream_unreachable', whole(wrong));
    t.regex(refused.message, /^127\.0\.0\.1 cannot be reached: .*not accept the client certificate$/);
    const untrusted = await refusedWith(t, 'upstream_unreachable', whole());
    // In TLS 1.2 the server speaks first.
    t.regex(
      untrusted.message,
      version ? /: the TLS handshake was refused$/ : /its certificate is not trusted$/,
    );
    t.is(text(await whole(proving())), 'test client');
  });
}

test('connections are shared within one version of one network only', async (t) => {
  const up = await serveMutual(t, false);
  const out = dialer(t);
  const whole = (own: Network) => out.whole(call(`https://127.0.0.1:${up.port}`, { network: own }), 100);
  t.is(text(await whole(proving())), 'test client');
  // The socket is free again a moment after its answer.
  await pause(20);
  t.is(text(await whole(proving())), 'test client');
  t.is(up.connections(), 1);
  t.is(text(await whole(trusting({ id: 'two' }))), 'undefined');
  t.is(up.connections(), 2);
  t.is(text(await whole(trusting({ version: 2 }))), 'undefined', 'the change takes the certificate away');
  t.is(up.connections(), 3);
  await until(() => up.open() === 2);
});

test('connections that nobody uses are closed', async (t) => {
  const up = await serveMutual(t, false);
  const out = dialer(t, { networkIdleMs: 40 });
  await out.whole(call(`https://127.0.0.1:${up.port}`, { network: trusting() }), 100);
  await until(() => up.open() === 0);
  await out.whole(call(`https://127.0.0.1:${up.port}`, { network: trusting() }), 100);
  t.is(up.connections(), 2);
});

test('there are not more networks with connections than are bound', async (t) => {
  const up = await serveOn(
    t,
    http.createServer((_req, res) => res.end('ok')),
  );
  const out = dialer(t);
  for (let i = 0; i < 160; i++) await out.whole(call(up.origin, { network: network({ id: `n${i}` }) }), 10);
  await until(() => up.open() <= 128);
  t.is(up.connections(), 160);
});

test('a proxy is asked by its network alone, and only what may be called is asked for', async (t) => {
  const up = await serveMutual(t, true);
  const wants = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
  const proxy = await serveProxy(t, up.port, wants);
  const out = dialer(t);
  const own = proving({ proxyUrl: `http://me:p%40ss@127.0.0.1:${proxy.port}` });
  t.is(text(await out.whole(call('https://api.example.com', { network: own }), 100)), 'test client');
  t.deepEqual(proxy.seen, ['api.example.com:443']);
  const private_ = call('https://10.0.0.1', { network: own });
  await refusedWith(t, 'host_refused', out.whole(private_, 100));
  await refusedWith(t, 'host_refused', out.whole(call('http://db.internal', { network: own }), 100));
  await out.whole(call(`https://127.0.0.1:${up.port}`, { network: proving({ id: 'two' }) }), 100);
  t.is(proxy.seen.length, 1);
  const bare = proving({ id: 'three', proxyUrl: `http://127.0.0.1:${proxy.port}` });
  const refused = call('https://api.example.com', { network: bare });
  const error = await refusedWith(t, 'upstream_unreachable', out.whole(refused, 100));
  t.is(error.message, 'the way out through the proxy was refused with status 407');
});

test('a private proxy is refused, by its address and by its name, unless it is allowed', async (t) => {
  const proxy = await serveProxy(t, 1);
  const lookup = (_name: string, _options: object, answer: (e: null, found: object[]) => void) =>
    answer(null, [{ address: '127.0.0.1', family: 4 }]);
  const strict = dialer(t, { allow: parseAllowList('10.0.0.0/8'), lookup: lookup as never });
  for (const host of ['127.0.0.1', 'proxy.example.com']) {
    for (const origin of ['https://api.example.com', 'http://api.example.com']) {
      const own = network({ id: host + origin, proxyUrl: `http://me:secret@${host}:${proxy.port}` });
      const error = await refusedWith(t, 'host_refused', strict.whole(call(origin, { network: own }), 100));
      t.notRegex(error.message, /secret/);
    }
  }
  t.is(proxy.connections(), 0);
  const open = dialer(t, { allow: parseAllowList('proxy.example.com'), lookup: lookup as never });
  const own = network({ proxyUrl: `http://proxy.example.com:${proxy.port}` });
  t.is(
    text(await open.whole(call('http://api.example.com', { network: own, path: '/x' }), 100)),
    'forwarded',
  );
});

test('without a proxy of its own it goes by the gateway’s, with its own certificate inside', async (t) => {
  const up = await serveMutual(t, true);
  const proxy = await serveProxy(t, up.port);
  const out = dialer(t, { httpsProxy: `http://127.0.0.1:${proxy.port}` });
  t.is(text(await out.whole(call('https://api.example.com', { network: proving() }), 100)), 'test client');
  t.deepEqual(proxy.seen, ['api.example.com:443']);
});
