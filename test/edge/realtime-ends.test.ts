// How realtime sessions end: without a frame, after their time, in a drain, by budgets and rates of tokens; and how Azure, xAI
// and Gemini Live are opened.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { WebSocket, WebSocketServer } from 'ws';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient, until } from '../support/limits-client.ts';

let plain: FakeProvider;
let server: http.Server;
let origin = '';
const asked: { url: string; headers: http.IncomingHttpHeaders }[] = [];
const closes: [number, string][] = [];
const USAGE = { total_tokens: 30, input_tokens: 20, output_tokens: 10 };
const GEMINI_USAGE = { promptTokenCount: 7, responseTokenCount: 5, totalTokenCount: 12 };

test.before(async () => {
  plain = await startFakeProvider();
  server = http.createServer((_req, res) => res.writeHead(404).end());
  const sockets = new WebSocketServer({ noServer: true });
  let responses = 0;
  server.on('upgrade', (req, socket, head) => {
    asked.push({ url: req.url ?? '', headers: req.headers });
    sockets.handleUpgrade(req, socket, head, (ws) => {
      ws.on('close', (code, reason) => closes.push([code, reason.toString()]));
      const isGemini = req.url?.includes('BidiGenerateContent');
      if (!isGemini) ws.send(JSON.stringify({ type: 'session.created', session: { id: 's' } }));
      ws.on('message', (data) => {
        const event = JSON.parse(data.toString()) as Json;
        if (event.setup) ws.send(Buffer.from(JSON.stringify({ setupComplete: {} })));
        if (event.clientContent) {
          const said = { modelTurn: { parts: [{ text: 'hello' }] }, turnComplete: true };
          ws.send(Buffer.from(JSON.stringify({ serverContent: said, usageMetadata: GEMINI_USAGE })));
        }
        if (event.type !== 'response.create') return;
        const id = `r${++responses}`;
        ws.send(JSON.stringify({ type: 'response.created', response: { id, status: 'in_progress' } }));
        const response = { id, status: 'completed', output: [], usage: USAGE };
        ws.send(JSON.stringify({ type: 'response.done', response }));
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
});

const started = async (t: ExecutionContext, env: Record<string, string> = {}): Promise<TestGateway> => {
  const gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1', ...env });
  t.teardown(() => gateway.close());
  return gateway;
};

const headersOf = (key = WORKSPACE_KEY, more: Record<string, string> = {}): Record<string, string> => ({
  'x-gateway-api-key': key,
  'x-gateway-provider': 'openai',
  'x-gateway-custom-host': origin,
  authorization: 'Bearer sk-provider',
  ...more,
});

function open(t: ExecutionContext, gateway: TestGateway, headers = headersOf(), query = '?model=rt') {
  const ws = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/realtime${query}`, { headers });
  t.teardown(() => ws.terminate());
  const events: Json[] = [];
  ws.on('message', (data) => events.push(JSON.parse(data.toString()) as Json));
  ws.on('error', () => {});
  const closed = new Promise<[number, string]>((resolve) =>
    ws.once('close', (code, reason) => resolve([code, reason.toString()])),
  );
  const opened = new Promise<void>((resolve) => ws.once('open', () => resolve()));
  const status = new Promise<number>((resolve) =>
    ws.once('unexpected-response', (_req, res) => {
      res.resume();
      resolve(res.statusCode ?? 0);
    }),
  );
  const next = (when: (event: Json) => boolean): Promise<Json> =>
    until(
      async () => events.find(when) as Json,
      (event) => event !== undefined,
    );
  return { ws, events, closed, opened, status, next };
}

const isCreated = ({ type }: Json): boolean => type === 'session.created';

test.serial('a session without frames ends after its idle time, on both sides', async (t) => {
  const gateway = await started(t, { GATEWAY_REALTIME_IDLE_SECONDS: '1' });
  const before = closes.length;
  const { closed } = open(t, gateway);
  const [code, reason] = await closed;
  t.true(code >= 1000 && code <= 1011, `${code} ${reason}`);
  t.regex(reason, /frame|idle/i);
  await until(
    async () => closes.length,
    (count) => count > before,
  );
});

test.serial('a session in use ends after its time in all', async (t) => {
  const gateway = await started(t, { GATEWAY_REALTIME_MAX_SECONDS: '2' });
  const { ws, closed, opened } = open(t, gateway);
  await opened;
  const busy = setInterval(() => ws.readyState === WebSocket.OPEN && ws.send('{"type":"noop"}'), 100);
  t.teardown(() => clearInterval(busy));
  const [code, reason] = await closed;
  t.is(code, 1000);
  t.regex(reason, /lasted as long as it may/);
});

test.serial('a drain ends sessions with 1001', async (t) => {
  const gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  const before = closes.length;
  const session = open(t, gateway);
  await session.next(isCreated);
  await gateway.close();
  t.is((await session.closed)[0], 1001);
  await until(
    async () => closes.length,
    (count) => count > before,
  );
});

test.serial('budgets and rates of tokens hold while a session runs, and before the next one', async (t) => {
  const gateway = await started(t);
  const client = limitsClient(gateway, plain);
  const budget = await client.key({ usage_limits: { type: 'tokens', credit_limit: 5000 } });
  const rate = await client.key({ rate_limits: [{ type: 'tokens', unit: 'rph', value: 5000 }] });
  for (const [key, status, code] of [
    [budget.key, 412, 'budget_exhausted'],
    [rate.key, 429, 'rate_limited'],
  ] as const) {
    const session = open(t, gateway, headersOf(key));
    await session.next(isCreated);
    const refusal = (): Json | undefined => session.events.find(({ type }) => type === 'error');
    // Tokens are held as the most that a response may have, so that how many pass is not counted here.
    for (let asks = 0; asks < 200 && refusal() === undefined; asks++) {
      const seen = session.events.length;
      session.ws.send(JSON.stringify({ type: 'response.create' }));
      await until(
        async () => session.events.slice(seen),
        (events) => events.some(({ type }) => type === 'response.done' || type === 'error'),
      );
    }
    t.like(refusal(), { error: { code, status } });
    t.is(session.ws.readyState, WebSocket.OPEN, 'a refused response ends no session');
    session.ws.close(1000);
    await session.closed;
  }
  // A spent budget refuses the session itself: what a response costs more than was held is charged.
  const spent = await client.key({ usage_limits: { type: 'tokens', credit_limit: 100 } });
  plain.next('/chat/completions', (_req, res) => {
    const usage = { prompt_tokens: 90, completion_tokens: 60, total_tokens: 150 };
    const choices = [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }];
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage }));
  });
  const chat = await client.chat({}, { max_tokens: 1 }, spent.key);
  t.is(chat.status, 200, JSON.stringify(chat.json));
  const used = ({ usage_limits: limits }: Json): boolean => Number((limits as Json).current_usage) >= 100;
  t.true(used(await client.keyUntil(spent.id, used)));
  t.is(await open(t, gateway, headersOf(spent.key)).status, 412);
});

test.serial('Azure, xAI and Gemini Live are opened in their own words', async (t) => {
  const gateway = await started(t);
  const client = limitsClient(gateway, plain);
  const azure = { 'x-gateway-provider': 'azure-openai', 'x-gateway-azure-resource-name': 'r' };
  for (const [headers, url, name, value] of [
    [{ ...azure, 'x-gateway-azure-api-version': 'v1' }, '/v1/realtime?model=rt', 'api-key', 'sk-provider'],
    [
      { ...azure, 'x-gateway-azure-api-version': '2025-04-01-preview', 'x-gateway-azure-deployment-id': 'd' },
      '/realtime?api-version=2025-04-01-preview&deployment=d',
      'api-key',
      'sk-provider',
    ],
    [{ 'x-gateway-provider': 'x-ai' }, '/realtime?model=rt', 'authorization', 'Bearer sk-provider'],
  ] as const) {
    const session = open(t, gateway, headersOf(WORKSPACE_KEY, headers));
    await session.next(isCreated);
    t.is(asked.at(-1)!.url, url);
    t.is(asked.at(-1)!.headers[name], value);
    t.false(JSON.stringify(asked.at(-1)!.headers).includes(WORKSPACE_KEY));
    session.ws.close(1000);
    await session.closed;
  }
  const trace = { 'x-gateway-provider': 'google', 'x-gateway-trace-id': 'live-1' };
  const live = open(t, gateway, headersOf(WORKSPACE_KEY, trace), '');
  await live.opened;
  live.ws.send(JSON.stringify({ setup: { model: 'models/gemini-live' } }));
  await live.next(({ setupComplete }) => setupComplete !== undefined);
  live.ws.send(JSON.stringify({ clientContent: { turns: [{ role: 'user', parts: [{ text: 'hi' }] }] } }));
  await live.next(({ usageMetadata }) => usageMetadata !== undefined);
  live.ws.close(1000);
  await live.closed;
  t.regex(asked.at(-1)!.url, /BidiGenerateContent/);
  const entries = await client.logs('live-1', 2);
  const paid = entries.find(({ usage }) => usage !== undefined);
  t.like(paid, { model: 'gemini-live', usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } });
});
