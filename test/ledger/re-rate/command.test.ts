// `sluice ledger re-rate`: a price is corrected, and with it entries, budgets and what the audit log tells.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readReRateOrder } from '../../../src/app/re-rate.ts';
import { reRateCommand } from '../../../src/app/re-rate-command.ts';
import { readSettings } from '../../../src/settings.ts';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway } from '../../support/gateway.ts';
import { type Json, limitsClient } from '../../support/limits-client.ts';
import { mongoServer, redisServer, reportMissing } from '../../support/servers.ts';

test('the command says what it cannot read', (t) => {
  const now = Date.UTC(2027, 0, 2);
  for (const [given, message] of [
    [{}, /--from: must be a time/],
    [{ from: 'yesterday' }, /--from: must be a time/],
    [{ from: '2027-01-01T00:00:00Z', to: 'x' }, /--to: must be a time/],
    [{ from: '2027-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }, /--from: must be before/],
    [{ from: '2027-01-01T00:00:00Z', to: '2028-01-01T00:00:00Z' }, /--to: must not be in the future/],
  ] as const)
    t.throws(() => readReRateOrder(given, now), { message });
  t.deepEqual(
    readReRateOrder({ from: '2027-01-01T00:00:00Z', model: 'm', organisation: 'o', 'dry-run': true }, now),
    {
      from: Date.UTC(2027, 0, 1),
      until: now - 60_000,
      dryRun: true,
      model: 'm',
      organisationId: 'o',
    },
  );
});

/** Calls at a price that is wrong; corrected, and run twice. */
async function corrected(t: ExecutionContext, env: Record<string, string>): Promise<void> {
  const [provider, gateway] = await Promise.all([startFakeProvider(), startGateway(env)]);
  t.teardown(async () => {
    await gateway.close();
    await provider.close();
  });
  const client = limitsClient(gateway, provider);
  const price = (request: number) => ({
    request_token: { price: request },
    response_token: { price: 0.0003 },
  });
  const { id: priceId } = await client.admin('POST', '/model-configs/pricing', {
    provider: 'openai',
    model: 'odd',
    effective_from: '2020-01-01T00:00:00Z',
    pay_as_you_go: price(0.0001),
  });
  const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 10 } });
  const calls = Array.from({ length: 10 }, () =>
    client.chat({ 'x-gateway-trace-id': 'mine' }, { model: 'odd' }, key),
  );
  for (const { status } of await Promise.all(calls)) t.is(status, 200);
  // 11 tokens at 1 and 7 at 3 millionths of a dollar, ten times.
  const used = (record: Json) => (record.usage_limits as Json).current_usage;
  t.is(used(await client.keyUntil(id, (record) => used(record) === 0.00032)), 0.00032);
  t.is((await client.logs('mine', 10)).length, 10);
  await client.admin('PUT', `/model-configs/pricing/${priceId}`, { pay_as_you_go: price(0.0002) });

  const lines: string[] = [];
  const settings = readSettings({ ...env, LOG_LEVEL: 'error' });
  const given = { from: '2020-01-01T00:00:00Z', to: new Date().toISOString() };
  const run = (more: Json = {}) => reRateCommand(settings, { ...given, ...more }, (line) => lines.push(line));
  await run({ 'dry-run': true });
  t.regex(lines.join('\n'), /10 of 10 entries would change, from \$0\.00032 to \$0\.00043; 1 budgets/);
  t.is(used(await client.admin('GET', `/api-keys/${id}`)), 0.00032);
  await run();
  await run();
  t.regex(lines[1] ?? '', /10 of 10 entries changed/);
  t.regex(lines[2] ?? '', /0 of 10 entries changed/);
  t.is(used(await client.admin('GET', `/api-keys/${id}`)), 0.00043);
  const entries = await client.logs('mine', 10);
  t.deepEqual([...new Set(entries.map(({ cost_exact: cost }) => cost))], ['43000000']);
  const now = new Date(Date.now() + 60_000).toISOString();
  const { records } = (await client.admin(
    'GET',
    `/audit-logs?start_time=2020-01-01T00:00:00Z&end_time=${now}&action=re-rate`,
  )) as { records: Json[] };
  t.is(records.length, 2);
  await t.throwsAsync(run({ organisation: 'nobody' }), { message: /there is no organisation nobody/ });
}

test('entries, the key and its workspace are corrected by the gateway that has the folder open, once', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-re-rate-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  await corrected(t, { GATEWAY_DATA_DIR: folder });
});

const mongo = await mongoServer();
const redis = await redisServer();
if (!mongo || !redis) reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
else
  test('the same over MongoDB and Redis', (t) => {
    const url = new URL(mongo.uri);
    url.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    return corrected(t, {
      MONGODB_URI: url.href,
      REDIS_URL: redis.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
  });
