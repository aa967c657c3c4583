// OpenAI's own client: batches that the gateway runs, and a provider's own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import OpenAI, { toFile } from 'openai';
import { eventually } from '../support/eventually.ts';
import { startFilesProvider } from '../support/fake-files.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient, until } from '../support/limits-client.ts';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFakeProvider(),
  ]);
});
test.after.always(async () => {
  await provider?.close();
  await gateway?.close();
});

const config = (prefix: string): string =>
  JSON.stringify({ provider: 'deepseek', api_key: 'sk-own', custom_host: provider.origin + prefix });
const clientOf = ({ origin }: TestGateway, prefix: string, headers: Record<string, string> = {}): OpenAI =>
  new OpenAI({
    apiKey: WORKSPACE_KEY,
    baseURL: `${origin}/v1`,
    maxRetries: 0,
    defaultHeaders: { 'x-gateway-config': config(prefix), ...headers },
  });
const URL = '/v1/chat/completions';
const row = (id: string, model = 'gpt-ok', more: object = {}): string =>
  JSON.stringify({
    custom_id: id,
    method: 'POST',
    url: URL,
    body: { model, messages: [{ role: 'user', content: 'hi' }] },
    ...more,
  });

async function made(openai: OpenAI, lines: readonly string[], metadata?: Record<string, string>) {
  const file = await openai.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'),
    purpose: 'batch',
  });
  return openai.batches.create({
    input_file_id: file.id,
    endpoint: URL,
    completion_window: '24h',
    ...(metadata && { metadata }),
  });
}

const over = (openai: OpenAI, id: string) =>
  eventually('the batch to end', async () => {
    const batch = await openai.batches.retrieve(id);
    return ['completed', 'failed', 'cancelled', 'expired'].includes(batch.status) ? batch : undefined;
  });

interface Answered {
  readonly id: string;
  readonly custom_id: string | null;
  readonly response: { readonly status_code: number; readonly body: { readonly object?: string } } | null;
  readonly error: { readonly message: string; readonly line: number; readonly param?: string } | null;
}

async function rowsOf(openai: OpenAI, id: string): Promise<Answered[]> {
  const text = await (await openai.files.content(id)).text();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Answered);
}

test('a batch for a provider without batches: rows run, bad ones are told by line and member', async (t) => {
  const openai = clientOf(gateway, '/plain');
  const batch = await made(
    openai,
    [
      row('a'),
      'no json',
      row('b', 'status-503'),
      '',
      row('a'),
      row('c', 'gpt-ok', { body: { model: 'gpt-ok' } }),
      row('d', 'gpt-ok', { url: '/v1/embeddings' }),
      row('e', 'gpt-ok', { body: { model: 'gpt-ok', messages: [], stream: true } }),
      row('f'),
    ],
    { my: 'own' },
  );
  t.like(batch, { object: 'batch', status: 'validating', endpoint: URL, metadata: { my: 'own' } });
  const done = await over(openai, batch.id);
  t.is(done.status, 'completed');
  t.deepEqual(done.request_counts, { total: 8, completed: 2, failed: 6 });
  const output = await rowsOf(openai, done.output_file_id!);
  t.deepEqual(output.map(({ custom_id: id }) => id).sort(), ['a', 'f']);
  for (const { response, error } of output) {
    t.is(response?.status_code, 200);
    t.is(response?.body.object, 'chat.completion');
    t.is(error, null);
  }
  const errors = await rowsOf(openai, done.error_file_id!);
  t.is(errors.find(({ custom_id: id }) => id === 'b')?.response?.status_code, 503);
  const faults = errors.flatMap(({ error }) => (error === null ? [] : [error]));
  t.deepEqual(
    faults.map(({ line, param }) => [line, param]).sort((a, b) => Number(a[0]) - Number(b[0])),
    [
      [2, undefined],
      [5, 'custom_id'],
      [6, 'body.messages'],
      [7, 'url'],
      [8, 'body.stream'],
    ],
  );
  for (const { line, message } of faults) t.true(message.includes(`line ${line}`), message);
  t.true(
    done.errors?.data?.some(({ line, message }) => line === 6 && message?.includes('line 6: body.messages')),
  );
  const raw = await fetch(`${gateway.origin}/v1/batches/${batch.id}/output`, {
    headers: { authorization: `Bearer ${WORKSPACE_KEY}` },
  });
  t.is((await raw.text()).trim().split('\n').length, 2);
  t.is(provider.seen.filter(({ url }) => url.startsWith('/plain/')).length, 3);
});

