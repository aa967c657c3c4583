// Routes in a world with its own clock: what is called, when, and what comes of it.
import test from 'ava';
import type { Reached } from '../../../src/inference/route/call-target.ts';
import { StickyStore } from '../../../src/inference/route/sticky.ts';
import { type GatewayError, toGatewayError } from '../../../src/lib/errors.ts';
import { leaseBodies } from '../../../src/store/memory/lease.ts';
import { momentOf } from '../../../src/store/memory/moment.ts';
import { when } from '../plan/facts.ts';
import { type Answer, type Behaviour, World, type WorldFacts } from './world.ts';

const A = { name: 'a', provider: 'openai', api_key: 'key-openai-1' };
const B = { name: 'b', provider: 'groq', api_key: 'key-groq-1' };
const C = { name: 'c', provider: 'anthropic', api_key: 'key-anthropic-1' };
const ok = (ms = 10): Behaviour => ({ kind: 'ok', ms });
const status = (code: number, ms = 10, retryAfterMs?: number): Behaviour => ({
  kind: 'status',
  ms,
  status: code,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});
const HANG: Behaviour = { kind: 'hang' };

interface Ran {
  readonly world: World;
  readonly reached: Reached<Answer> | undefined;
  readonly error: GatewayError | undefined;
  /** Paths in the order of the calls, with the time of each. */
  readonly calls: readonly string[];
  readonly ms: number;
}

/** Runs a config. `by` says per target how its calls go, the last one for all further ones. */
async function run(
  config: object,
  by: Readonly<Record<string, readonly Behaviour[]>>,
  more: Partial<WorldFacts> & { leaveAt?: number } = {},
): Promise<Ran> {
  const world = new World({
    config,
    behave: (path, nth) => {
      const list = by[path.replace(/^config\.?/, '')] ?? [ok()];
      return list[Math.min(nth, list.length - 1)]!;
    },
    ...more,
  });
  if (more.leaveAt !== undefined) world.leaveAt(more.leaveAt);
  const began = world.now;
  const outcome = await world.until(
    world.route.run(world.plan.root, world.signal).then(
      (reached) => ({ reached, error: undefined }),
      (error: unknown) => ({ reached: undefined, error: toGatewayError(error) }),
    ),
  );
  const calls = world.made.map(({ path, at }) => `${path.replace(/^config\.?/, '')}@${at - began}`);
  return { world, ...outcome, calls, ms: world.now - began };
}

const fallback = (...targets: object[]): object => ({ strategy: { mode: 'fallback' }, targets });

test('fallback: every status that is no success moves on', async (t) => {
  for (const failing of [
    status(400),
    status(401),
    status(404),
    status(408),
    status(429),
    status(503),
    HANG,
  ]) {
    const { reached, calls } = await run(fallback(A, B), { 'targets[0]': [failing] });
    t.is(reached?.target.path, 'config.targets[1]');
    t.is(calls.length, 2);
  }
});

test('fallback: with codes only those move on, and the answer of any other is given', async (t) => {
  const config = { strategy: { mode: 'fallback', on_status_codes: [429] }, targets: [A, B] };
  const given = await run(config, { 'targets[0]': [status(500)] });
  t.is(given.error?.status, 500);
  t.is(given.world.route.last?.path, 'config.targets[0]');
  t.is((await run(config, { 'targets[0]': [status(429)] })).reached?.target.path, 'config.targets[1]');
});

test('fallback: the last target’s failure is given', async (t) => {
  const { error, world } = await run(fallback(A, B), {
    'targets[0]': [status(500)],
    'targets[1]': [status(418)],
  });
  t.is(error?.status, 418);
  t.is(world.route.last?.path, 'config.targets[1]');
});

test('fallback: 246 is an answer unless its code is listed', async (t) => {
  const by = { 'targets[0]': [{ kind: 'ok', ms: 5, status: 246 } as const] };
  t.is((await run(fallback(A, B), by)).reached?.target.path, 'config.targets[0]');
  const listed = await run({ strategy: { mode: 'fallback', on_status_codes: [246] }, targets: [A, B] }, by);
  t.is(listed.reached?.target.path, 'config.targets[1]');
  t.true(listed.world.answers[0]?.discarded);
});

test('nested strategies', async (t) => {
  const config = fallback({ strategy: { mode: 'loadbalance' }, targets: [A, B] }, fallback(C, A));
  const { reached, calls } = await run(
    config,
    { 'targets[0].targets[0]': [status(500)], 'targets[1].targets[0]': [status(500)] },
    { random: () => 0.1 },
  );
  t.is(reached?.target.path, 'config.targets[1].targets[1]');
  t.deepEqual(calls, ['targets[0].targets[0]@0', 'targets[1].targets[0]@10', 'targets[1].targets[1]@20']);
});

