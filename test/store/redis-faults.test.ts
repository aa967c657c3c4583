// Redis frozen, killed and back: every call settles within its deadline, and what was acknowledged is there.
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { openRedisState } from '../../src/store/redis/open-redis.ts';
import type { SharedState } from '../../src/store/shared-state.ts';
import { reportMissing, startOwnRedis } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';
import { freshOrg, untilReady } from './shared-stores.ts';

const DEADLINE_MS = 400;
/** For the turn of a busy machine's event loop. */
const GRACE_MS = 400;

const server = await startOwnRedis();
if (!server) reportMissing(test, 'Redis');
test.after.always(() => server?.stop());

/** A call of each kind at once; answers how many failed. Each must fail as it should, and in time. */
async function allSettle(t: ExecutionContext, state: SharedState, org: string): Promise<number> {
  const started = performance.now();
  const calls: Promise<unknown>[] = [
    state.admit(org, { limits: [], hold: { id: 'x', owner: 'o', leaseMs: 1000 } }),
    state.settle(org, { id: 'x' }),
    state.readBudget(org, { key: 'b' }),
    state.claimJournal(org, { consumer: 'c', leaseMs: 1000, max: 1 }),
    state.readCache(org, { key: 'k' }),
    state.publish({ organisationId: org, collection: 'c', id: 'i', version: 1 }),
    state.ready(),
  ];
  const outcomes = await Promise.allSettled(calls);
  t.true(performance.now() - started < withSlack(DEADLINE_MS + GRACE_MS));
  const failures = outcomes.filter((outcome) => outcome.status === 'rejected');
  for (const { reason } of failures) {
    t.true(reason instanceof GatewayError && reason.reason === 'store_unavailable' && reason.status === 503);
  }
  return failures.length;
}

/** Writes until it is told to stop; answers which holds and entries were acknowledged. */
function writer(
  state: SharedState,
  org: string,
): { stop: () => Promise<{ held: string[]; entries: string[] }> } {
  const [held, entries]: string[][] = [[], []];
  let going = true;
  const lane = async (lane: number): Promise<void> => {
    for (let i = 0; going; i++) {
      const id = `${lane}-${i}`;
      const limits = [{ kind: 'budget', key: 'b', amount: 1n } as const];
      const hold = { id, owner: 'o', leaseMs: 3_600_000 };
      await state.admit(org, { limits, hold }).then(
        () => held?.push(id),
        () => sleep(10),
      );
      await state.appendJournal(org, { entries: [{ id, data: id }], maxLength: 1_000_000 }).then(
        () => entries?.push(id),
        () => undefined,
      );
    }
  };
  const lanes = [0, 1, 2, 3].map(lane);
  return {
    stop: async () => {
      going = false;
      await Promise.all(lanes);
      return { held: held ?? [], entries: entries ?? [] };
    },
  };
}

/** Reads with a deadline that a busy machine keeps. */
async function allThere(
  t: ExecutionContext,
  url: string,
  org: string,
  { held, entries }: { held: readonly string[]; entries: readonly string[] },
): Promise<void> {
  t.true(held.length > 20 && entries.length > 20);
  const state = openRedisState({ url, deadlineMs: 20_000 });
  await untilReady(state, 20_000);
  const charges = [{ key: 'b', amount: 1n }];
  for (const id of held) t.is((await state.settle(org, { id, charges })).outcome, 'settled', id);
  const budget = await state.readBudget(org, { key: 'b' });
  t.is(budget.spent, BigInt(held.length));
  const journal = new Set<string>();
  for (let n = 1; n > 0; ) {
    const claimed = await state.claimJournal(org, { consumer: 'c', leaseMs: 60_000, max: 1000 });
    for (const { id } of claimed) {
      t.false(journal.has(id), 'twice');
      journal.add(id);
    }
    n = claimed.length;
  }
  t.deepEqual(
    entries.filter((id) => !journal.has(id)),
    [],
  );
  await state.close();
}

if (server) {
  test.serial('frozen: every call fails within its deadline, and all is well again after it', async (t) => {
    const state = openRedisState({ url: server.url, deadlineMs: DEADLINE_MS });
    await untilReady(state);
    const org = freshOrg();
    const writing = writer(state, org);
    await sleep(300);
    server.pause();
    for (let round = 0; round < 4; round++) t.is(await allSettle(t, state, org), 7);
    const quick = performance.now();
    await t.throwsAsync(state.readBudget(org, { key: 'b' }, { deadlineMs: 50 }));
    t.true(performance.now() - quick < withSlack(50 + GRACE_MS));
    server.resume();
    const resumed = performance.now();
    await untilReady(state, 5000);
    t.log(`ready ${Math.round(performance.now() - resumed)} ms after it went on`);
    await sleep(200);
    const acknowledged = await writing.stop();
    t.is(await allSettle(t, state, freshOrg()), 0);
    await allThere(t, server.url, org, acknowledged);
    await state.close();
  });

  test.serial(
    'killed: calls fail at once, and what was acknowledged is there after the restart',
    async (t) => {
      t.timeout(240_000);
      const state = openRedisState({ url: server.url, deadlineMs: DEADLINE_MS });
      const missed: string[] = [];
      state.subscribe(({ kind }) => missed.push(kind));
      await untilReady(state);
      const org = freshOrg();
      const writing = writer(state, org);
      for (let round = 0; round < 3; round++) {
        await sleep(200);
        await server.kill();
        t.is(await allSettle(t, state, org), 7);
        await server.restart();
        const back = performance.now();
        await untilReady(state, 5000);
        t.log(`ready ${Math.round(performance.now() - back)} ms after it was back`);
      }
      await sleep(200);
      await allThere(t, server.url, org, await writing.stop());
      t.true(missed.includes('missed'));
      await state.close();
      t.is(await allSettle(t, state, org), 7);
    },
  );

  test.serial('away at the start: it opens all the same, and tells', async (t) => {
    await server.kill();
    const state = openRedisState({ url: server.url, deadlineMs: DEADLINE_MS });
    t.is(await allSettle(t, state, freshOrg()), 7);
    await server.restart();
    await untilReady(state, 5000);
    t.is(await allSettle(t, state, freshOrg()), 0);
    await state.close();
  });

  test.serial('more calls than the bound are refused, not queued', async (t) => {
    const state = openRedisState({ url: server.url, deadlineMs: DEADLINE_MS, maxQueued: 10 });
    await untilReady(state);
    const org = freshOrg();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, () => state.readBudget(org, { key: 'b' })),
    );
    t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 10);
    t.deepEqual(await state.readBudget(org, { key: 'b' }), { spent: 0n, held: 0n });
    await state.close();
  });
}
