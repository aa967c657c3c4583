// MongoDB stands still while calls go on: admission does not wait for it, the journal grows and says so, and when it is
// back every entry is there, once.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway } from '../support/gateway.ts';
import { limitsClient, until } from '../support/limits-client.ts';
import { mongoKind } from '../support/servers/mongo.ts';
import { redisKind } from '../support/servers/redis.ts';
import { reportMissing, startOwnMongo, startOwnRedis } from '../support/servers.ts';

const CALLS = 200;

if (redisKind() === undefined || mongoKind() === undefined) {
  reportMissing(test, redisKind() === undefined ? 'Redis' : 'MongoDB');
} else {
  test('a log store that stands still slows no call, and loses no entry', async (t) => {
    t.timeout(120_000);
    const [redis, mongo, provider] = await Promise.all([
      startOwnRedis(),
      startOwnMongo(),
      startFakeProvider(),
    ]);
    if (!redis || !mongo) throw new Error('the servers of this machine did not start');
    const gateway = await startGateway({
      MONGODB_URI: mongo.uri,
      REDIS_URL: redis.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
    t.teardown(async () => {
      mongo.resume();
      await gateway.close();
      await provider.close();
      await redis.stop();
      await mongo.stop();
    });
    const client = limitsClient(gateway, provider);
    const { key } = await client.key({ usage_limits: { type: 'tokens', credit_limit: 1_000_000 } });
    const metric = async (name: string): Promise<number> => {
      const text = await (await fetch(`${gateway.origin}/metrics`)).text();
      return Number(new RegExp(`^${name} ([\\d.e+-]+)$`, 'm').exec(text)?.[1]);
    };
    const calls = async (trace: string): Promise<number> => {
      const times: number[] = [];
      const lane = async (): Promise<void> => {
        for (let i = 0; i < CALLS / 8; i++) {
          const start = performance.now();
          const headers = { 'x-gateway-trace-id': trace };
          const { status } = await client.chat(headers, {}, i % 2 === 0 ? key : undefined);
          t.is(status, 200);
          times.push(performance.now() - start);
        }
      };
      await Promise.all(Array.from({ length: 8 }, lane));
      return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
    };
    const before = await calls('before');
    mongo.pause();
    const during = await calls('during');
    await sleep(2500);
    const waiting = await metric('sluice_journal_entries');
    t.true(waiting >= CALLS, `${waiting} entries wait`);
    t.true((await metric('sluice_journal_lag_seconds')) >= 2);
    t.true((await metric('sluice_journal_file_bytes')) > 0);
    t.log(`a call takes ${before.toFixed(1)} ms, ${during.toFixed(1)} ms while the log store stands still`);
    t.true(during < Math.max(before * 4, 100));
    mongo.resume();
    t.is(
      await until(
        () => metric('sluice_journal_entries'),
        (entries) => entries === 0,
        60_000,
      ),
      0,
    );
    for (const trace of ['before', 'during']) {
      const { total } = await client.admin('GET', `/logs?trace_id=${trace}`);
      t.is(total, CALLS, trace);
    }
    t.is(await metric('sluice_request_log_dropped_total'), 0);
    t.is(
      await until(
        () => metric('sluice_journal_lag_seconds'),
        (lag) => lag === 0,
      ),
      0,
    );
  });
}
