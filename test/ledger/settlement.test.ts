// What calls come to: each on every way out of it, in the books and in the budget alike.
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatHeaders, type Json, type LimitsClient, limitsClient } from '../support/limits-client.ts';

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

const TOKENS = { usage_limits: { type: 'tokens', credit_limit: 1_000_000 } };

/** Calls with a key of its own; answers the key's usage and the log entry once the call is settled. */
async function settled(
  t: ExecutionContext,
  make: (headers: Record<string, string>) => Promise<unknown>,
  limits: Json = TOKENS,
): Promise<{ readonly usage: number; readonly entry: Json; readonly attempts: readonly Json[] }> {
  const { id, key } = await client.key(limits);
  const trace = randomUUID();
  await make({ ...chatHeaders(provider, key), 'x-gateway-trace-id': trace });
  const [entry] = await client.logs(trace);
  if (entry === undefined) throw new Error('there is no entry');
  const record = await client.keyUntil(id, ({ usage_limits: limit }) => (limit as Json).held_usage === 0);
  const limit = record.usage_limits as Json;
  t.is(limit.held_usage, 0, 'nothing is held any more');
  return { usage: Number(limit.current_usage), entry, attempts: entry.attempts as Json[] };
}

function post(headers: Record<string, string>, body: Json, signal?: AbortSignal): Promise<Response> {
  return fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], max_tokens: 10, ...body }),
    ...(signal ? { signal } : {}),
  });
}

const total = ({ usage }: Json): number => Number((usage as Json | undefined)?.total_tokens ?? 0);

test('a whole answer costs what the provider tells', async (t) => {
  const { usage, entry } = await settled(t, async (headers) =>
    (await post(headers, { model: 'gpt-4o' })).text(),
  );
  t.is(usage, 18);
  // 8 tokens at 2.5, 3 cached at 1.25 and 7 out at 10 millionths of a dollar.
  t.is(entry.cost_exact, '93750000');
  t.is(entry.cost, 0.009375);
  t.false(entry.usage_estimated);
  t.false(entry.unpriced);
});

test('a model without a price is marked, and is not free of charge in silence', async (t) => {
  const { usage, entry, attempts } = await settled(t, async (headers) =>
    (await post(headers, { model: 'gpt-nobody' })).text(),
  );
  t.is(usage, 18);
  t.true(entry.unpriced);
  t.true(attempts[0]?.unpriced);
  t.is(entry.cost, undefined);
});

test('a stream that its client cuts is in the books with an estimate', async (t) => {
  const { usage, entry } = await settled(t, async (headers) => {
    const aborter = new AbortController();
    const answer = await post(headers, { model: 'pace-40', stream: true }, aborter.signal);
    await answer.body?.getReader().read();
    aborter.abort();
  });
  t.is(entry.outcome, 'cancelled');
  t.true(entry.usage_estimated);
  t.true(usage > 0 && usage < 40);
  t.is(usage, total(entry));
});

test('a whole call that its client leaves costs what it may have made', async (t) => {
  const { usage, entry } = await settled(t, async (headers) => {
    const aborter = new AbortController();
    setTimeout(() => aborter.abort(), 100);
    await t.throwsAsync(post(headers, { model: 'slow-3000', max_tokens: 500 }, aborter.signal));
  });
  t.is(entry.outcome, 'cancelled');
  t.true(entry.usage_estimated);
  t.true(usage >= 500 && usage < 520);
});

test('a stream that its provider cuts is in the books with an estimate', async (t) => {
  const { usage, entry } = await settled(t, async (headers) =>
    (await post(headers, { model: 'cut', stream: true })).text().catch(() => ''),
  );
  t.is(entry.outcome, 'interrupted');
  t.true(entry.usage_estimated);
  t.true(usage > 0);
  t.is(usage, total(entry));
});

test.serial('an answer without a report of usage is counted, and marked', async (t) => {
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(20);
  provider.next('/chat/completions', (_, res) => {
    const message = { role: 'assistant', content: text };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'gpt-4o',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      }),
    );
  });
  const { usage, entry } = await settled(t, async (headers) =>
    (await post(headers, { model: 'gpt-4o', max_tokens: 1000 })).text(),
  );
  t.true(entry.usage_estimated);
  t.is(usage, total(entry));
  // Ten tokens a sentence.
  const { completion_tokens: out } = entry.usage as Json;
  t.true(Math.abs(Number(out) - 200) <= 5, `${out} tokens`);
  t.truthy(entry.cost_exact);
});

