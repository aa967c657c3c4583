// Money of what is no token: images by kind, pages, seconds, characters. Exact, in the log and in budgets; what has no price
// says so.
import test from 'ava';
import { type Bench, startBench } from '../contract/runner.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { chatHeaders, type Json, type LimitsClient, limitsClient } from '../support/limits-client.ts';

let bench: Bench;
let client: LimitsClient;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
});
test.after.always(() => bench?.close());

const price = (provider: string, model: string, rates: Json): Promise<Json> =>
  client.admin('POST', '/model-configs/pricing', {
    provider,
    model,
    effective_from: '2020-01-01T00:00:00Z',
    pay_as_you_go: rates,
  });

let traces = 0;
/** The log's entry of a call. */
async function entryOf(
  path: string,
  body: Json,
  headers: Record<string, string> = {},
  key = WORKSPACE_KEY,
): Promise<Json> {
  const trace = `media-${traces++}`;
  const answer = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: { ...chatHeaders(bench.provider, key), 'x-gateway-trace-id': trace, ...headers },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
  const [entry] = await client.logs(trace);
  return entry!;
}

const mistral = { 'x-gateway-provider': 'mistral-ai' };
const PAINTER = { model: 'painter', prompt: 'a lamp' };

test.serial('images cost by quality and size, in cents, and another size its own', async (t) => {
  await price('openai', 'painter', {
    image: {
      high: { '1024x1024': { price: 4.0000000001 }, default: { price: 7 } },
      default: { default: { price: 1.5 } },
    },
  });
  const entry = await entryOf('/images/generations', {
    ...PAINTER,
    n: 3,
    quality: 'high',
    size: '1024x1024',
  });
  t.is(entry.cost_exact, '120000000003');
  t.like(entry.usage, { units: { images: 3, image_kind: 'high.1024x1024' } });
  t.is(
    (await entryOf('/images/generations', { ...PAINTER, quality: 'high', size: '256x256' })).cost_exact,
    '70000000000',
  );
  t.is((await entryOf('/images/generations', PAINTER)).cost_exact, '15000000000');
  const streamed = await entryOf('/images/generations', { ...PAINTER, stream: true });
  t.is(streamed.cost_exact, '15000000000');
});

test.serial('images whose tokens are counted cost their tokens', async (t) => {
  await price('openai', 'gpt-image-x', {
    request_token: { price: 0.0005 },
    response_image_token: { price: 0.004 },
    image: { default: { default: { price: 100 } } },
  });
  const entry = await entryOf('/images/generations', { model: 'gpt-image-x', prompt: 'a lamp' });
  t.is(entry.cost_exact, String(10n * 5_000_000n + 20n * 40_000_000n));
});

test.serial('pages cost by the page', async (t) => {
  await price('mistral-ai', 'reader', { additional_units: { page: { price: 0.3 } } });
  const document = { type: 'document_url', document_url: 'https://docs.example/a' };
  const entry = await entryOf('/ocr', { model: 'reader', document }, mistral);
  t.is(entry.cost_exact, '3000000000');
  t.like(entry.usage, { units: { pages: 1 } });
});

test.serial('what has no price is unpriced, never 0, also where the model has another price', async (t) => {
  const unknown = await entryOf('/images/generations', { model: 'unknown-painter', prompt: 'a lamp' });
  t.is(unknown.unpriced, true);
  t.is(unknown.cost_exact, undefined);
  await price('openai', 'talker', { request_token: { price: 0.0005 } });
  const other = await entryOf('/images/generations', { model: 'talker', prompt: 'a lamp' });
  t.is(other.unpriced, true);
  t.is(other.cost_exact, undefined);
});

test.serial(
  'a budget counts images, and refuses what would be above it before the provider is called',
  async (t) => {
    await price('openai', 'costly', { image: { default: { default: { price: 30 } } } });
    const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 1 } });
    const body = { model: 'costly', prompt: 'a lamp', n: 3 };
    await entryOf('/images/generations', body, {}, key);
    const spent = await client.keyUntil(id, (record) => JSON.stringify(record).includes('0.9'));
    t.regex(JSON.stringify(spent), /0\.9/);
    const before = bench.provider.seen.length;
    const refused = await fetch(`${bench.gateway.origin}/v1/images/generations`, {
      method: 'POST',
      headers: chatHeaders(bench.provider, key),
      body: JSON.stringify(body),
    });
    t.is(refused.status, 412);
    t.is(bench.provider.seen.length, before);
  },
);

test.serial('own prices of every kind are given back as they were set', async (t) => {
  const rates = {
    additional_units: {
      audio_second: { price: 0.01 },
      video_second: { price: 10 },
      character: { price: 0.0015 },
      page: { price: 0.1 },
      trained_token: { price: 0.0003 },
    },
    image: { high: { '1024x1024': { price: 4 }, default: { price: 7 } } },
    service_tiers: { batch: { image: { high: { '1024x1024': { price: 2 } } } } },
  };
  const made = await price('openai', 'all-kinds', rates);
  t.deepEqual(made.pay_as_you_go, rates);
  const bad = await fetch(`${bench.gateway.origin}/v1/model-configs/pricing`, {
    method: 'POST',
    headers: { ...chatHeaders(bench.provider, 'x'), 'x-gateway-api-key': 'x' },
    body: '{}',
  });
  t.is(bad.status, 401);
});
