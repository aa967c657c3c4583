// Anthropic's batches are passed through, and their rows are in the books: each once, at batch prices, for the key that made
// the batch, when its results are fetched. No byte of the results changes.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { FakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient, until } from '../support/limits-client.ts';

/** Of one token, in 1e-12 USD, as the test's price says for batches. */
const [INPUT, OUTPUT] = [1_000_000n, 3_000_000n];
const MADE = { id: 'msgbatch_1', type: 'message_batch', processing_status: 'in_progress' };

/** A row: the line's number is in its counts, so that each row has its own cost. */
const succeeded = (n: number): Json => ({
  custom_id: `r${n}`,
  result: {
    type: 'succeeded',
    message: {
      id: `msg_${n}`,
      type: 'message',
      role: 'assistant',
      model: 'claude-batcher',
      content: [{ type: 'text', text: 'x'.repeat(300) }],
      stop_reason: 'end_turn',
      usage: {
        input_tokens: n,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 2 * n,
        service_tier: 'batch',
      },
    },
  },
});
const costOf = (n: number): bigint => BigInt(n) * INPUT + BigInt(2 * n) * OUTPUT;
const sumTo = (n: number): bigint => costOf(1) * BigInt((n * (n + 1)) / 2);
const linesOf = (rows: readonly Json[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const rowsTo = (count: number): Json[] => Array.from({ length: count }, (_, i) => succeeded(i + 1));

interface BatchesProvider {
  readonly origin: string;
  readonly seen: http.IncomingMessage[];
  close(): Promise<void>;
}

/** A provider whose batch has these results as soon as it is made. */
async function startProvider(results: string): Promise<BatchesProvider> {
  const seen: http.IncomingMessage[] = [];
  const server = http.createServer((req, res) => {
    seen.push(req);
    req.resume();
    const path = decodeURIComponent(req.url ?? '');
    if (req.method === 'POST')
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(MADE));
    if (!/msgbatch_1\/results/.test(path))
      return void res.writeHead(404, { 'content-type': 'application/json' }).end('{"type":"error"}');
    res.writeHead(200, { 'content-type': 'application/x-jsonl' });
    res.write(results.slice(0, 1000));
    res.end(results.slice(1000));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class World {
  readonly gateway: TestGateway;
  readonly provider: BatchesProvider;

  constructor(gateway: TestGateway, provider: BatchesProvider) {
    this.gateway = gateway;
    this.provider = provider;
  }

  get client() {
    return limitsClient(this.gateway, this.provider as unknown as FakeProvider);
  }

  send(path: string, init: RequestInit = {}, key = WORKSPACE_KEY): Promise<Response> {
    return fetch(`${this.gateway.origin}${path}`, {
      ...init,
      headers: {
        'x-gateway-api-key': key,
        'x-gateway-provider': 'anthropic',
        'x-gateway-custom-host': this.provider.origin,
        authorization: 'Bearer sk-provider',
        'anthropic-version': '2023-06-01',
        ...(init.headers as Record<string, string> | undefined),
      },
    });
  }

  make(key: string, headers: Record<string, string> = {}): Promise<Response> {
    const body = JSON.stringify({ requests: [{ custom_id: 'r1', params: { model: 'claude-batcher' } }] });
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } };
    return this.send('/v1/messages/batches', init, key);
  }

  async results(
    path = '/v1/messages/batches/msgbatch_1/results',
    init: RequestInit = {},
    key = WORKSPACE_KEY,
  ) {
    const answer = await this.send(path, init, key);
    return { status: answer.status, text: await answer.text() };
  }

  /** All entries of rows, once there are so many. */
  rows(count: number): Promise<Json[]> {
    return until(
      async () => {
        const found: Json[] = [];
        for (let page = 0; ; page++) {
          const got = await this.client.admin('GET', `/logs?page_size=100&current_page=${page}`);
          found.push(...(got.data as Json[]));
          if ((got.data as Json[]).length < 100) break;
        }
        return found.filter(({ metadata }) => (metadata as Json | undefined)?._batch === 'msgbatch_1');
      },
      ({ length }) => length >= count,
    );
  }
}

const sumOf = (entries: readonly Json[]): bigint =>
  entries.reduce((sum, { cost_exact: cost }) => sum + BigInt(String(cost ?? 0)), 0n);

async function start(t: ExecutionContext, results: string): Promise<World> {
  const [gateway, provider] = await Promise.all([startGateway(), startProvider(results)]);
  t.teardown(async () => {
    await Promise.all([gateway.close(), provider.close()]);
  });
  const world = new World(gateway, provider);
  await world.client.admin('POST', '/model-configs/pricing', {
    provider: 'anthropic',
    model: 'claude-batcher',
    effective_from: '2020-01-01T00:00:00Z',
    pay_as_you_go: {
      request_token: { price: 0.0002 },
      response_token: { price: 0.0006 },
      service_tiers: { batch: { request_token: { price: 0.0001 }, response_token: { price: 0.0003 } } },
    },
  });
  return world;
}

test('results are booked row by row at batch prices, once, for the key that made the batch', async (t) => {
  const text = linesOf(rowsTo(250));
  const world = await start(t, text);
  const maker = await world.client.key({ usage_limits: { type: 'cost', credit_limit: 1000 } });
  const made = await world.make(maker.key, { 'x-gateway-metadata': '{"team":"a"}' });
  t.deepEqual(await made.json(), MADE);
  const asked = { headers: { 'accept-encoding': 'gzip', range: 'bytes=0-9' } };
  const fetched = await Promise.all([
    world.results(),
    world.results(undefined, asked),
    world.results('/v1/proxy/v1/messages//batches/msgbatch_1/x/../%72esults/?beta=true'),
    world.results(undefined, {}, maker.key),
  ]);
  for (const one of fetched) t.deepEqual(one, { status: 200, text });
  for (const { headers, method } of world.provider.seen)
    if (method === 'GET') t.like(headers, { 'accept-encoding': 'identity', range: undefined });
  const entries = await world.rows(250);
  t.is(entries.length, 250);
  t.is(sumOf(entries), sumTo(250));
  t.like(entries[0], {
    api_key_id: maker.id,
    metadata: { team: 'a', _batch: 'msgbatch_1' },
    model: 'claude-batcher',
    status_code: 200,
  });
  const dollars = Number(sumTo(250)) / 1e12;
  const used = (record: Json) => (record.usage_limits as Json).current_usage;
  t.is(used(await world.client.keyUntil(maker.id, (record) => used(record) === dollars)), dollars);
  await world.results();
  t.is((await world.rows(250)).length, 250);
});

test('rows that failed cost nothing; a batch that was made elsewhere is booked for who fetches it', async (t) => {
  const failed = (type: string): Json => ({
    custom_id: type,
    result: { type: 'errored', error: { type: 'error', error: { type, message: 'no' } } },
  });
  const text = `${linesOf([
    succeeded(1),
    failed('invalid_request_error'),
    failed('api_error'),
    { custom_id: 'c', result: { type: 'canceled' } },
    { custom_id: 'e', result: { type: 'expired' } },
  ])}no json\n{"custom_id":"x"}\n${JSON.stringify(succeeded(2))}`;
  const world = await start(t, text);
  t.deepEqual(await world.results(), { status: 200, text });
  const entries = await world.rows(6);
  t.deepEqual(entries.map(({ status_code: status }) => status).sort(), [0, 0, 200, 200, 400, 500]);
  t.is(sumOf(entries), costOf(1) + costOf(2));
});

test('what is no result passes as it is and is in no books', async (t) => {
  const world = await start(t, linesOf(rowsTo(2)));
  t.deepEqual(await world.results('/v1/messages/batches/msgbatch_2/results'), {
    status: 404,
    text: '{"type":"error"}',
  });
  await world.results('/v1/messages/batches/msgbatch_1');
  t.is((await world.rows(0)).length, 0);
});

test('a fetch that breaks off is gone on with by the next one', async (t) => {
  const text = linesOf(rowsTo(1500));
  const world = await start(t, text);
  for (let i = 0; i < 2; i++) {
    const leaving = new AbortController();
    const answer = await world.send('/v1/messages/batches/msgbatch_1/results', { signal: leaving.signal });
    await answer.body!.getReader().read();
    leaving.abort();
  }
  t.deepEqual(await world.results(), { status: 200, text });
  const entries = await world.rows(1500);
  t.is(entries.length, 1500);
  t.is(sumOf(entries), sumTo(1500));
});
