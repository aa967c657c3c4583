// A credential reaches the host that it was meant for, and no other target of the plan.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';
import { type FakeProvider, type Seen, startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../../support/gateway.ts';

const CREDENTIAL = 'sk-of-the-caller-0123456789';

let gateway: TestGateway;
let one: FakeProvider;
let other: FakeProvider;
let count = 0;
test.before(async () => {
  [gateway, one, other] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFakeProvider(),
    startFakeProvider(),
  ]);
});
test.after('nothing of it is in the log', (t) => {
  t.false(gateway.logLines.some((line) => line.includes(CREDENTIAL)));
});
test.after.always(async () => {
  await Promise.all([one?.close(), other?.close()]);
  await gateway?.close();
});

type Config = Readonly<Record<string, unknown>>;

/** Sends a call whose config is made for two hosts, and gives what each of them was sent. */
async function sent(
  config: (first: string, second: string) => Config,
  headers: Record<string, string>,
  path = '/v1/chat/completions',
): Promise<{ status: number; first: readonly Seen[]; second: readonly Seen[] }> {
  const mark = `/credentials-${++count}`;
  const answer = await fetch(gateway.origin + path, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config(one.origin + mark, other.origin + mark)),
      ...headers,
    },
    body: JSON.stringify({ model: 'gpt-ok', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }),
  });
  await answer.text();
  const own = ({ seen }: FakeProvider) => seen.filter(({ url }) => url.startsWith(`${mark}/`));
  return { status: answer.status, first: own(one), second: own(other) };
}

const failing = { override_params: { model: 'status-500' } };
const fallback = (...targets: Config[]): Config => ({ strategy: { mode: 'fallback' }, targets });
const knows = (seen: readonly Seen[]): boolean =>
  seen.some((call) => JSON.stringify(call).includes(CREDENTIAL));

test('pass-through: a second host gets none of the caller’s credentials', async (t) => {
  one.next(`/credentials-${count + 1}/responses`, (_req, res) => void res.writeHead(500).end('{}'));
  const { first, second } = await sent(
    (a, b) =>
      fallback({ provider: 'openai', api_key: 'k1', custom_host: a }, { provider: 'openai', custom_host: b }),
    {
      authorization: `Bearer ${CREDENTIAL}`,
      'x-goog-api-key': CREDENTIAL,
      'api-key': CREDENTIAL,
      'x-api-key': CREDENTIAL,
      'x-mine': CREDENTIAL,
    },
    `/v1/proxy/responses?key=${CREDENTIAL}&a=%20b&api-key=${CREDENTIAL}`,
  );
  t.regex(second[0]?.url ?? '', /\/responses\?a=%20b$/);
  t.is(first[0]?.headers.authorization, 'Bearer k1');
  t.is(second.length, 1);
  t.is(second[0]?.headers.authorization, undefined);
  t.false(knows(second));
  t.false(knows(first));
});

test('pass-through to one host brings the caller’s credential', async (t) => {
  const { second } = await sent(
    (_, b) => ({ provider: 'openai', custom_host: b }),
    { authorization: `Bearer ${CREDENTIAL}` },
    '/v1/proxy/responses',
  );
  t.is(second[0]?.headers.authorization, `Bearer ${CREDENTIAL}`);
});

test('a header that goes on does not bring one target’s credential to another', async (t) => {
  const { status, first, second } = await sent(
    (a, b) =>
      fallback(
        { provider: 'openai', api_key: 'k1', custom_host: a, ...failing },
        { provider: 'anthropic', api_key: 'k2', custom_host: b, forward_headers: ['authorization'] },
      ),
    {
      authorization: `Bearer ${CREDENTIAL}`,
      'x-gateway-forward-headers': 'authorization,x-team',
      'x-team': 'a',
    },
  );
  t.is(status, 200);
  t.is(first[0]?.headers.authorization, 'Bearer k1');
  t.is(second[0]?.headers['x-api-key'], 'k2');
  t.is(second[0]?.headers.authorization, undefined);
  t.is(second[0]?.headers['x-team'], 'a');
  t.false(knows([...first, ...second]));
});

