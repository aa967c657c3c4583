// Pass-through: what the caller sends is what the provider gets, and back, byte for byte.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import zlib from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { type Bench, type JsonObject, raw, startBench, UUID } from '../contract/runner.ts';
import { until } from './child.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench({ GATEWAY_BODY_LIMIT: '64KiB' });
});
test.after.always(() => bench?.close());

interface Options {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: Uint8Array | string | readonly Uint8Array[];
  /** The path that the provider is to see; default the caller's without its base. */
  readonly at?: string;
}

/** A call that is answered by the given function. */
async function call(
  options: Options,
  answer: (req: http.IncomingMessage, res: http.ServerResponse, body: Buffer) => void = (_req, res) =>
    void res.end('ok'),
) {
  const prefix = bench.mark();
  const { method = 'POST', path, headers = {}, body, at } = options;
  bench.provider.next(prefix + (at ?? path.replace(/^\/v[12]/, '').split('?')[0]!), answer);
  const response = await raw(bench.gateway.origin, {
    method,
    path,
    headers: { ...bench.headers(prefix), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const sent = bench.sentTo(prefix);
  return { response, sent: sent[0]!, count: sent.length, url: sent[0]?.url.slice(prefix.length) };
}

const valuesOf = (rawHeaders: readonly string[], name: string): string[] =>
  rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]!.toLowerCase() === name);

for (const method of ['POST', 'GET', 'PUT', 'DELETE']) {
  test(`${method}: method, raw URL, headers and body arrive`, async (t) => {
    const path = '/v1/batches/b%2F1%20x/~items;v=1?limit=2&limit=3&q=%C3%BC+%20&empty=&flag';
    const { response, sent, url } = await call({
      method,
      path,
      headers: {
        'X-Mixed-Case': 'Äö',
        'x-twice': ['1', '2'],
        cookie: 'a=b',
        te: 'trailers',
        accept: 'text/x',
      },
      ...(method === 'POST' || method === 'PUT' ? { body: '{"raw": [1,  2]}\n' } : {}),
      at: '/batches/b%2F1%20x/~items;v=1',
    });
    t.is(response.status, 200);
    t.is(response.text, 'ok');
    t.is(sent.method, method);
    t.is(url, '/batches/b%2F1%20x/~items;v=1?limit=2&limit=3&q=%C3%BC+%20&empty=&flag');
    t.is(sent.body.toString(), method === 'POST' || method === 'PUT' ? '{"raw": [1,  2]}\n' : '');
    t.deepEqual(valuesOf(sent.rawHeaders, 'x-twice'), ['1', '2']);
    t.true(sent.rawHeaders.includes('X-Mixed-Case'), 'names keep their spelling');
    t.is(sent.headers['x-mixed-case'], 'Äö');
    t.is(sent.headers.accept, 'text/x');
    t.is(sent.headers.authorization, 'Bearer sk-provider-secret-0123456789');
    t.is(sent.headers.te, undefined);
    t.is(sent.headers.cookie, undefined);
    t.is(sent.headers.host, new URL(bench.provider.origin).host);
    t.deepEqual(
      Object.keys(sent.headers).filter((name) => name.startsWith('x-gateway')),
      [],
    );
    t.regex(String(response.headers['x-gateway-request-id']), UUID);
    t.is(response.headers['x-gateway-provider'], 'openai');
  });
}

test('the answer’s status, headers and bytes come back as they are', async (t) => {
  const bytes = randomBytes(100_000);
  const { response } = await call({ path: '/v1/anything/bytes' }, (_req, res) => {
    res.sendDate = false;
    res.writeHead(418, 'I am a teapot', [
      ...['Content-Type', 'application/octet-stream'],
      ...['Set-Cookie', 'a=1; Path=/'],
      ...['Set-Cookie', 'b=2'],
      ...['Set-Cookie', 'sluice_session=sls_theirs; Path=/'],
      ...['Set-Cookie', '__Host-sluice_session=sls_theirs; Path=/; Secure'],
      ...['Set-Cookie', '=sluice_session=sls_theirs'],
      ...['X-RateLimit-Remaining', '7'],
      ...['Date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
      ...['ETag', '"x"'],
      ...['Content-Length', String(bytes.length)],
      ...['Connection', 'close'],
    ]);
    res.end(bytes);
  });
  t.is(response.status, 418);
  t.true(response.body.equals(bytes));
  t.deepEqual(valuesOf(response.rawHeaders, 'set-cookie'), ['a=1; Path=/', 'b=2']);
  t.is(response.headers['x-ratelimit-remaining'], '7');
  t.is(response.headers.etag, '"x"');
  t.is(response.headers.date, 'Thu, 01 Jan 1970 00:00:00 GMT');
  t.deepEqual(valuesOf(response.rawHeaders, 'content-length'), [String(bytes.length)]);
});

test('in the browser of a person an answer is no page of the console, and ends no session', async (t) => {
  const html = (_req: unknown, res: http.ServerResponse): void => {
    res.writeHead(200, { 'content-type': 'text/html', 'clear-site-data': '"cookies"' });
    res.end('<script>1</script>');
  };
  const plain = await call({ path: '/v1/anything/page' }, html);
  t.is(plain.response.headers['content-security-policy'], undefined);
  t.is(plain.response.headers['clear-site-data'], '"cookies"');
  const cookie = `sluice_session=sls_${'a'.repeat(43)}`;
  const { response } = await call({ path: '/v1/anything/page', headers: { cookie } }, html);
  t.is(response.headers['content-security-policy'], 'sandbox');
  t.is(response.headers['x-content-type-options'], 'nosniff');
  t.is(response.headers['clear-site-data'], undefined);
});

test('a compressed answer stays compressed', async (t) => {
  const zipped = zlib.gzipSync('{"usage":{"prompt_tokens":1}}'.repeat(50));
  const { response, sent } = await call(
    { path: '/v1/x', headers: { 'accept-encoding': 'gzip, br' } },
    (_req, res) => {
      res.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' }).end(zipped);
    },
  );
  t.is(sent.headers['accept-encoding'], 'gzip, br');
  t.is(response.headers['content-encoding'], 'gzip');
  t.true(response.body.equals(zipped));
});

test('an answer that says gzip and is none stays so', async (t) => {
  const { response } = await call({ path: '/v1/x' }, (_req, res) => {
    res.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip');
  });
  t.is(response.text, 'not gzip');
});

test('a compressed request stays compressed', async (t) => {
  const zipped = zlib.gzipSync('{"a":1}');
  const { sent } = await call({
    path: '/v1/x',
    headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' },
    body: zipped,
  });
  t.true(sent.body.equals(zipped));
  t.is(sent.headers['content-encoding'], 'gzip');
});

test('multipart goes through untouched', async (t) => {
  const form = new FormData();
  form.set('purpose', 'fine-tune');
  form.set('file', new File([randomBytes(5000)], 'ü.bin'));
  const encoded = new Response(form);
  const type = encoded.headers.get('content-type')!;
  const body = Buffer.from(await encoded.arrayBuffer());
  const { sent } = await call({ path: '/v1/own/files', headers: { 'content-type': type }, body });
  t.true(sent.body.equals(body));
  t.is(sent.headers['content-type'], type);
  t.is(sent.headers['content-length'], String(body.length));
});

test('204 and 304 have no body and no length', async (t) => {
  for (const status of [204, 304]) {
    const { response } = await call({ method: 'DELETE', path: '/v1/things/1' }, (_req, res) => {
      res.writeHead(status, { 'x-kept': '1' }).end();
    });
    t.is(response.status, status);
    t.is(response.body.length, 0);
    t.is(response.headers['content-length'], undefined);
    t.is(response.headers['transfer-encoding'], undefined);
    t.is(response.headers['x-kept'], '1');
  }
});

test('errors and redirects of the provider are not touched', async (t) => {
  for (const [status, text] of [
    [429, '{"error":{"message":"slow down"},  "x":1}'],
    [500, '<html>broken</html>'],
    [302, ''],
  ] as const) {
    const { response, count } = await call({ path: '/v1/x' }, (_req, res) => {
      res.writeHead(status, { 'retry-after': '9', location: 'http://127.0.0.1:1/elsewhere' }).end(text);
    });
    t.is(response.status, status);
    t.is(response.text, text);
    t.is(response.headers['retry-after'], '9');
    t.is(response.headers.location, 'http://127.0.0.1:1/elsewhere');
    t.is(count, 1);
  }
});

test('/proxy/<path> shadows declared paths and is no path of the provider', async (t) => {
  const text = '{"model": "gpt-ok",\n "messages": [], "temperature": 99}';
  for (const base of ['/v1', '/v2']) {
    const { response, sent, url } = await call({
      path: `${base}/proxy/chat/completions?x=1`,
      headers: { 'content-type': 'application/json' },
      body: text,
      at: '/chat/completions',
    });
    t.is(response.text, 'ok');
    t.is(url, '/chat/completions?x=1');
    t.is(sent.body.toString(), text, 'neither checked nor rebuilt');
  }
  const logs = await call({ method: 'GET', path: '/v1/proxy/logs', at: '/logs' });
  t.is(logs.url, '/logs');
  const models = await call({ method: 'GET', path: '/v1/proxy/models/a%2Fb', at: '/models/a%2Fb' });
  t.is(models.url, '/models/a%2Fb');
});

test('paths that would climb stay as they are and on their host', async (t) => {
  const send = (path: string) => raw(bench.gateway.origin, { path, headers: bench.headers('/deep/base') });
  for (const path of [
    '/v1/../../x',
    '/v1/%2e%2e/%2E%2E/x',
    '/v1//evil.example.org/x',
    '/v1/@evil.example.org',
    '/v1/x\\y',
  ]) {
    const before = bench.provider.seen.length;
    const answer = await send(path);
    const seen = bench.provider.seen.slice(before).filter(({ headers }) => headers.host !== undefined);
    for (const { url, headers } of seen) {
      t.is(headers.host, new URL(bench.provider.origin).host);
      t.true(url.startsWith('/'), url);
    }
    t.true(answer.status < 500, `${path}: ${answer.status}`);
  }
});

test('10 MB both ways, in pieces, with their hashes', async (t) => {
  const up = randomBytes(10 * 1024 * 1024);
  const down = randomBytes(10 * 1024 * 1024);
  const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
  const pieces = Array.from({ length: 160 }, (_, i) => up.subarray(i * 65_536, (i + 1) * 65_536));
  let got = '';
  const { response } = await call({ path: '/v1/files/big', body: pieces }, (_req, res, body) => {
    got = sha(body);
    res.writeHead(200, { 'content-type': 'application/octet-stream' });
    res.write(down.subarray(0, 1000));
    res.end(down.subarray(1000));
  });
  t.is(got, sha(up));
  t.is(sha(response.body), sha(down));
});

/** A provider that is told piece by piece, for what the fake one cannot do. */
async function server(t: ExecutionContext, handler: http.RequestListener): Promise<string> {
  const own = http.createServer(handler).listen(0, '127.0.0.1');
  await once(own, 'listening');
  t.teardown(() => {
    own.closeAllConnections();
    own.close();
  });
  return `http://127.0.0.1:${(own.address() as AddressInfo).port}`;
}

function open(
  host: string,
  path: string,
  method: string,
  headers: Record<string, string> = {},
): http.ClientRequest {
  const { hostname, port } = new URL(bench.gateway.origin);
  return http.request({
    hostname,
    port,
    path,
    method,
    agent: false,
    headers: { ...bench.headers(''), 'x-gateway-custom-host': host, ...headers },
  });
}

test('a chunked upload streams: the provider has the first piece before the last is sent', async (t) => {
  const got: string[] = [];
  const host = await server(t, (req, res) => {
    req.on('data', (chunk: Buffer) => got.push(chunk.toString()));
    req.on('end', () => res.end('done'));
  });
  const req = open(host, '/v1/upload', 'PUT');
  req.write('first');
  await until(() => got.join('') === 'first');
  req.end('last');
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  let text = '';
  for await (const chunk of res) text += String(chunk);
  t.is(text, 'done');
  t.is(got.join(''), 'firstlast');
});

test('an answer streams: the caller has the first piece before the last is sent', async (t) => {
  let finish = (): void => {};
  const host = await server(t, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/plain' });
    res.write('first');
    finish = () => void res.end('last');
  });
  const req = open(host, '/v1/slow', 'GET');
  req.end();
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  const [first] = (await once(res, 'data')) as [Buffer];
  t.is(first.toString(), 'first');
  finish();
  const [last] = (await once(res, 'data')) as [Buffer];
  t.is(last.toString(), 'last');
});

test('the head comes before any byte of the body', async (t) => {
  const host = await server(t, (_req, res) => {
    res.writeHead(202, { 'x-head': 'yes' });
    res.flushHeaders();
  });
  const req = open(host, '/v1/slow', 'GET');
  req.end();
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  t.is(res.statusCode, 202);
  t.is(res.headers['x-head'], 'yes');
  req.destroy();
});

test('the caller leaves: the provider’s socket is closed', async (t) => {
  let closed = false;
  const host = await server(t, (req, res) => {
    res.writeHead(200);
    res.write('x');
    req.socket.on('close', () => {
      closed = true;
    });
  });
  const req = open(host, '/v1/endless', 'GET');
  req.on('error', () => {});
  req.end();
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  await once(res, 'data');
  req.destroy();
  await until(() => closed);
  t.true(closed);
});

test('the provider breaks off: so does the answer', async (t) => {
  const host = await server(t, (_req, res) => {
    res.writeHead(200, { 'content-length': '1000' });
    res.write('half');
    setTimeout(() => res.destroy(), 30);
  });
  const req = open(host, '/v1/cut', 'GET');
  req.end();
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  const error = await t.throwsAsync(async () => {
    for await (const _ of res);
  });
  t.regex(String(error?.message), /aborted|reset|hang up/);
});

test('a slow reader is not buffered for: the provider is slowed down', async (t) => {
  let written = 0;
  const piece = Buffer.alloc(64 * 1024, 0x61);
  const host = await server(t, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/octet-stream' });
    const more = (): void => {
      while (!res.destroyed) {
        written += piece.length;
        if (!res.write(piece)) {
          res.once('drain', more);
          return;
        }
      }
    };
    more();
  });
  const req = open(host, '/v1/endless', 'GET');
  req.on('error', () => {});
  req.end();
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  res.pause();
  let last = -1;
  await until(async () => {
    const before = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
    last = written;
    return before === written;
  }, 10_000);
  t.true(last < 64 * 1024 * 1024, `${last} bytes were taken for a reader that reads nothing`);
  req.destroy();
});

