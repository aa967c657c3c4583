// Every script against its reference model, on both adapters: random interleavings of several clients while the
// store's clock steps on and, now and then, back. SLUICE_PROPERTY_RUNS sets how often (150 by default).
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { Limit, SharedState } from '../../src/store/shared-state.ts';
import { redisServer, reportMissing } from '../support/servers.ts';
import { Model } from './shared-model.ts';
import { CacheModel, CircuitModel, LeaseModel, ValueModel } from './shared-small-models.ts';
import { clearRedis, freshOrg, openEmbedded, openRedis, START_MS } from './shared-stores.ts';

const RUNS = Number(process.env.SLUICE_PROPERTY_RUNS ?? 150);

/** One call: of a client, on a store and on the model. */
interface Step<M> {
  readonly client: number;
  /** Milliseconds before the call. */
  readonly tick: number;
  readonly on: (state: SharedState, org: string) => Promise<unknown>;
  readonly expected: (model: M, us: number) => unknown;
}

const clock = { ms: START_MS };
const server = await redisServer();
const embedded = await openEmbedded(clock);
const clients = server ? [await openRedis(server.url, clock), await openRedis(server.url, clock)] : [];
if (!server) reportMissing(test, 'Redis');
test.after.always(async () => {
  await Promise.all([embedded, ...clients].map((state) => state.close()));
  if (server) await clearRedis(server.url);
});

/** Text that is equal for equal answers: members in one order, big integers marked. */
function text(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(text)}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${name}:${text(member)}`)}}`;
}

const tick = fc.oneof(
  { weight: 10, arbitrary: fc.constant(0) },
  { weight: 10, arbitrary: fc.integer({ min: 0, max: 400 }) },
  { weight: 2, arbitrary: fc.integer({ min: 400, max: 20_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -300, max: 0 }) },
  { weight: 1, arbitrary: fc.integer({ min: -20_000, max: -300 }) },
);

/** Runs the same steps on the model and every store, and compares each answer. */
async function agree<M>(
  t: ExecutionContext,
  model: () => M,
  step: fc.Arbitrary<Pick<Step<M>, 'on' | 'expected'>>,
): Promise<void> {
  t.timeout(240_000 + RUNS * 300);
  const steps = fc.array(fc.tuple(fc.nat(1), tick, step), { minLength: 5, maxLength: 40, size: 'max' });
  let calls = 0;
  let trace: string[] = [];
  let failure: string[] = [];
  const property = fc.asyncProperty(steps, async (list) => {
    const [org, reference] = [freshOrg(), model()];
    clock.ms = START_MS;
    trace = [];
    for (const [client, ms, { on, expected }] of list) {
      clock.ms += ms;
      calls++;
      const stores = [embedded, ...clients.slice(client, client + 1)];
      const wanted = text(expected(reference, clock.ms * 1000));
      const spied = spiedOn(stores);
      const got = (await Promise.all(spied.stores.map((state) => on(state, org)))).map(text);
      trace.push(
        `${clock.ms - START_MS} ms, client ${client}: ${spied.said()}\n  ${[wanted, ...got].join('\n  ')}`,
      );
      if (got.some((answer) => answer !== wanted)) {
        if (failure.length === 0 || trace.length < failure.length) failure = trace;
        throw new Error('a store and the model disagree');
      }
    }
  });
  const outcome = await fc.check(property, { numRuns: RUNS });
  t.log(`${RUNS} runs, ${calls} calls on ${1 + Math.min(1, clients.length)} stores`);
  t.false(outcome.failed, `seed ${outcome.seed}; model, embedded, redis:\n${failure.join('\n')}`);
}

