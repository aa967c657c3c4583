// Limits on calls in flight through the front door: of keys, workspaces, stored providers and policies; each call
// keeps its place until it has ended, and a killed process keeps none for good.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { startChild, tempDir } from '../edge/child.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, type LimitsClient, limitsClient, until } from '../support/limits-client.ts';

/** A provider that answers when it is told to, whole or piece by piece. */
interface Patient {
  readonly origin: string;
  /** Answers of calls under way. */
  readonly waiting: http.ServerResponse[];
  /** Most at once so far. */
  most: number;
  /** Ends all that is under way. */
  answer(): void;
  close(): void;
}

const CHUNK = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' };
const WHOLE = {
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
};

async function startPatient(): Promise<Patient> {
  const waiting: http.ServerResponse[] = [];
  const patient = { waiting, most: 0 };
  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const { stream } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json;
      if (stream === true) {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write(
          `data: ${JSON.stringify({ ...CHUNK, choices: [{ index: 0, delta: { content: 'a' } }] })}\n\n`,
        );
      }
      waiting.push(res);
      patient.most = Math.max(patient.most, waiting.length);
      res.on('close', () => {
        const at = waiting.indexOf(res);
        if (at >= 0) waiting.splice(at, 1);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(patient, {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer() {
      for (const res of waiting.splice(0)) {
        if (res.headersSent) res.end('data: [DONE]\n\n');
        else res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(WHOLE));
      }
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  });
}

let gateway: TestGateway;
let patient: Patient;
let client: LimitsClient;
test.before(async () => {
  // Leases so short that every stream here outlives several.
  [gateway, patient] = await Promise.all([startGateway({ GATEWAY_HOLD_SECONDS: '1' }), startPatient()]);
  client = limitsClient(gateway, { origin: patient.origin } as never);
});
test.after.always(async () => {
  patient?.close();
  await gateway?.close();
});
test.afterEach.always(() => patient.answer());

const concurrent = (value: number): Json => ({
  rate_limits: [{ type: 'requests', unit: 'concurrent', value }],
});

interface Begun {
  readonly status: number;
  readonly headers: Headers;
  readonly text: Promise<string>;
}

const DIRECT = (): Record<string, string> => ({
  'x-gateway-provider': 'openai',
  'x-gateway-custom-host': patient.origin,
  authorization: 'Bearer sk-provider',
});

/** Begins a call; resolves with its head. @param way how it selects its provider */
async function begin(
  headers: Record<string, string>,
  { origin = gateway.origin, body = {}, way = DIRECT(), signal = new AbortController().signal } = {},
): Promise<Begun> {
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json', 'x-gateway-api-key': WORKSPACE_KEY, ...way, ...headers },
    body: JSON.stringify({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      ...body,
    }),
  });
  return { status: answer.status, headers: answer.headers, text: answer.text().catch(() => 'cut') };
}

/** So many calls one after the other, as streams that go on; answers their statuses. */
async function open(
  count: number,
  headers: Record<string, string>,
): Promise<{ statuses: number[]; ends: Promise<unknown> }> {
  const begun: Begun[] = [];
  for (let i = 0; i < count; i++) begun.push(await begin(headers));
  return { statuses: begun.map(({ status }) => status), ends: Promise.all(begun.map(({ text }) => text)) };
}

const firstThat = (headers: Record<string, string>): Promise<Begun> =>
  until(
    () => begin(headers),
    ({ status }) => status === 200,
  );

async function holds(t: ExecutionContext, headers: Record<string, string>, name: RegExp): Promise<void> {
  const { statuses, ends } = await open(3, headers);
  t.deepEqual(statuses, [200, 200, 429]);
  const refused = await begin(headers);
  t.is(refused.status, 429);
  t.is(refused.headers.get('retry-after'), '1');
  t.regex(await refused.text, name);
  t.is(patient.waiting.length, 2, 'the provider saw no more');
  patient.answer();
  await ends;
  const again = await firstThat(headers);
  t.is(again.status, 200, 'places are free again');
  patient.answer();
  await again.text;
}

test.serial('of a key', async (t) => {
  const { key } = await client.key(concurrent(2));
  await holds(
    t,
    { 'x-gateway-api-key': key },
    /the rate limit of the API key of 2 calls in flight is reached/,
  );
});

