// The money of batches that providers run: each row in the books once, at batch prices, when the output is fetched; on two
// instances, after a fetch that broke off, and for the key that made the batch.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type FilesProvider, startFilesProvider } from '../support/fake-files.ts';
import type { FakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient, until } from '../support/limits-client.ts';
import { mongoServer, redisServer, reportMissing } from '../support/servers.ts';

const URL_OF_ROWS = '/v1/chat/completions';
/** Of one token, in 1e-12 USD, as the test's price says for batches. */
const [INPUT, OUTPUT] = [1_000_000n, 3_000_000n];

/** A row of an output: the line's number is in its counts, so that each row has its own cost. */
const outputRow = (n: number): Json => ({
  id: `batch_req_${n}`,
  custom_id: `r${n}`,
  response: {
    status_code: 200,
    request_id: `req_${n}`,
    body: {
      id: 'chatcmpl-same',
      object: 'chat.completion',
      model: 'batcher-2026-01-01',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'x'.repeat(300) }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: n, completion_tokens: 2 * n, total_tokens: 3 * n },
    },
  },
  error: null,
});
const costOf = (n: number): bigint => BigInt(n) * INPUT + BigInt(2 * n) * OUTPUT;
const sumTo = (n: number): bigint => costOf(1) * BigInt((n * (n + 1)) / 2);

/** A provider whose batch of so many rows is done as soon as it is made. */
async function startBatchProvider(rows: number): Promise<FilesProvider> {
  const provider = await startFilesProvider();
  const text = Array.from({ length: rows }, (_, i) => JSON.stringify(outputRow(i + 1))).join('\n');
  const bad = { ...outputRow(0), response: null, error: { code: 'batch_expired', message: 'too late' } };
  const kept = (id: string, content: Buffer) =>
    provider.files.set(id, { id, filename: `${id}.jsonl`, texts: {}, bytes: content.length, content });
  kept('file-out', Buffer.from(text));
  kept('file-err', Buffer.from(`${JSON.stringify(bad)}\n`));
  kept(
    'file-plain',
    Buffer.from(`${JSON.stringify({ custom_id: 'r1', method: 'POST', url: URL_OF_ROWS, body: {} })}\n`),
  );
  provider.answer = (verb, path, body) => {
    if (!path.includes('/batches')) return undefined;
    const done = {
      id: 'batch_1',
      object: 'batch',
      status: 'completed',
      output_file_id: 'file-out',
      error_file_id: 'file-err',
    };
    if (verb === 'POST' && path.endsWith('/batches'))
      return { id: 'batch_1', object: 'batch', status: 'validating', ...(body as object) };
    return path.endsWith('/batches') ? { object: 'list', data: [done], has_more: false } : done;
  };
  return provider;
}

class World {
  readonly gateway: TestGateway;
  readonly provider: FilesProvider;

  constructor(gateway: TestGateway, provider: FilesProvider) {
    this.gateway = gateway;
    this.provider = provider;
  }

  get client() {
    return limitsClient(this.gateway, this.provider as unknown as FakeProvider);
  }

  headers(key: string, trace: string): Record<string, string> {
    return {
      'x-gateway-api-key': key,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': this.provider.origin,
      'x-gateway-trace-id': trace,
      authorization: 'Bearer sk-provider',
    };
  }

  async get(path: string, trace: string, key = WORKSPACE_KEY): Promise<string> {
    const answer = await fetch(`${this.gateway.origin}/v1${path}`, { headers: this.headers(key, trace) });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
    return text;
  }