/** The same stores, and what was asked of them in words. */
function spiedOn(stores: readonly SharedState[]): { stores: SharedState[]; said: () => string } {
  let said = '';
  const spied = stores.map(
    (state) =>
      new Proxy(state, {
        get: (target, name: keyof SharedState) => {
          const method = target[name] as (...args: unknown[]) => unknown;
          return (...args: unknown[]) => {
            said = `${name} ${text(args.slice(1))}`;
            return method.apply(target, args);
          };
        },
      }),
  );
  return { stores: spied, said: () => said };
}

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const owners = fc.constantFrom('one', 'two');
const leaseMs = fc.integer({ min: 1, max: 3000 });
const amount = fc.oneof(
  fc.bigInt({ min: 0n, max: 40n }),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 53n + 5n }),
  fc.bigInt({ min: 10n ** 12n - 3n, max: 10n ** 12n + 3n }),
  fc.bigInt({ min: 0n, max: 10n ** 19n }),
);
const limit: fc.Arbitrary<Limit> = fc.oneof(
  fc.record({
    kind: fc.constant('window' as const),
    key: fc.constant('requests'),
    limit: fc.constant(10),
    windowMs: fc.constant(1000),
    slices: fc.constant(10),
    cost: fc.integer({ min: 0, max: 11 }),
  }),
  fc.record({
    kind: fc.constant('window' as const),
    key: fc.constant('tokens'),
    limit: fc.constant(500),
    windowMs: fc.constant(5003),
    cost: fc.integer({ min: 0, max: 300 }),
  }),
  fc.record({
    kind: fc.constant('budget' as const),
    key: fc.constantFrom('small', 'large'),
    cap: fc.constantFrom(100n, 10n ** 12n, 3n * 2n ** 53n, 2n ** 63n),
    amount,
  }),
  fc.record({ kind: fc.constant('budget' as const), key: fc.constant('open'), amount }),
  fc.record({
    kind: fc.constant('slots' as const),
    key: fc.constant('calls'),
    limit: fc.integer({ min: 0, max: 3 }),
  }),
);
const limits = fc.uniqueArray(limit, { maxLength: 5, selector: ({ kind, key }) => kind + key });
const entry = fc.option(
  ids.map((id) => ({ id, data: `{"of":"${id}"}` })),
  { nil: undefined },
);

test.serial('admit, settle, release, renew, sweep, readBudget, correctBudget', async (t) => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(limits, ids, owners, leaseMs, fc.nat(9), entry)
        .map(([list, id, owner, lease, dice, journalEntry]) => {
          const request = {
            limits: list,
            hold: { id, owner, leaseMs: lease, note: `n-${id}` },
            dryRun: dice === 0,
            journal: { maxLength: dice === 1 ? 3 : 1000, ...(journalEntry ? { entry: journalEntry } : {}) },
          };
          return {
            on: (s: SharedState, org: string) => s.admit(org, request),
            expected: (m: Model, us: number) => m.admit(request, us),
          };
        }),
    },
    {
      weight: 2,
      arbitrary: limits.map((list) => {
        const request = { limits: list.filter(({ kind }) => kind === 'window') };
        return {
          on: (s: SharedState, org: string) => s.admit(org, request),
          expected: (m: Model, us: number) => m.admit(request, us),
        };
      }),
    },
    {
      weight: 5,
      arbitrary: fc
        .tuple(
          ids,
          fc.uniqueArray(fc.record({ key: fc.constantFrom('small', 'large', 'open', 'other'), amount }), {
            maxLength: 3,
            selector: ({ key }) => key,
          }),
          fc.uniqueArray(
            fc.record({ key: fc.constantFrom('requests', 'tokens'), cost: fc.integer({ min: 0, max: 400 }) }),
            { maxLength: 2, selector: ({ key }) => key },
          ),
          fc.constantFrom('ignore' as const, 'charge' as const),
          entry,
        )
        .map(([id, charges, costs, orphan, journalEntry]) => {
          const request = { id, charges, costs, orphan, ...(journalEntry ? { entry: journalEntry } : {}) };
          return {
            on: (s: SharedState, org: string) => s.settle(org, request),
            expected: (m: Model, us: number) => m.settle({ ...request, unnamed: 'as_held' }, us),
          };
        }),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(ids, fc.boolean()).map(([id, refund]) => ({
        on: (s: SharedState, org: string) => s.release(org, { id, refund }),
        expected: (m: Model, us: number) => m.settle({ id, unnamed: refund ? 'refunded' : 'uncharged' }, us),
      })),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.array(ids, { maxLength: 4 }), owners, leaseMs).map(([list, owner, lease]) => ({
        on: (s: SharedState, org: string) => s.renew(org, { ids: list, owner, leaseMs: lease }),
        expected: (m: Model, us: number) => m.renew({ ids: list, owner, leaseMs: lease }, us),
      })),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.integer({ min: 1, max: 4 }), leaseMs).map(([max, lease]) => ({
        on: (s: SharedState, org: string) => s.sweep(org, { owner: 'sweeper', leaseMs: lease, max }),
        expected: (m: Model, us: number) => m.sweep({ owner: 'sweeper', leaseMs: lease, max }, us),
      })),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('small', 'large', 'open', 'other').map((key) => ({
        on: (s: SharedState, org: string) => s.readBudget(org, { key }),
        expected: (m: Model) => m.budget(key),
      })),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('small', 'large'), amount, fc.boolean())
        .map(([key, to, right]) => ({
          // What was spent is asked first, so that about half of the corrections fit.
          on: async (s: SharedState, org: string) => {
            const { spent } = await s.readBudget(org, { key });
            return s.correctBudget(org, { key, from: right ? spent : spent + 1n, to });
          },
          expected: (m: Model) => m.correct(key, to, right),
        })),
    },
    {
      weight: 1,
      arbitrary: fc.constant({
        on: (s: SharedState, org: string) => s.readJournal(org),
        expected: (m: Model, us: number) => m.readJournal(us),
      }),
    },
  );
  await agree(t, () => new Model(), step);
});

