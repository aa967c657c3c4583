// Refusals of limits tell what remains of every rate that applies, as admitted answers do, over every protocol.
import test, { type ExecutionContext } from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { type Bench, exchange, PROTOCOLS, type Protocol, startBench } from '../contract/runner.ts';
import { send } from '../support/front-door.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, type LimitsClient, limitsClient } from '../support/limits-client.ts';

let bench: Bench;
let client: LimitsClient;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
});
test.after.always(() => bench?.close());

const rate = (type: string, unit: string, value: number): Json => ({ type, unit, value });

/** The headers of the next call with the key, admitted or refused. */
async function told(key: string, protocol: Protocol, stream = false, maxTokens = 10) {
  const outcome = await exchange(
    bench,
    {
      method:
        stream && protocol !== 'rest'
          ? ChatService.method.streamChatCompletion
          : ChatService.method.createChatCompletion,
      headers: { 'x-gateway-api-key': key },
      body: {
        model: 'gpt-ok',
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: maxTokens,
        ...(stream ? { stream } : {}),
      },
    },
    protocol,
  );
  const { headers, error } = outcome;
  const rates = Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-ratelimit-')));
  return { isRefused: error !== undefined, rates };
}

const TYPES = ['requests', 'tokens'];

function tells(t: ExecutionContext, rates: Record<string, string>, types = TYPES): void {
  for (const type of types)
    for (const what of ['limit', 'remaining'])
      t.regex(
        rates[`x-ratelimit-${what}-${type}`] ?? 'none',
        /^\d+$/,
        `${what} ${type}: ${JSON.stringify(rates)}`,
      );
}

for (const protocol of PROTOCOLS) {
  for (const stream of [false, true]) {
    const way = `${protocol}${stream ? ', streamed' : ''}`;
    test(`a rate of requests that refuses tells all rates [${way}]`, async (t) => {
      const { key } = await client.key({
        rate_limits: [rate('requests', 'rpm', 1), rate('tokens', 'rph', 100_000)],
      });
      const admitted = await told(key, protocol, stream);
      t.false(admitted.isRefused);
      tells(t, admitted.rates);
      const refused = await told(key, protocol, stream);
      t.true(refused.isRefused);
      tells(t, refused.rates);
      t.is(refused.rates['x-ratelimit-limit-requests'], '1');
      t.is(refused.rates['x-ratelimit-remaining-requests'], '0');
      t.is(refused.rates['x-ratelimit-limit-tokens'], '100000');
    });
  }

  test(`so do a rate of tokens, a limit of calls in flight and a budget [${protocol}]`, async (t) => {
    const tokens = await client.key({ rate_limits: [rate('requests', 'rpm', 9), rate('tokens', 'rph', 1)] });
    const dear = await told(tokens.key, protocol);
    t.true(dear.isRefused);
    tells(t, dear.rates);

    const slots = await client.key({
      rate_limits: [
        rate('requests', 'concurrent', 1),
        rate('requests', 'rpm', 9),
        rate('tokens', 'rph', 99_999),
      ],
    });
    const mark = bench.mark();
    let end = (): void => {};
    bench.provider.next(`${mark}/chat/completions`, async (_, res) => {
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      res.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
    });
    const first = client.chat({ 'x-gateway-custom-host': bench.provider.origin + mark }, {}, slots.key);
    while (bench.sentTo(mark).length === 0) await new Promise(setImmediate);
    const second = await told(slots.key, protocol);
    t.true(second.isRefused);
    tells(t, second.rates, [...TYPES, 'concurrent']);
    t.is(second.rates['x-ratelimit-remaining-concurrent'], '0');
    end();
    t.is((await first).status, 200);

    const budget = await client.key({
      usage_limits: { type: 'tokens', credit_limit: 100 },
      rate_limits: [rate('requests', 'rpm', 9), rate('tokens', 'rph', 99_999)],
    });
    const spent = await told(budget.key, protocol, false, 500);
    t.true(spent.isRefused);
    tells(t, spent.rates);
  });
}

test("a target's limit tells its rates when it refuses", async (t) => {
  await client.admin('POST', '/integrations', {
    name: 'Told',
    slug: 'told',
    ai_provider_id: 'openai',
    key: 'sk-of-the-integration',
    configurations: { custom_host: bench.provider.origin },
  });
  await client.admin('PUT', '/integrations/told/workspaces', {
    workspaces: [{ id: 'default', enabled: true }],
  });
  await client.admin('PUT', '/providers/told?workspace_id=default', {
    rate_limits: [rate('requests', 'rpm', 1)],
  });
  const call = () =>
    send(bench.gateway, 'POST', '/chat/completions', {
      key: WORKSPACE_KEY,
      headers: { 'x-gateway-provider': '@told' },
      body: { model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] },
    });
  t.is((await call()).status, 200);
  const { status, headers } = await call();
  t.is(status, 429);
  t.is(headers.get('x-ratelimit-limit-requests'), '1');
  t.is(headers.get('x-ratelimit-remaining-requests'), '0');
});
