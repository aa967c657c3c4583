// Integrations with a way out of their own: a client certificate, further authorities, a proxy.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { type Certificates, makeCertificates } from '../support/certificates.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

type Json = Record<string, unknown>;
const KEY = 'sk-kept-by-the-gateway-0123456789';
const PASSWORD = 'pass-of-the-proxy-9876';

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-network-'));

let certificates: Certificates;
let gateway: TestGateway;
let provider: { port: number; server: net.Server; seen: string[] };
let proxy: { port: number; server: net.Server; seen: string[] };

async function listening(server: net.Server, seen: string[]) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, server, seen };
}

/** Who calls is told by the certificate; model `mutual` is for those who have one. */
function startProvider() {
  const seen: string[] = [];
  const options = { ...certificates.server, ca: certificates.authority.cert, requestCert: true };
  const server = https.createServer({ ...options, rejectUnauthorized: false }, (req, res) => {
    const socket = req.socket as TLSSocket;
    const who = socket.getPeerCertificate().subject?.CN ?? 'nobody';
    seen.push(`${who} ${req.url}`);
    if (req.url?.startsWith('/mutual/') && !socket.authorized) return socket.destroy();
    res.setHeader('content-type', 'application/json');
    const message = { role: 'assistant', content: who };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    res.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'gpt-4o', choices }));
  });
  return listening(server, seen);
}

function startProxy() {
  const seen: string[] = [];
  const server = http.createServer();
  server.on('connect', (req: http.IncomingMessage, socket: net.Socket) => {
    const said = Buffer.from((req.headers['proxy-authorization'] ?? '').slice(6), 'base64').toString();
    seen.push(`${req.url} ${said}`);
    const inner = net.connect(provider.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      inner.pipe(socket).pipe(inner);
    });
    inner.on('error', () => socket.destroy());
    socket.on('error', () => inner.destroy());
  });
  return listening(server, seen);
}

test.before(async () => {
  certificates = await makeCertificates();
  [gateway, provider, proxy] = await Promise.all([
    startGateway({ LOG_LEVEL: 'trace', GATEWAY_DRAIN_SECONDS: '1', GATEWAY_DATA_DIR: dataDir }),
    startProvider(),
    startProxy(),
  ]);
});
test.after.always(async () => {
  await gateway?.close();
  provider?.server.close();
  proxy?.server.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function rest(verb: string, path: string, body?: Json, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.origin}/v1${path}`, {
    method: verb,
    headers: {
      'x-gateway-api-key': ADMIN_KEY,
      ...headers,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, json: (await response.json()) as Json };
}

const mutual = (): Json => ({
  client_certificate: certificates.client.cert,
  client_key: certificates.client.key,
  ca_certificates: certificates.authority.cert,
});

const create = (slug: string, network?: Json, host = `https://127.0.0.1:${provider.port}`) =>
  rest('POST', '/integrations', {
    name: slug,
    slug,
    ai_provider_id: 'openai',
    key: KEY,
    workspace_id: 'default',
    configurations: { custom_host: `${host}/${slug.split('-')[0]}/v1` },
    ...(network === undefined ? {} : { network }),
  });

async function made(t: ExecutionContext, slug: string, network?: Json, host?: string): Promise<void> {
  const { status, json } = await create(slug, network, host);
  t.is(status, 200, JSON.stringify(json));
}

async function changed(t: ExecutionContext, slug: string, body: Json): Promise<void> {
  const { status, json } = await rest('PUT', `/integrations/${slug}`, body);
  t.is(status, 200, JSON.stringify(json));
}

/** What the provider says of who called, or the status and the words of the refusal. */
async function said(headers: Record<string, string>, path = '/chat/completions') {
  const asked = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] };
  const { status, json } = await rest('POST', path, asked, {
    'x-gateway-api-key': WORKSPACE_KEY,
    ...headers,
  });
  if (status !== 200) return `${status} ${(json.error as Json).message}`;
  const [choice] = json.choices as [{ readonly message: Json }];
  return choice.message.content;
}
const by = (slug: string) => said({ 'x-gateway-provider': `@${slug}` });
const shown = async (slug: string) => (await rest('GET', `/integrations/${slug}`)).json.network as Json;

test.serial('a client certificate and authorities are used by their integration alone', async (t) => {
  await made(t, 'mutual-one', mutual());
  await made(t, 'mutual-bare', { ca_certificates: certificates.authority.cert });
  await made(t, 'mutual-none');
  const { cert, key } = certificates.stranger;
  await made(t, 'mutual-wrong', { ...mutual(), client_certificate: cert, client_key: key });
  const closed = '502 127.0.0.1 cannot be reached: the connection was closed without an answer';
  t.is(await by('mutual-one'), 'test client');
  t.is(await by('mutual-bare'), `${closed}: it may ask for a client certificate`);
  t.is(await by('mutual-wrong'), `${closed}: it may not accept the client certificate`);
  t.is(await by('mutual-none'), '502 127.0.0.1 cannot be reached: its certificate is not trusted');
  t.is(await by('mutual-one'), 'test client');
  const passed = await said({ 'x-gateway-provider': '@mutual-one' }, '/proxy/chat/completions');
  t.is(passed, 'test client', 'passed through');
  const config = { strategy: { mode: 'fallback' }, targets: ['@mutual-bare', '@mutual-one'] };
  const targets = config.targets.map((slug) => ({ provider: slug }));
  t.is(await said({ 'x-gateway-config': JSON.stringify({ ...config, targets }) }), 'test client');
  const past = { 'x-gateway-config': JSON.stringify({ ...config, targets: targets.toReversed() }) };
  await changed(t, 'mutual-one', { network: { client_certificate: null, client_key: null } });
  t.is(await said(past), `${closed}: it may ask for a client certificate`, 'the next call is without it');
  await changed(t, 'mutual-one', { network: null });
  t.is(await shown('mutual-one'), null as never);
  t.is(await by('mutual-one'), '502 127.0.0.1 cannot be reached: its certificate is not trusted');
});

