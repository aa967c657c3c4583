// Model pricing over REST, Connect and gRPC: list prices, an organisation's own, and what calls then cost.
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { ModelPricingService } from '../../gen/gateway/admin/v2/model_pricing_pb.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, type JsonObject, PROVIDER_KEY, startBench, UUID } from './runner.ts';
import { storiesOf } from './story.ts';

const { method } = ModelPricingService;

let bench: Bench;
let count = 0;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);
const rates = (request: number, response?: number): JsonObject => ({
  request_token: { price: request },
  ...(response === undefined ? {} : { response_token: { price: response } }),
});

test('list prices are had without a key, in US cents, at the root and under the base paths', async (t) => {
  for (const base of ['', '/v1', '/v2']) {
    const answer = await fetch(`${bench.gateway.origin}${base}/model-configs/pricing/openai/gpt-4o-mini`);
    t.is(answer.status, 200, base);
    const { service_tiers: tiers, ...plain } = (await answer.json()) as JsonObject;
    t.like(tiers, {
      batch: { request_token: { price: 0.0000075 } },
      priority: { response_token: { price: 0.0001 } },
    });
    t.deepEqual(plain, {
      pay_as_you_go: {
        request_token: { price: 0.000015 },
        response_token: { price: 0.00006 },
        cache_read_input_token: { price: 0.0000075 },
        additional_units: { web_search: { price: 2.5 } },
      },
      calculate: {
        request: {
          operation: 'sum',
          operands: [
            {
              operation: 'multiply',
              operands: [{ value: 'input_tokens' }, { value: 'rates.request_token' }],
            },
            {
              operation: 'multiply',
              operands: [{ value: 'cache_read_tokens' }, { value: 'rates.cache_read_input_token' }],
            },
          ],
        },
        response: {
          operation: 'sum',
          operands: [
            {
              operation: 'multiply',
              operands: [{ value: 'output_tokens' }, { value: 'rates.response_token' }],
            },
          ],
        },
      },
      currency: 'USD',
    });
  }
});

test('what is not listed is 404 with the error as a text; names may hold slashes', async (t) => {
  const get = (path: string, verb = 'GET') =>
    fetch(`${bench.gateway.origin}/model-configs/pricing/${path}`, { method: verb });
  for (const path of ['openai/nothing', 'nobody/gpt-4o', 'openai/%E0%A4%A']) {
    const answer = await get(path);
    t.true(answer.status === 404 || answer.status === 400, path);
    if (answer.status === 404) t.is(((await answer.json()) as JsonObject).error, 'Model not found');
  }
  const slashed = await get('deepinfra/ByteDance/Seed-1.8');
  t.is(slashed.status, 200);
  t.is((await get('openai/gpt-4o', 'POST')).status, 405);
  t.is((await get('')).status, 404, 'only look-ups are at the root');
});

story('an own price is made, listed, changed, archived', async (t, admin) => {
  const model = `model/${++count}`;
  const from = '2026-01-31T00:00:00Z';
  const made = await admin.ok(method.createModelPrice, {
    provider: 'openai',
    model,
    effective_from: from,
    pay_as_you_go: { ...rates(0.0001, 0.5), cache_read_input_token: { price: 1e-10 } },
  });
  t.regex(String(made.id), UUID);
  t.is(made.object, 'model-price');
  t.is(made.effective_from, '2026-01-31T00:00:00.000Z');
  t.deepEqual(made.pay_as_you_go, { ...rates(0.0001, 0.5), cache_read_input_token: { price: 1e-10 } });
  const price_id = made.id!;
  t.deepEqual(await admin.ok(method.getModelPrice, { price_id }), made);
  const list = await admin.ok(method.listModelPrices, { provider: 'openai', model });
  t.is(Number(list.total), 1);
  t.deepEqual(list.data, [made]);

  const again = { provider: 'openai', model, effective_from: from, pay_as_you_go: rates(1) };
  t.is((await admin.refused(method.createModelPrice, again)).status, 409);
  const changed = await admin.ok(method.updateModelPrice, { price_id, pay_as_you_go: rates(0) });
  t.deepEqual(changed.pay_as_you_go, rates(0));
  t.is(changed.effective_from, made.effective_from);
  t.deepEqual(await admin.ok(method.deleteModelPrice, { price_id }), {});
  t.is((await admin.refused(method.getModelPrice, { price_id })).status, 404);
  t.is((await admin.refused(method.deleteModelPrice, { price_id })).status, 404);
  await admin.ok(method.createModelPrice, again);
});

