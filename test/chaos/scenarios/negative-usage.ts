// A provider that reports usage below zero, in every way in which usage is read.
import { startFakeProvider } from '../../support/fake-provider.ts';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { chatHeaders, limitsClient } from '../../support/limits-client.ts';
import { isTrue, type Scenario } from '../scenario.ts';

const ROUNDS = 40;
const REPORTS = [
  '{"prompt_tokens":-1000000,"completion_tokens":-5,"total_tokens":-1000005}',
  '{"prompt_tokens":1e308,"completion_tokens":1,"total_tokens":1e308}',
  '{"prompt_tokens":9223372036854775808,"completion_tokens":1,"total_tokens":9223372036854775809}',
  '{"prompt_tokens":"-7","completion_tokens":null,"total_tokens":-7}',
  '{"input_tokens":-9,"output_tokens":-9,"total_tokens":-18}',
];

const scenario: Scenario = {
  name: 'negative-usage',
  attack:
    'a provider reports usage that is negative, no number or above 2^63, whole, streamed and passed through',
  bound: 'no entry, budget, graph or counter ever goes down; every report is estimated and counted',
  test: 'test/cves/cve-2026-71479.test.ts',
  async run(lab) {
    const [gateway, provider] = await Promise.all([lab.startGateway(), startFakeProvider()]);
    lab.onEnd(() => provider.close());
    const client = limitsClient(gateway, provider);
    const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 1000 } });
    const counted = async (name: string): Promise<number> => {
      const text = await (await fetch(`${gateway.origin}/metrics`)).text();
      const found = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
      return found.reduce((sum, [, value]) => sum + Number(value), 0);
    };
    const used = async (): Promise<number> => {
      const record = await client.admin('GET', `/api-keys/${id}`);
      return Number((record.usage_limits as { current_usage?: number }).current_usage);
    };
    let [cost, spent, downs, made] = [0, 0, 0, 0];
    for (let round = 0; round < ROUNDS; round++) {
      const usage = REPORTS[round % REPORTS.length] ?? '{}';
      const way = round % 3;
      const stream = way === 1;
      const path = way === 2 ? '/other/path' : '/chat/completions';
      const whole = `{"id":"x","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":${usage}}`;
      const piece = `{"id":"x","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}],"usage":${usage}}`;
      provider.next(path, (_, res) => {
        res.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
        res.end(stream ? `data: ${piece}\n\ndata: [DONE]\n\n` : whole);
      });
      const answer = await fetch(`${gateway.origin}/v1${path}`, {
        method: 'POST',
        headers: chatHeaders(provider, key),
        body: JSON.stringify({ model: 'gpt-4o', stream, messages: [{ role: 'user', content: 'hi' }] }),
      });
      await answer.arrayBuffer();
      if (answer.status === 200) made++;
      const [costNow, spentNow] = [await counted('sluice_cost_usd_total'), await used()];
      if (costNow < cost || spentNow < spent) downs++;
      [cost, spent] = [costNow, spentNow];
    }
    const entries = (await client.admin('GET', '/logs?page_size=100')).data as { cost?: number }[];
    const refused = await counted('sluice_usage_reports_refused_total');
    const free = (
      await fetch(`${gateway.origin}/v1/models`, { headers: chatHeaders(provider, WORKSPACE_KEY) })
    ).ok;
    return [
      isTrue('calls are answered', made === ROUNDS, `${made} of ${ROUNDS}`),
      isTrue('nothing ever goes down', downs === 0, `${downs} times`),
      isTrue(
        'no entry costs less than nothing',
        entries.every(({ cost: own }) => Number(own ?? 0) >= 0),
      ),
      isTrue('every report is refused and counted', refused === ROUNDS, `${refused} of ${ROUNDS}`),
      isTrue('the gateway lives', free && (await gateway.healthy())),
    ];
  },
};
export default scenario;
