// Re-rating after a price was corrected: entries and budgets to the last digit, whatever step it is killed at.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { RequestRecord } from '../../../src/call/record.ts';
import { openPriceList, type PriceList, type PriceRow } from '../../../src/ledger/prices/price-list.ts';
import { pricedEntry } from '../../../src/ledger/prices/priced.ts';
import { type ReRateDeps, reRate } from '../../../src/ledger/re-rate/re-rate.ts';
import { type ReRateBody, reRateCollections } from '../../../src/ledger/re-rate/run.ts';
import type { LogStore } from '../../../src/store/log-store.ts';
import { openMemoryState } from '../../../src/store/memory/open-memory.ts';
import { openRedisState } from '../../../src/store/redis/open-redis.ts';
import type { SharedState } from '../../../src/store/shared-state.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';
import { logModel } from '../../store/log-model.ts';
import { redisServer, reportMissing } from '../../support/servers.ts';

const ORG = 'org-1';
const FROM = Date.UTC(2027, 0, 1);
const UNTIL = FROM + 10_000;
const KEY = 'u:key:k1:cost:0.0';
const POLICY = 'p:p1:g1:0.0';
const PROVIDER = 'u:prov:s1:cost:0.0';
const OVER = 'u:key:k1:cost:0.1';
const row = (input: number, output: number): PriceRow => {
  return { provider: 'openai', model: 'odd', from: 0, price: { input, output } };
};
const wrong = openPriceList([row(1_234_567, 7_654_321)]);
const right = openPriceList([row(1_111_111, 9_999_999)]);

/** Of two attempts each, the second at another price; the budgets that the call and its second attempt count in. */
function entriesOf(prices: PriceList, count: number): RequestRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const attempt = (model: string, n: number) => ({
      id: `a${i}.${n}`,
      provider: 'openai',
      host: 'h',
      model,
      statusCode: 200,
      outcome: 'success' as const,
      startedAt: FROM + i,
      latencyMs: 1,
      usage: { promptTokens: 101 + i, completionTokens: 7 + i, totalTokens: 108 + 2 * i },
    });
    return pricedEntry(prices, {
      id: `e${i}`,
      traceId: 't',
      organisationId: ORG,
      workspaceId: 'w',
      apiKeyId: 'k1',
      createdAt: FROM + i,
      operation: 'o',
      protocol: 'rest',
      method: 'POST',
      path: '/',
      provider: 'openai',
      model: 'odd',
      responseModel: 'odd',
      statusCode: 200,
      outcome: 'success',
      streamed: false,
      latencyMs: 1,
      metadata: {},
      budgets: [KEY, POLICY, OVER],
      attempts: [
        attempt('gpt-4o', 0),
        { ...attempt('odd', 1), budgets: [PROVIDER], pricing: { factors: { default: 1.5 } } },
      ],
    });
  });
}

interface World {
  readonly deps: ReRateDeps;
  readonly state: SharedState;
  readonly log: LogStore;
  readonly finished: ReRateBody[];
  spentOf(key: string): Promise<bigint>;
  entries(): Promise<readonly RequestRecord[]>;
}

const COUNT = 30;

