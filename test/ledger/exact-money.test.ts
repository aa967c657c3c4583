// Money through the front door: many calls at odd prices sum to the last digit; an integration's adjustments count.
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatHeaders, type Json, type LimitsClient, limitsClient, until } from '../support/limits-client.ts';

let gateway: TestGateway;
let provider: FakeProvider;
let client: LimitsClient;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway(), startFakeProvider()]);
  client = limitsClient(gateway, provider);
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

/** The next call's answer tells so much. */
function answerWith(path: string, usage: Json, more: Json = {}): void {
  provider.next(path, (_, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'odd',
        ...more,
        choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
        usage,
      }),
    );
  });
}

const CALLS = 500;

test.serial(
  '500 calls at odd prices sum to the last digit in the key, the entries and the policy',
  async (t) => {
    // 1e-12 USD a token: numbers that no binary fraction holds.
    const [input, output, cached] = [1_234_567, 7_654_321, 333_333];
    await client.admin('POST', '/model-configs/pricing', {
      provider: 'openai',
      model: 'odd',
      effective_from: '2020-01-01T00:00:00Z',
      pay_as_you_go: {
        request_token: { price: input / 1e10 },
        response_token: { price: output / 1e10 },
        cache_read_input_token: { price: cached / 1e10 },
      },
    });
    const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 1000 } });
    const policy = await client.admin('POST', '/policies/usage-limits', {
      name: 'exact',
      type: 'cost',
      credit_limit: 1000,
      conditions: [{ key: 'metadata.run', value: 'exact' }],
      group_by: [{ key: 'metadata.run' }],
    });
    let expected = 0n;
    for (let i = 0; i < CALLS; i++) {
      const [prompt, completion, read] = [101 + ((i * 37) % 997), 1 + ((i * 53) % 409), (i * 7) % 101];
      expected +=
        BigInt(prompt - read) * BigInt(input) +
        BigInt(read) * BigInt(cached) +
        BigInt(completion) * BigInt(output);
      answerWith('/chat/completions', {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens: read },
      });
    }
    const headers = { 'x-gateway-trace-id': 'exact', 'x-gateway-metadata': '{"run":"exact"}' };
    for (let i = 0; i < CALLS; i += 25) {
      const some = Array.from({ length: 25 }, () => client.chat(headers, { model: 'odd' }, key));
      for (const { status } of await Promise.all(some)) t.is(status, 200);
    }
    const dollars = Number(`${expected / 10n ** 12n}.${String(expected % 10n ** 12n).padStart(12, '0')}`);
    const used = (record: Json) => (record.usage_limits as Json).current_usage;
    t.is(used(await client.keyUntil(id, (record) => used(record) === dollars)), dollars);
    let sum = 0n;
    let entries = 0;
    for (let page = 0; entries < CALLS && page < 10; page++) {
      const { data } = (await client.admin(
        'GET',
        `/logs?trace_id=exact&page_size=100&current_page=${page}`,
      )) as {
        data: Json[];
      };
      for (const entry of data) {
        sum += BigInt(String(entry.cost_exact));
        entries++;
      }
    }
    t.is(entries, CALLS);
    t.is(sum, expected);
    const map = async () =>
      (await client.admin('GET', `/policies/usage-limits/${policy.id}?include_usage=true`))
        .value_key_usage_map as Json;
    const usage = async () => Object.values(await map())[0] as Json | undefined;
    t.is((await until(usage, (own) => own?.current_usage === dollars))?.current_usage, dollars);
  },
);