/** A settlement that appends an entry, claimed from the beginning or not; its hold may be there or not. */
const ownEntry = fc
  .tuple(ids, fc.option(fc.tuple(owners, leaseMs), { nil: undefined }))
  .map(([id, claim]) => ({
    id,
    data: `of ${id}`,
    ...(claim ? { claim: { consumer: claim[0], leaseMs: claim[1] } } : {}),
  }));

test.serial('appendJournal, settle, claimJournal, acknowledgeJournal, readJournal', async (t) => {
  let settled = 0;
  const journalIds = fc.constantFrom('1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12');
  const step = fc.oneof(
    fc
      .tuple(fc.array(journalIds, { maxLength: 4 }), fc.integer({ min: 0, max: 14 }))
      .map(([list, maxLength]) => {
        const request = { entries: list.map((id) => ({ id, data: `d${id} ü` })), maxLength };
        return {
          on: (s: SharedState, org: string) => s.appendJournal(org, request),
          expected: (m: Model, us: number) => m.append(request, us),
        };
      }),
    ownEntry.map((own) => {
      const request = { id: `s-${settled++}`, orphan: 'charge' as const, entry: own };
      return {
        on: (s: SharedState, org: string) => s.settle(org, request),
        expected: (m: Model, us: number) => m.settle({ ...request, unnamed: 'as_held' }, us),
      };
    }),
    fc.tuple(owners, leaseMs, fc.integer({ min: 1, max: 5 })).map(([consumer, lease, max]) => ({
      on: (s: SharedState, org: string) => s.claimJournal(org, { consumer, leaseMs: lease, max }),
      expected: (m: Model, us: number) => m.claim({ consumer, leaseMs: lease, max }, us),
    })),
    fc.tuple(owners, fc.array(journalIds, { maxLength: 6 })).map(([consumer, seqs]) => ({
      on: (s: SharedState, org: string) => s.acknowledgeJournal(org, { consumer, seqs }),
      expected: (m: Model) => m.acknowledge({ consumer, seqs }),
    })),
    fc.constant({
      on: (s: SharedState, org: string) => s.readJournal(org),
      expected: (m: Model, us: number) => m.readJournal(us),
    }),
  );
  await agree(t, () => new Model(), step);
});

test.serial('acquireLease, renewLease, releaseLease', async (t) => {
  const step = fc
    .tuple(fc.nat(2), fc.constantFrom('x', 'y'), owners, leaseMs)
    .map(([kind, key, owner, lease]) => ({
      on: (s: SharedState, org: string): Promise<unknown> => {
        if (kind === 0) return s.acquireLease(org, { key, owner, leaseMs: lease });
        return kind === 1
          ? s.renewLease(org, { key, owner, leaseMs: lease })
          : s.releaseLease(org, { key, owner });
      },
      expected: (m: LeaseModel, us: number) => {
        if (kind === 0) return m.acquire({ key, owner, leaseMs: lease }, us);
        return kind === 1 ? m.renew({ key, owner, leaseMs: lease }, us) : m.release({ key, owner }, us);
      },
    }));
  await agree(t, () => new LeaseModel(), step);
});

test.serial('readValue, writeValue', async (t) => {
  const value = fc.option(fc.constantFrom('', 'one', '{"ü":1}'), { nil: undefined });
  const step = fc
    .tuple(fc.nat(3), fc.constantFrom('x', 'y'), fc.nat(4), value)
    .map(([kind, key, version, written]) => ({
      on: (s: SharedState, org: string): Promise<unknown> =>
        kind === 0 ? s.readValue(org, { key }) : s.writeValue(org, { key, version, value: written }),
      expected: (m: ValueModel) => (kind === 0 ? m.read(key) : m.write({ key, version, value: written })),
    }));
  await agree(t, () => new ValueModel(), step);
});

