import http from 'node:http';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import type { Lookup } from '../../../src/lib/egress/connector.ts';
import { withSlack } from '../../support/slack.ts';
import { call, dialer, pause, refusedWith, serve, serveRaw, until } from './upstreams.ts';

test('an answer comes whole, with its headers in order, repeated and spelt as on the wire', async (t) => {
  const up = await serveRaw(t, (socket) => {
    socket.once('data', () => {
      socket.write(
        'HTTP/1.1 200 OK\r\nX-One: 1\r\nSet-Cookie: a=1\r\nset-cookie: b=\xe4\r\n__proto__: p\r\nContent-Length: 5\r\n\r\nhe',
        'latin1',
      );
      setTimeout(() => socket.write('llo'), 5);
    });
  });
  const answer = await dialer(t).whole(call(up.origin), 5);
  t.is(answer.status, 200);
  t.deepEqual(answer.rawHeaders, [
    'X-One',
    '1',
    'Set-Cookie',
    'a=1',
    'set-cookie',
    'b=\xe4',
    '__proto__',
    'p',
    'Content-Length',
    '5',
  ]);
  t.is(answer.header('set-cookie'), 'b=\xe4');
  t.is(answer.header('x-one'), '1');
  t.is(answer.header('constructor'), undefined);
  t.is(Buffer.from(answer.body).toString(), 'hello');
});

test('a long answer in pieces of every length is put together as it came', async (t) => {
  const sent = Buffer.alloc(5_000_000);
  for (let i = 0; i < sent.length; i++) sent[i] = i % 251;
  const up = await serve(t, (_req, res) => {
    let at = 0;
    const more = (): void => {
      while (at < sent.length) {
        const length = 1 + (at % 7919);
        const room = res.write(sent.subarray(at, at + length));
        at += length;
        if (!room) return void res.once('drain', more);
      }
      res.end();
    };
    more();
  });
  const answer = await dialer(t).whole(call(up.origin), sent.length);
  t.true(sent.equals(answer.body));
});

test('the request goes out as it is, less what belongs to the connection', async (t) => {
  const up = await serve(t, (req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece) => pieces.push(piece));
    req.on('end', () =>
      res.end(
        JSON.stringify({
          method: req.method,
          url: req.url,
          raw: req.rawHeaders,
          body: Buffer.concat(pieces).toString(),
        }),
      ),
    );
  });
  const headers = [
    'Host',
    'evil.example.com',
    'X-A',
    '1',
    'x-a',
    '2',
    'Connection',
    'close',
    'Transfer-Encoding',
    'chunked',
    'Expect',
    '100-continue',
    'Content-Length',
    '99',
    'Proxy-Authorization',
    'secret',
    'Upgrade',
    'h2c',
    'Keep-Alive',
    'timeout=9',
  ];
  const answer = await dialer(t).whole(
    call(up.origin, { method: 'POST', path: '/a%2Fb?q=%20', headers, body: 'höi' }),
    10_000,
  );
  const seen = JSON.parse(Buffer.from(answer.body).toString());
  t.is(seen.method, 'POST');
  t.is(seen.url, '/a%2Fb?q=%20');
  t.is(seen.body, 'höi');
  t.deepEqual(seen.raw, [
    'host',
    `127.0.0.1:${up.port}`,
    'connection',
    'keep-alive',
    'X-A',
    '1',
    'x-a',
    '2',
    'content-length',
    '4',
  ]);
});

test('compressed bytes come unchanged, and nobody asked for compression', async (t) => {
  const packed = gzipSync('x'.repeat(1000));
  const up = await serve(t, (req, res) => {
    res
      .writeHead(200, { 'content-encoding': 'gzip', 'x-asked': String(req.headers['accept-encoding']) })
      .end(packed);
  });
  const answer = await dialer(t).whole(call(up.origin), 10_000);
  t.deepEqual(Buffer.from(answer.body), packed);
  t.is(answer.header('x-asked'), 'undefined');
});

test('a redirect is an answer', async (t) => {
  let asked = 0;
  const up = await serve(t, (_req, res) => {
    asked++;
    res.writeHead(302, { location: 'http://169.254.169.254/' }).end();
  });
  const answer = await dialer(t).whole(call(up.origin), 10);
  t.is(answer.status, 302);
  t.is(answer.body.length, 0);
  t.is(asked, 1);
});

