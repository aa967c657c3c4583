// What Prometheus scrapes: a text without a fault, numbers that are right, and labels that no caller can write.
import { readFileSync } from 'node:fs';
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { send } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type ReadFamily, readExposition } from './exposition.ts';

const CREDENTIAL = 'sk-scraped-credential-0123456789';
const METRICS_TOKEN = 'metrics-token-0123456789';
const INVENTED = 'invented-by-a-caller';
const CHAT = 'gateway.inference.v2.ChatService/CreateChatCompletion';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  provider = await startFakeProvider();
  gateway = await startGateway({
    GATEWAY_METRICS_MODELS: 'own-model,other-own-model',
    GATEWAY_METRICS_TOKEN: METRICS_TOKEN,
  });
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

async function ask(
  model: string,
  config: object = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const target = { provider: 'openai', custom_host: provider.origin, api_key: CREDENTIAL };
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({ ...target, ...config }),
      'x-gateway-metadata': JSON.stringify({ team: INVENTED }),
      'x-gateway-trace-id': INVENTED,
      ...headers,
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: INVENTED }] }),
  });
  await answer.text();
  return answer;
}

async function scrape(): Promise<{ text: string; families: Map<string, ReadFamily>; faults: string[] }> {
  const answer = await fetch(`${gateway.origin}/metrics`, {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  });
  const text = await answer.text();
  return { text, ...readExposition(text) };
}

type Labels = Readonly<Record<string, string>>;

/** The sum of the samples that have these labels. */
function total(families: Map<string, ReadFamily>, name: string, labels: Labels = {}): number {
  const family = families.get(name) ?? families.get(name.replace(/_(?:count|sum|bucket)$/, ''));
  const samples = family?.samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([l, v]) => sample.labels[l] === v),
  );
  return samples?.reduce((sum, { value }) => sum + value, 0) ?? Number.NaN;
}

test.serial('calls are counted by operation, provider, model and class of status', async (t) => {
  for (let i = 0; i < 3; i++) await ask('gpt-4o-mini');
  await ask('status-429');
  await ask('status-500');
  const { families, faults } = await scrape();
  t.deepEqual(faults, []);
  const openai = { operation: CHAT, provider: 'openai' };
  t.is(total(families, 'sluice_requests_total', { ...openai, model: 'gpt-4o-mini', status_class: '2xx' }), 3);
  t.is(total(families, 'sluice_requests_total', { ...openai, model: 'other', status_class: '4xx' }), 1);
  t.is(total(families, 'sluice_requests_total', { ...openai, model: 'other', status_class: '5xx' }), 1);
  const own = { ...openai, model: 'gpt-4o-mini' };
  t.is(total(families, 'sluice_attempt_duration_seconds_count', own), 3);
  t.is(total(families, 'sluice_attempt_duration_seconds_count', { ...openai, error: '429' }), 1);
  t.is(total(families, 'sluice_tokens_total', { ...own, type: 'input' }), 33);
  t.is(total(families, 'sluice_tokens_total', { ...own, type: 'output' }), 21);
  t.is(total(families, 'sluice_tokens_total', { ...own, type: 'cached_input' }), 9);
  t.is(total(families, 'sluice_errors_total', { reason: 'upstream_status' }), 2);
  t.is(total(families, 'sluice_call_duration_seconds_count', { operation: CHAT, status: '200' }), 3);
});

test.serial('what calls cost is what the log says', async (t) => {
  const { json } = await send(gateway, 'GET', '/logs?page_size=100');
  const entries = json.data as readonly { readonly cost?: number | string }[];
  const { families } = await scrape();
  const cost = total(families, 'sluice_cost_usd_total');
  t.true(cost > 0);
  t.true(entries.length >= 5);
  // gpt-4o-mini in the price list: 8 + 3 cached input tokens and 7 output tokens, three times.
  t.true(Math.abs(cost - 3 * (8 * 0.15e-6 + 3 * 0.075e-6 + 7 * 0.6e-6)) < 1e-12, String(cost));
});

