// A process is killed and its machine does not come back: another instance brings its calls into the books, from the copy
// in Redis.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import type { RequestRecord } from '../../src/call/record.ts';
import { openInFlightJournal } from '../../src/ledger/flight/open-in-flight-journal.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { createRequestLog } from '../../src/ledger/request-log.ts';
import { redisFlights } from '../../src/store/redis/flights.ts';
import { type Child, startChild } from '../edge/child.ts';
import { type CountingProvider, startCountingProvider } from '../ledger-proof/counting-provider.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { chatHeaders, type Json, limitsClient, until } from '../support/limits-client.ts';
import { mongoServer, redisServer, reportMissing, startOwnRedis } from '../support/servers.ts';

const mongo = await mongoServer();
const redis = await redisServer();

function folderOf(t: ExecutionContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-mirror-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

interface Pair {
  readonly gateways: readonly [Child, Child];
  readonly dirs: readonly string[];
  readonly provider: CountingProvider;
}

async function startPair(t: ExecutionContext, uri: string, redisUrl: string): Promise<Pair> {
  const provider = await startCountingProvider();
  t.teardown(() => provider.close());
  const url = new URL(uri);
  url.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
  const key = randomBytes(32).toString('base64');
  const dirs = [folderOf(t), folderOf(t)];
  const start = (dataDir: string): Promise<Child> =>
    startChild(t, {
      MONGODB_URI: url.href,
      REDIS_URL: redisUrl,
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_HOLD_SECONDS: '6',
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_API_KEY: WORKSPACE_KEY,
      GATEWAY_ENCRYPTION_KEY: key,
    });
  const first = await start(dirs[0] ?? '');
  return { gateways: [first, await start(dirs[1] ?? '')], dirs, provider };
}

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  test.serial(
    'calls of a process that never comes back are in the books, by the ids that its provider saw',
    async (t) => {
      t.timeout(120_000);
      const own = await startOwnRedis();
      if (own === undefined) throw new Error('Redis did not start');
      t.teardown(() => own.stop());
      const { gateways, dirs, provider } = await startPair(t, mongo.uri, own.url);
      const [lives, dies] = gateways;
      const client = limitsClient(lives, provider as never);
      const budget = await client.key({ usage_limits: { type: 'tokens', credit_limit: 100_000 } });
      const call = (trace: string, how: string, key: string): Promise<number> =>
        fetch(`${dies.origin}/v1/chat/completions`, {
          method: 'POST',
          headers: { ...chatHeaders(provider, key), 'x-gateway-trace-id': trace },
          body: JSON.stringify({
            model: 'gpt-4o',
            stream: how === 'long',
            max_tokens: 50,
            messages: [{ role: 'user', content: how }],
          }),
        }).then(
          async (answer) => {
            await answer.text();
            return answer.status;
          },
          () => 0,
        );
      await until(
        () => call('warm', 'plain', budget.key),
        (status) => status === 200,
        10_000,
      );
      const before = provider.seen.size;
      const flights = [call('free', 'long', WORKSPACE_KEY), call('held', 'long', budget.key)];
      await until(
        async () => provider.seen.size,
        (seen) => seen === before + 2,
      );
      dies.process.kill('SIGKILL');
      rmSync(join(dirs[1] ?? '', 'flights'), { recursive: true, force: true });
      await Promise.all([...flights, dies.exited]);
      for (const trace of ['free', 'held']) {
        const { data } = await until(
          () => client.admin('GET', `/logs?trace_id=${trace}`),
          ({ total }) => Number(total) === 1,
          20_000,
        );
        const [entry] = data as Json[];
        t.is(entry?.outcome, 'interrupted', trace);
        const [attempt, ...more] = (entry?.attempts ?? []) as Json[];
        t.is(more.length, 0);
        t.true(provider.seen.has(String(attempt?.id)), `${trace}: ${attempt?.id}`);
        t.true(attempt?.usage_estimated);
      }
      const usage = (record: Json): Json => record.usage_limits as Json;
      const record = await client.keyUntil(budget.id, (found) => usage(found).held_usage === 0);
      t.is(usage(record).held_usage, 0);
      const redisClient = new Redis(own.url);
      const owners = await until(
        () => redisClient.smembers('sluice:{flights}:owners'),
        (found) => found.length === 1,
      );
      t.is(owners.length, 1, 'the copy is gone');
      redisClient.disconnect();
    },
  );

  test.serial(
    'a copy is whole again after Redis was away, and goes when its process ends as it should',
    async (t) => {
      const own = await startOwnRedis();
      if (own === undefined) throw new Error('Redis did not start');
      t.teardown(() => own.stop());
      const dataDir = folderOf(t);
      const troubles: string[] = [];
      const open = (lapseMs: number, dir: string) =>
        openInFlightJournal({
          dataDir: dir,
          beatMs: 50,
          onLost: () => t.fail(),
          onTrouble: (_, what) => troubles.push(what),
          mirrorOf: (owner) => redisFlights({ url: own.url, owner, lapseMs }),
        });
      const entries: RequestRecord[] = [];
      const ledger = {
        store: { append: async (batch: readonly RequestRecord[]) => void entries.push(...batch) },
        state: {
          settle: async () => ({ outcome: 'unknown', budgets: [] }) as const,
          release: async () => ({ outcome: 'unknown', budgets: [] }) as const,
          readValue: async () => ({ version: 0, value: undefined }),
          writeValue: async () => ({ version: 1, value: undefined, written: true }),
        },
        prices: openPriceList(),
        mark: () => undefined,
      };
      const log = createRequestLog({ store: ledger.store as never, onDrop: () => undefined });
      const first = open(400, dataDir);
      await first.follow(ledger, log);
      const call = (id: string) =>
        ({
          id,
          traceId: id,
          arrivedAt: 1,
          source: { protocol: 'rest', httpMethod: 'POST', path: '/' },
          method: { name: 'M', parent: { typeName: 'T' } },
          principal: { organisationId: 'o', workspaceId: 'w', keyId: 'k' },
          record: { streamed: false, metadata: {}, attempts: [] },
          account: { flight: undefined, held: undefined },
        }) as const;
      const note = (id: string) => ({
        id,
        provider: 'openai',
        host: 'h',
        model: 'm',
        startedAt: 1,
        input: 1,
        output: 1,
      });
      const copied = async (): Promise<string> => {
        const client = new Redis(own.url);
        const keys = await client.keys(`sluice:{flight:${first.flights.owner}}:*`);
        const lists = keys.filter((name) => /:\d+$/.test(name));
        const texts = await Promise.all(lists.map((name) => client.lrange(name, 0, -1)));
        client.disconnect();
        return texts.flat().join('');
      };
      await until(
        async () => {
          await first.flights.attempt(call('a') as never, note('a1'));
          return copied();
        },
        (text) => text.includes('"a1"'),
      );
      await own.kill();
      await first.flights.attempt(call('b') as never, note('b1'));
      await own.restart();
      t.true(
        (await until(copied, (text) => text.includes('"a1"') && text.includes('"b1"'), 10_000)).includes(
          '"b1"',
        ),
      );
      t.true(troubles.length > 0);

      const second = open(400, folderOf(t));
      await second.follow(ledger, log);
      await new Promise((resolve) => setTimeout(resolve, 600));
      t.deepEqual(entries, [], 'who lives is left alone');
      first.flights.mirror?.close(false).catch(() => undefined);
      t.deepEqual(
        await until(
          async () => entries.map(({ id }) => id).sort(),
          (ids) => ids.length >= 2,
          5000,
        ),
        ['a', 'b'],
      );
      await second.close();
      await first.close();
      await log.close();
      const client = new Redis(own.url);
      t.false((await client.smembers('sluice:{flights}:owners')).includes(second.flights.owner));
      client.disconnect();
    },
  );
}
