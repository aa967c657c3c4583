import http from 'node:http';
import net from 'node:net';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import { parseAddress } from '../../../src/lib/egress/address-rules.ts';
import { NOTHING_ALLOWED } from '../../../src/lib/egress/allow-list.ts';
import { createDialer } from '../../../src/lib/egress/dialer.ts';
import { parseNoProxy } from '../../../src/lib/egress/no-proxy.ts';
import type { Target } from '../../../src/lib/egress/url-rules.ts';
import { call, collect, dialer, refusedWith, serve, serveOn, type Upstream, until } from './upstreams.ts';

interface CompanyProxy extends Upstream {
  readonly seen: {
    readonly line: string;
    readonly auth: string | undefined;
    readonly host: string | undefined;
  }[];
}

/** A proxy that sends everything to one upstream, whatever name is asked for, as if it resolved it to there. */
async function company(t: ExecutionContext, to: Upstream, status = 200): Promise<CompanyProxy> {
  const seen: CompanyProxy['seen'] = [];
  const server = http.createServer((req, res) => {
    seen.push({
      line: `${req.method} ${req.url}`,
      auth: req.headers['proxy-authorization'],
      host: req.headers.host,
    });
    if (status !== 200) {
      res.writeHead(status).end('no');
      return;
    }
    const inner = http.request({
      host: '127.0.0.1',
      port: to.port,
      method: req.method,
      path: new URL(req.url ?? '').pathname,
    });
    inner.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(res);
    });
    req.pipe(inner);
  });
  server.on('connect', (req, socket: net.Socket) => {
    seen.push({
      line: `CONNECT ${req.url}`,
      auth: req.headers['proxy-authorization'],
      host: req.headers.host,
    });
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const inner = net.connect(to.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      inner.pipe(socket).pipe(inner);
    });
    inner.on('error', () => socket.destroy());
    socket.on('error', () => inner.destroy());
  });
  return { ...(await serveOn(t, server)), seen };
}

const never = (): void => {
  throw new Error('the proxy resolves names');
};

test('an http target goes in absolute form, with credentials for the proxy alone', async (t) => {
  const up = await serve(t, (req, res) =>
    res.writeHead(200, { 'x-auth': String(req.headers['proxy-authorization']) }).end('through'),
  );
  const proxy = await company(t, up);
  const out = dialer(t, {
    allow: NOTHING_ALLOWED,
    httpsProxy: `http://us%40er:pw@127.0.0.1:${proxy.port}`,
    lookup: (_n, _o, cb) => cb(null, []),
  });
  const answer = await out.whole(call('http://api.example.com:8080', { path: '/v1/x' }), 100);
  t.is(Buffer.from(answer.body).toString(), 'through');
  t.is(answer.header('x-auth'), 'undefined');
  t.deepEqual(proxy.seen, [
    {
      line: 'GET http://api.example.com:8080/v1/x',
      auth: `Basic ${Buffer.from('us@er:pw').toString('base64')}`,
      host: 'api.example.com:8080',
    },
  ]);
  const streamed = await out.stream(
    call('http://api.example.com:8080', { path: '/v1/x', method: 'POST', body: 'x' }),
  );
  t.is((await collect(streamed.body)).toString(), 'through');
  t.true(proxy.connections() <= 2);
});

test('an https target asks for a tunnel; a proxy that refuses is a gateway failure', async (t) => {
  const up = await serve(t, (_req, res) => res.end());
  const proxy = await company(t, up, 407);
  const out = dialer(t, { allow: NOTHING_ALLOWED, httpsProxy: proxy.origin, lookup: never });
  const tunnel = await refusedWith(
    t,
    'upstream_unreachable',
    out.whole(call('https://api.example.com'), 100),
  );
  t.regex(tunnel.message, /407/);
  t.is(proxy.seen[0]?.line, 'CONNECT api.example.com:443');
  const forward = await refusedWith(
    t,
    'upstream_unreachable',
    out.whole(call('http://api.example.com'), 100),
  );
  t.regex(forward.message, /407/);
});

