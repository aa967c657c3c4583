// Responses over WebSocket: raw, and with the openai SDK's own client.
import { once } from 'node:events';
import test from 'ava';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { WebSocket } from 'ws';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway(), startFakeProvider()]);
});
test.after.always(async () => {
  await provider?.close();
  await gateway?.close();
});

type Event = Record<string, unknown> & { type: string };

const headersOf = (wire: string, key: string): Record<string, string> => ({
  authorization: `Bearer ${key}`,
  'x-gateway-config': JSON.stringify({
    provider: wire,
    api_key: 'sk-of-the-provider',
    custom_host: `${provider.origin}/v1`,
  }),
});

async function opened(wire = 'openai-compatible', to = gateway): Promise<WebSocket> {
  const ws = new WebSocket(`${to.origin.replace('http', 'ws')}/v1/responses`, {
    headers: headersOf(wire, WORKSPACE_KEY),
  });
  await once(ws, 'open');
  return ws;
}

/** Events up to the one that ends the answer. */
function answer(ws: WebSocket): Promise<Event[]> {
  return new Promise((resolve) => {
    const events: Event[] = [];
    const take = (data: Buffer): void => {
      const event = JSON.parse(String(data)) as Event;
      events.push(event);
      if (!/^(?:response\.(?:completed|incomplete|failed)|error)$/.test(event.type)) return;
      ws.off('message', take);
      resolve(events);
    };
    ws.on('message', take);
  });
}

function ask(ws: WebSocket, message: unknown): Promise<Event[]> {
  const events = answer(ws);
  ws.send(typeof message === 'string' ? message : JSON.stringify(message));
  return events;
}

async function refusal(key: string, of = gateway): Promise<number> {
  const ws = new WebSocket(`${of.origin.replace('http', 'ws')}/v1/responses`, {
    headers: headersOf('openai-compatible', key),
  });
  const [, res] = (await once(ws, 'unexpected-response')) as [unknown, { statusCode: number }];
  ws.on('error', () => {});
  ws.terminate();
  return res.statusCode;
}

test('a connection without a key that may ask is refused before the upgrade', async (t) => {
  t.is(await refusal('slk_no_such_key'), 401);
  t.is(await refusal(ADMIN_KEY), 403);
});

for (const wire of ['openai', 'openai-compatible', 'anthropic']) {
  test(`${wire}: turns of one connection, the second from the first, which is kept nowhere`, async (t) => {
    const ws = await opened(wire);
    const create = { type: 'response.create', model: 'gpt-ok', store: false, max_output_tokens: 64 };
    const first = await ask(ws, { ...create, input: 'hi' });
    t.deepEqual(
      first.map(({ sequence_number: number }) => number),
      first.map((_, i) => i),
    );
    const { id } = first.at(-1)!.response as { id: string };
    const second = await ask(ws, { ...create, input: 'and now?', previous_response_id: id });
    t.is(second.at(-1)?.type, 'response.completed');
    const sent = String(provider.seen.findLast(({ body }) => String(body).includes('and now?'))?.body);
    t.true(sent.includes('Hello, wörld!'));
    ws.close();
    const other = await opened(wire);
    const [foreign] = await ask(other, { ...create, input: 'x', previous_response_id: id });
    t.like(foreign, { type: 'error', status: 404 });
    other.close();
  });
}

for (const wire of ['openai', 'openai-compatible', 'anthropic'])
  test(`${wire}: a request that is sent ahead calls no provider, and the next one goes on from it`, async (t) => {
    const ws = await opened(wire);
    const create = { type: 'response.create', model: 'gpt-ok', store: false, max_output_tokens: 64 };
    const ahead = (text: string, more = {}) => ask(ws, { ...create, generate: false, input: text, ...more });
    const first = await ahead(`ahead-${wire}.`);
    t.deepEqual(
      first.map(({ type, sequence_number: number }) => [type, number]),
      [
        ['response.created', 0],
        ['response.completed', 1],
      ],
    );
    const warm = first.at(-1)!.response as Event;
    t.like(warm, { object: 'response', status: 'completed', model: 'gpt-ok', output: [] });
    t.like(warm.usage, { input_tokens: 0, output_tokens: 0, total_tokens: 0 });
    const asked = () => provider.seen.filter(({ body }) => String(body).includes(`ahead-${wire}.`));
    t.is(asked().length, 0);

    const turn = await ask(ws, { ...create, input: [], previous_response_id: warm.id });
    t.like(turn.at(-1), { type: 'response.completed' });
    t.is((turn.at(-1)!.response as Event).previous_response_id, warm.id);
    t.is(asked().length, 1);
    t.false(String(asked()[0]!.body).includes('generate'));

    // After a turn, and twice: what was sent ahead last stands on all that was before.
    const { id } = turn.at(-1)!.response as Event;
    const second = await ahead(`second-${wire}`, { previous_response_id: id });
    const { id: secondId } = second.at(-1)!.response as Event;
    const third = await ahead(`third-${wire}`, { previous_response_id: secondId });
    const { id: thirdId } = third.at(-1)!.response as Event;
    const last = { ...create, generate: true, input: 'go', previous_response_id: thirdId };
    t.is((await ask(ws, last)).at(-1)?.type, 'response.completed');
    const sent = String(asked().at(-1)!.body);
    const order = ['ahead', 'Hello, wörld!', 'second', 'third', 'go"'].map((word) => sent.indexOf(word));
    t.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
    );
    t.false(order.includes(-1));
    t.false(sent.includes('"generate"'));
    ws.close();
  });

