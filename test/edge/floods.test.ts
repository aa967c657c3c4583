// Strangers' calls and connections have a rate for each address; calls with a valid key are served whatever else comes from there.
import http from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { AddressRates, isLoopback, networkOf } from '../../src/lib/address-rates.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { enveloped, grpcStatus } from '../support/wire.ts';

test('an address has a burst of ten seconds, then its rate; others are not touched', (t) => {
  let now = 0;
  const rates = new AddressRates(5, () => now);
  for (let i = 0; i < 50; i++) t.is(rates.take('192.0.2.1'), 0);
  t.is(rates.take('192.0.2.1'), 200);
  t.is(rates.take('192.0.2.2'), 0);
  now = 200;
  t.is(rates.take('::ffff:192.0.2.1'), 0);
  t.true(rates.take('192.0.2.1') > 0);
  for (let i = 0; i < 50; i++) t.is(rates.take(`2001:db8:0:1::${i}`), 0);
  t.true(rates.take('2001:db8:0:1:ffff::1') > 0);
  t.is(rates.take('2001:db8:0:2::1'), 0);
});

test('addresses that are forgotten do not grow the memory, and the machine itself is known', (t) => {
  const rates = new AddressRates(1, () => 0);
  for (let i = 0; i < 10; i++) rates.take('192.0.2.1');
  t.true(rates.take('192.0.2.1') > 0);
  for (let i = 0; i < 10_000; i++) rates.take(`10.0.${i >> 8}.${i & 255}`);
  t.is(rates.take('192.0.2.1'), 0);
  t.is(networkOf('::ffff:127.0.0.1'), '127.0.0.1');
  t.true(['127.0.0.1', '::1', '::ffff:127.0.0.9'].every(isLoopback));
  t.false(isLoopback('192.0.2.1'));
});

