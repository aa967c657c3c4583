// What becomes of each limit while its Redis is frozen, gone, refusing or slow, by what the limit says; and that all is
// counted as it was when Redis is back.

import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import {
  type Answered,
  type Json,
  type LimitsClient,
  limitsClient,
  until,
} from '../support/limits-client.ts';
import { reportMissing, startOwnRedis } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';
import { type SlowProxy, startSlowProxy } from '../support/slow-proxy.ts';

/** The store's deadline, and what a busy machine takes besides. */
const BOUND_MS = withSlack(1000 + 900);
/** What a call of the fake provider uses. */
const USED = 18;

const server = await startOwnRedis();
if (!server) reportMissing(test, 'Redis');
let gateway: TestGateway;
let provider: FakeProvider;
let proxy: SlowProxy;
let client: LimitsClient;
test.before(async () => {
  if (!server) return;
  proxy = await startSlowProxy(server.port);
  [gateway, provider] = await Promise.all([
    startGateway({ REDIS_URL: `redis://127.0.0.1:${proxy.port}`, GATEWAY_HOLD_SECONDS: '3' }),
    startFakeProvider(),
  ]);
  client = limitsClient(gateway, provider);
});
test.after.always(async () => {
  server?.resume();
  await gateway?.close();
  await provider?.close();
  await proxy?.close();
  await server?.stop();
});

/** A key, and what its calls came to. */
class Caller {
  readonly id: string;
  readonly #key: string;
  passed = 0;

  constructor({ id, key }: { readonly id: string; readonly key: string }) {
    this.id = id;
    this.#key = key;
  }