test('every attempt of a fallback is in the books, and refused ones cost nothing', async (t) => {
  const target = { provider: 'openai', custom_host: provider.origin, api_key: 'sk' };
  const config = {
    strategy: { mode: 'fallback' },
    targets: [
      { ...target, override_params: { model: 'status-500' } },
      { ...target, override_params: { model: 'gpt-4o' } },
    ],
  };
  const { usage, attempts } = await settled(t, async (headers) => {
    const { 'x-gateway-provider': _, 'x-gateway-custom-host': __, ...rest } = headers;
    return (await post({ ...rest, 'x-gateway-config': JSON.stringify(config) }, { model: 'gpt-4o' })).text();
  });
  t.is(attempts.length, 2);
  t.is(usage, 18);
});

/** A call by a config of one or several models. */
function configured(
  headers: Record<string, string>,
  config: Json,
  models: readonly string[],
): Promise<Response> {
  const { 'x-gateway-provider': _, 'x-gateway-custom-host': __, ...rest } = headers;
  const targets = models.map((model) => ({
    provider: 'openai',
    custom_host: provider.origin,
    api_key: 'sk',
    override_params: { model },
  }));
  const own = { ...rest, 'x-gateway-config': JSON.stringify({ ...config, targets }) };
  return post(own, { model: 'gpt-4o', max_tokens: 100 });
}

test('both calls of a hedge are in the books: one as its provider told, the overtaken one as an estimate', async (t) => {
  const hedged = { strategy: { mode: 'fallback', hedge: { after_ms: 50 } } };
  const { usage, attempts, entry } = await settled(t, async (headers) =>
    (await configured(headers, hedged, ['slow-5000', 'gpt-4o'])).text(),
  );
  t.is(attempts.length, 2);
  t.true(entry.usage_estimated);
  const [lost, won] = attempts.toSorted((a, b) => Number(b.usage_estimated) - Number(a.usage_estimated));
  t.true(lost?.usage_estimated);
  t.is(total(won ?? {}), 18);
  t.is(usage, 18 + total(lost ?? {}));
  t.true(usage >= 118);
});

test('what comes from the cache costs nothing', async (t) => {
  const { id, key } = await client.key(TOKENS);
  const cached = { cache: { mode: 'simple', max_age: 60 }, strategy: { mode: 'single' } };
  const statuses: (string | null)[] = [];
  for (const trace of [randomUUID(), randomUUID()]) {
    const headers = { ...chatHeaders(provider, key), 'x-gateway-trace-id': trace };
    const answer = await configured(headers, cached, ['gpt-4o']);
    await answer.text();
    statuses.push(answer.headers.get('x-gateway-cache-status'));
    const [entry] = await client.logs(trace);
    t.is(entry?.cost_exact, statuses.length === 1 ? '93750000' : '0');
  }
  t.deepEqual(statuses, ['MISS', 'HIT']);
  const record = await client.keyUntil(id, ({ usage_limits: limit }) => (limit as Json).held_usage === 0);
  t.is((record.usage_limits as Json).current_usage, 18);
});

test('calls over Connect are settled alike', async (t) => {
  const { usage } = await settled(t, async (headers) => {
    const answer = await fetch(`${gateway.origin}/gateway.inference.v2.ChatService/CreateChatCompletion`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: { text: 'hi' } }] }),
    });
    t.is(answer.status, 200, await answer.text());
  });
  t.is(usage, 18);
});