test('retries wait longer each time, between half of it and all', async (t) => {
  const config = { ...A, retry: { attempts: 3 } };
  const low = await run(config, { '': [status(500, 0)] }, { random: () => 0 });
  t.deepEqual(low.calls, ['@0', '@250', '@750', '@1750']);
  t.is(low.world.route.retries, -1);
  const high = await run(config, { '': [status(500, 0), ok(0)] }, { random: () => 0.999 });
  t.deepEqual(high.calls, ['@0', '@500']);
  t.is(high.reached?.retries, 1);
});

test('only the listed statuses are tried again, and what was not reached at all', async (t) => {
  const config = { ...A, retry: { attempts: 2, on_status_codes: [429] } };
  t.is((await run(config, { '': [status(500)] })).calls.length, 1);
  t.is((await run(config, { '': [status(429)] })).calls.length, 3);
  t.is((await run(config, { '': [{ kind: 'unreachable', ms: 0 }] })).calls.length, 3);
  const byDefault = { ...A, retry: { attempts: 1 } };
  for (const code of [429, 500, 502, 503, 504, 529])
    t.is((await run(byDefault, { '': [status(code)] })).calls.length, 2, String(code));
  for (const code of [400, 401, 404, 408, 501])
    t.is((await run(byDefault, { '': [status(code)] })).calls.length, 1, String(code));
});

test('retry-after is kept to when it is asked for, up to a minute in all', async (t) => {
  const config = { ...A, retry: { attempts: 5, use_retry_after_header: true } };
  t.deepEqual((await run(config, { '': [status(429, 0, 2000), ok(0)] })).calls, ['@0', '@2000']);
  t.deepEqual((await run(config, { '': [status(429, 0, 61_000)] })).calls, ['@0']);
  t.deepEqual((await run(config, { '': [status(429, 0, 25_000)] })).calls, ['@0', '@25000', '@50000']);
  const not = { ...A, retry: { attempts: 1 } };
  t.deepEqual((await run(not, { '': [status(429, 0, 2000), ok(0)] })).calls, ['@0', '@375']);
});

test('no attempt begins when the caller’s time would be over', async (t) => {
  const config = { ...A, retry: { attempts: 5 } };
  const { calls, ms } = await run(config, { '': [status(500, 0)] }, { withinMs: 1000 });
  t.deepEqual(calls, ['@0', '@375']);
  t.is(ms, 375);
});

test('an attempt’s time: 408, which moves on and is retried only when listed', async (t) => {
  const slow = { ...A, request_timeout: 50 };
  const { error, ms, world } = await run(slow, { '': [ok(1000)] });
  t.is(error?.status, 408);
  t.is(ms, 50);
  t.is(world.made[0]?.outcome, 'aborted');
  t.is((await run(fallback(slow, B), { 'targets[0]': [HANG] })).reached?.target.path, 'config.targets[1]');
  const again = { ...slow, retry: { attempts: 1, on_status_codes: [408] } };
  t.is((await run(again, { '': [HANG, ok()] })).calls.length, 2);
});

test('load balance by weight', async (t) => {
  const config = {
    strategy: { mode: 'loadbalance' },
    targets: [
      { ...A, weight: 1 },
      { ...B, weight: 3 },
      { ...C, weight: 0 },
    ],
  };
  const at = async (random: number) => (await run(config, {}, { random: () => random })).reached?.target.path;
  t.is(await at(0), 'config.targets[0]');
  t.is(await at(0.24), 'config.targets[0]');
  t.is(await at(0.26), 'config.targets[1]');
  t.is(await at(0.9999), 'config.targets[1]');
});

test('least latency: what is not known first, then the fastest; a failure is no fast answer', async (t) => {
  const config = { strategy: { mode: 'loadbalance', algorithm: 'least-latency' }, targets: [A, B, C] };
  const world = new World({
    config,
    behave: (path) => (path.endsWith('[0]') ? ok(100) : path.endsWith('[1]') ? ok(20) : status(500, 1)),
  });
  const order: string[] = [];
  for (let i = 0; i < 6; i++) {
    await world.until(
      world
        .again()
        .run(world.plan.root, world.signal)
        .catch(() => {}),
    );
    order.push(world.made.at(-1)!.path.slice(-2, -1));
  }
  t.deepEqual([...order.slice(0, 3)].sort(), ['0', '1', '2']);
  t.deepEqual(order.slice(3), ['1', '1', '1']);
});

