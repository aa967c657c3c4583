// Realtime sessions: admitted before the upgrade, relayed as they are, booked response by response, ended with their codes.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import net from 'node:net';
import { createClient } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { WebSocket, WebSocketServer } from 'ws';
import { RealtimeService } from '../../gen/gateway/inference/v2/realtime_pb.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, type LimitsClient, limitsClient, until } from '../support/limits-client.ts';

let gateway: TestGateway;
let plain: FakeProvider;
let client: LimitsClient;
let server: http.Server;
let origin = '';
/** What the provider saw, and how it behaves, by the model that is asked for. */
const asked: { url: string; headers: http.IncomingHttpHeaders }[] = [];
const closes: [number, string][] = [];
/** Frames that the provider got. */
const got: string[] = [];
const USAGE = {
  total_tokens: 30,
  input_tokens: 20,
  output_tokens: 10,
  input_token_details: { text_tokens: 5, audio_tokens: 15, cached_tokens: 0 },
  output_token_details: { text_tokens: 4, audio_tokens: 6 },
};

function respond(ws: WebSocket, id: string, text: string): void {
  ws.send(JSON.stringify({ type: 'response.created', response: { id, status: 'in_progress' } }));
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }];
  ws.send(
    JSON.stringify({ type: 'response.done', response: { id, status: 'completed', output, usage: USAGE } }),
  );
}