test('informational answers are passed over; HEAD, 204 and Uint8Array bodies work', async (t) => {
  const up = await serve(t, (req, res) => {
    if (req.url === '/hints') res.writeEarlyHints({ link: '</a>; rel=preload' });
    if (req.url === '/empty') res.writeHead(204);
    if (req.method === 'POST') req.pipe(res);
    else res.end(req.url === '/empty' ? undefined : 'body');
  });
  const out = dialer(t);
  t.is((await out.whole(call(up.origin, { path: '/hints' }), 10)).status, 200);
  t.is((await out.whole(call(up.origin, { method: 'HEAD' }), 10)).body.length, 0);
  t.is((await out.whole(call(up.origin, { path: '/empty' }), 10)).status, 204);
  const echoed = await out.whole(call(up.origin, { method: 'POST', body: new Uint8Array([0, 255, 7]) }), 10);
  t.deepEqual([...echoed.body], [0, 255, 7]);
});

test('warm connections are reused', async (t) => {
  const up = await serve(t, (_req, res) => res.end('x'));
  const out = dialer(t);
  for (let i = 0; i < 5; i++) {
    await out.whole(call(up.origin), 10);
    await pause(1);
  }
  t.is(up.connections(), 1);
});

test('an answer over the bound is cut', async (t) => {
  const up = await serve(t, (_req, res) => {
    res.write('x'.repeat(60));
    setTimeout(() => res.write('x'.repeat(60)), 5);
  });
  const error = await refusedWith(t, 'upstream_garbage', dialer(t).whole(call(up.origin), 100));
  t.regex(error.message, /100 bytes/);
  await until(() => up.open() === 0);
});