test('least busy', async (t) => {
  const config = {
    strategy: { mode: 'loadbalance', algorithm: 'least_busy' },
    targets: [A, { ...B, weight: 2 }],
  };
  const world = new World({ config, behave: () => ok(100) });
  const all = [0, 1, 2].map(() => world.again().run(world.plan.root, world.signal));
  await world.until(Promise.all(all));
  t.deepEqual(world.made.map(({ path }) => path.slice(-2, -1)).sort(), ['0', '1', '1']);
});

test('sticky: a caller stays with its target until the time is over', async (t) => {
  const config = {
    strategy: { mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['metadata.user'], ttl: 60 } },
    targets: [A, B],
  };
  let random = 0;
  const world = new World({
    config,
    headers: { 'x-gateway-metadata': '{"user":"anna"}' },
    behave: () => ok(10),
    random: () => random,
  });
  const next = async (): Promise<string> => {
    await world.until(world.again().run(world.plan.root, world.signal));
    return world.made.at(-1)!.path;
  };
  t.is(await next(), 'config.targets[0]');
  random = 0.9;
  t.is(await next(), 'config.targets[0]');
  world.now += 61_000;
  t.is(await next(), 'config.targets[1]');
});

test('sticky: instances that share state agree, and a store that is away harms nobody', async (t) => {
  const leases = leaseBodies();
  const shared = {
    acquireLease: async (org: string, request: Parameters<typeof leases.acquire>[1]) =>
      leases.acquire(org, request, momentOf(Date.now(), 0)),
  };
  const [one, two] = [new StickyStore(shared, Date.now), new StickyStore(shared, Date.now)];
  t.is(await one.claim('org', 'k', 3, 60_000), 3);
  t.is(await two.claim('org', 'k', 1, 60_000), 3);
  t.is(await two.claim('org', 'k', 1, 60_000), 3);
  t.is(await two.claim('another', 'k', 1, 60_000), 1);
  const gone = { acquireLease: () => Promise.reject(new Error('away')) };
  t.is(await new StickyStore(gone, Date.now).claim('org', 'k', 2, 60_000), 2);
});

test('conditions: in order, the default, and a 400 without one', async (t) => {
  const strategy = {
    mode: 'conditional',
    conditions: [
      when({ 'metadata.tier': 'gold', 'params.max_tokens': { $gte: 10, $lt: 100 } }, 'a'),
      when(
        { $or: [{ 'metadata.tags': { $in: ['x'] } }, { 'params.messages[0].role': { $in: ['system'] } }] },
        'b',
      ),
    ],
  };
  const at = async (metadata: object, params: object, more: object = {}) => {
    const ran = await run(
      { strategy: { ...strategy, ...more }, targets: [A, B, C] },
      {},
      { params, headers: { 'x-gateway-metadata': JSON.stringify(metadata) } },
    );
    return ran.reached?.target.name ?? ran.error?.status;
  };
  t.is(await at({ tier: 'gold' }, { max_tokens: 50 }), 'a');
  t.is(await at({ tier: 'gold' }, { max_tokens: 100 }, { default: 'c' }), 'c');
  t.is(await at({ tags: ['y', 'x'] }, {}), 'b');
  t.is(await at({}, { messages: [{ role: 'system' }] }), 'b');
  t.is(await at({}, {}), 400);
  t.is(await at({ constructor: 1 }, {}, { default: 'c' }), 'c');
});

test('hedge: the second answers first, and the first is ended', async (t) => {
  const config = { strategy: { mode: 'loadbalance', hedge: { after_ms: 100 } }, targets: [A, B] };
  const { reached, calls, world, ms } = await run(
    config,
    { 'targets[0]': [ok(5000)], 'targets[1]': [ok(50)] },
    { random: () => 0 },
  );
  t.is(reached?.target.path, 'config.targets[1]');
  t.deepEqual(calls, ['targets[0]@0', 'targets[1]@100']);
  t.is(ms, 150);
  t.deepEqual(
    world.made.map(({ outcome }) => outcome),
    ['aborted', 'ok'],
  );
});

test('hedge: none when the first is fast, no more than so many, and a failure waits for the other', async (t) => {
  const config = { strategy: { mode: 'single', hedge: { after_ms: 100, max: 2 } }, targets: [A] };
  t.is((await run(config, { 'targets[0]': [ok(99)] })).calls.length, 1);
  t.deepEqual((await run(config, { 'targets[0]': [ok(1000)] })).calls, [
    'targets[0]@0',
    'targets[0]@100',
    'targets[0]@200',
  ]);
  const failing = await run(config, { 'targets[0]': [status(500, 150), ok(100)] });
  t.is(failing.reached?.answer.made.at, failing.world.made[1]?.at);
});