test.before(async () => {
  [gateway, plain] = await Promise.all([
    startGateway({
      GATEWAY_DRAIN_SECONDS: '1',
      GATEWAY_REALTIME_IDLE_SECONDS: '20',
      GATEWAY_REALTIME_MAX_SECONDS: '60',
    }),
    startFakeProvider(),
  ]);
  client = limitsClient(gateway, plain);
  server = http.createServer((_req, res) => res.writeHead(404).end());
  const sockets = new WebSocketServer({ noServer: true });
  let responses = 0;
  server.on('upgrade', (req, socket, head) => {
    asked.push({ url: req.url ?? '', headers: req.headers });
    if (req.url?.includes('refused')) {
      const body = JSON.stringify({ error: { message: 'no such model', code: 'model_not_found' } });
      socket.end(
        `HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      return;
    }
    sockets.handleUpgrade(req, socket, head, (ws) => {
      ws.on('close', (code, reason) => closes.push([code, reason.toString()]));
      ws.send(JSON.stringify({ type: 'session.created', session: { id: 's1', model: 'rt' } }));
      ws.on('message', (data, isBinary) => {
        const text = data.toString();
        got.push(text);
        if (isBinary) return ws.send(data, { binary: true });
        const event = JSON.parse(text) as Json;
        if (event.mute === true) return;
        if (event.type === 'begin')
          for (let i = 0; i < Number(event.count); i++)
            ws.send(JSON.stringify({ type: 'response.created', response: { id: `endless-${i}` } }));
        else if (event.type === 'response.create')
          respond(ws, `r${++responses}`, String(event.say ?? 'hello'));
        else if (event.type === 'close.me') ws.close(4321, 'as asked');
        else ws.send(text);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
test.after.always(async () => {
  server?.closeAllConnections();
  server?.close();
  await plain?.close();
  await gateway?.close();
});

interface Opened {
  readonly ws: WebSocket;
  readonly events: Json[];
  readonly closed: Promise<[number, string]>;
  next(type: string): Promise<Json>;
}

function headersOf(key = WORKSPACE_KEY, more: Record<string, string> = {}): Record<string, string> {
  return {
    'x-gateway-api-key': key,
    'x-gateway-provider': 'openai',
    'x-gateway-custom-host': origin,
    authorization: 'Bearer sk-provider',
    ...more,
  };
}

function open(t: ExecutionContext, headers = headersOf(), model = 'rt', protocols: string[] = []): Opened {
  const ws = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/realtime?model=${model}`, protocols, {
    headers,
  });
  t.teardown(() => ws.terminate());
  const events: Json[] = [];
  ws.on('message', (data, isBinary) => {
    if (!isBinary) events.push(JSON.parse(data.toString()) as Json);
  });
  ws.on('error', () => {});
  const closed = new Promise<[number, string]>((resolve) =>
    ws.once('close', (code, reason) => resolve([code, reason.toString()])),
  );
  return {
    ws,
    events,
    closed,
    next: (type) =>
      until(
        async () => events.find((event) => event.type === type) as Json,
        (event) => event !== undefined,
      ),
  };
}

/** The HTTP answer to an upgrade that is refused. */
function refused(headers: Record<string, string>, model = 'rt'): Promise<{ status: number; json: Json }> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/realtime?model=${model}`, {
      headers,
    });
    ws.on('error', () => {});
    ws.once('open', () => reject(new Error('it was accepted')));
    ws.once('unexpected-response', (_req, res) => {
      const pieces: Buffer[] = [];
      res.on('data', (piece: Buffer) => pieces.push(piece));
      res.on('end', () =>
        resolve({ status: res.statusCode ?? 0, json: JSON.parse(Buffer.concat(pieces).toString()) as Json }),
      );
    });
  });
}

test.serial('a session is relayed as it is, and each response is an entry of its own', async (t) => {
  await client.admin('POST', '/model-configs/pricing', {
    provider: 'openai',
    model: 'rt-priced',
    effective_from: '2020-01-01T00:00:00Z',
    pay_as_you_go: {
      request_token: { price: 0.0001 },
      response_token: { price: 0.0002 },
      request_audio_token: { price: 0.001 },
      response_audio_token: { price: 0.002 },
    },
  });
  const session = open(t, headersOf(WORKSPACE_KEY, { 'x-gateway-trace-id': 'rt-1' }), 'rt-priced');
  await session.next('session.created');
  const seen = asked.find(({ url }) => url === '/realtime?model=rt-priced')!;
  t.is(seen.headers.authorization, 'Bearer sk-provider');
  t.false(Object.keys(seen.headers).some((name) => name.startsWith('x-gateway-')));
  const bytes = Buffer.from([0, 255, 1, 2]);
  const echoed = new Promise<Buffer>((resolve) =>
    session.ws.on('message', (data, isBinary) => isBinary && resolve(data as Buffer)),
  );
  session.ws.send(bytes);
  t.true((await echoed).equals(bytes));
  session.ws.send('{"type":"x",  "odd" : 1}');
  await session.next('x');
  for (let i = 0; i < 2; i++) session.ws.send(JSON.stringify({ type: 'response.create' }));
  await until(
    async () => session.events.filter(({ type }) => type === 'response.done').length,
    (n) => n === 2,
  );
  session.ws.close(4000, 'bye');
  t.deepEqual(await session.closed, [4000, 'bye']);
  await until(async () => closes.some(([code, reason]) => code === 4000 && reason === 'bye'), Boolean);
  const entries = await client.logs('rt-1', 3);
  const cost = 5n * 1_000_000n + 15n * 10_000_000n + 4n * 2_000_000n + 6n * 20_000_000n;
  t.deepEqual(entries.map(({ cost_exact: exact }) => exact).sort(), ['0', String(cost), String(cost)].sort());
  t.is(entries.filter(({ model }) => model === 'rt-priced').length, 3);
});

test("the provider's close comes with its code", async (t) => {
  const session = open(t);
  await session.next('session.created');
  session.ws.send(JSON.stringify({ type: 'close.me' }));
  t.deepEqual(await session.closed, [4321, 'as asked']);
});

test.serial('refusals before the upgrade are HTTP answers', async (t) => {
  const before = asked.length;
  t.is((await refused({ ...headersOf('no-such-key') })).status, 401);
  const { key } = (await client.admin('POST', '/api-keys/workspace/service', {
    name: 'reader',
    workspace_id: 'default',
    scopes: ['logs.list'],
  })) as { key: string };
  t.is((await refused(headersOf(key))).status, 403);
  const { status, json } = await refused(headersOf(WORKSPACE_KEY, { 'x-gateway-provider': 'deepseek' }));
  t.is(status, 400);
  t.regex(JSON.stringify(json), /deepseek does not offer realtime/);
  t.is(asked.length, before);
  const plainGet = await fetch(`${gateway.origin}/v1/realtime?model=rt`, { headers: headersOf() });
  t.is(plainGet.status, 400);
  t.regex(await plainGet.text(), /Upgrade: websocket/);
  const own = await refused(headersOf(), 'refused');
  t.is(own.status, 404);
  t.regex(JSON.stringify(own.json), /no such model/);
});

test.serial('limits hold before a session and while it runs', async (t) => {
  const { key } = await client.key({ rate_limits: [{ type: 'requests', unit: 'rph', value: 2 }] });
  const session = open(t, headersOf(key));
  await session.next('session.created');
  session.ws.send(JSON.stringify({ type: 'response.create' }));
  await session.next('response.done');
  session.ws.send(JSON.stringify({ type: 'response.create' }));
  const error = await session.next('error');
  t.like(error, { error: { code: 'rate_limited', status: 429 } });
  t.is(session.events.filter(({ type }) => type === 'response.done').length, 1);
  session.ws.close(1000);
  t.is((await refused(headersOf(key))).status, 429);
});

test.serial('a key that is revoked ends its sessions', async (t) => {
  const { id, key } = await client.key({});
  const session = open(t, headersOf(key));
  await session.next('session.created');
  await client.admin('DELETE', `/api-keys/${id}`);
  const [code] = await session.closed;
  t.is(code, 1008);
});

test.serial('guardrails judge what is asked and what is said', async (t) => {
  const config = {
    provider: 'openai',
    api_key: 'sk-provider',
    custom_host: origin,
    input_guardrails: [{ 'default.contains': { words: ['secret'], operator: 'none' }, deny: true }],
    output_guardrails: [{ 'default.contains': { words: ['hidden'], operator: 'none' }, deny: true }],
  };
  const headers = { 'x-gateway-api-key': WORKSPACE_KEY, 'x-gateway-config': JSON.stringify(config) };
  const session = open(t, headers);
  await session.next('session.created');
  const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a secret' }] };
  session.ws.send(JSON.stringify({ type: 'conversation.item.create', item }));
  t.like(await session.next('error'), { error: { code: 'guardrail_denied' } });
  session.ws.send(JSON.stringify({ type: 'response.create', say: 'hidden words' }));
  const [code, reason] = await session.closed;
  t.deepEqual([code, reason], [1008, 'guardrail_denied']);
  t.false(JSON.stringify(session.events).includes('hidden'));
});

test.serial('a frame is judged as the provider reads it, however it is written', async (t) => {
  const config = {
    provider: 'openai',
    api_key: 'sk-provider',
    custom_host: origin,
    input_guardrails: [{ 'default.contains': { words: ['secret'], operator: 'none' }, deny: true }],
  };
  const session = open(t, {
    'x-gateway-api-key': WORKSPACE_KEY,
    'x-gateway-config': JSON.stringify(config),
  });
  await session.next('session.created');
  const item = (type: string, more = '') =>
    `{${more}"type":"${type}","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"a secret"}]}}`;
  const frames = [
    item('conversation.item.create', `"pad":"${'x'.repeat(5000)}",`),
    item('conversation.item.creat\\u0065'),
    item('conversation.item.create').replace('type', '\\u0074ype'),
    item('conversation.item.create', ' '.repeat(5000)),
    Buffer.from(item('conversation.item.create')),
    Buffer.from(`${' '.repeat(2000)}${item('conversation.item.create')}`),
  ];
  for (const [i, frame] of frames.entries()) {
    session.ws.send(frame);
    const errors = () => session.events.filter(({ type }) => type === 'error');
    await until(
      async () => errors().length,
      (n) => n === i + 1,
    );
    t.like(errors().at(-1), { error: { code: 'guardrail_denied' } });
  }
  const before = got.length;
  // Which of two members counts is for the reader: the provider gets the one that was judged.
  session.ws.send(
    '{"type":"conversation.item.create","item":{"text":"a secret"},"item":{"text":"fine"},"type":"y"}',
  );
  await session.next('y');
  t.deepEqual(got.slice(before), ['{"type":"y","item":{"text":"fine"}}']);
  for (const text of ['no json', '[1]', '{"type":"z"', '\uFEFF{"type":"z"}']) {
    const told = session.events.length;
    session.ws.send(text);
    await until(
      async () => session.events.length,
      (n) => n > told,
    );
    t.like(session.events.at(-1), { type: 'error', error: { code: 'malformed_body' } });
  }
  session.ws.send(`{"type":"x","a":[${'{},'.repeat(200_000)}{}]}`);
  await until(
    async () => session.events.at(-1) as Json,
    (event) => JSON.stringify(event).includes('body_too_large'),
  );
  t.false(JSON.stringify(got).includes('secret'));
});

test.serial('responses that do not end are bounded, whoever begins them', async (t) => {
  const session = open(t);
  await session.next('session.created');
  // The provider of this test answers nothing to it.
  for (let i = 0; i < 70; i++) session.ws.send(JSON.stringify({ type: 'response.create', mute: true }));
  t.like(await session.next('error'), { error: { code: 'rate_limited', status: 429 } });
  session.ws.close(1000);
  const flooded = open(t);
  await flooded.next('session.created');
  flooded.ws.send(JSON.stringify({ type: 'begin', count: 100 }));
  const [code, reason] = await flooded.closed;
  t.deepEqual([code, reason], [1008, 'upstream_garbage']);
});

test.serial('thousands of empty frames are frames: they wait for their reader', async (t) => {
  const session = open(t);
  await session.next('session.created');
  const before = got.length;
  for (let i = 0; i < 20_000; i++) session.ws.send(Buffer.alloc(0));
  session.ws.send(JSON.stringify({ type: 'after' }));
  await session.next('after');
  t.is(got.length - before, 20_001);
});

test.serial('a browser brings its key as a subprotocol', async (t) => {
  const { 'x-gateway-api-key': key = '', ...others } = headersOf();
  const session = open(t, others, 'rt', ['realtime', `openai-insecure-api-key.${key}`]);
  await session.next('session.created');
  t.is(session.ws.protocol, 'realtime');
  t.false(JSON.stringify(asked.at(-1)!.headers).includes(key));
});

test.serial('the official client holds a session', async (t) => {
  const openai = new OpenAI({
    apiKey: 'sk-provider',
    baseURL: `${gateway.origin}/v1`,
    defaultHeaders: headersOf(),
  });
  // It speaks TLS only: the gateway of the test has none.
  const createConnection = () => net.connect(gateway.port, '127.0.0.1');
  const rt = new OpenAIRealtimeWS(
    { model: 'rt', options: { headers: headersOf(), createConnection } },
    openai,
  );
  t.teardown(() => rt.socket.terminate());
  const done = new Promise<unknown>((resolve, reject) => {
    rt.on('response.done', resolve);
    rt.on('error', reject);
  });
  await new Promise((resolve, reject) => {
    rt.once('session.created', resolve);
    rt.once('error', reject);
  });
  rt.send({ type: 'response.create' });
  t.like(await done, { response: { status: 'completed', usage: { total_tokens: 30 } } });
  rt.close();
});

test.serial('over gRPC: opened, frames, and the close', async (t) => {
  const { createGrpcTransport } = await import('@connectrpc/connect-node');
  const realtime = createClient(RealtimeService, createGrpcTransport({ baseUrl: gateway.origin }));
  let tell: (end: boolean) => void = () => {};
  const told = new Promise<boolean>((resolve) => {
    tell = resolve;
  });
  async function* frames() {
    yield { kind: { case: 'open' as const, value: { model: 'rt' } } };
    yield { kind: { case: 'text' as const, value: '{"type":"x"}' } };
    await told;
    yield { kind: { case: 'close' as const, value: { code: 4001, reason: 'done' } } };
  }
  const seen: string[] = [];
  for await (const { kind } of realtime.connect(frames(), { headers: headersOf() })) {
    seen.push(kind.case === 'text' ? String((JSON.parse(kind.value) as Json).type) : String(kind.case));
    if (seen.includes('x')) tell(true);
    if (kind.case === 'close') t.is(kind.value.code, 4001);
  }
  t.deepEqual(seen, ['opened', 'session.created', 'x', 'close']);
});

test.serial('secrets for clients are made by the provider', async (t) => {
  const prefix = '/secrets';
  plain.next(`${prefix}/realtime/client_secrets`, (_req, res, body) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ value: 'ek_1', expires_at: 5, session: JSON.parse(body.toString()).session }));
  });
  const answer = await fetch(`${gateway.origin}/v1/realtime/client_secrets`, {
    method: 'POST',
    headers: {
      ...headersOf(),
      'x-gateway-custom-host': plain.origin + prefix,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ session: { type: 'realtime', model: 'rt' } }),
  });
  t.deepEqual(await answer.json(), {
    value: 'ek_1',
    expires_at: 5,
    session: { type: 'realtime', model: 'rt' },
  });
});