test.serial('allowCircuit, reportCircuit, readCircuit', async (t) => {
  const rules = { key: 'k', windowMs: 1000, failures: 2, percent: 50, openMs: 700, probeMs: 300 };
  const step = fc.tuple(fc.nat(4), owners, fc.boolean()).map(([kind, caller, failed]) => ({
    on: (s: SharedState, org: string): Promise<unknown> => {
      if (kind === 0) return s.readCircuit(org, rules);
      return kind < 3
        ? s.allowCircuit(org, { ...rules, caller })
        : s.reportCircuit(org, { ...rules, caller, failed });
    },
    expected: (m: CircuitModel, us: number) => {
      if (kind === 0) return m.view(rules, us);
      return kind < 3 ? m.allow({ ...rules, caller }, us) : m.report({ ...rules, caller, failed }, us);
    },
  }));
  await agree(t, () => new CircuitModel(), step);
});

test.serial('readCache, writeCache, removeCache', async (t) => {
  const keys = fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5');
  const age = fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined });
  const step = fc.oneof(
    fc.tuple(keys, age).map(([key, maxAgeMs]) => ({
      on: async (s: SharedState, org: string) => {
        const hit = await s.readCache(org, { key, ...(maxAgeMs === undefined ? {} : { maxAgeMs }) });
        return hit && { text: Buffer.from(hit.value).toString('latin1'), ageMs: hit.ageMs };
      },
      expected: (m: CacheModel, us: number) => m.read(key, maxAgeMs, us),
    })),
    fc
      .tuple(keys, fc.string({ unit: fc.constantFrom('\0', 'a', '\xff'), maxLength: 20 }), leaseMs)
      .map(([key, bytes, ttlMs]) => ({
        on: (s: SharedState, org: string) =>
          s.writeCache(org, { key, value: Buffer.from(bytes, 'latin1'), ttlMs, maxBytes: 40 }),
        expected: (m: CacheModel, us: number) => m.write(key, bytes, ttlMs, 40, us),
      })),
    keys.map((key) => ({
      on: (s: SharedState, org: string) => s.removeCache(org, { key }),
      expected: (m: CacheModel) => m.remove(key),
    })),
  );
  await agree(t, () => new CacheModel(), step);
});

for (const [place, name] of ['embedded', 'redis'].entries()) {
  if (place === 1 && !server) continue;
  const store = (): SharedState => [embedded, ...clients][place] as SharedState;

  test.serial(`${name}: never above N in any span, whatever comes`, async (t) => {
    t.timeout(240_000 + RUNS * 300);
    const traffic = fc.array(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 4 })), {
      minLength: 20,
      maxLength: 80,
    });
    await t.notThrowsAsync(
      fc.assert(
        fc.asyncProperty(traffic, fc.integer({ min: 1, max: 130 }), async (list, slices) => {
          const org = freshOrg();
          clock.ms = START_MS + (slices % 7);
          const admitted: { ms: number; cost: number }[] = [];
          const windowMs = 250;
          for (const [ms, cost] of list) {
            clock.ms += ms;
            const limits = [{ kind: 'window', key: 'w', limit: 9, windowMs, slices, cost } as const];
            const { outcome } = await store().admit(org, { limits });
            if (outcome === 'admitted') admitted.push({ ms: clock.ms, cost });
          }
          for (const { ms } of admitted) {
            const span = admitted.filter((one) => one.ms >= ms && one.ms <= ms + windowMs);
            if (span.reduce((sum, { cost }) => sum + cost, 0) > 9)
              throw new Error(`above the limit from ${ms} on`);
          }
        }),
        { numRuns: RUNS },
      ),
    );
  });

  test.serial(`${name}: at least 99 % of N under saturation`, async (t) => {
    const [org, windowMs, limit, windows] = [freshOrg(), 1000, 25, 100];
    clock.ms = START_MS;
    const times: number[] = [];
    while (times.length <= limit * windows) {
      const { outcome, retryAfterMs } = await store().admit(org, {
        limits: [{ kind: 'window', key: 'w', limit, windowMs, cost: 1 }],
      });
      if (outcome === 'admitted') {
        times.push(clock.ms);
        // The traffic keeps some pace, or a whole window's worth would go in its first millisecond.
        clock.ms += times.length % 2;
      } else {
        t.true(retryAfterMs !== undefined && retryAfterMs > 0);
        clock.ms += retryAfterMs ?? 1;
      }
    }
    // From one admission to the one that is 100 limits later, so that no half window flatters.
    const share = (windows * windowMs) / ((times.at(-1) ?? 0) - START_MS);
    t.log(`${(share * 100).toFixed(2)} % of ${limit} a second over ${windows} windows`);
    t.true(share >= 0.99 && share <= 1);
  });
}
