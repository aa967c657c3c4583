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

test('the first start prints two keys once, the second none; a second process is refused', async (t) => {
  const GATEWAY_DATA_DIR = tempDir(t);
  const first = await startChild(t, { GATEWAY_DATA_DIR });
  await until(() => /Workspace API key/.test(first.output()));
  const printed = [...first.output().matchAll(/key, shown once: +(slk_\S{40,})/g)].map(([, key]) => key!);
  t.is(printed.length, 2);
  t.not(printed[0], printed[1]);
  t.is(statSync(join(GATEWAY_DATA_DIR, 'encryption.key')).mode & 0o777, 0o600);

  const second = launch(t, { GATEWAY_DATA_DIR });
  t.not(await second.exited, 0);
  t.regex(second.output(), /another process|in use|already/i);
  t.is((await raw(first.origin, { path: '/healthz' })).status, 200, 'the first one goes on');

  const admin = await raw(first.origin, { path: '/v1/logs', headers: { 'x-gateway-api-key': printed[0]! } });
  t.is(admin.status, 200);
  first.process.kill('SIGTERM');
  t.is(await first.exited, 0);

  const again = await startChild(t, { GATEWAY_DATA_DIR });
  await pause(100);
  t.false(/shown once/.test(again.output()));
  t.false(again.output().includes(printed[0]!));
  const still = await raw(again.origin, { path: '/v1/logs', headers: { 'x-gateway-api-key': printed[0]! } });
  t.is(still.status, 200, 'the keys of the first start still open');
  again.process.kill('SIGTERM');
  t.is(await again.exited, 0);

  // A key given by a setting replaces the one made.
  const given = await startChild(t, { GATEWAY_DATA_DIR, ...KEYS });
  const status = async (key: string) =>
    (await raw(given.origin, { path: '/v1/logs', headers: { 'x-gateway-api-key': key } })).status;
  t.is(await status(ADMIN_KEY), 200);
  t.is(await status(printed[0]!), 401);
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
  t.true(Date.now() - before < 8000, 'the grace period is not waited out');
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
  t.true(took > 800 && took < 4000, `${took} ms`);
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
    const status = await Promise.race([health.then(({ status }) => status), pause(3000)]);
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