test('hosts of a config that names no provider do not share the caller’s credential', async (t) => {
  const headers = { authorization: `Bearer ${CREDENTIAL}`, 'x-gateway-provider': 'openai' };
  const apart = await sent((a, b) => fallback({ custom_host: a, ...failing }, { custom_host: b }), headers);
  t.is(apart.status, 200);
  t.false(knows([...apart.first, ...apart.second]));
  const together = await sent(
    (a) => ({ ...fallback(failing, { override_params: { seed: 1 } }), custom_host: a }),
    headers,
  );
  t.is(together.status, 200);
  t.deepEqual(
    together.first.map((call) => call.headers.authorization),
    [`Bearer ${CREDENTIAL}`, `Bearer ${CREDENTIAL}`],
  );
});

test('the embeddings of a cache do not get the credential of another host', async (t) => {
  const { first, second } = await sent(
    (a, b) => ({
      provider: 'openai',
      custom_host: a,
      forward_headers: ['authorization'],
      cache: {
        mode: 'semantic',
        embeddings: { provider: 'openai', custom_host: b, override_params: { model: 'e' } },
      },
    }),
    { authorization: `Bearer ${CREDENTIAL}`, 'x-gateway-forward-headers': 'authorization' },
  );
  t.true(knows(first));
  t.is(second.length, 1);
  t.false(knows(second));
});

test('a host’s redirect is followed nowhere', async (t) => {
  const mark = `/credentials-${count + 1}`;
  one.next(`${mark}/chat/completions`, (_req, res) => {
    res.writeHead(307, { location: `${other.origin}${mark}/stolen` }).end();
  });
  const { status, second } = await sent((a) => ({ provider: 'openai', api_key: 'k1', custom_host: a }), {});
  t.is(status, 502);
  t.is(second.length, 0);
});

test('a config, or metadata, nested without end is the caller’s fault', async (t) => {
  const deep = `${'['.repeat(6000)}${']'.repeat(6000)}`;
  const all: readonly Record<string, string>[] = [
    { 'x-gateway-config': `{"provider":"openai","api_key":"k","override_params":{"x":${deep}}}` },
    { 'x-gateway-metadata': `{"a":${deep}}` },
  ];
  for (const headers of all) {
    const { status } = await sent((a) => ({ provider: 'openai', api_key: 'k', custom_host: a }), headers);
    t.is(status, 400);
  }
});

test('a body that stands still ends with the call’s time, whatever the plan', async (t) => {
  const target = { provider: 'openai', api_key: 'k', custom_host: one.origin };
  for (const config of [target, fallback(target, target)]) {
    const socket = net.connect(gateway.port, '127.0.0.1');
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${WORKSPACE_KEY}\r\n` +
        `x-gateway-request-timeout: 100\r\nx-gateway-config: ${JSON.stringify(config)}\r\n` +
        'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"a":',
    );
    const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(3000) })) as [Buffer];
    t.regex(answer.toString(), /^HTTP\/1\.1 408 /);
    socket.destroy();
  }
});

test('a caller who leaves before its body is there is no failure of the gateway', async (t) => {
  const target = { provider: 'openai', api_key: 'k', custom_host: one.origin };
  const before = gateway.logLines.length;
  for (const config of [target, fallback(target, target)]) {
    const socket = net.connect(gateway.port, '127.0.0.1');
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${WORKSPACE_KEY}\r\n` +
        `x-gateway-config: ${JSON.stringify(config)}\r\ncontent-length: 1000\r\n\r\n{"a":`,
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.deepEqual(
    gateway.logLines.slice(before).filter((line) => /"level":(50|60)/.test(line)),
    [],
  );
});
