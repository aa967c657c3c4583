// Starting, stopping and dying: settings, keys, drain, kill -9.
import { once } from 'node:events';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { type JsonObject, raw, readEvents } from '../contract/runner.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Child, launch, pause, startChild, tempDir, until } from './child.ts';

const KEYS = { GATEWAY_ADMIN_API_KEY: ADMIN_KEY, GATEWAY_API_KEY: WORKSPACE_KEY };

const chat = (child: Child, provider: string, model: string, stream: boolean) =>
  raw(child.origin, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai-compatible',
      'x-gateway-custom-host': provider,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'x' }] }),
  });

const logs = async (child: Child, query = ''): Promise<{ total: number; data: JsonObject[] }> =>
  (await raw(child.origin, { path: `/v1/logs${query}`, headers: { 'x-gateway-api-key': ADMIN_KEY } }))
    .json as unknown as { total: number; data: JsonObject[] };

test('every bad variable is named, and the start refused', async (t) => {
  const notPem = join(tempDir(t), 'not.pem');
  writeFileSync(notPem, 'hello');
  const bad: Record<string, string> = {
    HOST: ' ',
    PORT: '70000',
    GATEWAY_ADMIN_API_KEY: 'short',
    GATEWAY_API_KEY: 'has blanks in it, sixteen or more',
    GATEWAY_ENCRYPTION_KEY: 'c2hvcnQ=',
    GATEWAY_HEADER_PREFIXES: 'gateway-',
    GATEWAY_BODY_LIMIT: 'lots',
    GATEWAY_LOG_BODIES: 'some',
    GATEWAY_CORS_ORIGINS: 'https://app.example.com/path',
    GATEWAY_MAX_IN_FLIGHT: '0',
    HTTPS_PROXY: 'socks://proxy:1',
    GATEWAY_EXTRA_CA: '/nowhere/ca.pem',
    TLS_CERT_PATH: notPem,
    GATEWAY_WORKERS: 'two',
    MONGODB_URI: 'http://x',
    REDIS_URL: 'http://x',
    LOG_LEVEL: 'loud',
  };
  const all = launch(t, { ...bad, GATEWAY_DATA_DIR: tempDir(t) });
  t.is(await all.exited, 1);
  for (const name of Object.keys(bad)) t.true(all.output().includes(name), name);
  for (const secret of ['has blanks', 'c2hvcnQ=', 'short'])
    t.false(all.output().includes(secret), 'no value of a secret is shown');
  const allow = launch(t, { GATEWAY_EGRESS_ALLOW: '127.0.0.1/99', GATEWAY_DATA_DIR: tempDir(t) });
  t.is(await allow.exited, 1);
  t.regex(allow.output(), /GATEWAY_EGRESS_ALLOW/);
  const same = launch(t, {
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_API_KEY: ADMIN_KEY,
    GATEWAY_DATA_DIR: tempDir(t),
  });
  t.is(await same.exited, 1);
  t.regex(same.output(), /GATEWAY_API_KEY: must differ/);
});

/** Keys that a start printed, by the first word of their line. */
function printedKeys({ output }: Pick<Child, 'output'>): Map<string, string> {
  const lines = output().matchAll(
    /^(Admin|Workspace) API key, shown until it is used once: +(slk_\S{40,})$/gm,
  );
  return new Map([...lines].map(([, whose = '', key = '']) => [whose, key]));
}

const statusWith = async (child: Child, key: string): Promise<number> =>
  (await raw(child.origin, { path: '/v1/logs', headers: { 'x-gateway-api-key': key } })).status;

async function ended(child: Child): Promise<number | null> {
  child.process.kill('SIGTERM');
  return child.exited;
}

