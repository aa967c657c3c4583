// Random plans against random providers: whatever is configured and whatever they do, a run ends, calls no more
// often than its plan allows, keeps credentials with their providers, and leaves nothing behind.
// ROUTE_RUNS=20000 runs more of them.
import test from 'ava';
import fc from 'fast-check';
import { toGatewayError } from '../../../src/lib/errors.ts';
import { when } from '../plan/facts.ts';
import { type Behaviour, CALLERS_CREDENTIAL, World } from './world.ts';

const RUNS = Number(process.env.ROUTE_RUNS ?? 300);
const STATUSES = [400, 401, 404, 408, 422, 429, 500, 502, 503, 529];
/** Beyond it a run waits for a provider that was called before it, at the longest. */
const LONGEST_MS = 600_000 + 300_000 + 1000;

const codes = fc.subarray([...STATUSES, 246], { minLength: 1 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 });

const settings = fc.record({
  retry: maybe(
    fc.record({
      attempts: fc.integer({ min: 0, max: 5 }),
      on_status_codes: maybe(codes),
      use_retry_after_header: maybe(fc.boolean()),
    }),
  ),
  request_timeout: maybe(fc.integer({ min: 1, max: 5000 })),
  cb_config: maybe(
    fc.record({
      failure_threshold: fc.integer({ min: 1, max: 3 }),
      failure_threshold_percentage: maybe(fc.integer({ min: 1, max: 100 })),
      cooldown_interval: fc.integer({ min: 1000, max: 60_000 }),
    }),
  ),
});

const provider = fc.constantFrom('openai', 'groq', 'anthropic', 'ollama');

const leaf = fc
  .tuple(settings, provider, fc.integer({ min: 0, max: 3 }), fc.boolean(), fc.integer({ min: 0, max: 3 }))
  .map(([rest, id, n, hosted, weight]) => ({
    ...rest,
    provider: id,
    weight,
    ...(n === 0 ? {} : { api_key: `key-${id}-${n}` }),
    ...(hosted || id === 'ollama' ? { custom_host: `https://${id}-${n}.example` } : {}),
  }));

const hedge = maybe(
  fc.record({ after_ms: fc.integer({ min: 1, max: 3000 }), max: maybe(fc.integer({ min: 1, max: 3 })) }),
);
const mode = fc.constantFrom('single', 'fallback', 'loadbalance', 'conditional');

const { config } = fc.letrec<{ config: object; target: object }>((tie) => ({
  target: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('config')),
  config: fc
    .tuple(
      settings,
      mode,
      hedge,
      fc.array(tie('target'), { minLength: 1, maxLength: 4 }),
      maybe(codes),
      maybe(fc.constantFrom('weighted', 'least-latency', 'least-busy')),
      maybe(fc.constant({ enabled: true, hash_fields: ['metadata.user'], ttl: 60 })),
      fc.integer({ min: 0, max: 3 }),
    )
    .map(([rest, kind, hedged, all, on, algorithm, sticky, chosen]) => {
      const targets = (kind === 'single' ? all.slice(0, 1) : all).map((one, i) => ({
        ...one,
        name: `t${i}`,
      }));
      if (kind === 'loadbalance') targets[0] = { ...targets[0]!, weight: 1 } as (typeof targets)[number];
      return {
        ...rest,
        targets,
        strategy: {
          mode: kind,
          hedge: hedged,
          ...(kind === 'fallback' ? { on_status_codes: on } : {}),
          ...(kind === 'loadbalance' ? { algorithm, sticky } : {}),
          ...(kind === 'conditional'
            ? {
                conditions: [
                  when({ 'metadata.user': { $regex: '^a' } }, targets[chosen % targets.length]!.name),
                ],
                ...(chosen === 0 ? {} : { default: targets[0]!.name }),
              }
            : {}),
        },
      };
    }),
}));

const ms = fc.integer({ min: 0, max: 4000 });
const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('ok' as const), ms }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ok' as const), ms, status: fc.constant(246) }) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(ms, fc.constantFrom(...STATUSES), maybe(fc.integer({ min: 0, max: 90_000 })))
      .map(([after, status, wait]) => ({
        kind: 'status' as const,
        ms: after,
        status,
        ...(wait === undefined ? {} : { retryAfterMs: wait }),
      })),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('unreachable' as const), ms }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'hang' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('bug' as const), ms }) },
);

interface Scenario {
  readonly config: { readonly strategy: { readonly mode: string } } & object;
  readonly behaviours: readonly Behaviour[];
  readonly user: string | undefined;
  readonly leavesAt: number | undefined;
  readonly withinMs: number | undefined;
  readonly seed: number;
}

const scenario = fc.record({
  config,
  behaviours: fc.array(behaviour, { minLength: 1, maxLength: 12 }),
  user: maybe(fc.constantFrom('anna', 'bert')),
  leavesAt: fc.option(fc.integer({ min: 0, max: 8000 }), { nil: undefined, freq: 3 }),
  withinMs: maybe(fc.integer({ min: 1, max: 20_000 })),
  seed: fc.nat(),
}) as fc.Arbitrary<Scenario>;

