// One limit over several processes, and what becomes of limits when a process or Redis is frozen, killed and back.
import { randomBytes, randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { type Child, startChild, tempDir } from '../edge/child.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { chatHeaders, type Json, type LimitsClient, limitsClient, until } from '../support/limits-client.ts';
import { mongoServer, type OwnRedis, reportMissing, startOwnRedis } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';

const PROCESSES = 4;
const encryptionKey = randomBytes(32).toString('base64');
const mongo = await mongoServer();
const redis = await startOwnRedis();
test.after.always(() => redis?.stop());

/** A provider that says when each call came: `use-N` answers at once with N tokens, `hold-MS` after so long. */
interface Meter {
  readonly origin: string;
  readonly arrivals: number[];
  /** What the callers of those calls said. */
  readonly said: string[];
  close(): void;
}

async function startMeter(t: ExecutionContext): Promise<Meter> {
  const arrivals: number[] = [];
  const said: string[] = [];
  const server = http.createServer((req, res) => {
    arrivals.push(performance.now());
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json & { messages: Json[] };
      const model = String(body.model);
      said.push(String(body.messages[0]?.content));
      const [kind, amount = '18'] = model.split('-');
      const tokens = kind === 'use' ? Number(amount) : 18;
      const answer = (): void => {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(
          JSON.stringify({
            id: 'x',
            object: 'chat.completion',
            created: 1,
            model,
            choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
            usage: { prompt_tokens: tokens - 1, completion_tokens: 1, total_tokens: tokens },
          }),
        );
      };
      setTimeout(answer, kind === 'hold' ? Number(amount) : kind === 'gpt' ? 20 : 0);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  t.teardown(close);
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals, said, close };
}

interface Fleet {
  readonly gateways: readonly Child[];
  readonly client: LimitsClient;
  readonly meter: Meter;
  /** A call to one of the gateways; answers its status. */
  call(gateway: number, key: string, model?: string, more?: Json): Promise<number>;
}

async function startFleet(t: ExecutionContext, own: OwnRedis, uri: string, size = PROCESSES): Promise<Fleet> {
  const meter = await startMeter(t);
  const url = new URL(uri);
  url.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
  const env = (): Record<string, string> => ({
    MONGODB_URI: url.href,
    REDIS_URL: own.url,
    GATEWAY_ENCRYPTION_KEY: encryptionKey,
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_API_KEY: WORKSPACE_KEY,
    GATEWAY_DATA_DIR: tempDir(t),
    GATEWAY_HOLD_SECONDS: '1',
    GATEWAY_DRAIN_SECONDS: '1',
  });
  // The first one makes what all share.
  const first = await startChild(t, env());
  const others = await Promise.all(Array.from({ length: size - 1 }, () => startChild(t, env())));
  const gateways = [first, ...others];
  return {
    gateways,
    meter,
    client: limitsClient(first, meter as never),
    async call(gateway, key, model = 'use-18', more = {}) {
      const answer = await fetch(`${gateways[gateway % size]?.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: chatHeaders(meter, key),
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 10, ...more }),
      });
      await answer.text();
      return answer.status;
    },
  };
}

/** A key that every gateway knows. */
async function known({ client, call, gateways }: Fleet, limits: Json): Promise<{ id: string; key: string }> {
  const made = await client.key(limits);
  const status = (i: number) => () => call(i, made.key, 'status', { messages: 'none' });
  for (const [i, { process }] of gateways.entries())
    if (!process.killed) await until(status(i), (code) => code !== 401);
  return made;
}

/** What the file's tests share ends with them. */
const cleanups: (() => void)[] = [];
const forAll = { teardown: (end: () => void) => cleanups.push(end) } as unknown as ExecutionContext;
test.after.always(() => {
  for (const end of cleanups) end();
});
let shared: Promise<Fleet> | undefined;

const limitOf = (record: Json): Json => record.usage_limits as Json;

/** All entries of the log, by their traces. */
async function entriesOf(client: LimitsClient): Promise<Map<string, Json[]>> {
  const entries: Json[] = [];
  for (let page = 0; ; page++) {
    const { data } = (await client.admin('GET', `/logs?page_size=100&current_page=${page}`)) as {
      data: Json[];
    };
    entries.push(...data.filter(({ status_code: status }) => status === 200 || !status));
    if (data.length < 100) return Map.groupBy(entries, (entry) => String(entry.trace_id));
  }
}

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  test.serial(
    'four processes admit what one limit says: requests and tokens, never more, hardly less',
    async (t) => {
      shared ??= startFleet(forAll, redis, mongo.uri);
      const fleet = await shared;
      const rate = 60;
      const { key } = await known(fleet, { rate_limits: [{ type: 'requests', unit: 'rps', value: rate }] });
      const seconds = 2;
      const { arrivals } = fleet.meter;
      await new Promise((resolve) => setTimeout(resolve, 1100));
      arrivals.length = 0;
      let slowest = 0;
      const start = performance.now();
      const lane = async (gateway: number): Promise<void> => {
        while (performance.now() - start < seconds * 1000 + 200) {
          const begun = performance.now();
          const status = await fleet.call(gateway, key);
          slowest = Math.max(slowest, performance.now() - begun);
          if (status === 429) await new Promise((resolve) => setTimeout(resolve, 8));
        }
      };
      await Promise.all(Array.from({ length: 12 }, (_, i) => lane(i)));
      // A call reaches its provider some time after its admission: spans are shorter by the longest call.
      const span = 1000 - Math.min(slowest, 500);
      const most = Math.max(
        ...arrivals.map((from) => arrivals.filter((at) => at >= from && at < from + span).length),
      );
      t.true(most <= rate, `${most} in ${span} ms`);
      const first = Math.min(...arrivals);
      const admitted = arrivals.filter((at) => at < first + seconds * 1000).length;
      t.log(
        `${admitted} of ${rate * seconds} admitted in ${seconds} s, slowest call ${Math.round(slowest)} ms`,
      );
      t.true(admitted <= rate * (seconds + 1));
      // A busy machine does not ask often enough to be let through as often as it might.
      if (slowest < 150) t.true(admitted >= 0.99 * rate * seconds, `${admitted} of ${rate * seconds}`);

      const minutely = await known(fleet, { rate_limits: [{ type: 'requests', unit: 'rpm', value: 200 }] });
      arrivals.length = 0;
      const statuses = await Promise.all(Array.from({ length: 300 }, (_, i) => fleet.call(i, minutely.key)));
      // What made the key known was counted as well, where it was not refused for its body before.
      t.is(arrivals.length, statuses.filter((status) => status === 200).length);
      t.true(arrivals.length <= 200 && arrivals.length >= 198, `${arrivals.length} of 200`);

      const tokens = 5000;
      const limited = await known(fleet, { rate_limits: [{ type: 'tokens', unit: 'rph', value: tokens }] });
      arrivals.length = 0;
      const saturate = async (gateway: number): Promise<void> => {
        for (let refused = 0; refused < 20; ) {
          const status = await fleet.call(gateway, limited.key);
          refused = status === 429 ? refused + 1 : 0;
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, i) => saturate(i)));
      const used = arrivals.length * 18;
      t.log(`${used} of ${tokens} tokens used`);
      t.true(used <= tokens && used >= 0.99 * tokens, `${used} tokens`);

      // Calls that use more than was held overshoot by what those in flight exceed it, and no more.
      const [lanes, each, held] = [8, 200, 10];
      const over = await known(fleet, { rate_limits: [{ type: 'tokens', unit: 'rph', value: tokens }] });
      arrivals.length = 0;
      const exceed = async (gateway: number): Promise<void> => {
        while ((await fleet.call(gateway, over.key, `use-${each}`)) === 200);
      };
      await Promise.all(Array.from({ length: lanes }, (_, i) => exceed(i)));
      const spent = arrivals.length * each;
      t.log(`${spent} of ${tokens} tokens used by calls that exceed their estimates`);
      t.true(spent <= tokens + lanes * (each - held), `${spent} tokens`);
      t.true(spent >= 0.99 * tokens - each);
    },
  );

  test.serial('a budget over four processes ends where it ends', async (t) => {
    shared ??= startFleet(forAll, redis, mongo.uri);
    const fleet = await shared;
    const { key, id } = await known(fleet, { usage_limits: { type: 'tokens', credit_limit: 2000 } });
    const earlier = fleet.meter.arrivals.length;
    const spend = async (gateway: number): Promise<void> => {
      for (let refused = 0; refused < 10; )
        refused = (await fleet.call(gateway, key)) === 412 ? refused + 1 : 0;
    };
    await Promise.all(Array.from({ length: 8 }, (_, i) => spend(i)));
    const record = await fleet.client.keyUntil(id, (own) => limitOf(own).held_usage === 0);
    const { current_usage: used } = limitOf(record);
    t.is(used, (fleet.meter.arrivals.length - earlier) * 18, 'every call is charged once');
    t.true(Number(used) <= 2000 && Number(used) >= 1940, `${used}`);

    // Killed in flight: what it held is charged as an estimate by whoever finds it, and nothing is held for good.
    const killed = await known(fleet, { usage_limits: { type: 'tokens', credit_limit: 100_000 } });
    const before = fleet.meter.arrivals.length;
    const flights = Array.from({ length: 5 }, () =>
      fleet.call(3, killed.key, 'hold-20000', { max_tokens: 1000 }).catch(() => 0),
    );
    await until(
      async () => fleet.meter.arrivals.length,
      (count) => count === before + 5,
    );
    fleet.gateways[3]?.process.kill('SIGKILL');
    await Promise.all(flights);
    const started = performance.now();
    const swept = await until(
      () => fleet.client.admin('GET', `/api-keys/${killed.id}`),
      (own) => limitOf(own).held_usage === 0 && Number(limitOf(own).current_usage) > 0,
      10_000,
    );
    t.log(`swept ${Math.round(performance.now() - started)} ms after the kill`);
    t.is(limitOf(swept).held_usage, 0);
    const estimate = Number(limitOf(swept).current_usage);
    t.true(estimate >= 5 * 1000 && estimate <= 5 * 1050, `${estimate}`);
  });

  test.serial(
    'a process is killed under load: each call has one place in the books, and the budget is their sum',
    async (t) => {
      // Another fleet on the same Redis would take over what the killed process left, into its own books.
      const own = (await startOwnRedis()) as OwnRedis;
      t.teardown(() => own.stop());
      const fleet = await startFleet(t, own, mongo.uri, 2);
      const { key, id } = await known(fleet, { usage_limits: { type: 'cost', credit_limit: 1000 } });
      let going = true;
      const lane = async (gateway: number): Promise<void> => {
        while (going) {
          const trace = randomUUID();
          const content = [{ role: 'user', content: trace }];
          await fetch(`${fleet.gateways[gateway]?.origin}/v1/chat/completions`, {
            method: 'POST',
            headers: { ...chatHeaders(fleet.meter, key), 'x-gateway-trace-id': trace },
            body: JSON.stringify({ model: 'gpt-4o', messages: content, max_tokens: 10 }),
          })
            .then(
              (answer) => answer.text(),
              () => new Promise((resolve) => setTimeout(resolve, 50)),
            )
            .catch(() => undefined);
        }
      };
      const lanes = Array.from({ length: 8 }, (_, i) => lane(i % 2));
      await new Promise((resolve) => setTimeout(resolve, 1500));
      // On a busy machine it takes longer.
      await until(
        async () => fleet.meter.said.length,
        (calls) => calls > 50,
        60_000,
      );
      fleet.gateways[1]?.process.kill('SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, 500));
      going = false;
      await Promise.all(lanes);
      const settled = await until(
        () => fleet.client.admin('GET', `/api-keys/${id}`),
        (own) => limitOf(own).held_usage === 0,
        10_000,
      );
      const { said } = fleet.meter;
      const entries = await until(
        () => entriesOf(fleet.client),
        // What a killed process had claimed of the journal is another's when its claim is over.
        (found) => said.every((trace) => found.has(trace)),
        45_000,
      );
      const counts = said.map((trace) => entries.get(trace)?.length ?? 0);
      const broken = [...entries.values()].flat().filter(({ outcome }) => outcome === 'interrupted');
      t.log(`${said.length} calls, ${broken.length} of them killed in flight`);
      t.true(said.length > 50);
      t.deepEqual(
        counts.filter((count) => count !== 1),
        [],
        'each call that its provider saw has one entry',
      );
      t.true(broken.every((entry) => entry.usage_estimated === true && !entry.status_code));
      let sum = 0n;
      for (const { cost_exact: cost } of [...entries.values()].flat()) sum += BigInt(String(cost ?? 0));
      const digits = sum.toString().padStart(13, '0');
      t.is(limitOf(settled).current_usage, Number(`${digits.slice(0, -12)}.${digits.slice(-12)}`));
    },
  );

  test.serial(
    'Redis frozen, killed and back: rates pass, budgets say 503, and nothing is charged that was not',
    async (t) => {
      shared ??= startFleet(forAll, redis, mongo.uri);
      const fleet = await shared;
      const rated = await known(fleet, { rate_limits: [{ type: 'requests', unit: 'rph', value: 1000 }] });
      const tokens = await known(fleet, { rate_limits: [{ type: 'tokens', unit: 'rph', value: 100_000 }] });
      const budget = await known(fleet, { usage_limits: { type: 'tokens', credit_limit: 100_000 } });
      t.teardown(() => redis.resume());
      t.is(await fleet.call(0, budget.key), 200);
      await fleet.client.keyUntil(budget.id, (own) => limitOf(own).current_usage === 18);
      const timed = async (key: string): Promise<readonly [status: number, ms: number]> => {
        const start = performance.now();
        return [await fleet.call(0, key), performance.now() - start];
      };
      const outage = async (what: string, bound: number): Promise<void> => {
        for (const [key, wanted] of [
          [rated.key, 200],
          [tokens.key, 200],
          [budget.key, 503],
        ] as const) {
          const [status, ms] = await timed(key);
          t.is(status, wanted, what);
          t.true(ms < withSlack(bound), `${what}: ${Math.round(ms)} ms`);
        }
        const record = await fleet.client.admin('GET', `/api-keys/${budget.id}`);
        t.is(limitOf(record).current_usage, undefined, 'nobody knows, and nobody makes it up');
      };

      const before = fleet.meter.arrivals.length;
      const flight = fleet.call(0, budget.key, 'hold-600');
      await until(
        async () => fleet.meter.arrivals.length,
        (count) => count > before,
      );
      redis.pause();
      await outage('frozen', 2500);
      t.is(await flight, 200, 'a call that was admitted before goes on');
      redis.resume();
      const usage = async (wanted: number): Promise<Json> =>
        limitOf(
          await until(
            () => fleet.client.admin('GET', `/api-keys/${budget.id}`),
            (own) => limitOf(own).held_usage === 0 && limitOf(own).current_usage === wanted,
            10_000,
          ),
        );
      t.like(
        await usage(36),
        { current_usage: 36, held_usage: 0 },
        'what was refused is not charged, what ended is',
      );

      await redis.kill();
      await outage('gone', 2500);
      await redis.restart();
      const again = () => fleet.call(0, budget.key);
      t.is(await until(again, (status) => status === 200, 10_000), 200);
      t.like(await usage(54), { current_usage: 54, held_usage: 0 });
    },
  );
}

test.serial(
  'an embedded process is killed in flight: the next one on its folder settles what was held',
  async (t) => {
    const meter = await startMeter(t);
    const env = {
      GATEWAY_DATA_DIR: tempDir(t),
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_API_KEY: WORKSPACE_KEY,
      GATEWAY_HOLD_SECONDS: '1',
    };
    const first = await startChild(t, env);
    const { key, id } = await limitsClient(first, meter as never).key({
      usage_limits: { type: 'tokens', credit_limit: 100_000 },
    });
    const call = (model: string): Promise<unknown> =>
      fetch(`${first.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: chatHeaders(meter, key),
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 1000 }),
      }).then((answer) => answer.text());
    await call('use-18');
    const flight = call('hold-20000').catch(() => undefined);
    await until(
      async () => meter.arrivals.length,
      (count) => count === 2,
    );
    first.process.kill('SIGKILL');
    await Promise.all([flight, first.exited]);
    const second = limitsClient(await startChild(t, env), meter as never);
    const swept = await until(
      () => second.admin('GET', `/api-keys/${id}`),
      (own) => limitOf(own).held_usage === 0,
      10_000,
    );
    t.is(limitOf(swept).held_usage, 0);
    const used = Number(limitOf(swept).current_usage);
    t.true(used >= 1018 && used <= 2100, `${used}`);
    // What the killed process had written last is the next one's when its claim is over: 6 s.
    const entries = await until(
      async () => [...(await entriesOf(second)).values()].flat(),
      (found) => found.length === 2,
      20_000,
    );
    t.deepEqual(entries.map(({ outcome }) => outcome).toSorted(), ['interrupted', 'success']);
  },
);