test('lists go on after a batch, and limits are 1 to 100', async (t) => {
  const openai = clientOf(gateway, '/lists', { 'x-gateway-metadata': '{"own":"1"}' });
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await made(openai, [row('a')])).id);
  const listed: string[] = [];
  for await (const batch of openai.batches.list({ limit: 2 })) listed.push(batch.id);
  t.deepEqual(
    listed.filter((id) => ids.includes(id)),
    ids.toReversed(),
  );
  for (const limit of [0, 101]) {
    const error = await t.throwsAsync(openai.batches.list({ limit }), { instanceOf: OpenAI.BadRequestError });
    t.is(error?.param, 'limit');
  }
  await t.throwsAsync(openai.batches.retrieve('batch_gw_none'), { instanceOf: OpenAI.NotFoundError });
});

test('what is wrong with a batch is told at once', async (t) => {
  const openai = clientOf(gateway, '/wrong');
  const file = await openai.files.create({
    file: await toFile(Buffer.from(row('a')), 'in'),
    purpose: 'user_data',
  });
  const ask = (more: object) =>
    openai.batches.create({ input_file_id: file.id, endpoint: URL, completion_window: '24h', ...more });
  for (const [more, param] of [
    [{}, 'input_file_id'],
    [{ endpoint: '/v1/images' }, 'endpoint'],
    [{ completion_window: '1h' }, 'completion_window'],
  ] as const) {
    const error = await t.throwsAsync(ask(more), { instanceOf: OpenAI.BadRequestError });
    t.is(error?.param, param);
  }
  await t.throwsAsync(ask({ input_file_id: 'file-gw-none' }), { instanceOf: OpenAI.NotFoundError });
  const empty = await made(openai, ['', '']);
  t.like(await over(openai, empty.id), { status: 'failed', errors: { data: [{ code: 'empty_file' }] } });
});

test('a batch is cancelled: rows that have not begun are not run', async (t) => {
  const openai = clientOf(gateway, '/cancel');
  const batch = await made(
    openai,
    Array.from({ length: 400 }, (_, i) => row(`r${i}`, 'slow-100')),
  );
  await eventually('rows to run', () => provider.seen.some(({ url }) => url.startsWith('/cancel/')));
  t.is((await openai.batches.cancel(batch.id)).status, 'cancelling');
  const done = await over(openai, batch.id);
  t.is(done.status, 'cancelled');
  t.true(done.request_counts!.completed < 400);
});

test('a batch goes on unasked after a stop, and each row is answered once', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-batch-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const first = await startGateway({ GATEWAY_DATA_DIR: dataDir, GATEWAY_DRAIN_SECONDS: '0' });
  const count = 120;
  const batch = await made(
    clientOf(first, '/again'),
    Array.from({ length: count }, (_, i) => row(`r${i}`, 'slow-50')),
  );
  await eventually(
    'some rows',
    () => provider.seen.filter(({ url }) => url.startsWith('/again/')).length > 30,
  );
  await first.close();
  const second = await startGateway({ GATEWAY_DATA_DIR: dataDir });
  t.teardown(() => second.close());
  const openai = clientOf(second, '/again');
  const done = await over(openai, batch.id);
  t.like(done, { status: 'completed', request_counts: { total: count, completed: count, failed: 0 } });
  const ids = (await rowsOf(openai, done.output_file_id!)).map(({ custom_id: id }) => id);
  t.is(ids.length, count);
  t.is(new Set(ids).size, count);
  const asked = provider.seen.filter(({ url }) => url.startsWith('/again/')).length;
  t.true(asked <= count + 16, `${asked} calls`);
});