test.serial('retries, fallbacks and the cache', async (t) => {
  await ask('flaky-1-scrape', { retry: { attempts: 2, on_status_codes: [429] } });
  const target = { provider: 'openai', custom_host: provider.origin, api_key: CREDENTIAL };
  await ask('gpt-4o-mini', {
    strategy: { mode: 'fallback' },
    targets: [{ ...target, override_params: { model: 'status-503' } }, target],
  });
  for (let i = 0; i < 3; i++) await ask('gpt-4o', { cache: { mode: 'simple' } });
  const { families, faults } = await scrape();
  t.deepEqual(faults, []);
  t.is(total(families, 'sluice_retries_total'), 1);
  t.is(total(families, 'sluice_fallbacks_total'), 1);
  t.is(total(families, 'sluice_cache_lookups_total', { result: 'hit' }), 2);
  t.is(total(families, 'sluice_cache_lookups_total', { result: 'miss' }), 1);
});

test.serial('no label is a caller’s text', async (t) => {
  for (const model of [`${INVENTED}-1`, 'x"} 1\nfake_metric 1', CREDENTIAL, 'own-model']) await ask(model);
  await ask('gpt-4o-mini', {}, { 'x-gateway-api-key': `slk_${INVENTED}` });
  const { text, families, faults } = await scrape();
  t.deepEqual(faults, []);
  for (const word of [INVENTED, CREDENTIAL, 'fake_metric', WORKSPACE_KEY, ADMIN_KEY, provider.origin])
    t.false(text.includes(word), word);
  t.is(total(families, 'sluice_requests_total', { model: 'own-model' }), 1);
  const models = new Set(families.get('sluice_requests_total')!.samples.map(({ labels }) => labels.model));
  t.deepEqual([...models].sort(), ['gpt-4o', 'gpt-4o-mini', 'other', 'own-model']);
});

test.serial('limits, breakers and stores', async (t) => {
  const breaker = { cb_config: { failure_threshold: 1, cooldown_interval: 30_000 } };
  for (let i = 0; i < 3; i++) await ask('status-500', breaker);
  const { json } = await send(gateway, 'POST', '/policies/rate-limits', {
    key: ADMIN_KEY,
    body: {
      name: 'one each hour',
      type: 'requests',
      unit: 'rph',
      value: 1,
      conditions: [{ key: 'metadata.team', value: INVENTED }],
      group_by: [{ key: 'api_key' }],
    },
  });
  t.truthy(json.id, JSON.stringify(json));
  let limited = 0;
  for (let i = 0; i < 50 && limited === 0; i++) {
    if ((await ask('gpt-4o-mini')).status === 429) limited++;
  }
  t.is(limited, 1);
  const { families, faults } = await scrape();
  t.deepEqual(faults, []);
  t.true(total(families, 'sluice_limit_denials_total', { limit: 'rate' }) >= 1);
  t.is(total(families, 'sluice_store_up', { store: 'documents' }), 1);
  t.true(total(families, 'sluice_circuit_refusals_total') >= 1);
  t.is(total(families, 'sluice_circuits_open'), 1);
  t.true(total(families, 'sluice_resident_memory_bytes') > 1e7);
  t.true(total(families, 'process_cpu_seconds_total') > 0);
  t.is(total(families, 'sluice_request_log_dropped_total'), 0);
});

test.serial('every metric has its row in the guide, and the labels that it declares', async (t) => {
  const guide = readFileSync(new URL('../../src/docs/telemetry.md', import.meta.url), 'utf8');
  const { families } = await scrape();
  const declared = new Map(gateway.app.families.map(({ name, labels }) => [name, ['le', ...labels]]));
  for (const { name, samples } of families.values()) {
    t.true(guide.includes(`\`${name}\``), name);
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
    t.deepEqual(
      [...labels].filter((label) => !declared.get(name)!.includes(label)),
      [],
      name,
    );
  }
});