test.serial(
  '500 calls at odd prices sum to the last digit, in the budget and over the entries',
  async (t) => {
    const rates: Readonly<Record<string, readonly bigint[]>> = {
      // Input, cached and output, in 1e-12 USD a token.
      'gpt-4o': [2_500_000n, 1_250_000n, 10_000_000n],
      'gpt-4o-mini': [150_000n, 75_000n, 600_000n],
      'gpt-4.1-nano': [100_000n, 25_000n, 400_000n],
    };
    let expected = 0n;
    let made = 0;
    const answer = (_: unknown, res: ServerResponse, body: Buffer): void => {
      const { model } = JSON.parse(body.toString('utf8')) as { model: string };
      const i = made++;
      const [prompt, cached, out] = [7 + ((i * 13) % 911), (i * 7) % 5, 1 + ((i * 31) % 353)];
      const [input = 0n, read = 0n, output = 0n] = rates[model] ?? [];
      expected += BigInt(prompt - cached) * input + BigInt(cached) * read + BigInt(out) * output;
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(
        JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          created: 1,
          model,
          choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
          usage: {
            prompt_tokens: prompt,
            completion_tokens: out,
            total_tokens: prompt + out,
            prompt_tokens_details: { cached_tokens: cached },
          },
        }),
      );
    };
    const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 1000 } });
    const headers = { ...chatHeaders(provider, key), 'x-gateway-trace-id': 'five-hundred' };
    const models = Object.keys(rates);
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          provider.next('/chat/completions', answer);
          await (await post(headers, { model: models[i % models.length] })).text();
        }),
      );
    }
    t.is(made, 500);
    const record = await client.keyUntil(id, ({ usage_limits: limit }) => (limit as Json).held_usage === 0);
    const digits = expected.toString().padStart(13, '0');
    t.is((record.usage_limits as Json).current_usage, Number(`${digits.slice(0, -12)}.${digits.slice(-12)}`));
    await client.logs('five-hundred', 500);
    let sum = 0n;
    for (let page = 0; page < 5; page++) {
      const { data } = await client.admin(
        'GET',
        `/logs?trace_id=five-hundred&page_size=100&current_page=${page}`,
      );
      for (const { cost_exact: cost } of data as Json[]) sum += BigInt(String(cost));
    }
    t.is(sum, expected);
  },
);

test('a price holds from its day on', (t) => {
  const from = Date.UTC(2026, 6, 1);
  const prices = openPriceList([
    { provider: 'openai', model: 'gpt-4o', from, price: { input: 1, output: 2 } },
  ]);
  t.is(prices.find('openai', 'gpt-4o', from - 1)?.input, 2_500_000);
  t.is(prices.find('openai', 'gpt-4o', from)?.input, 1);
  t.is(prices.find('openai', 'gpt-nobody', from), undefined);
});

test('a request that is refused before any attempt is none of its budget', async (t) => {
  const { conditions, headers } = own();
  const { id } = await client.admin('POST', '/policies/usage-limits', {
    conditions,
    group_by: [{ key: 'workspace_id' }],
    type: 'requests',
    credit_limit: 1,
  });
  const refused = await client.chat({ ...headers, 'x-gateway-custom-host': 'http://10.0.0.1' });
  t.true(refused.status >= 400 && refused.status < 500);
  let answer = await client.chat(headers);
  for (let i = 0; i < 50 && answer.status === 412; i++) answer = await client.chat(headers);
  t.is(answer.status, 200, String(id));
});

test('pass-through costs what its provider tells, by the model that answered', async (t) => {
  const { entry, usage } = await settled(t, async (headers) => {
    const answer = await fetch(`${gateway.origin}/v1/proxy/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
    });
    return answer.text();
  });
  t.is(usage, 18);
  t.is(entry.cost_exact, '93750000');
});

test('a pass-through stream without a report of usage is estimated', async (t) => {
  const { entry, usage } = await settled(t, async (headers) => {
    const answer = await fetch(`${gateway.origin}/v1/proxy/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
    });
    return answer.text();
  });
  t.true(entry.usage_estimated);
  t.true(usage > 10);
});

test('reading over pass-through asks no budget', async (t) => {
  const { key, id } = await client.key({ usage_limits: { type: 'tokens', credit_limit: 100 } });
  for (let i = 0; i < 3; i++) {
    const answer = await fetch(`${gateway.origin}/v1/proxy/models`, { headers: chatHeaders(provider, key) });
    t.is(answer.status, 200);
  }
  const { usage_limits: limit } = await client.keyUntil(id, () => true);
  t.is((limit as Json).current_usage, 0);
});

test('a key holds limits of one type over several spans', async (t) => {
  const { key } = await client.key({
    rate_limits: [
      { type: 'requests', unit: 'rpm', value: 3 },
      { type: 'requests', unit: 'rph', value: 2 },
    ],
  });
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await client.chat({}, {}, key)).status);
  t.deepEqual(statuses, [200, 200, 429]);
});

let count = 0;
function own(): { readonly headers: Record<string, string>; readonly conditions: Json[] } {
  const team = `settled-${++count}`;
  return {
    headers: { 'x-gateway-metadata': JSON.stringify({ team }) },
    conditions: [{ key: 'metadata.team', value: team }],
  };
}
