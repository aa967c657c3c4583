// Re-rating over REST, Connect and gRPC: refused where it must be, dry and real, with its progress and its audit entries.
import { Code } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { ModelPricingService } from '../../gen/gateway/admin/v2/model_pricing_pb.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type LimitsClient, limitsClient, until } from '../support/limits-client.ts';
import {
  type Bench,
  type Case,
  exchange,
  type JsonObject,
  PROTOCOLS,
  type Protocol,
  runCases,
  startBench,
} from './runner.ts';

const { startReRate, getReRate } = ModelPricingService.method;

let bench: Bench;
let client: LimitsClient;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
});
test.after.always(() => bench?.close());

const headers = { 'x-gateway-api-key': ADMIN_KEY };
const refused = (name: string, body: JsonObject, param: string, message: RegExp): Case => ({
  name,
  method: startReRate,
  body,
  headers,
  refused: {
    status: 400,
    code: Code.InvalidArgument,
    reason: 'validation_failed',
    upstream: false,
    param,
    message,
  },
});

const FORBIDDEN = { status: 403, code: Code.PermissionDenied, reason: 'forbidden' } as const;
const ofWorkspace = { 'x-gateway-api-key': WORKSPACE_KEY };

runCases(test, () => bench, [
  refused('without a time', {}, 'from', /./),
  refused('a time that is none', { from: 'yesterday' }, 'from', /ISO 8601/),
  refused(
    'a span that ends before it begins',
    { from: '2027-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' },
    'from',
    /before/,
  ),
  refused(
    'a span in the future',
    { from: '2026-01-01T00:00:00Z', to: '2999-01-01T00:00:00Z' },
    'to',
    /future/,
  ),
  {
    name: 'a key of a workspace',
    method: startReRate,
    body: { from: '2026-01-01T00:00:00Z' },
    headers: ofWorkspace,
    refused: FORBIDDEN,
  },
  {
    name: 'its progress, with a key of a workspace',
    method: getReRate,
    headers: ofWorkspace,
    refused: FORBIDDEN,
  },
]);

const call = async (
  t: ExecutionContext,
  protocol: Protocol,
  method: typeof startReRate | typeof getReRate,
  body?: JsonObject,
) => {
  const { json, error } = await exchange(bench, { method, headers, ...(body ? { body } : {}) }, protocol);
  t.is(error, undefined, JSON.stringify(error));
  return json;
};
const done = (t: ExecutionContext, protocol: Protocol): Promise<JsonObject> =>
  until(
    () => call(t, protocol, getReRate),
    ({ status }) => status !== 'running',
  );
/** Over Connect and gRPC counts are texts. */
const numbers = ({ entries, changed, budgets, cost_before: before, cost_after: after }: JsonObject) =>
  [entries, changed, budgets, before, after].map(Number);

for (const protocol of PROTOCOLS) {
  test.serial(`a dry run tells, and a run corrects entries and budgets [${protocol}]`, async (t) => {
    const model = `rated-${protocol}`;
    const price = (cents: number) => ({
      provider: 'openai',
      model,
      effective_from: '2020-01-01T00:00:00Z',
      pay_as_you_go: { request_token: { price: cents }, response_token: { price: cents } },
    });
    const { id: priceId } = await client.admin('POST', '/model-configs/pricing', price(1));
    const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 1000 } });
    const used = (record: Record<string, unknown>) =>
      (record.usage_limits as { current_usage?: number }).current_usage;
    bench.provider.next('/chat/completions', (_, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(
        JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          created: 1,
          model,
          choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 60, completion_tokens: 40, total_tokens: 100 },
        }),
      );
    });
    const from = new Date(Date.now() - 60_000).toISOString();
    t.is((await client.chat({ 'x-gateway-trace-id': model }, { model }, key)).status, 200);
    t.is((await client.logs(model))[0]?.cost, 100);
    t.is(used(await client.keyUntil(id, (record) => used(record) === 1)), 1);
    await client.admin('PUT', `/model-configs/pricing/${priceId}`, { pay_as_you_go: price(2).pay_as_you_go });

    const span = { from, to: new Date().toISOString(), model };
    const dry = await call(t, protocol, startReRate, { ...span, dry_run: true });
    t.like(dry, { object: 're-rate', dry_run: true, from, model });
    const told = await done(t, protocol);
    t.is(told.status, 'done');
    t.deepEqual(numbers(told), [1, 1, 1, 100, 200]);
    t.is((await client.logs(model))[0]?.cost, 100, 'a dry run changes nothing');

    t.is((await call(t, protocol, startReRate, span)).status, 'running');
    const made = await done(t, protocol);
    t.is(made.status, 'done');
    t.deepEqual(numbers(made), [1, 1, 1, 100, 200]);
    t.regex(String(made.ended_at), /^\d{4}-/);
    t.is((await client.logs(model))[0]?.cost, 200);
    t.is(used(await client.keyUntil(id, (record) => used(record) === 2)), 2);

    const audited = JSON.stringify(await client.admin('GET', '/audit-logs?page_size=20'));
    t.true(audited.split('re-rate').length > 3, 'two calls and a correction');
  });
}