  async call(body: Json = {}): Promise<Answered & { readonly ms: number }> {
    const start = performance.now();
    const answer = await client.chat({}, body, this.#key);
    if (answer.status === 200) this.passed++;
    return { ...answer, ms: performance.now() - start };
  }

  /** So many calls one after the other. */
  async statuses(count: number): Promise<number[]> {
    const found: number[] = [];
    for (let i = 0; i < count; i++) found.push((await this.call()).status);
    return found;
  }

  /** What its budget stands at, once nothing is held and it is as wanted. */
  async used(wanted: number): Promise<Json> {
    const record = await until(
      () => client.admin('GET', `/api-keys/${this.id}`),
      ({ usage_limits: limits }) => {
        const { held_usage: held, current_usage: current } = limits as Json;
        return held === 0 && current === wanted;
      },
      12_000,
    );
    return record.usage_limits as Json;
  }
}

const keyOf = async (limits: Json): Promise<Caller> => new Caller(await client.key(limits));
const rate = (value: number, outage?: string, unit = 'rph'): Json => ({
  rate_limits: [{ type: 'requests', unit, value, ...(outage ? { on_store_outage: outage } : {}) }],
});
const budget = (credit: number, outage?: string): Json => ({
  usage_limits: { type: 'tokens', credit_limit: credit, ...(outage ? { on_store_outage: outage } : {}) },
});

/** One caller of each kind, each with one call before the outage. */
async function callers() {
  const made = {
    rateByDefault: await keyOf(rate(1000)),
    rateDenies: await keyOf(rate(1000, 'deny')),
    rateAlone: await keyOf(rate(3, 'local')),
    tokensAlone: await keyOf({
      rate_limits: [{ type: 'tokens', unit: 'rph', value: 200, on_store_outage: 'local' }],
    }),
    slotsByDefault: await keyOf(rate(5, undefined, 'concurrent')),
    slotsDeny: await keyOf(rate(5, 'deny', 'concurrent')),
    budgetByDefault: await keyOf(budget(100_000)),
    budgetAllows: await keyOf(budget(100, 'allow')),
    budgetAlone: await keyOf(budget(200, 'local')),
  };
  for (const [name, caller] of Object.entries(made)) {
    const { status } = await caller.call();
    if (status !== 200) throw new Error(`${name}: ${status}`);
  }
  for (const caller of [made.budgetByDefault, made.budgetAllows, made.budgetAlone]) await caller.used(USED);
  return made;
}

/** What each kind does while the store is away; nobody waits beyond the bound. */
async function whileAway(
  t: ExecutionContext,
  own: Awaited<ReturnType<typeof callers>>,
  what: string,
): Promise<void> {
  const one = async (caller: Caller, wanted: number): Promise<void> => {
    const { status, ms, headers, json } = await caller.call();
    t.is(status, wanted, `${what}: ${JSON.stringify(json)}`);
    t.true(ms < BOUND_MS, `${what}: ${Math.round(ms)} ms`);
    if (wanted === 503) {
      t.is(headers.get('retry-after'), '1');
      t.regex(JSON.stringify(json), /limit of the API key cannot be asked/);
    }
  };
  await one(own.rateByDefault, 200);
  await one(own.rateDenies, 503);
  await one(own.slotsByDefault, 200);
  await one(own.slotsDeny, 503);
  await one(own.budgetByDefault, 503);
  // Three an hour, of which one was made before.
  t.deepEqual(await own.rateAlone.statuses(4), [200, 200, 429, 429], what);
  const tokens = await own.tokensAlone.statuses(12);
  const most = tokens.filter((status) => status === 200).length;
  t.true(most >= 5 && (most + 1) * USED <= 200, `${what}: ${tokens}`);
  t.true(tokens.includes(429), what);
  // Above its limit, and charged for it when the store is back.
  t.deepEqual(await own.budgetAllows.statuses(8), Array(8).fill(200), what);
  const alone = await own.budgetAlone.statuses(14);
  const within = alone.filter((status) => status === 200).length;
  t.true(within >= 5 && (within + 1) * USED <= 200, `${what}: ${alone}`);
  t.is(alone.at(-1), 412, what);
}

/** Afterwards the books say what was used. */
async function afterwards(
  t: ExecutionContext,
  own: Awaited<ReturnType<typeof callers>>,
  what: string,
): Promise<void> {
  const probe = await until(
    () => own.rateDenies.call(),
    ({ status }) => status === 200,
    8000,
  );
  t.is(probe.status, 200, `${what}: back`);
  for (const name of ['budgetByDefault', 'budgetAllows', 'budgetAlone'] as const) {
    const caller = own[name];
    t.like(
      await caller.used(caller.passed * USED),
      { current_usage: caller.passed * USED, held_usage: 0 },
      `${what}: ${name}`,
    );
  }
  // What was let through above the limit is charged: nothing is left of it.
  const spent = own.budgetAllows.passed * USED >= 100;
  t.is((await own.budgetAllows.call()).status, spent ? 412 : 200, what);
  t.is((await own.budgetByDefault.call()).status, 200);
  const caller = own.budgetByDefault;
  t.like(await caller.used(caller.passed * USED), { held_usage: 0 }, what);
}

if (server) {
  test.serial('frozen', async (t) => {
    t.timeout(240_000);
    const own = await callers();
    server.pause();
    await whileAway(t, own, 'frozen');
    server.resume();
    await afterwards(t, own, 'frozen');
  });

  test.serial('killed, and back on the same data', async (t) => {
    t.timeout(240_000);
    const own = await callers();
    await server.kill();
    await whileAway(t, own, 'killed');
    await server.restart();
    await afterwards(t, own, 'killed');
  });

  test.serial('refusing', async (t) => {
    t.timeout(240_000);
    const own = await callers();
    const operator = new Redis(server.url);
    await operator.config('SET', 'maxmemory', '1');
    await whileAway(t, own, 'refusing');
    await operator.config('SET', 'maxmemory', '0');
    operator.disconnect();
    await afterwards(t, own, 'refusing');
  });

  test.serial('slow but alive: calls wait for it, and nothing is counted wrong', async (t) => {
    t.timeout(240_000);
    const own = await callers();
    let turn = 0;
    proxy.delay = () => 300 + ((turn++ * 137) % 400);
    for (const caller of [own.rateDenies, own.slotsDeny, own.budgetByDefault]) {
      const { status, ms } = await caller.call();
      t.is(status, 200);
      t.true(ms >= 290 && ms < BOUND_MS, `${Math.round(ms)} ms`);
    }
    // The limit is the one of all instances: it was asked.
    t.deepEqual(await own.rateAlone.statuses(3), [200, 200, 429]);
    proxy.delay = () => 0;
    await afterwards(t, own, 'slow');
  });

  test.serial(
    'slower than its deadline: as if it were away, and what it did unheard is undone',
    async (t) => {
      t.timeout(240_000);
      const own = await callers();
      proxy.delay = () => 1600;
      await whileAway(t, own, 'too slow');
      proxy.delay = () => 0;
      await afterwards(t, own, 'too slow');
    },
  );

  test.serial(
    'two hundred calls at once into a store that freezes: all are answered within the bound',
    async (t) => {
      t.timeout(240_000);
      const [denies, allows] = [await keyOf(budget(100_000)), await keyOf(budget(100_000, 'allow'))];
      t.deepEqual([...(await denies.statuses(1)), ...(await allows.statuses(1))], [200, 200]);
      await Promise.all([denies.used(USED), allows.used(USED)]);
      server.pause();
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? denies : allows).call()),
      );
      t.deepEqual([...new Set(answers.map(({ status }) => status))].toSorted(), [200, 503]);
      t.is(allows.passed, 101);
      const slowest = Math.max(...answers.map(({ ms }) => ms));
      t.log(`slowest ${Math.round(slowest)} ms`);
      t.true(slowest < BOUND_MS + 1000);
      server.resume();
      // What was asked and not heard was held all the same, and is let go or charged: each once.
      t.like(await denies.used(USED), { current_usage: USED, held_usage: 0 });
      t.like(await allows.used(101 * USED), { current_usage: 101 * USED, held_usage: 0 });
    },
  );

  test.serial('limits of what a call is sent to: one that denies is a target that failed', async (t) => {
    t.timeout(240_000);
    const virtualKey = async (slug: string, limits: Json): Promise<void> => {
      await client.admin('POST', '/virtual-keys', {
        name: slug,
        slug,
        provider: 'openai',
        key: 'sk-x',
        workspace_id: 'default',
        custom_host: `${provider.origin}/${slug}/v1`,
        ...limits,
      });
    };
    await virtualKey('denies', budget(100_000));
    await virtualKey('allows', budget(100_000, 'allow'));
    const usage = async (slug: string): Promise<Json> =>
      (await client.admin('GET', `/virtual-keys/${slug}?workspace_id=default`)).usage_limits as Json;
    const config = (...targets: string[]): Record<string, string> => ({
      'x-gateway-config': JSON.stringify({
        strategy: { mode: 'fallback' },
        targets: targets.map((slug) => ({ provider: `@${slug}` })),
      }),
    });
    const send = async (...targets: string[]): Promise<Response> => {
      const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': WORKSPACE_KEY,
          'content-type': 'application/json',
          ...config(...targets),
        },
        body: JSON.stringify({
          model: 'gpt-4o',
          messages: [{ role: 'user', content: 'hi' }],
          max_tokens: 10,
        }),
      });
      await answer.text();
      return answer;
    };
    const used = async (slug: string, wanted: number): Promise<Json> =>
      until(
        () => usage(slug),
        ({ current_usage: current, held_usage: held }) => current === wanted && held === 0,
        8000,
      );
    // The store may count as away for a moment, from the test before.
    await until(
      async () => (await send('denies')).status,
      (status) => status === 200,
      8000,
    );
    t.is((await send('allows')).status, 200);
    t.like(await used('denies', USED), { current_usage: USED, held_usage: 0 });
    await used('allows', USED);
    server.pause();
    t.is((await send('denies')).status, 503);
    t.is((await send('denies', 'allows')).status, 200, 'a fallback moves on');
    t.is((await send('allows')).status, 200);
    server.resume();
    t.like(await used('allows', 3 * USED), { current_usage: 3 * USED, held_usage: 0 });
    t.like(
      await used('denies', USED),
      { current_usage: USED, held_usage: 0 },
      'what was not called is not charged',
    );
    t.is(
      (
        await until(
          () => send('denies'),
          ({ status }) => status === 200,
        )
      ).status,
      200,
    );
  });

  test.serial('a limit that was never seen counts from zero alone', async (t) => {
    t.timeout(240_000);
    const { id, key } = await client.key(rate(2, 'local'));
    const caller = new Caller({ id, key });
    server.pause();
    t.deepEqual(await caller.statuses(3), [200, 200, 429]);
    server.resume();
    t.is(
      (
        await until(
          () => caller.call(),
          ({ status }) => status === 200,
          8000,
        )
      ).status,
      200,
    );
  });

  test.serial('calls in flight alone: those of before the outage keep their places', async (t) => {
    t.timeout(240_000);
    const caller = await keyOf(rate(2, 'local', 'concurrent'));
    t.is((await caller.call()).status, 200);
    const before = caller.call({ model: 'slow-2500' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    server.pause();
    const first = caller.call({ model: 'slow-2500' });
    await new Promise((resolve) => setTimeout(resolve, 1600));
    t.is((await caller.call()).status, 429);
    t.is((await before).status, 200);
    t.is((await caller.call()).status, 200);
    t.is((await first).status, 200);
    server.resume();
    t.is(
      (
        await until(
          () => caller.call(),
          ({ status }) => status === 200,
          8000,
        )
      ).status,
      200,
    );
  });
}