const cut = (name: string, head: string, end: 'destroy' | 'end' | 'resetAndDestroy'): void => {
  test(`an answer that breaks off: ${name}`, async (t) => {
    const up = await serveRaw(t, (socket) => {
      socket.once('data', () => socket.write(head, () => setTimeout(() => socket[end](), 10)));
    });
    await refusedWith(t, 'upstream_interrupted', dialer(t).whole(call(up.origin), 1000));
  });
};
cut('content-length, FIN', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', 'end');
cut(
  'content-length and close, FIN',
  'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf',
  'end',
);
cut('content-length, RST', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', 'resetAndDestroy');
cut('chunked, FIN', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', 'end');
cut(
  'chunked and close, FIN',
  'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel',
  'end',
);
cut('in the head', 'HTTP/1.1 200 OK\r\nContent-Le', 'end');

test('an answer without a length ends with the connection', async (t) => {
  const up = await serveRaw(t, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.0 200 OK\r\n\r\nall of it'));
  });
  t.is(Buffer.from((await dialer(t).whole(call(up.origin), 1000)).body).toString(), 'all of it');
});

const garbage = (name: string, bytes: string): void => {
  test(`garbage: ${name}`, async (t) => {
    const up = await serveRaw(t, (socket) => socket.once('data', () => socket.end(bytes)));
    await refusedWith(t, 'upstream_garbage', dialer(t).whole(call(up.origin), 1000));
  });
};
garbage('another protocol', 'SSH-2.0-OpenSSH_9.6\r\n');
garbage('a bad header', 'HTTP/1.1 200 OK\r\nBad Header\r\n\r\n');
garbage('a bad chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n');
garbage('an endless head', `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`);
garbage(
  'an upgrade nobody asked for',
  'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
);

test('a closed port and a connection closed without an answer are unreachable', async (t) => {
  const gone = await serve(t, () => {});
  const out = dialer(t);
  const silent = await serveRaw(t, (socket) => socket.once('data', () => socket.destroy()));
  const error = await refusedWith(
    t,
    'upstream_unreachable',
    out.whole(call(silent.origin, { method: 'POST' }), 10),
  );
  t.is(silent.connections(), 1);
  t.true(error.details.cause instanceof Error);
  const free = http.createServer().listen(0, '127.0.0.1');
  await pause(5);
  const address = free.address();
  const port = typeof address === 'object' ? address?.port : 0;
  free.close();
  await refusedWith(t, 'upstream_unreachable', out.whole(call(`http://127.0.0.1:${port}`), 10));
  t.is(gone.connections(), 0);
});

test('a safe request is sent once more when the connection closed under it; others are not', async (t) => {
  const up = await serveRaw(t, (socket) => {
    socket.once('data', () => {
      if (up.connections() === 1) socket.destroy();
      else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  t.is((await dialer(t).whole(call(up.origin), 10)).status, 200);
  t.is(up.connections(), 2);
  const never = await serveRaw(t, (socket) => socket.once('data', () => socket.destroy()));
  await refusedWith(t, 'upstream_unreachable', dialer(t).whole(call(never.origin), 10));
  t.is(never.connections(), 2);
});

test('a connection that the server closed while idle is not used again', async (t) => {
  const up = await serveRaw(t, (socket) => {
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      setTimeout(() => socket.end(), 5);
    });
  });
  const out = dialer(t);
  for (let i = 0; i < 3; i++) {
    t.is((await out.whole(call(up.origin, { method: 'POST' }), 10)).status, 200);
    await pause(20);
  }
  t.is(up.connections(), 3);
});

test('a slow head and a silent body time out, and the socket closes', async (t) => {
  const up = await serve(t, (req, res) => {
    if (req.url === '/body') res.write('x');
    if (req.url === '/drip') {
      let left = 6;
      const timer = setInterval(() => {
        res.write('x');
        if (--left === 0) res.end(() => clearInterval(timer));
      }, 300);
    }
  });
  const out = dialer(t);
  const began = Date.now();
  const head = await refusedWith(
    t,
    'upstream_timeout',
    out.whole(call(up.origin, { headTimeoutMs: 60 }), 10),
  );
  t.regex(head.message, /60 ms/);
  const body = await refusedWith(
    t,
    'upstream_timeout',
    out.whole(call(up.origin, { path: '/body', idleTimeoutMs: 60 }), 10),
  );
  t.regex(body.message, /fell silent/);
  t.true(Date.now() - began < withSlack(1000));
  await until(() => up.open() === 0);
  // Each piece winds the clock up again: 1800 ms of body under a bound of 1500.
  t.is(
    (await out.whole(call(up.origin, { path: '/drip', idleTimeoutMs: 1500, headTimeoutMs: 30_000 }), 10)).body
      .length,
    6,
  );
});

test('aborting rejects with the reason and closes the socket', async (t) => {
  const up = await serve(t, () => {});
  const out = dialer(t);
  const controller = new AbortController();
  const reason = new Error('enough');
  const waiting = out.whole(call(up.origin, { signal: controller.signal }), 10);
  await until(() => up.open() === 1);
  controller.abort(reason);
  t.is(await t.throwsAsync(waiting), reason);
  await until(() => up.open() === 0);
  t.is(await t.throwsAsync(out.whole(call(up.origin, { signal: controller.signal }), 10)), reason);
  t.is(up.connections(), 1);
  await refusedWith(
    t,
    'client_closed',
    out.whole(call(up.origin, { signal: AbortSignal.abort('no error') }), 10),
  );
});

test('a header that cannot be sent is the caller’s mistake', async (t) => {
  const up = await serve(t, (_req, res) => res.end());
  const out = dialer(t);
  await refusedWith(t, 'validation_failed', out.whole(call(up.origin, { headers: ['x', 'a\r\nb: c'] }), 10));
  await refusedWith(t, 'validation_failed', out.whole(call(up.origin, { headers: ['x y', 'a'] }), 10));
  await refusedWith(t, 'validation_failed', out.whole(call(up.origin, { path: '/a b' }), 10));
  t.is(up.connections(), 0);
});

test('close ends what runs and refuses what comes', async (t) => {
  const up = await serve(t, () => {});
  const out = dialer(t);
  const running = out.whole(call(up.origin), 10);
  await until(() => up.open() === 1);
  const ended = refusedWith(t, 'overloaded', running);
  await out.close();
  await ended;
  await refusedWith(t, 'overloaded', out.whole(call(up.origin), 10));
});

test('more origins than are kept', async (t) => {
  const up = await serve(t, (_req, res) => res.end('x'));
  const lookup: Lookup = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const out = dialer(t, { allow: parseAllowList('*.example.com'), lookup });
  for (let i = 0; i < 1100; i += 50) {
    const origins = Array.from({ length: 50 }, (_, k) => `http://h${i + k}.example.com:${up.port}`);
    await Promise.all(origins.map((origin) => out.whole(call(origin), 10)));
  }
  t.is(up.connections(), 1100);
  // The oldest were given up and their connections closed.
  await until(() => up.open() <= 1024);
});