test.serial('a proxy is asked for calls of its integration alone', async (t) => {
  const url = `http://me:${PASSWORD}@127.0.0.1:${proxy.port}`;
  proxy.seen.length = 0;
  const ca = { ca_certificates: certificates.authority.cert };
  await made(t, 'proxied', { ...mutual(), proxy_url: url }, 'https://api.example.com');
  await made(t, 'open', ca);
  t.is(await by('proxied'), 'test client');
  t.is(await by('open'), 'nobody');
  t.deepEqual(proxy.seen, [`api.example.com:443 me:${PASSWORD}`]);
  t.is((await shown('proxied')).proxy_url, `http://*****@127.0.0.1:${proxy.port}`);
  await changed(t, 'proxied', { network: await shown('proxied'), name: 'as it was shown' });
  t.is(await by('proxied'), 'test client');
  const unasked = { network: { proxy_url: `http://127.0.0.1:${proxy.port}` } };
  const refused = await rest('PUT', '/integrations/open', unasked);
  t.is(refused.status, 400);
  t.is((refused.json.error as Json).param, 'key', 'a proxy may read what goes by it');
  await changed(t, 'open', { ...unasked, key: KEY });
  t.is(await by('open'), 'nobody');
  t.is(proxy.seen.at(-1), `127.0.0.1:${provider.port} `);
});

test.serial('what is wrong with a network is told by its field, and nothing of it is repeated', async (t) => {
  const { client, stranger, authority } = certificates;
  const cases: readonly [Json, string][] = [
    [{ client_certificate: client.cert }, 'network.client_key'],
    [{ client_key: client.key }, 'network.client_certificate'],
    [{ client_certificate: 'none', client_key: client.key }, 'network.client_certificate'],
    [{ client_certificate: client.cert, client_key: 'none' }, 'network.client_key'],
    [{ client_certificate: client.cert, client_key: stranger.key }, 'network.client_key'],
    [{ client_certificate: client.cert.repeat(11), client_key: client.key }, 'network.client_certificate'],
    [{ ca_certificates: client.key }, 'network.ca_certificates'],
    [{ ca_certificates: authority.cert.repeat(51) }, 'network.ca_certificates'],
    [{ proxy_url: `socks5://me:${PASSWORD}@proxy.example.com` }, 'network.proxy_url'],
    [{ proxy_url: `http://me:${PASSWORD}@proxy.example.com/path` }, 'network.proxy_url'],
    [{ proxy_url: `http://me:${PASSWORD}%@proxy.example.com` }, 'network.proxy_url'],
    [{ proxy_url: `http://me:${PASSWORD}@10.0.0.1:3128` }, 'network.proxy_url'],
    [{ proxy_url: `http://me:${PASSWORD}@proxy.internal:3128` }, 'network.proxy_url'],
    [{ proxy_url: 'http://*****@proxy.example.com' }, 'network.proxy_url'],
    [{ proxy_url: '' }, 'network.proxy_url'],
  ];
  for (const [network, field] of cases) {
    const { status, json } = await create('bad', network);
    t.is(status, 400, field);
    t.is((json.error as Json).param, field, JSON.stringify(json));
    t.notRegex(JSON.stringify(json), new RegExp(`${PASSWORD}|PRIVATE KEY`));
  }
});

test.serial('no log, audit entry, answer or file of the store holds a key or a password', async (t) => {
  const url = `http://me:${PASSWORD}@127.0.0.1:${proxy.port}`;
  await made(t, 'secret', { ...mutual(), proxy_url: url });
  await changed(t, 'secret', { network: { client_key: certificates.client.key } });
  await said({ 'x-gateway-provider': '@secret', 'x-gateway-explain': 'true' });
  const network = await shown('secret');
  t.is(network.masked_client_key, '*****');
  t.is(network.client_certificate, certificates.client.cert);
  const audit = await rest('GET', '/audit-logs?page_size=100');
  t.is(audit.status, 200);
  const files = readdirSync(dataDir, { withFileTypes: true }).filter((entry) => entry.isFile());
  const stored = files.map(({ name }) => readFileSync(join(dataDir, name), 'latin1'));
  t.true(stored.some((bytes) => bytes.includes('proxyShown')));
  const everything = [
    ...gateway.logLines,
    ...stored,
    JSON.stringify(audit.json),
    JSON.stringify(network),
  ].join('\n');
  const [, line = ''] = certificates.client.key.split('\n');
  t.true(line.length > 20);
  for (const secret of [PASSWORD, line, Buffer.from(`me:${PASSWORD}`).toString('base64')])
    t.false(everything.includes(secret));
});