test.serial(
  'adjustments and rates of an integration count for its calls, tiers for those that name one',
  async (t) => {
    await client.admin('POST', '/integrations', {
      name: 'Adjusted',
      slug: 'adjusted',
      ai_provider_id: 'openai',
      key: 'sk-of-the-integration',
      configurations: { custom_host: `${provider.origin}/adjusted` },
      pricing_adjustments: { multiplier: { default: 2, response_token: 0.5 } },
    });
    await client.admin('PUT', '/integrations/adjusted/workspaces', {
      workspaces: [{ id: 'default', enabled: true }],
    });
    await client.admin('PUT', '/integrations/adjusted/models', {
      models: [
        {
          slug: 'own-price',
          enabled: true,
          is_custom: true,
          pricing_config: {
            type: 'static',
            pay_as_you_go: { request_token: { price: 0.000001 }, response_token: { price: 0.000003 } },
          },
        },
      ],
    });
    await client.admin('POST', '/providers', {
      name: 'Adjusted',
      slug: 'adjusted-one',
      integration_id: 'adjusted',
      workspace_id: 'default',
    });
    const tokens = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
    let count = 0;
    const costOf = async (headers: Record<string, string>, body: Json, path: string, more: Json = {}) => {
      const trace = `adjusted-${++count}`;
      answerWith(path, tokens, more);
      const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'x-gateway-trace-id': trace },
        body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], max_tokens: 10, ...body }),
      });
      t.is(answer.status, 200, await answer.text());
      const [entry] = await client.logs(trace);
      return entry?.cost_exact;
    };
    const plain = chatHeaders(provider, gateway === undefined ? '' : 'slk_test_workspace_key_0123456789ab');
    const stored = {
      'x-gateway-api-key': 'slk_test_workspace_key_0123456789ab',
      'x-gateway-provider': '@adjusted-one',
    };
    // gpt-4o: 2.5 and 10 millionths of a dollar.
    t.is(
      await costOf(plain, { model: 'gpt-4o' }, '/chat/completions'),
      String(1000 * 2_500_000 + 100 * 10_000_000),
    );
    t.is(
      await costOf(stored, { model: 'gpt-4o' }, '/adjusted/chat/completions'),
      String(1000 * 2_500_000 * 2 + (100 * 10_000_000) / 2),
    );
    t.is(
      await costOf(stored, { model: 'own-price' }, '/adjusted/chat/completions'),
      String(1000 * 1_000_000 * 2 + (100 * 3_000_000) / 2),
    );
    // The tier that was served counts, not the one that was asked for.
    const priority = { model: 'gpt-4o', service_tier: 'priority' };
    const asked = await costOf(plain, priority, '/chat/completions');
    t.is(asked, String(1000 * 4_250_000 + 100 * 17_000_000));
    t.is(
      await costOf(plain, priority, '/chat/completions', { service_tier: 'default' }),
      String(1000 * 2_500_000 + 100 * 10_000_000),
    );
  },
);

test.serial('own prices: audio, images, a price of the call, tiers and long prompts', async (t) => {
  const cents = (units: number) => ({ price: units / 1e10 });
  const rates = {
    request_token: cents(10_000),
    response_token: cents(20_000),
    request_audio_token: cents(30_000),
    response_audio_token: cents(40_000),
    request_image_token: cents(50_000),
    cache_read_audio_input_token: cents(5000),
    additional_units: { request: cents(1_000_000) },
    service_tiers: { flex: { request_token: cents(5000) } },
    long_prompt: { above: 2000, rates: { request_token: cents(90_000) } },
  };
  const made = await client.admin('POST', '/model-configs/pricing', {
    provider: 'openai',
    model: 'many-rates',
    effective_from: '2020-01-01T00:00:00Z',
    pay_as_you_go: rates,
  });
  t.deepEqual(made.pay_as_you_go, rates);
  t.deepEqual((await client.admin('GET', `/model-configs/pricing/${made.id}`)).pay_as_you_go, rates);
  const wrong = { ...rates, service_tiers: { flex: { request_token: { price: 1e-13 } } } };
  const error = await t.throwsAsync(
    client.admin('POST', '/model-configs/pricing', { provider: 'openai', model: 'x', pay_as_you_go: wrong }),
  );
  t.regex(error?.message ?? '', /service_tiers\.flex\.request_token\.price/);
  let count = 0;
  const costOf = async (usage: Json, body: Json = {}) => {
    const trace = `rates-${++count}`;
    answerWith('/chat/completions', usage);
    t.is((await client.chat({ 'x-gateway-trace-id': trace }, { model: 'many-rates', ...body })).status, 200);
    const [entry] = await client.logs(trace);
    return Number(entry?.cost_exact);
  };
  const plain = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
  t.is(await costOf(plain), 1000 * 10_000 + 100 * 20_000 + 1_000_000);
  t.is(await costOf(plain, { service_tier: 'flex' }), 1000 * 5000 + 100 * 20_000 + 1_000_000);
  t.is(
    await costOf({
      ...plain,
      prompt_tokens_details: {
        audio_tokens: 50,
        image_tokens: 20,
        cached_tokens: 30,
        cached_tokens_details: { audio_tokens: 30 },
      },
      completion_tokens_details: { audio_tokens: 40 },
    }),
    930 * 10_000 + 30 * 5000 + 20 * 30_000 + 20 * 50_000 + 60 * 20_000 + 40 * 40_000 + 1_000_000,
  );
  const long = { prompt_tokens: 2001, completion_tokens: 100, total_tokens: 2101 };
  t.is(await costOf(long), 2001 * 90_000 + 100 * 20_000 + 1_000_000);
});