test('a flood of calls without a valid key is answered with 429, and a valid key from the same address is served', async (t) => {
  const provider = await startFakeProvider();
  t.teardown(() => provider.close());
  const gateway = await startGateway({ GATEWAY_FAILED_CALLS_PER_SECOND: '1', GATEWAY_DRAIN_SECONDS: '1' });
  t.teardown(() => gateway.close());
  const call = (key: string | undefined, path = 'chat/completions') =>
    fetch(`${gateway.origin}/v1/${path}`, {
      method: 'POST',
      headers: {
        ...(key === undefined ? {} : { 'x-gateway-api-key': key }),
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': `${provider.origin}/v1`,
        authorization: 'Bearer sk-upstream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] }),
    });
  const statuses: number[] = [];
  for (let i = 0; i < 30; i++) statuses.push((await call(i % 2 ? 'wrong-key-0123456789' : undefined)).status);
  t.is(statuses[0], 401);
  t.is(statuses.at(-1), 429);
  t.deepEqual([...new Set(statuses)].sort(), [401, 429]);
  for (const path of ['chat/completions', 'configs', 'proxy/v1/anything']) {
    let refused = await call(undefined, path);
    // On a slow machine the next one is due now and then.
    for (let i = 0; refused.status === 401 && i < 30; i++) refused = await call(undefined, path);
    t.is(refused.status, 429, path);
    t.true(Number(refused.headers.get('retry-after')) >= 1);
    t.is(refused.headers.get('connection'), 'close');
    t.regex(await refused.text(), /without a valid API key/);
  }
  const overGrpc = () =>
    grpcStatus(
      gateway.origin,
      `/${ChatService.typeName}/CreateChatCompletion`,
      enveloped(Buffer.alloc(0)),
      {},
    );
  let grpc = await overGrpc();
  for (let i = 0; grpc.status === '16' && i < 30; i++) grpc = await overGrpc();
  t.is(grpc.status, '8', grpc.message);
  for (let i = 0; i < 20; i++) t.is((await call(WORKSPACE_KEY)).status, 200);
});

test('X-Forwarded-For of a trusted proxy says whose flood it is', async (t) => {
  const gateway = await startGateway({
    GATEWAY_FAILED_CALLS_PER_SECOND: '1',
    GATEWAY_TRUSTED_PROXIES: '127.0.0.1/32',
    GATEWAY_DRAIN_SECONDS: '1',
  });
  t.teardown(() => gateway.close());
  const call = (client: string) =>
    fetch(`${gateway.origin}/v1/models`, { headers: { 'x-forwarded-for': client } }).then(
      ({ status }) => status,
    );
  let last = 401;
  for (let i = 0; last === 401 && i < 100; i++) last = await call('192.0.2.1');
  t.is(last, 429);
  t.is(await call('192.0.2.2'), 401);
});

test('new connections of one address have a rate, and one that has shown a valid key may open more', async (t) => {
  const gateway = await startGateway({ GATEWAY_CONNECTIONS_PER_SECOND: '2', GATEWAY_DRAIN_SECONDS: '1' });
  t.teardown(() => gateway.close());
  const port = Number(new URL(gateway.origin).port);
  /** The status line of a request on a connection of its own; empty when the connection was ended. */
  const ask = (key: string) =>
    new Promise<string>((resolve) => {
      let text = '';
      const socket = net.connect(port, '127.0.0.1');
      socket.on('data', (bytes) => {
        text += bytes;
        socket.end();
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(text.split('\r\n')[0]!));
      socket.write(
        `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${key}\r\nconnection: close\r\n\r\n`,
      );
    });
  const wrong: string[] = [];
  for (let i = 0; i < 40; i++) wrong.push(await ask('wrong-key-0123456789'));
  t.is(wrong[0], 'HTTP/1.1 401 Unauthorized');
  t.true(wrong.filter((line) => line === '').length > 10);
  let proven = '';
  while (proven === '') {
    proven = await ask(WORKSPACE_KEY);
    if (proven === '') await sleep(100);
  }
  t.is(proven, 'HTTP/1.1 200 OK');
  // Ten times the rate: the bucket fills by two a second, and each connection takes a tenth.
  await sleep(1000);
  for (let i = 0; i < 10; i++) t.is(await ask(WORKSPACE_KEY), 'HTTP/1.1 200 OK');
});

test('pages have a rate for each address, large ones a lower one; a valid key from there is served', async (t) => {
  const gateway = await startGateway({ GATEWAY_CONNECTIONS_PER_SECOND: '6', GATEWAY_DRAIN_SECONDS: '1' });
  t.teardown(() => gateway.close());
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const page = (path: string): Promise<http.IncomingMessage> =>
    new Promise((resolve, reject) => {
      http
        .get(`${gateway.origin}${path}`, { agent }, (res) => {
          res.resume().on('end', () => resolve(res));
        })
        .on('error', reject);
    });
  const called = await fetch(`${gateway.origin}/v1/models`, {
    headers: { 'x-gateway-api-key': WORKSPACE_KEY },
  });
  t.not(called.status, 429);
  await called.arrayBuffer();
  const until429 = async (path: string, most: number): Promise<number> => {
    for (let count = 0; count < most; count++) {
      const { statusCode, headers } = await page(path);
      if (statusCode !== 429) continue;
      t.true(Number(headers['retry-after']) >= 1);
      t.is(headers.connection, 'close');
      return count;
    }
    return most;
  };
  const large = await until429('/openapi.json', 60);
  t.true(large > 0 && large < 60, `${large} documents`);
  for (const path of ['/docs/', '/nothing', '/metrics', '/.well-known/oauth-protected-resource/mcp'])
    t.true((await until429(path, 500)) < 500, path);
  const scim = await page('/scim/v2/Users');
  t.is(scim.statusCode, 401, 'what has a rate of its own does not count');
  const again = await fetch(`${gateway.origin}/v1/models`, {
    headers: { 'x-gateway-api-key': WORKSPACE_KEY },
  });
  t.is(again.status, called.status);
});
