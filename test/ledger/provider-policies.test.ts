// Policies that name the provider: asked for each attempt by itself, also for calls in flight, over every protocol.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { type Bench, exchange, PROTOCOLS, startBench } from '../contract/runner.ts';
import { type Json, type LimitsClient, limitsClient } from '../support/limits-client.ts';

let bench: Bench;
let client: LimitsClient;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
});
test.after.always(() => bench?.close());

const method = ChatService.method.createChatCompletion;
const body = { model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }], max_tokens: 10 };

/** A policy of the calls with metadata of their own. */
function policy(team: string, more: Json): Promise<Json> {
  return client.admin('POST', '/policies/rate-limits', {
    conditions: [
      { key: 'provider', value: 'openai' },
      { key: 'metadata.team', value: team },
    ],
    group_by: [{ key: 'provider' }],
    ...more,
  });
}

for (const protocol of PROTOCOLS) {
  test(`calls in flight at a provider: one too many is refused, another provider is free [${protocol}]`, async (t) => {
    const team = `flight-${protocol}`;
    const { id } = await policy(team, { type: 'requests', unit: 'concurrent', value: 1 });
    const metadata = { 'x-gateway-metadata': JSON.stringify({ team }) };
    const mark = bench.mark();
    let end = (): void => {};
    bench.provider.next(`${mark}/chat/completions`, async (_, res) => {
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      res.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
    });
    const first = exchange(bench, { method, body, headers: metadata }, protocol, mark);
    while (bench.sentTo(mark).length === 0) await new Promise(setImmediate);

    const refused = await exchange(bench, { method, body, headers: metadata }, protocol);
    t.is(refused.status, protocol === 'rest' ? 429 : Code.ResourceExhausted);
    t.is(refused.headers.get('retry-after'), '1');
    t.is(refused.headers.get('x-ratelimit-limit-concurrent'), '1');
    t.is(refused.headers.get('x-ratelimit-remaining-concurrent'), '0');

    const elsewhere = { ...metadata, 'x-gateway-provider': 'groq' };
    const other = await exchange(bench, { method, body, headers: elsewhere }, protocol);
    t.is(other.error, undefined, 'another provider');
    const config = (host: string) => ({
      strategy: { mode: 'fallback' },
      targets: ['openai', 'groq'].map((provider) => ({ provider, api_key: 'sk-1', custom_host: host })),
    });
    const moved = await exchange(bench, { method, body, headers: metadata, config }, protocol);
    t.is(moved.error, undefined, 'a fallback moves on');
    t.is(moved.headers.get('x-gateway-provider'), 'groq');

    end();
    t.is((await first).error, undefined);
    await client.admin('DELETE', `/policies/rate-limits/${id}`);
  });
}

test('a rate of a provider counts attempts, of each provider apart, and the call itself not at all', async (t) => {
  const team = 'rate';
  await client.admin('POST', '/policies/rate-limits', {
    conditions: [{ key: 'metadata.team', value: team }],
    group_by: [{ key: 'provider' }],
    type: 'requests',
    unit: 'rpd',
    value: 2,
  });
  const call = async (provider: string): Promise<number> =>
    (
      await client.chat(
        { 'x-gateway-metadata': JSON.stringify({ team }), 'x-gateway-provider': provider },
        {
          model: 'gpt-ok',
        },
      )
    ).status;
  t.deepEqual([await call('openai'), await call('openai'), await call('openai')], [200, 200, 429]);
  t.deepEqual([await call('groq'), await call('groq'), await call('groq')], [200, 200, 429]);
});