test(`${RUNS} random plans`, async (t) => {
  t.timeout(RUNS > 1000 ? 3_600_000 : 60_000);
  const counts = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(scenario, async (one) => {
      for (const word of await check(one)) counts.set(word, (counts.get(word) ?? 0) + 1);
    }),
    { numRuns: RUNS },
  );
  const rows = [...counts].sort(([a], [b]) => a.localeCompare(b));
  t.log(rows.map(([word, count]) => `${word.padEnd(34)} ${count}`).join('\n'));
  for (const strategy of ['single', 'fallback', 'loadbalance', 'conditional']) {
    for (const outcome of ['answered', 'failed', 'left'])
      t.true((counts.get(`${strategy} ${outcome}`) ?? 0) > 0, `${strategy} ${outcome}`);
  }
});

/** Runs a scenario and judges it. Answers what it was, for the count. @throws Error when something is wrong */
async function check({
  config: given,
  behaviours,
  user,
  leavesAt,
  withinMs,
  seed,
}: Scenario): Promise<string[]> {
  const { mode: strategy } = given.strategy;
  let random = seed;
  let world: World;
  try {
    world = new World({
      config: given,
      headers: user === undefined ? {} : { 'x-gateway-metadata': JSON.stringify({ user }) },
      behave: (path, nth) => behaviours[(hash(path) + nth) % behaviours.length]!,
      random: () => {
        random = (random * 1103515245 + 12345) % 2147483648;
        return random / 2147483648;
      },
      ...(withinMs === undefined ? {} : { withinMs }),
    });
  } catch (thrown) {
    const error = toGatewayError(thrown);
    expect(error.status === 400, `a config is planned or refused: ${error.message} ${String(error.cause)}`);
    return [`${strategy} refused`];
  }
  if (leavesAt !== undefined) world.leaveAt(leavesAt);
  const began = world.now;
  const outcome = await world.until(
    world.route.run(world.plan.root, world.signal).then(
      (reached) => ({ reached, error: undefined }),
      (error: unknown) => ({ reached: undefined, error: toGatewayError(error) }),
    ),
  );
  await new Promise(setImmediate);
  judge(world, outcome.reached?.answer, began, leavesAt);
  if (leavesAt === undefined) await anotherCall(world);
  const left = outcome.error?.reason === 'client_closed';
  const word = outcome.reached ? 'answered' : left ? 'left' : 'failed';
  const hedged = world.steps.some(({ step }) => step === 'hedge') ? [`${strategy} hedged`] : [];
  const open = world.steps.some(({ step }) => step === 'circuit_open') ? [`${strategy} breaker open`] : [];
  const retried = world.steps.some(({ step }) => step === 'wait') ? [`${strategy} retried`] : [];
  return [`${strategy} ${word}`, ...hedged, ...open, ...retried];
}

/** A second call where breakers, bindings and loads remember the first. */
async function anotherCall(world: World): Promise<void> {
  const before = world.made.length;
  const given = world.answers.length;
  const reached = await world.until(
    world
      .again()
      .run(world.plan.root, world.signal)
      .catch(() => undefined),
  );
  const count = world.made.length - before;
  expect(
    count <= world.plan.maxAttempts,
    `the second call: ${count} calls of at most ${world.plan.maxAttempts}`,
  );
  expect(world.pending === 0, 'the second call: timers are left');
  for (const one of world.answers.slice(given))
    expect(one.discarded !== (one === reached?.answer), 'the second call: an answer is given or ended');
}

function judge(world: World, answer: unknown, began: number, leavesAt: number | undefined): void {
  const { made, plan } = world;
  expect(made.length <= plan.maxAttempts, `${made.length} calls of at most ${plan.maxAttempts}`);
  expect(
    made.every(({ endedAt }) => endedAt !== undefined),
    'a call is still under way',
  );
  expect(world.now - began <= LONGEST_MS, `it took ${world.now - began} ms`);
  const leaving = leavesAt !== undefined && !world.signal.aborted ? 1 : 0;
  expect(world.pending === leaving, `${world.pending} timers are left`);
  if (world.signal.aborted && leavesAt !== undefined)
    expect(
      made.every(({ at }) => at <= began + leavesAt),
      'a call after the client left',
    );
  for (const one of world.answers)
    expect(one.discarded !== (one === answer), 'an answer is given or ended, and not both');
  const callers = new Set<string>();
  for (const { credential, provider: id, host } of made) {
    const [, own, n] = /^key-(\w+)-(\d)$/.exec(credential) ?? [];
    expect(own === undefined || own === id, `${credential} went to ${id}`);
    // A host that was written for a key sees no other one.
    const hosted = /^https:\/\/(\w+)-([1-9])\.example$/.exec(host);
    if (hosted !== null)
      expect(n === hosted[2] && id === hosted[1], `${credential || 'nothing'} went to ${host}`);
    if (credential === CALLERS_CREDENTIAL) callers.add(id);
  }
  expect(callers.size <= 1, `the caller's credential went to ${[...callers].join(' and ')}`);
}

function expect(holds: boolean, message: string): void {
  if (!holds) throw new Error(message);
}

function hash(text: string): number {
  let sum = 7;
  for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) % 1_000_003;
  return sum;
}