test('a slow provider is not buffered for: the caller is slowed down', async (t) => {
  const host = await server(t, (req) => {
    req.pause();
  });
  const req = open(host, '/v1/upload', 'POST');
  req.on('error', () => {});
  const piece = Buffer.alloc(64 * 1024, 0x61);
  let written = 0;
  const more = (): void => {
    while (written < 256 * 1024 * 1024 && !req.destroyed) {
      written += piece.length;
      if (!req.write(piece)) {
        req.once('drain', more);
        return;
      }
    }
  };
  more();
  await until(async () => {
    const before = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return before === written;
  }, 10_000);
  t.true(written < 64 * 1024 * 1024, `${written} bytes were taken for a provider that reads nothing`);
  req.destroy();
});

test('refusals of pass-through: no provider, a private host, a provider that is not there', async (t) => {
  const { 'x-gateway-provider': _, 'x-gateway-custom-host': __, ...bare } = bench.headers('');
  for (const [headers, code, status] of [
    [bare, 'provider_missing', 400],
    [{ ...bare, 'x-gateway-provider': 'nobody' }, 'provider_unknown', 400],
    [{ ...bench.headers(''), 'x-gateway-custom-host': 'http://10.0.0.1' }, 'host_refused', 400],
    [{ ...bench.headers(''), 'x-gateway-custom-host': 'http://127.0.0.1:59' }, 'upstream_unreachable', 502],
    [{ ...bench.headers(''), 'x-gateway-metadata': '[' }, 'invalid_header', 400],
    [{ ...bench.headers(''), 'x-gateway-api-key': 'nope' }, 'unauthenticated', 401],
  ] as const) {
    for (const body of [undefined, 'some body']) {
      const answer = await raw(bench.gateway.origin, {
        method: 'POST',
        path: '/v1/some/path',
        headers,
        ...(body === undefined ? {} : { body }),
      });
      t.is(answer.status, status, `${code}: ${answer.text}`);
      t.is((answer.json.error as JsonObject).code, code);
      t.is(answer.json.status, 'failure');
    }
  }
});