test('a provider’s own batches are relayed, with files of the gateway copied there', async (t) => {
  const own = await startFilesProvider();
  t.teardown(() => own.close());
  own.answer = (verb, path, body) => {
    const batch = {
      id: 'batch_1',
      object: 'batch',
      status: 'completed',
      output_file_id: 'file-1',
      error: null,
    };
    if (verb === 'POST' && path.endsWith('/batches')) return { ...batch, ...(body as object) };
    if (path.endsWith('/batches'))
      return { object: 'list', data: [batch], has_more: false, first_id: 'batch_1' };
    return path.includes('/batches/batch_1') ? batch : undefined;
  };
  const openai = clientOf(gateway, '', {
    'x-gateway-config': JSON.stringify({ provider: 'openai', api_key: 'sk', custom_host: own.origin }),
  });
  const kept = await clientOf(gateway, '/kept').files.create({
    file: await toFile(Buffer.from(row('a')), 'in'),
    purpose: 'batch',
  });
  const batch = await openai.batches.create({
    input_file_id: kept.id,
    endpoint: URL,
    completion_window: '24h',
  });
  t.is(own.files.get(batch.input_file_id)?.content?.toString(), row('a'));
  t.is((await openai.batches.list({ limit: 5, after: 'x' })).data[0]?.id, 'batch_1');
  t.true(own.seen.some((seen) => seen.endsWith('/batches?after=x&limit=5')));
  t.is((await openai.batches.cancel('batch_1')).id, 'batch_1');
  const raw = await fetch(`${gateway.origin}/v1/batches/batch_1/output`, {
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'x-gateway-config': JSON.stringify({ provider: 'openai', api_key: 'sk', custom_host: own.origin }),
    },
  });
  t.is(await raw.text(), row('a'));
});

test('a batch above its budget ends failed with the reason, and none of its rows runs', async (t) => {
  const made1 = await fetch(`${gateway.origin}/v1/policies/usage-limits`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'little',
      conditions: [{ key: 'metadata.team', value: 'poor' }],
      group_by: [{ key: 'workspace_id' }],
      type: 'tokens',
      credit_limit: 3000,
    }),
  });
  t.is(made1.status, 200);
  const openai = clientOf(gateway, '/poor', { 'x-gateway-metadata': '{"team":"poor"}' });
  const batch = await made(
    openai,
    Array.from({ length: 10 }, (_, i) => row(`r${i}`)),
  );
  const done = await over(openai, batch.id);
  t.is(done.status, 'failed');
  t.is(done.errors?.data?.[0]?.code, 'budget_exhausted');
  t.false(provider.seen.some(({ url }) => url.startsWith('/poor/')));
  const small = await over(openai, (await made(openai, [row('one')])).id);
  t.is(small.status, 'completed', 'what was held is free again');
});

test('the money of a batch is the sum of its entries, to the last digit', async (t) => {
  const client = limitsClient(gateway, provider);
  await client.admin('POST', '/model-configs/pricing', {
    provider: 'deepseek',
    model: 'gpt-ok',
    effective_from: '2020-01-01T00:00:00Z',
    pay_as_you_go: { request_token: { price: 0.0000123457 }, response_token: { price: 0.0000765433 } },
  });
  const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 1000 } });
  const openai = new OpenAI({
    apiKey: key,
    baseURL: `${gateway.origin}/v1`,
    maxRetries: 0,
    defaultHeaders: { 'x-gateway-config': config('/money') },
  });
  const count = 37;
  const rows = Array.from({ length: count }, (_, i) => row(`r${i}`));
  const batch = await over(openai, (await made(openai, rows)).id);
  t.like(batch, { status: 'completed', request_counts: { completed: count } });
  const metadata = encodeURIComponent(JSON.stringify({ _batch: batch.id }));
  const page = await until(
    () => client.admin('GET', `/logs?page_size=100&metadata=${metadata}`),
    ({ total }) => Number(total) >= count,
  );
  const entries = page.data as Json[];
  t.is(entries.length, count);
  const sum = entries.reduce((all, { cost_exact: cost }) => all + BigInt(String(cost)), 0n);
  t.true(sum > 0n);
  const dollars = Number(`${sum / 10n ** 12n}.${String(sum % 10n ** 12n).padStart(12, '0')}`);
  const used = (record: Json): unknown => (record.usage_limits as Json).current_usage;
  t.is(used(await client.keyUntil(id, (record) => used(record) === dollars)), dollars);
});
