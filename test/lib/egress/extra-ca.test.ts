import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { NOTHING_ALLOWED, parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import type { Lookup } from '../../../src/lib/egress/connector.ts';
import { createDialer } from '../../../src/lib/egress/dialer.ts';
import { call, dialer, refusedWith, serveOn } from './upstreams.ts';

const run = promisify(execFile);
let key = '';
let cert = '';

test.before('a certificate of our own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-ca-'));
  const at = (name: string): string => join(folder, name);
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=sluice test',
    '-addext',
    'subjectAltName=DNS:api.example.com,IP:127.0.0.1',
    '-keyout',
    at('key.pem'),
    '-out',
    at('cert.pem'),
  ]);
  key = await readFile(at('key.pem'), 'utf8');
  cert = await readFile(at('cert.pem'), 'utf8');
  await rm(folder, { recursive: true });
});

const loopback: Lookup = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
const allow = parseAllowList('127.0.0.1');

test('a target with a certificate of a company’s own authority', async (t) => {
  const up = await serveOn(
    t,
    https.createServer({ key, cert }, (_req, res) => res.end('safe')),
  );
  const trusting = dialer(t, { allow, extraCa: `# comment\n${cert}`, lookup: loopback });
  for (const host of ['api.example.com', '127.0.0.1']) {
    const answer = await trusting.whole(call(`https://${host}:${up.port}`), 10);
    t.is(Buffer.from(answer.body).toString(), 'safe');
  }
  const other = await refusedWith(
    t,
    'upstream_unreachable',
    trusting.whole(call(`https://other.example.com:${up.port}`), 10),
  );
  t.is(other.message, 'other.example.com cannot be reached: its certificate is not trusted');
  const strict = dialer(t, { allow, lookup: loopback });
  await refusedWith(t, 'upstream_unreachable', strict.whole(call(`https://api.example.com:${up.port}`), 10));
});

test('an https proxy with that certificate, with TLS inside TLS, and in absolute form', async (t) => {
  const up = await serveOn(
    t,
    https.createServer({ key, cert }, (_req, res) => res.end('inside')),
  );
  const server = https.createServer({ key, cert }, (req, res) => res.end(`forwarded ${req.url}`));
  server.on('connect', (_req: http.IncomingMessage, socket: net.Socket) => {
    const inner = net.connect(up.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      inner.pipe(socket).pipe(inner);
    });
    inner.on('error', () => socket.destroy());
    socket.on('error', () => inner.destroy());
  });
  const proxy = await serveOn(t, server);
  const out = dialer(t, {
    allow: NOTHING_ALLOWED,
    extraCa: cert,
    httpsProxy: `https://127.0.0.1:${proxy.port}`,
  });
  t.is(Buffer.from((await out.whole(call('https://api.example.com'), 10)).body).toString(), 'inside');
  const forwarded = await out.whole(call('http://plain.example.com', { path: '/x' }), 100);
  t.is(Buffer.from(forwarded.body).toString(), 'forwarded http://plain.example.com/x');
  const distrusting = dialer(t, { allow: NOTHING_ALLOWED, httpsProxy: `https://127.0.0.1:${proxy.port}` });
  await refusedWith(t, 'upstream_unreachable', distrusting.whole(call('https://api.example.com'), 10));
});

test('authorities that cannot be read stop the start', (t) => {
  t.throws(() => createDialer({ allow, extraCa: 'nothing' }), { message: /hold no PEM certificate/ });
  const broken = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  t.throws(() => createDialer({ allow, extraCa: cert + broken }), {
    message: /certificate 2 .* cannot be read/,
  });
});