test('the timeout bounds pass-through too', async (t) => {
  const host = await server(t, () => {});
  const req = open(host, '/v1/hang', 'POST', { 'x-gateway-request-timeout': '150' });
  req.end('x');
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  t.is(res.statusCode, 408);
  res.resume();
});

test('the timeout bounds an upload that never ends', async (t) => {
  const host = await server(t, (req) => void req.resume());
  const req = open(host, '/v1/upload', 'POST', {
    'x-gateway-request-timeout': '300',
    'content-length': '1000',
  });
  req.on('error', () => {});
  req.write('half');
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  t.is(res.statusCode, 408);
  res.resume();
  req.destroy();
});

test('the timeout cuts a pass-through answer that has begun', async (t) => {
  const host = await server(t, (_req, res) => {
    res.writeHead(200);
    res.write('x');
  });
  const req = open(host, '/v1/hang', 'GET', { 'x-gateway-request-timeout': '1500' });
  req.end();
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  await t.throwsAsync(async () => {
    for await (const _ of res);
  });
});

test('headers that a proxy in front obeys, and those that the provider names in Connection, are not relayed', async (t) => {
  const obeyed = [
    'x-accel-redirect',
    'X-Accel-Buffering',
    'x-sendfile',
    'X-Sendfile2',
    'x-lighttpd-send-file',
  ];
  const hops = ['x-hop-one', 'X-Hop-Two', 'keep-alive'];
  const { response } = await call({ path: '/v1/odd/answer', body: '{}' }, (_req, res) => {
    for (const name of [...obeyed, ...hops, 'x-reproxy-url', 'x-kept', 'x-request-id'])
      res.setHeader(name, '/secret');
    res.setHeader('connection', ['X-Hop-One , x-hop-two', 'content-type']);
    res.setHeader('content-type', 'text/plain');
    res.end('ok');
  });
  t.is(response.status, 200);
  t.is(response.text, 'ok');
  for (const name of [...obeyed, 'x-reproxy-url', 'x-hop-one', 'x-hop-two'])
    t.is(response.headers[name.toLowerCase()], undefined, name);
  t.is(response.headers['x-kept'], '/secret');
  t.is(response.headers['x-request-id'], '/secret');
  t.is(response.headers['content-type'], 'text/plain');
});

for (const path of [
  '/v1/proxy/../admin',
  '/v1/proxy/a/../../admin',
  '/v1/proxy/%2e%2e/admin',
  '/v1/proxy/.%2E/admin',
  '/v1/proxy/..%2fadmin',
  '/v1/proxy/a%2f..%2f..%2fadmin',
  '/v1/proxy/..%5cadmin',
  '/v1/proxy/%252e%252e/admin',
  '/v1/proxy/..;x=1/admin',
])
  test(`${path}: refused, it leads out of the base path`, async (t) => {
    const { response, count } = await call({ path, body: '{}' });
    t.is(response.status, 400, response.text);
    t.regex(response.text, /dot segments/);
    t.is(count, 0);
  });

test('dot segments that stay within the base path, and dots in names, are passed on as they are', async (t) => {
  for (const path of ['/a/../b', '/a/..b/...', '/a/%2e/b', '/v1.0/x..y']) {
    const { response, url } = await call({ path: `/v1/proxy${path}`, body: '{}', at: path });
    t.is(response.status, 200, path);
    t.is(url, path);
  }
});