test.serial('of a workspace, over its keys', async (t) => {
  await client.admin('POST', '/admin/workspaces', { name: 'Busy', slug: 'busy', ...concurrent(2) });
  const keys = await Promise.all(
    ['a', 'b'].map((name) =>
      client.admin('POST', '/api-keys/workspace/service', {
        name,
        workspace_id: 'busy',
        scopes: ['completions.write'],
      }),
    ),
  );
  const [first = '', second = ''] = keys.map(({ key }) => String(key));
  t.is((await firstThat({ 'x-gateway-api-key': first })).status, 200);
  t.is((await firstThat({ 'x-gateway-api-key': second })).status, 200);
  const refused = await begin({ 'x-gateway-api-key': first });
  t.is(refused.status, 429);
  t.regex(await refused.text, /the workspace of 2 calls in flight/);
});

test.serial(
  'of a stored provider: an attempt that a fallback left behind gives its place back',
  async (t) => {
    await client.admin('POST', '/virtual-keys', {
      name: 'busy',
      slug: 'busy',
      provider: 'openai',
      key: 'sk-x',
      workspace_id: 'default',
      custom_host: `${patient.origin}/v1`,
      ...concurrent(2),
    });
    const send = (): Promise<Begun> => begin({}, { way: { 'x-gateway-provider': '@busy' } });
    const begun = [await send(), await send(), await send()];
    t.deepEqual(
      begun.map(({ status }) => status),
      [200, 200, 429],
    );
    t.regex(await begun[2]!.text, /the stored provider busy of 2 calls in flight/);
    patient.answer();
    await begun[0]!.text;
    const again = await until(send, ({ status }) => status === 200);
    t.is(again.status, 200);
  },
);

test.serial('of a policy, each group by itself', async (t) => {
  const policy = {
    conditions: [{ key: 'metadata.team', value: 'busy' }],
    name: 'two at once',
    group_by: [{ key: 'metadata.user' }],
    type: 'requests',
    unit: 'concurrent',
    value: 2,
  };
  const { id } = await client.admin('POST', '/policies/rate-limits', policy);
  t.like(await client.admin('GET', `/policies/rate-limits/${id}`), { unit: 'concurrent', value: 2 });
  const user = (name: string) => ({ 'x-gateway-metadata': JSON.stringify({ team: 'busy', user: name }) });
  await holds(t, user('a'), /the policy \\"two at once\\" of 2 calls in flight is reached/);
  const { statuses } = await open(2, user('a'));
  t.deepEqual(statuses, [200, 200]);
  t.is((await begin(user('a'))).status, 429);
  t.is((await begin(user('b'))).status, 200);
  const refused = await client
    .admin('POST', '/policies/rate-limits', { ...policy, type: 'tokens' })
    .catch(String);
  t.regex(String(refused), /unit: must not be concurrent for tokens/);
});

test.serial(
  'a stream keeps its place for longer than a lease, and one that its client leaves gives it back',
  async (t) => {
    const { key } = await client.key(concurrent(1));
    const headers = { 'x-gateway-api-key': key };
    const left = new AbortController();
    t.is((await begin(headers, { signal: left.signal })).status, 200);
    const end = performance.now() + 2200;
    while (performance.now() < end) {
      t.is((await begin(headers)).status, 429);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    left.abort();
    t.is((await firstThat(headers)).status, 200);
  },
);

test.serial('many at once: never more under way than the limit, and as many as it says', async (t) => {
  const { key } = await client.key(concurrent(5));
  patient.most = 0;
  const timer = setInterval(() => patient.answer(), 60);
  const statuses: number[] = [];
  const lane = async (): Promise<void> => {
    for (let i = 0; i < 12; i++) {
      const begun = await begin({ 'x-gateway-api-key': key }, { body: { stream: i % 2 === 0 } });
      await begun.text;
      statuses.push(begun.status);
    }
  };
  await Promise.all(Array.from({ length: 20 }, lane));
  clearInterval(timer);
  t.is(patient.most, 5);
  t.true(statuses.includes(200) && statuses.includes(429));
});

test.serial('a killed process gives its places back a lease later', async (t) => {
  const env = {
    GATEWAY_DATA_DIR: tempDir(t),
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_API_KEY: WORKSPACE_KEY,
    GATEWAY_HOLD_SECONDS: '2',
  };
  const first = await startChild(t, env);
  const { key } = await limitsClient(first, { origin: patient.origin } as never).key(concurrent(1));
  const headers = { 'x-gateway-api-key': key };
  const flight = await begin(headers, { origin: first.origin });
  t.is(flight.status, 200);
  t.is((await begin(headers, { origin: first.origin })).status, 429);
  const killed = performance.now();
  first.process.kill('SIGKILL');
  await first.exited;
  const second = await startChild(t, env);
  const again = await until(
    () => begin(headers, { origin: second.origin }),
    ({ status }) => status === 200,
    10_000,
  );
  t.is(again.status, 200);
  t.log(`free ${Math.round(performance.now() - killed)} ms after the kill`);
});