test('hedge: none of a request that must not be sent twice; the next target waits for the failure', async (t) => {
  const single = { strategy: { mode: 'single', hedge: { after_ms: 100 } }, targets: [A] };
  const once = await run(single, { 'targets[0]': [ok(1000)] }, { idempotent: false });
  t.deepEqual([once.calls, once.ms], [['targets[0]@0'], 1000]);
  const fallback = { strategy: { mode: 'fallback', hedge: { after_ms: 100 } }, targets: [A, B] };
  const { calls } = await run(
    fallback,
    { 'targets[0]': [status(500, 300)], 'targets[1]': [ok(10)] },
    { idempotent: false },
  );
  t.deepEqual(calls, ['targets[0]@0', 'targets[1]@300']);
});

test('hedge in a fallback: the next target early', async (t) => {
  const config = { strategy: { mode: 'fallback', hedge: { after_ms: 100 } }, targets: [A, B, C] };
  const { calls, reached } = await run(config, {
    'targets[0]': [HANG],
    'targets[1]': [status(500, 50)],
    'targets[2]': [ok(10)],
  });
  t.deepEqual(calls, ['targets[0]@0', 'targets[1]@100', 'targets[2]@150']);
  t.is(reached?.target.name, 'c');
});

test('a breaker: open after its failures, one probe when the cooldown is over, closed when that is well', async (t) => {
  const config = {
    strategy: { mode: 'fallback', cb_config: { failure_threshold: 2, cooldown_interval: 30000 } },
    targets: [A, B],
  };
  let broken = true;
  const world = new World({
    config,
    behave: (path) => (broken && path.endsWith('[0]') ? status(500, 1) : ok(1)),
  });
  const next = async (): Promise<string> => {
    const before = world.made.length;
    await world.until(world.again().run(world.plan.root, world.signal));
    return world.made
      .slice(before)
      .map(({ path }) => path.slice(-2, -1))
      .join('');
  };
  t.deepEqual([await next(), await next(), await next()], ['01', '01', '1']);
  world.now += 30_001;
  t.deepEqual([await next(), await next()], ['01', '1'], 'the probe fails: open again');
  world.now += 30_001;
  broken = false;
  t.deepEqual([await next(), await next()], ['0', '0']);
});

test('a breaker of a lone target refuses fast; of all targets it is passed over', async (t) => {
  const lone = new World({
    config: { ...A, cb_config: { failure_threshold: 1 } },
    behave: () => status(500, 1),
  });
  for (let i = 0; i < 2; i++)
    await lone.until(
      lone
        .again()
        .run(lone.plan.root, lone.signal)
        .catch(() => {}),
    );
  t.is(lone.made.length, 1);
  const error = await lone.until(lone.again().run(lone.plan.root, lone.signal).catch(toGatewayError));
  t.like(error, { reason: 'circuit_open' });
  const all = new World({
    config: { strategy: { mode: 'loadbalance' }, cb_config: { failure_threshold: 1 }, targets: [A, B] },
    behave: () => status(500, 1),
  });
  for (let i = 0; i < 6; i++)
    await all.until(
      all
        .again()
        .run(all.plan.root, all.signal)
        .catch(() => {}),
    );
  t.is(all.made.length, 6);
});

test('a breaker by percentage waits for enough calls', async (t) => {
  const config = { ...A, cb_config: { failure_threshold_percentage: 50, minimum_requests: 4 } };
  const world = new World({ config, behave: (_, nth) => (nth % 2 === 0 ? ok(1) : status(503, 1)) });
  for (let i = 0; i < 8; i++)
    await world.until(
      world
        .again()
        .run(world.plan.root, world.signal)
        .catch(() => {}),
    );
  t.is(world.made.length, 4);
});

test('the client leaves: everything ends at once', async (t) => {
  const config = { ...fallback(A, B, C), retry: { attempts: 5 } };
  for (const [by, calls] of [
    [[HANG], 1],
    [[status(500, 10)], 1],
  ] as const) {
    const { error, ms, world } = await run(config, { 'targets[0]': by }, { leaveAt: 100 });
    t.is(error?.reason, 'client_closed');
    t.is(ms, 100);
    t.is(world.made.length, calls);
    t.is(world.pending, 0);
  }
});