test('each start prints the keys that were made until they were used; a second process is refused', async (t) => {
  const GATEWAY_DATA_DIR = tempDir(t);
  const first = await startChild(t, { GATEWAY_DATA_DIR });
  await until(() => printedKeys(first).size === 2);
  const [admin = '', workspace = ''] = ['Admin', 'Workspace'].map((whose) => printedKeys(first).get(whose));
  t.not(admin, workspace);
  t.is(statSync(join(GATEWAY_DATA_DIR, 'encryption.key')).mode & 0o777, 0o600);

  const second = launch(t, { GATEWAY_DATA_DIR });
  t.not(await second.exited, 0);
  t.regex(second.output(), /another process|in use|already/i);
  t.is((await raw(first.origin, { path: '/healthz' })).status, 200, 'the first one goes on');
  t.is(await ended(first), 0);

  // Nobody kept what the first start printed.
  const again = await startChild(t, { GATEWAY_DATA_DIR });
  await until(() => printedKeys(again).size === 2);
  t.deepEqual(
    printedKeys(again),
    new Map([
      ['Admin', admin],
      ['Workspace', workspace],
    ]),
  );
  t.is(await statusWith(again, admin), 200);
  t.is(await ended(again), 0);

  const third = await startChild(t, { GATEWAY_DATA_DIR });
  await until(() => printedKeys(third).size === 1);
  t.deepEqual(printedKeys(third), new Map([['Workspace', workspace]]), 'the one that was used is not shown');
  t.is(await statusWith(third, workspace), 403, 'known, and not for the log of all');
  t.is(await ended(third), 0);

  const fourth = await startChild(t, { GATEWAY_DATA_DIR });
  t.is(await statusWith(fourth, admin), 200, 'the keys of the first start still open');
  t.is(await statusWith(fourth, workspace), 403);
  t.is(await ended(fourth), 0);
  t.false(/slk_/.test(fourth.output()));

  // A key given by a setting replaces the one made.
  const given = await startChild(t, { GATEWAY_DATA_DIR, ...KEYS });
  t.is(await statusWith(given, ADMIN_KEY), 200);
  t.is(await statusWith(given, admin), 401);
});

test('a port in use: the setting is named, and no key is made that nobody sees', async (t) => {
  const GATEWAY_DATA_DIR = tempDir(t);
  const other = net.createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const { port } = other.address() as net.AddressInfo;
  const refused = launch(t, { GATEWAY_DATA_DIR, PORT: String(port) });
  t.is(await refused.exited, 1);
  t.regex(refused.output(), new RegExp(`^PORT: ${port} on 127\\.0\\.0\\.1 is in use`, 'm'));
  t.false(/slk_/.test(refused.output()));
  const nowhere = launch(t, { GATEWAY_DATA_DIR, HOST: '192.0.2.1' });
  t.is(await nowhere.exited, 1);
  t.regex(nowhere.output(), /^HOST: 192\.0\.2\.1 is no address of this machine/m);
  const started = await startChild(t, { GATEWAY_DATA_DIR });
  await until(() => printedKeys(started).size === 2);
  t.is(await statusWith(started, printedKeys(started).get('Admin') ?? ''), 200);
});

test('kill -9 loses no entry that a reader has seen, and the next start opens', async (t) => {
  const provider = await startFakeProvider();
  t.teardown(() => provider.close());
  const env = { GATEWAY_DATA_DIR: tempDir(t), ...KEYS };
  const first = await startChild(t, env);
  for (let i = 0; i < 20; i++) t.is((await chat(first, provider.origin, 'gpt-ok', false)).status, 200);
  t.is((await logs(first)).total, 20);
  first.process.kill('SIGKILL');
  await first.exited;
  const second = await startChild(t, env);
  const { total, data } = await logs(second);
  t.is(total, 20);
  t.is(data[0]!.outcome, 'success');
  t.is((await chat(second, provider.origin, 'gpt-ok', false)).status, 200);
  t.is((await logs(second)).total, 21);
});