async function world(t: ExecutionContext, opened?: SharedState, org = ORG): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-re-rate-'));
  const store = await openSqliteStore({ dataDir: folder, collections: [...reRateCollections] });
  const state = opened ?? (await openMemoryState({ dataDir: folder }));
  const log = logModel();
  await log.append(entriesOf(wrong, COUNT).map((entry) => ({ ...entry, organisationId: org })));
  const finished: ReRateBody[] = [];
  t.teardown(async () => {
    if (opened === undefined) await state.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const charge = async (key: string, amount: bigint): Promise<void> => {
    const { corrected } = await state.correctBudget(org, { key, from: 0n, to: amount });
    t.true(corrected);
  };
  const costs = (pick: (entry: RequestRecord) => string | undefined): bigint =>
    entriesOf(wrong, COUNT).reduce((sum, entry) => sum + BigInt(pick(entry) ?? 0), 0n);
  // The key was charged by a call outside of the span as well.
  await charge(KEY, costs(({ cost }) => cost) + 77n);
  await charge(
    POLICY,
    costs((entry) => (entry.createdAt < FROM + 10 ? '0' : entry.cost)),
  );
  await charge(OVER, 5n);
  await charge(
    PROVIDER,
    costs(({ attempts }) => attempts[1]?.cost),
  );
  const deps: ReRateDeps = {
    log,
    state,
    documents: store.documents,
    prices: right,
    owner: 'me',
    now: Date.now,
    countsSince: async (_, key) => (key === OVER ? undefined : key === POLICY ? FROM + 10 : 0),
    finish: async (organisationId, run, operation) => {
      await store.documents.commit({ organisationId, workspaceId: undefined }, [operation]);
      finished.push(run);
    },
  };
  return {
    deps,
    state,
    log,
    finished,
    spentOf: async (key) => (await state.readBudget(org, { key })).spent,
    entries: async () =>
      (
        await log.page(
          { organisationId: org, workspaceId: undefined },
          {},
          { page: 0, pageSize: 1000, order: 'asc' },
        )
      ).entries,
  };
}

/** What everything is to be in the end. */
async function isRight(t: ExecutionContext, { spentOf, entries }: World, what: string): Promise<void> {
  const wanted = entriesOf(right, COUNT);
  const found = await entries();
  t.deepEqual(
    found.map(({ cost, attempts }) => [cost, attempts.map((attempt) => attempt.cost)]),
    wanted.map(({ cost, attempts }) => [cost, attempts.map((attempt) => attempt.cost)]),
    what,
  );
  const sum = (pick: (entry: RequestRecord) => string | undefined): bigint =>
    wanted.reduce((all, entry) => all + BigInt(pick(entry) ?? 0), 0n);
  t.is(await spentOf(KEY), sum(({ cost }) => cost) + 77n, what);
  t.is(
    await spentOf(POLICY),
    sum((entry) => (entry.createdAt < FROM + 10 ? '0' : entry.cost)),
    what,
  );
  t.is(
    await spentOf(PROVIDER),
    sum(({ attempts }) => attempts[1]?.cost),
    what,
  );
  t.is(await spentOf(OVER), 5n, 'a period that is over stays as it is');
}

const span = { from: FROM, until: UNTIL };

test('a dry run tells and changes nothing; a run corrects, a second one has nothing to do', async (t) => {
  const own = await world(t);
  const before = await own.spentOf(KEY);
  const told = await reRate(own.deps, ORG, span, true);
  t.is(told.changed, COUNT);
  t.is(told.budgets, 3);
  t.is(await own.spentOf(KEY), before);
  const made = await reRate(own.deps, ORG, span, false);
  t.deepEqual(made, told);
  await isRight(t, own, 'once');
  const again = await reRate(own.deps, ORG, span, false);
  t.like(again, { entries: COUNT, changed: 0, before: 0n, after: 0n });
  await isRight(t, own, 'twice');
  t.is(own.finished.length, 2);
  t.like(own.finished[0], { state: 'done', totals: { changed: COUNT } });
});

test('another span and another model are left alone', async (t) => {
  const own = await world(t);
  t.like(await reRate(own.deps, ORG, { from: UNTIL, until: UNTIL + 1000 }, false), {
    entries: 0,
    changed: 0,
  });
  t.like(await reRate(own.deps, ORG, { ...span, model: 'other' }, false), { entries: 0, changed: 0 });
  t.like(await reRate(own.deps, 'org-2', span, false), { entries: 0, changed: 0 });
  t.like(await reRate(own.deps, ORG, { ...span, model: 'odd' }, false), { entries: COUNT, changed: COUNT });
  await isRight(t, own, 'the model');
});

test('killed at any step and run again, it comes to the same', async (t) => {
  for (let kill = 0; ; kill++) {
    const own = await world(t);
    let steps = 0;
    let dead = false;
    /** Every write of the run, and what is after it, may be the last. */
    const fragile = <T extends object>(target: T, names: readonly string[]): T =>
      new Proxy(target, {
        get(object, name) {
          const member: unknown = Reflect.get(object, name);
          if (typeof member !== 'function') return member;
          return async (...args: readonly unknown[]) => {
            if (dead) throw new Error('killed');
            if (names.includes(String(name)) && steps++ === kill) {
              dead = true;
              // Half of the times the step is made, and its answer is lost.
              if (kill % 2 === 0) await member.apply(object, args);
              throw new Error('killed');
            }
            return member.apply(object, args);
          };
        },
      });
    const deps: ReRateDeps = {
      ...own.deps,
      documents: fragile(own.deps.documents, ['commit', 'update', 'insert']),
      state: fragile(own.deps.state, ['correctBudget']),
      log: fragile(own.deps.log, ['reprice']),
      finish: async (...args) => {
        if (dead || steps++ === kill) throw new Error('killed');
        return own.deps.finish(...args);
      },
    };
    const died = await reRate(deps, ORG, span, false).then(
      () => false,
      () => true,
    );
    // The lease of the one that was killed has run out.
    await own.state.releaseLease(ORG, { key: 're-rate', owner: 'me' });
    await reRate(own.deps, ORG, span, false);
    await isRight(t, own, `killed at step ${kill}`);
    if (!died) {
      t.true(kill >= 6, `${kill} steps`);
      return;
    }
  }
});

test('calls that are charged meanwhile count in full, and two runs do not meet', async (t) => {
  const own = await world(t);
  let extra = 0n;
  const busy: ReRateDeps['state'] = Object.assign(Object.create(own.state), {
    readBudget: async (...args: Parameters<SharedState['readBudget']>) => {
      const read = await own.state.readBudget(...args);
      if (args[1].key !== KEY || extra >= 5n) return read;
      // A call is settled between the reading and the correction.
      const { corrected } = await own.state.correctBudget(ORG, {
        key: KEY,
        from: read.spent,
        to: read.spent + 1n,
      });
      if (corrected) extra++;
      return read;
    },
  });
  await own.state.acquireLease(ORG, { key: 're-rate', owner: 'other', leaseMs: 60_000 });
  await t.throwsAsync(reRate(own.deps, ORG, span, false), { message: /already/ });
  await own.state.releaseLease(ORG, { key: 're-rate', owner: 'other' });
  await reRate({ ...own.deps, state: busy }, ORG, span, false);
  t.is(extra, 5n);
  const spent = await own.spentOf(KEY);
  await own.state.correctBudget(ORG, { key: KEY, from: spent, to: spent - 5n });
  await isRight(t, own, 'busy');
});

test('a log that takes no correction leaves budgets as they are', async (t) => {
  const own = await world(t);
  const before = await own.spentOf(KEY);
  const log = { ...own.log, reprice: async () => 0 };
  for (let i = 0; i < 2; i++)
    await t.throwsAsync(reRate({ ...own.deps, log }, ORG, span, false), { message: /none of the entries/ });
  t.is(await own.spentOf(KEY), before);
  await reRate(own.deps, ORG, span, false);
  await isRight(t, own, 'later');
});

const redis = await redisServer();
if (!redis) reportMissing(test, 'Redis');
else
  test('the same on Redis', async (t) => {
    const state = openRedisState({ url: redis.url });
    t.teardown(() => state.close());
    const org = `org-${Math.random().toString(36).slice(2)}`;
    const own = await world(t, state, org);
    await reRate(own.deps, org, span, false);
    await reRate(own.deps, org, span, false);
    await isRight(t, own, 'Redis');
    const order = { key: KEY, from: await own.spentOf(KEY), to: 1n };
    const stale = await state.correctBudget(org, {
      ...order,
      mark: { key: `re-rate:${KEY}`, from: 0n, to: 9n },
    });
    t.false(stale.corrected, 'a mark that is another one keeps the budget as it is');
    t.is(stale.spent, order.from);
  });