test('the tunnel carries what the target says; here a server without TLS', async (t) => {
  const up = await serve(t, (_req, res) => res.end());
  const proxy = await company(t, up);
  const out = dialer(t, { allow: NOTHING_ALLOWED, httpsProxy: proxy.origin, lookup: never });
  await refusedWith(t, 'upstream_unreachable', out.whole(call('https://[2606:4700::1]:8443'), 100));
  t.is(proxy.seen[0]?.line, 'CONNECT [2606:4700::1]:8443');
});

test('a proxy that is gone, closes, or says nothing', async (t) => {
  const proxies = [
    await serveOn(
      t,
      net.createServer((socket) => socket.destroy()),
    ),
    await serveOn(
      t,
      net.createServer((socket) => socket.once('data', () => socket.destroy())),
    ),
    { origin: 'http://127.0.0.1:1024' },
  ];
  for (const { origin } of proxies) {
    const out = dialer(t, { allow: NOTHING_ALLOWED, httpsProxy: origin });
    const error = await refusedWith(
      t,
      'upstream_unreachable',
      out.whole(call('https://api.example.com'), 100),
    );
    t.is(error.message, 'the proxy cannot be reached');
  }
  const silent = await serveOn(
    t,
    net.createServer((socket) => void socket.resume()),
  );
  const out = dialer(t, { allow: NOTHING_ALLOWED, httpsProxy: silent.origin, connectTimeoutMs: 60 });
  await refusedWith(t, 'upstream_timeout', out.whole(call('https://api.example.com'), 100));
  await until(() => silent.open() === 0);
});

test('refused hosts, literals and ports stay refused through the proxy', async (t) => {
  const up = await serve(t, (_req, res) => res.end());
  const proxy = await company(t, up);
  const out = dialer(t, { allow: NOTHING_ALLOWED, httpsProxy: proxy.origin });
  for (const origin of [
    'http://127.0.0.1',
    'http://10.0.0.1',
    'http://[::1]',
    'http://169.254.169.254',
    'http://metadata.google.internal',
    'http://wiki',
    'http://wiki.corp',
    'http://api.example.com:22',
    'https://2130706433',
  ]) {
    await refusedWith(t, 'host_refused', out.whole(call(origin), 100));
  }
  t.deepEqual(proxy.seen, []);
});

test('NO_PROXY goes directly, under all rules', async (t) => {
  const up = await serve(t, (_req, res) => res.end('direct'));
  const proxy = await company(t, up);
  const out = dialer(t, { httpsProxy: proxy.origin, noProxy: '127.0.0.0/8,10.0.0.0/8' });
  t.is(Buffer.from((await out.whole(call(up.origin), 100)).body).toString(), 'direct');
  await refusedWith(t, 'host_refused', out.whole(call('http://10.0.0.1'), 100));
  t.deepEqual(proxy.seen, []);
});

test('NO_PROXY reads names, suffixes, stars, blocks and ports', (t) => {
  const target = (host: string, port = 443): Target => ({
    protocol: 'https:',
    host,
    port,
    address: parseAddress(host),
  });
  const direct = parseNoProxy(
    'Example.com, .inner.net *.star.net,10.0.0.0/8,1.2.3.4:80,[::1]:81,host.org:8443,::2,,:80',
  );
  for (const yes of [
    target('example.com'),
    target('a.example.com'),
    target('a.inner.net'),
    target('a.star.net'),
    target('10.1.1.1'),
    target('1.2.3.4', 80),
    target('::1', 81),
    target('::2'),
    target('host.org', 8443),
  ]) {
    t.true(direct(yes), yes.host);
  }
  for (const no of [
    target('notexample.com'),
    target('inner.net'),
    target('star.net'),
    target('11.0.0.1'),
    target('1.2.3.4', 81),
    target('::1'),
    target('host.org'),
  ]) {
    t.false(direct(no), no.host);
  }
  t.true(parseNoProxy('*')(target('anything')));
  t.false(parseNoProxy('')(target('anything')));
});

test('a proxy that is no http URL stops the start without repeating its password', (t) => {
  for (const httpsProxy of ['socks5://u:secret@h:1', 'secret', 'http://']) {
    const error = t.throws(() => createDialer({ allow: NOTHING_ALLOWED, httpsProxy }));
    t.false(error?.message.includes('secret'));
  }
});