  /** Uploads the input and makes the batch, as a caller's program does. */
  async batch(key = WORKSPACE_KEY, more: Record<string, string> = {}): Promise<void> {
    const form = new FormData();
    form.set('purpose', 'batch');
    const row = {
      custom_id: 'r1',
      method: 'POST',
      url: URL_OF_ROWS,
      body: { model: 'batcher', messages: [] },
    };
    form.set('file', new Blob([`${JSON.stringify(row)}\n`]), 'in.jsonl');
    const headers = { ...this.headers(key, 'made'), ...more };
    const upload = await fetch(`${this.gateway.origin}/v1/files`, { method: 'POST', headers, body: form });
    const { id } = (await upload.json()) as { id: string };
    const made = await fetch(`${this.gateway.origin}/v1/batches`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ input_file_id: id, endpoint: URL_OF_ROWS, completion_window: '24h' }),
    });
    if (made.status !== 200) throw new Error(await made.text());
  }

  price(): Promise<Json> {
    return this.client.admin('POST', '/model-configs/pricing', {
      provider: 'openai',
      model: 'batcher',
      effective_from: '2020-01-01T00:00:00Z',
      pay_as_you_go: {
        request_token: { price: 0.0002 },
        response_token: { price: 0.0006 },
        service_tiers: { batch: { request_token: { price: 0.0001 }, response_token: { price: 0.0003 } } },
      },
    });
  }

  /** All entries of rows, once there are so many. */
  async rows(count: number): Promise<Json[]> {
    const all = await until(
      async () => {
        const found: Json[] = [];
        for (let page = 0; ; page++) {
          const got = await this.client.admin('GET', `/logs?page_size=100&current_page=${page}`);
          found.push(...(got.data as Json[]));
          if ((got.data as Json[]).length < 100) break;
        }
        return found.filter(({ usage }) => (usage as Json | undefined)?.total_tokens);
      },
      ({ length }) => length >= count,
    );
    return all;
  }
}

const sumOf = (entries: readonly Json[]): bigint =>
  entries.reduce((sum, { cost_exact: cost }) => sum + BigInt(String(cost ?? 0)), 0n);

async function start(t: ExecutionContext, rows: number, env: Record<string, string> = {}): Promise<World> {
  const [gateway, provider] = await Promise.all([startGateway(env), startBatchProvider(rows)]);
  t.teardown(async () => {
    await Promise.all([gateway.close(), provider.close()]);
  });
  const world = new World(gateway, provider);
  await world.price();
  return world;
}

test('an output is booked row by row at batch prices, once, for the key that made the batch', async (t) => {
  const world = await start(t, 250);
  const maker = await world.client.key({ usage_limits: { type: 'cost', credit_limit: 1000 } });
  await world.batch(maker.key, { 'x-gateway-metadata': '{"team":"a"}' });
  await world.get('/batches/batch_1', 'look', maker.key);
  const texts = await Promise.all(
    ['one', 'two', 'three'].map((trace) => world.get('/files/file-out/content', trace)),
  );
  t.is(new Set(texts).size, 1);
  t.is(texts[0]!.split('\n').length, 250);
  await world.get('/batches/batch_1/output', 'four', maker.key);
  const entries = await world.rows(250);
  t.is(entries.length, 250);
  t.is(sumOf(entries), sumTo(250));
  t.like(entries[0], {
    api_key_id: maker.id,
    metadata: { team: 'a', _batch: 'batch_1' },
    model: 'batcher',
    response_model: 'batcher-2026-01-01',
    status_code: 200,
  });
  const dollars = Number(sumTo(250)) / 1e12;
  const used = (record: Json) => (record.usage_limits as Json).current_usage;
  t.is(used(await world.client.keyUntil(maker.id, (record) => used(record) === dollars)), dollars);
  await world.get('/files/file-err/content', 'five');
  await world.get('/files/file-plain/content', 'six');
  await world.get('/files/file-out/content', 'seven', maker.key);
  t.is((await world.rows(250)).length, 250);
});

test('an output of a batch that was made elsewhere is booked for who fetches it', async (t) => {
  const world = await start(t, 3);
  await world.get('/files/file-out/content', 'elsewhere');
  const entries = await world.rows(3);
  t.is(entries.length, 3);
  t.deepEqual(
    entries.map(({ model, unpriced }) => [model, unpriced]),
    Array.from({ length: 3 }, () => ['batcher-2026-01-01', true]),
    'the name of the model that was asked for is not known, and this one has no price',
  );
});