test('a request cannot be sent ahead without a connection', async (t) => {
  const answer = await fetch(`${gateway.origin}/v1/responses`, {
    method: 'POST',
    headers: { ...headersOf('openai', WORKSPACE_KEY), 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-ok', input: 'hi', generate: false }),
  });
  t.is(answer.status, 400);
  t.like(await answer.json(), { error: { param: 'generate' } });
});

test('what cannot be read is an error event, and the connection goes on', async (t) => {
  const ws = await opened();
  t.like((await ask(ws, 'no json')).at(-1), { type: 'error', status: 400 });
  t.like((await ask(ws, { type: 'session.update' })).at(-1), { type: 'error', status: 400 });
  t.like((await ask(ws, { type: 'response.create', model: 'm', input: 'x', top_p: 7 })).at(-1), {
    type: 'error',
    status: 400,
  });
  t.is(
    (await ask(ws, { type: 'response.create', model: 'gpt-ok', input: 'x' })).at(-1)?.type,
    'response.completed',
  );
  ws.close();
});

test('too many messages at once end the connection', async (t) => {
  const ws = await opened();
  for (let i = 0; i < 20; i++)
    ws.send(JSON.stringify({ type: 'response.create', model: 'slow-300', input: 'x' }));
  const [code] = (await once(ws, 'close')) as [number];
  t.is(code, 1008);
});

test('messages that wait, or are not whole, count against the bytes of their key', async (t) => {
  const own = await startGateway({ GATEWAY_KEY_READING_BYTES: '2MiB', GATEWAY_DRAIN_SECONDS: '1' });
  t.teardown(() => own.close());
  const busy = await opened('openai-compatible', own);
  const create = (model: string, bytes: number): string =>
    JSON.stringify({ type: 'response.create', model, input: 'x'.repeat(bytes) });
  busy.send(create('slow-300', 1));
  for (let i = 0; i < 4; i++) busy.send(create('gpt-ok', 700_000));
  const [code] = (await once(busy, 'close')) as [number];
  t.is(code, 1013);
  const half = await opened('openai-compatible', own);
  for (let i = 0; i < 5; i++) half.send('x'.repeat(700_000), { fin: false });
  const [second] = (await once(half, 'close')) as [number];
  t.is(second, 1013);
  const fine = await opened('openai-compatible', own);
  t.is((await ask(fine, create('gpt-ok', 700_000))).at(-1)?.type, 'response.completed');
  fine.close();
});

test('too many upgrades with wrong keys are refused at once', async (t) => {
  const own = await startGateway({ GATEWAY_FAILED_CALLS_PER_SECOND: '1', GATEWAY_DRAIN_SECONDS: '1' });
  t.teardown(() => own.close());
  const statuses = new Set<number>();
  for (let i = 0; i < 30; i++) statuses.add(await refusal('slk_no_such_key', own));
  t.deepEqual([...statuses], [401, 429]);
  const ws = await opened('openai-compatible', own);
  ws.close();
});

test('a stop ends idle connections with 1001', async (t) => {
  const own = await startGateway();
  const ws = await opened('openai-compatible', own);
  const closed = once(ws, 'close');
  await own.close();
  const [code] = (await closed) as [number];
  t.is(code, 1001);
});

test('the openai SDK’s own client', async (t) => {
  const sdk = new OpenAI({
    baseURL: `${gateway.origin}/v1`,
    apiKey: WORKSPACE_KEY,
    defaultHeaders: headersOf('openai-compatible', WORKSPACE_KEY),
  });
  const ws = new ResponsesWS(sdk, { headers: headersOf('openai-compatible', WORKSPACE_KEY) });
  const done = new Promise<string>((resolve, reject) => {
    ws.on('response.completed', ({ response }) => resolve(response.status ?? ''));
    ws.on('error', reject);
  });
  ws.send({ type: 'response.create', model: 'gpt-ok', input: 'hi' });
  t.is(await done, 'completed');
  ws.close();
});