test('SIGTERM: open streams end whole, new connections are refused, entries are stored, the exit code is 0', async (t) => {
  const provider = await startFakeProvider();
  t.teardown(() => provider.close());
  const env = { GATEWAY_DATA_DIR: tempDir(t), ...KEYS };
  const child = await startChild(t, env);
  // An idle connection that the client would keep.
  const agent = new http.Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const idle = http.get(`${child.origin}/healthz`, { agent });
  const [health] = (await once(idle, 'response')) as [http.IncomingMessage];
  health.resume();
  await once(health, 'end');

  const open = Array.from({ length: 8 }, () => chat(child, provider.origin, 'pace-60', true));
  // And one over gRPC.
  const client = createClient(ChatService, createGrpcTransport({ baseUrl: child.origin }));
  const overGrpc = (async () => {
    let text = '';
    for await (const chunk of client.streamChatCompletion(
      { model: 'pace-60', messages: [{ role: 'user' }] },
      {
        headers: {
          'x-gateway-api-key': WORKSPACE_KEY,
          'x-gateway-provider': 'openai-compatible',
          'x-gateway-custom-host': provider.origin,
        },
      },
    ))
      text += chunk.choices[0]?.delta?.content ?? '';
    return text;
  })();
  await until(() => provider.seen.length === 9);
  await pause(150);
  const before = Date.now();
  child.process.kill('SIGTERM');
  await pause(100);
  const late = await t.throwsAsync(raw(child.origin, { path: '/healthz' }));
  t.regex(String((late as { code?: string }).code), /^ECONN(REFUSED|RESET)$/);
  for (const answer of await Promise.all(open)) {
    const { events, done } = readEvents(answer.text);
    t.true(done, 'not cut');
    t.is(
      events.map(({ choices }) => ((choices as JsonObject[])[0]!.delta as JsonObject).content ?? '').join(''),
      'Hello, wörld! 👋',
    );
  }
  t.is(await overGrpc, 'Hello, wörld! 👋');
  t.is(await child.exited, 0);
  t.true(Date.now() - before < 20_000, 'the grace period is not waited out');
  t.true(existsSync(env.GATEWAY_DATA_DIR));
  const next = await startChild(t, env);
  const { total, data } = await logs(next);
  t.is(total, 9);
  for (const entry of data) t.is(entry.outcome, 'success');
});

test('SIGTERM: what is still open after the grace period is cut', async (t) => {
  const provider = await startFakeProvider();
  t.teardown(() => provider.close());
  const env = { GATEWAY_DATA_DIR: tempDir(t), ...KEYS };
  const child = await startChild(t, { ...env, GATEWAY_DRAIN_SECONDS: '1' });
  const open = chat(child, provider.origin, 'hang', false).catch((error: Error) => error);
  await until(() => provider.seen.length === 1);
  const before = Date.now();
  child.process.kill('SIGTERM');
  t.is(await child.exited, 0);
  const took = Date.now() - before;
  t.true(took > 800 && took < 20_000, `${took} ms`);
  t.true((await open) instanceof Error);
  const next = await startChild(t, env);
  const { data } = await logs(next);
  t.is(data.length, 1);
  t.true(['cancelled', 'error'].includes(String(data[0]!.outcome)), String(data[0]!.outcome));
});

test('a client that sends one byte and waits stops nobody', async (t) => {
  const child = await startChild(t, { GATEWAY_DATA_DIR: tempDir(t), ...KEYS });
  for (const bytes of ['P', 'PR']) {
    const socket = net.connect(child.port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(bytes);
    await pause(100);
    const health = raw(child.origin, { path: '/healthz' });
    const status = await Promise.race([health.then(({ status }) => status), pause(10_000)]);
    t.is(status, 200, `after ${bytes}`);
    if (status !== 200) {
      health.catch(() => {});
      return;
    }
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
    });
    // The rest of the request may still come.
    socket.write(
      `${bytes === 'P' ? 'OST' : 'OPFIND'} /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    );
    await once(socket, 'close');
    t.regex(got, /^HTTP\/1\.1 404 /);
    const half = net.connect(child.port, '127.0.0.1');
    half.on('error', () => {});
    half.end(bytes);
    await once(half, 'close');
  }
});

test('a stranger’s address, and one that is taken', async (t) => {
  const child = await startChild(t, { GATEWAY_DATA_DIR: tempDir(t), ...KEYS });
  const taken = launch(t, { GATEWAY_DATA_DIR: tempDir(t), ...KEYS, PORT: String(child.port) });
  t.is(await taken.exited, 1);
  t.regex(taken.output(), /EADDRINUSE|in use/);
});
