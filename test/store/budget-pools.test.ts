// Budgets of a pool on both adapters: the same answers, never more budgets than the pool may have, and nothing that is
// spent is lost: what has no budget of its own is counted together with the others, under the same cap.
import test from 'ava';
import fc from 'fast-check';
import type { SharedState } from '../../src/store/shared-state.ts';
import { redisServer, reportMissing } from '../support/servers.ts';
import { clearRedis, freshOrg, openEmbedded, openRedis, START_MS } from './shared-stores.ts';

const RUNS = Number(process.env.SLUICE_PROPERTY_RUNS ?? 60);
const [CAP, MOST] = [20n, 2];
const GROUPS = ['a', 'b', 'c', 'd'] as const;
const POOL = { key: 'p:2026', most: MOST, others: 'p:others:2026' };
const keyOf = (group: string): string => `p:${group}:2026`;
const ALL = [...GROUPS.map(keyOf), POOL.others];

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
  amount: fc.bigInt({ min: 0n, max: 8n }),
  /** What it costs in the end; undefined: it is refunded. */
  actual: fc.option(fc.bigInt({ min: 0n, max: 8n }), { nil: undefined }),
  /** Made while the store was away: charged without a hold. */
  loose: fc.boolean(),
});

async function run(
  state: SharedState,
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
) {
  const org = freshOrg();
  const answers: unknown[] = [];
  let charged = 0n;
  for (const [i, { group, amount, actual, loose }] of steps.entries()) {
    const id = `call-${i}`;
    const key = keyOf(group);
    if (loose) {
      const { budgets } = await state.settle(org, {
        id,
        charges: [{ key, amount, pool: POOL }],
        orphan: 'charge',
      });
      answers.push(budgets.map((one) => [one.key, one.spent, one.held].map(String)));
      charged += amount;
      continue;
    }
    const { outcome, limits } = await state.admit(org, {
      limits: [{ kind: 'budget', key, cap: CAP, amount, pool: POOL }],
      hold: { id, owner: 'one', leaseMs: 60_000 },
    });
    const [limit] = limits;
    answers.push([outcome, limit?.denied, String(limit?.remaining), limit?.countedIn]);
    if (outcome !== 'admitted') continue;
    if (actual === undefined) await state.release(org, { id, refund: true });
    else {
      const { budgets } = await state.settle(org, {
        id,
        charges: [{ key: limit?.countedIn ?? key, amount: actual }],
      });
      answers.push(budgets.map((one) => [one.key, one.spent, one.held].map(String)));
      charged += actual;
    }
  }
  let sum = 0n;
  let own = 0;
  for (const key of ALL) {
    const { spent, held } = await state.readBudget(org, { key });
    if (held !== 0n) throw new Error(`${key} holds ${held}`);
    if (key !== POOL.others && spent > 0n) own++;
    sum += spent;
  }
  if (sum !== charged) throw new Error(`${charged} were spent, and ${sum} are counted`);
  if (own > MOST) throw new Error(`${own} budgets of their own`);
  return answers;
}

test.serial('nothing that is spent is lost, and both adapters answer the same', async (t) => {
  t.timeout(240_000 + RUNS * 300);
  await t.notThrowsAsync(
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
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
  test.serial(`further groups share one budget under the same cap: ${name}`, async (t) => {
    const state = open();
    if (state === undefined) return t.pass();
    const org = freshOrg();
    const keepUntil = clock.ms + 1_000_000;
    const ask = (group: string, amount: bigint, id: string) =>
      state.admit(org, {
        limits: [{ kind: 'budget', key: keyOf(group), cap: CAP, amount, keepUntil, pool: POOL }],
        hold: { id, owner: 'one', leaseMs: 60_000 },
      });
    t.is((await ask('refused', 21n, 'r')).outcome, 'denied', 'what is refused takes no place in the pool');
    for (const group of ['a', 'b'])
      t.is((await ask(group, 15n, group)).limits[0]?.countedIn, undefined, group);
    const third = await ask('c', 15n, 'c');
    t.like(third, { outcome: 'admitted', limits: [{ countedIn: POOL.others, remaining: 5n }] });
    t.like(await ask('d', 6n, 'd'), {
      outcome: 'denied',
      limits: [{ countedIn: POOL.others, remaining: 5n }],
    });
    t.is((await ask('d', 5n, 'd2')).outcome, 'admitted');
    t.is((await ask('a', 5n, 'a2')).outcome, 'admitted', 'those of the pool have theirs');
    t.deepEqual(await state.readBudget(org, { key: keyOf('c'), cap: CAP, pool: POOL }), {
      spent: 0n,
      held: 20n,
      together: true,
      free: 0n,
    });
    t.deepEqual(await state.readBudget(org, { key: keyOf('a'), pool: POOL }), { spent: 0n, held: 20n });
    // The same id again takes nothing, and is counted where it was.
    t.like(await ask('c', 15n, 'c'), { outcome: 'repeated', limits: [{ countedIn: POOL.others }] });
    const { budgets } = await state.settle(org, { id: 'c', charges: [{ key: POOL.others, amount: 3n }] });
    t.like(budgets, [{ key: POOL.others, spent: 3n, held: 5n }]);
    // A hold that expires is charged where it is held.
    clock.ms += 61_000;
    const swept = await state.sweep(org, { owner: 'two', leaseMs: 1000, max: 10 });
    t.deepEqual(swept.find(({ id }) => id === 'd2')?.budgets, [{ key: POOL.others, amount: 5n }]);
    t.like((await state.settle(org, { id: 'd2' })).budgets, [{ key: POOL.others, spent: 8n, held: 0n }]);
  });
}
