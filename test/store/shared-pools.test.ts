// Windows of a pool on both adapters: the same answers, never more windows than the pool may have, and never more than
// the limit of any group in any span, however groups come, go and share the window of the others.
import test from 'ava';
import fc from 'fast-check';
import type { SharedState } from '../../src/store/shared-state.ts';
import { redisServer, reportMissing } from '../support/servers.ts';
import { clearRedis, freshOrg, openEmbedded, openRedis, START_MS } from './shared-stores.ts';

const RUNS = Number(process.env.SLUICE_PROPERTY_RUNS ?? 100);
const [LIMIT, WINDOW_MS, MOST] = [4, 1000, 2];
const GROUPS = ['a', 'b', 'c', 'd', 'e'] as const;

const clock = { ms: START_MS };
const server = await redisServer();
const embedded = await openEmbedded(clock);
const redis = server && (await openRedis(server.url, clock));
if (!server) reportMissing(test, 'Redis');
test.after.always(async () => {
  await embedded.close();
  await redis?.close();
  if (server) await clearRedis(server.url);
});

const step = fc.record({
  group: fc.constantFrom(...GROUPS),
  cost: fc.integer({ min: 0, max: 3 }),
  /** Milliseconds before the step. */
  pass: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 1500 })),
  /** What the call costs in the end; undefined: it is refunded. */
  actual: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  settles: fc.boolean(),
});

interface Taken {
  readonly ms: number;
  cost: number;
}

async function run(
  state: SharedState,
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
) {
  clock.ms = START_MS;
  const org = freshOrg();
  const taken = new Map<string, Taken[]>();
  const answers: unknown[] = [];
  for (const [i, { group, cost, pass, actual, settles }] of steps.entries()) {
    clock.ms += pass;
    const id = `call-${i}`;
    const key = `p:${group}`;
    const { outcome, limits } = await state.admit(org, {
      limits: [
        {
          kind: 'window',
          key,
          limit: LIMIT,
          windowMs: WINDOW_MS,
          slices: 10,
          cost,
          pool: { key: 'p', most: MOST },
        },
      ],
      hold: { id, owner: 'one', leaseMs: 60_000 },
    });
    answers.push([outcome, limits.map((one) => [one.denied, String(one.remaining), one.retryAfterMs])]);
    if (outcome !== 'admitted') continue;
    const own: Taken = { ms: clock.ms, cost };
    taken.set(group, [...(taken.get(group) ?? []), own]);
    if (!settles) continue;
    // Never more than was held: what a call exceeds its estimate by is counted above the limit, as told in the limits guide.
    const costs = actual === undefined ? [] : [{ key, cost: Math.min(actual, cost) }];
    if (actual === undefined) await state.release(org, { id, refund: true });
    else await state.settle(org, { id, costs });
    own.cost = actual === undefined ? 0 : Math.min(actual, cost);
  }
  for (const [group, all] of taken)
    for (const { ms } of all) {
      const span = all.filter((one) => one.ms >= ms && one.ms <= ms + WINDOW_MS);
      const sum = span.reduce((total, one) => total + one.cost, 0);
      if (sum > LIMIT) throw new Error(`${group} passed ${sum} from ${ms}`);
    }
  return answers;
}

test.serial('no group ever passes more than its limit, and both adapters answer the same', async (t) => {
  t.timeout(240_000 + RUNS * 300);
  await t.notThrowsAsync(
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }), async (steps) => {
        const answers = await run(embedded, steps);
        const others = redis ? await run(redis, steps) : answers;
        const at = answers.findIndex((answer, i) => JSON.stringify(answer) !== JSON.stringify(others[i]));
        if (at !== -1)
          throw new Error(
            `step ${at}: ${JSON.stringify(answers[at])}, and Redis ${JSON.stringify(others[at])}`,
          );
      }),
      { numRuns: RUNS },
    ),
  );
});

for (const [name, open] of [
  ['embedded', () => embedded],
  ['Redis', () => redis],
] as const) {
  test.serial(
    `a pool that is full counts further groups together, and has room again later: ${name}`,
    async (t) => {
      const state = open();
      if (state === undefined) return t.pass();
      clock.ms = START_MS;
      const org = freshOrg();
      const ask = async (group: string) =>
        (
          await state.admit(org, {
            limits: [
              {
                kind: 'window',
                key: `p:${group}`,
                limit: 2,
                windowMs: 1000,
                slices: 10,
                cost: 1,
                pool: { key: 'p', most: 3 },
              },
            ],
          })
        ).outcome;
      for (const group of ['a', 'b', 'c', 'd', 'e']) t.is(await ask(group), 'admitted', group);
      t.is(await ask('f'), 'denied', 'd and e have used what the others have');
      t.is(await ask('a'), 'admitted', 'those of the pool count by themselves');
      t.is(await ask('a'), 'denied');
      clock.ms += 1200;
      for (const group of ['f', 'f', 'g', 'g', 'h', 'h']) t.is(await ask(group), 'admitted', group);
      t.is(await ask('i'), 'admitted');
    },
  );
}