test('lines that are no rows are in no books, and what cannot be read is not given', async (t) => {
  const world = await start(t, 2);
  const { files } = world.provider;
  const out = files.get('file-out')!;
  const mixed = Buffer.from(`${out.content}\nno json\n{"custom_id":5}\n[]\n\u0000\n`);
  files.set('file-out', { ...out, content: mixed });
  await world.batch();
  await world.get('/batches/batch_1', 'look');
  t.is(await world.get('/files/file-out/content', 'mixed'), mixed.toString());
  t.is((await world.rows(2)).length, 2);
  const { data } = (await world.client.admin('GET', '/logs?page_size=100')) as { data: Json[] };
  t.is(data.filter(({ metadata }) => (metadata as Json | undefined)?._batch === 'batch_1').length, 2);
});

for (const [name, first, isBooked] of [
  ['names its custom_id', JSON.stringify({ ...outputRow(1), padding: 'x'.repeat(1_200_000) }), true],
  ['begins with spaces', `${' '.repeat(100)}${JSON.stringify(outputRow(1))}`, true],
  ['names none', JSON.stringify({ padding: 'x'.repeat(1_200_000), ...outputRow(1) }), false],
  ['is no object', `[${JSON.stringify(outputRow(1))}]`, false],
] as const)
  test(`a file of no known batch is booked by its first line: it ${name}`, async (t) => {
    const world = await start(t, 1);
    const { files } = world.provider;
    const content = `${first}\n${JSON.stringify(outputRow(2))}`;
    files.set('file-out', { ...files.get('file-out')!, content: Buffer.from(content) });
    t.is(await world.get('/files/file-out/content', 'long'), content);
    t.is((await world.rows(isBooked ? 2 : 0)).length, isBooked ? 2 : 0);
  });

test('a fetch that breaks off is gone on with by the next one, after a restart too', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-provider-batch-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const provider = await startBatchProvider(1500);
  t.teardown(() => provider.close());
  const first = new World(await startGateway({ GATEWAY_DATA_DIR: dataDir }), provider);
  await first.price();
  await first.batch();
  await first.get('/batches/batch_1', 'look');
  for (let i = 0; i < 2; i++) {
    const leaving = new AbortController();
    const answer = await fetch(`${first.gateway.origin}/v1/files/file-out/content`, {
      headers: first.headers(WORKSPACE_KEY, 'left'),
      signal: leaving.signal,
    });
    await answer.body!.getReader().read();
    leaving.abort();
  }
  await first.gateway.close();
  const second = new World(await startGateway({ GATEWAY_DATA_DIR: dataDir }), provider);
  t.teardown(() => second.gateway.close());
  await second.get('/files/file-out/content', 'whole');
  const entries = await second.rows(1500);
  t.is(entries.length, 1500);
  t.is(sumOf(entries), sumTo(1500));
});

const [mongo, redis] = [await mongoServer(), await redisServer()];
if (!mongo || !redis) reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
else
  test('two instances that fetch one output at once book it once', async (t) => {
    const uri = new URL(mongo.uri);
    uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const env = {
      MONGODB_URI: uri.href,
      REDIS_URL: redis.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
    const one = await start(t, 400, env);
    const other = new World(await startGateway(env), one.provider);
    t.teardown(() => other.gateway.close());
    const { id, key } = await one.client.key({ usage_limits: { type: 'cost', credit_limit: 1000 } });
    await one.batch(key);
    await one.get('/batches/batch_1', 'look', key);
    await Promise.all(
      [one, other, one, other].map((world, i) => world.get('/files/file-out/content', `at-once-${i}`)),
    );
    const entries = await other.rows(400);
    t.is(entries.length, 400);
    t.is(sumOf(entries), sumTo(400));
    const dollars = Number(sumTo(400)) / 1e12;
    const used = (record: Json) => (record.usage_limits as Json).current_usage;
    t.is(used(await one.client.keyUntil(id, (record) => used(record) === dollars)), dollars);
  });