story('bad prices are refused, naming the field', async (t, admin) => {
  const refused = async (more: JsonObject, param: string) => {
    const body = { provider: 'openai', model: 'm', pay_as_you_go: rates(1), ...more };
    const error = await admin.refused(method.createModelPrice, body);
    t.is(error.status, 400);
    t.is(error.param, param, error.message);
  };
  await refused({ provider: 'nobody' }, 'provider');
  await refused({ model: '' }, 'model');
  await refused({ effective_from: 'tomorrow' }, 'effective_from');
  await refused({ effective_from: '2026-02-31T00:00:00Z' }, 'effective_from');
  await refused({ pay_as_you_go: {} }, 'pay_as_you_go');
  await refused({ pay_as_you_go: { reasoning_token: { price: 1 } } }, 'pay_as_you_go');
  await refused({ pay_as_you_go: rates(-1) }, 'pay_as_you_go.request_token.price');
  await refused({ pay_as_you_go: rates(1, 1e-11) }, 'pay_as_you_go.response_token.price');
  await refused({ currency: 'EUR' }, 'currency');
  const { id } = await admin.ok(method.createModelPrice, {
    provider: 'openai',
    model: `bad-${++count}`,
    pay_as_you_go: rates(1),
  });
  t.is((await admin.refused(method.updateModelPrice, { price_id: id! })).status, 400);
  t.is((await admin.as(WORKSPACE_KEY).refused(method.getModelPrice, { price_id: id! })).status, 403);
});

async function price(body: JsonObject): Promise<string> {
  const answer = await fetch(`${bench.gateway.origin}/v1/model-configs/pricing`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ provider: 'openai', ...body }),
  });
  return String(((await answer.json()) as JsonObject).id);
}

/** The exact cost of one chat, in 1e-12 USD. The provider tells 11 tokens in, 3 of them cached, and 7 out. */
async function costOfChat(
  t: ExecutionContext,
  model: string,
  select: Readonly<Record<string, string>> = {
    'x-gateway-provider': 'openai',
    'x-gateway-custom-host': bench.provider.origin,
    authorization: `Bearer ${PROVIDER_KEY}`,
  },
): Promise<unknown> {
  const trace = `price-${++count}`;
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      ...select,
      'x-gateway-trace-id': trace,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  });
  t.is(answer.status, 200, await answer.text());
  for (let i = 0; i < 100; i++) {
    const logs = await fetch(`${bench.gateway.origin}/v1/logs?trace_id=${trace}`, {
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    });
    const { data } = (await logs.json()) as { data: JsonObject[] };
    if (data[0] !== undefined) return data[0].cost_exact;
    await sleep(20);
  }
  return t.fail('the call is not in the log');
}

test.serial('calls cost what the price says that held when they began', async (t) => {
  t.is(await costOfChat(t, 'gpt-4o'), '93750000', 'the list');
  await price({ model: 'gpt-4o', effective_from: '2999-01-01T00:00:00Z', pay_as_you_go: rates(9, 9) });
  await price({ model: 'gpt-4o', effective_from: '2020-01-01T00:00:00Z', pay_as_you_go: rates(5, 5) });
  const id = await price({ model: 'gpt-4o', pay_as_you_go: rates(1, 2) });
  await sleep(5);
  t.is(await costOfChat(t, 'gpt-4o'), String(11n * 10n ** 10n + 7n * 2n * 10n ** 10n), 'our newest');
  await fetch(`${bench.gateway.origin}/v1/model-configs/pricing/${id}`, {
    method: 'DELETE',
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  t.is(await costOfChat(t, 'gpt-4o'), String(18n * 5n * 10n ** 10n), 'our one before');
  const list = await fetch(`${bench.gateway.origin}/model-configs/pricing/openai/gpt-4o`);
  const { pay_as_you_go: shown } = (await list.json()) as { pay_as_you_go: { request_token: JsonObject } };
  t.is(shown.request_token.price, 0.00025, 'everybody is shown the list');
});

test.serial("an integration's own prices count for the semantic cache's vectors", async (t) => {
  const made = async (verb: string, path: string, body: JsonObject): Promise<void> => {
    const answer = await fetch(`${bench.gateway.origin}/v1${path}`, {
      method: verb,
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    t.is(answer.status, 200, `${path}: ${await answer.text()}`);
  };
  await made('POST', '/integrations', {
    name: 'vectors',
    slug: 'vectors',
    ai_provider_id: 'openai',
    key: PROVIDER_KEY,
    configurations: { custom_host: bench.provider.origin },
  });
  await made('PUT', '/integrations/vectors/workspaces', { workspaces: [{ id: 'default', enabled: true }] });
  await made('PUT', '/integrations/vectors/models', {
    models: [
      {
        slug: 'our-vectors',
        enabled: true,
        is_custom: true,
        pricing_config: { type: 'static', pay_as_you_go: rates(3, 0) },
      },
    ],
  });
  const embeddings = { provider: '@vectors', override_params: { model: 'our-vectors' } };
  const config = {
    provider: 'openai',
    api_key: PROVIDER_KEY,
    custom_host: bench.provider.origin,
    cache: { mode: 'semantic', threshold: 0.9, embeddings },
  };
  const cost = await costOfChat(t, 'unpriced', { 'x-gateway-config': JSON.stringify(config) });
  t.is(
    cost,
    String(5n * 3n * 10n ** 12n),
    'five tokens of the vector at 3 USD; of the chat no price is known',
  );
});
