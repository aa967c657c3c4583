// The contract of shared state, on the store's own clock: every adapter runs it.
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestFn } from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import type { AdmitRequest, NoticeEvent, SharedState } from '../../src/store/shared-state.ts';
import { freshOrg } from './shared-stores.ts';

const HOUR_MS = 3_600_000;

function held(id: string, limits: AdmitRequest['limits'], leaseMs = HOUR_MS): AdmitRequest {
  return { limits, hold: { id, owner: 'me', leaseMs } };
}

/** Registers the contract. `open` answers one or more clients of the same store. */
export function sharedStateContract(test: TestFn, open: () => Promise<readonly SharedState[]>): void {
  const clientsOf = async (): Promise<{ all: readonly SharedState[]; one: SharedState; org: string }> => {
    const all = await open();
    return { all, one: all[0] as SharedState, org: freshOrg() };
  };

  test('a cap holds against all clients at once, and each settles once', async (t) => {
    const { all, one, org } = await clientsOf();
    const limits: AdmitRequest['limits'] = [
      { kind: 'budget', key: 'b', cap: 100n * 10n ** 18n, amount: 10n ** 18n },
      { kind: 'window', key: 'w', limit: 120, windowMs: HOUR_MS, cost: 1 },
    ];
    const each = Array.from({ length: 300 }, (_, i) => ({
      id: `c-${i}`,
      on: all[i % all.length] as SharedState,
    }));
    const admissions = await Promise.all(each.map(({ id, on }) => on.admit(org, held(id, limits))));
    const admitted = each.filter((_, i) => admissions[i]?.outcome === 'admitted');
    t.is(admitted.length, 100);
    const denied = admissions.find(({ outcome }) => outcome === 'denied');
    t.deepEqual(
      denied?.limits.map((limit) => [limit.denied, limit.remaining]),
      [
        [true, 0n],
        [false, 20n],
      ],
    );
    t.deepEqual(await one.readBudget(org, { key: 'b' }), { spent: 0n, held: 100n * 10n ** 18n });

    const charges = [{ key: 'b', amount: 123_456_789_012_345_678n }];
    const settlements = await Promise.all(
      admitted.flatMap(({ id }) => all.map((client) => client.settle(org, { id, charges }))),
    );
    t.is(settlements.filter(({ outcome }) => outcome === 'settled').length, 100);
    t.is(settlements.filter(({ outcome }) => outcome === 'repeated').length, 100 * (all.length - 1));
    t.deepEqual(await one.readBudget(org, { key: 'b' }), { spent: 12_345_678_901_234_567_800n, held: 0n });
  });

  test('odd prices sum to the last digit', async (t) => {
    const { one, org } = await clientsOf();
    let sum = 0n;
    await Promise.all(
      Array.from({ length: 500 }, async (_, i) => {
        const amount = BigInt(i) * 333_333_333_337n + 7n;
        sum += amount;
        await one.admit(org, held(`p-${i}`, [{ kind: 'budget', key: 'b', amount: 10n ** 15n }]));
        await one.settle(org, { id: `p-${i}`, charges: [{ key: 'b', amount }] });
      }),
    );
    t.deepEqual(await one.readBudget(org, { key: 'b' }), { spent: sum, held: 0n });
  });

  test('a budget is read with what is free, and corrected only from what it was', async (t) => {
    const { all, one, org } = await clientsOf();
    await one.admit(org, held('a', [{ kind: 'budget', key: 'b', amount: 30n }]));
    await one.settle(org, { id: 'nobody', charges: [{ key: 'b', amount: 50n }], orphan: 'charge' });
    t.deepEqual(await one.readBudget(org, { key: 'b', cap: 100n }), { spent: 50n, held: 30n, free: 20n });
    t.deepEqual(await one.readBudget(org, { key: 'b', cap: 70n }), { spent: 50n, held: 30n, free: 0n });
    const corrections = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        (all[i % all.length] as SharedState).correctBudget(org, { key: 'b', from: 50n, to: BigInt(i) }),
      ),
    );
    t.is(corrections.filter(({ corrected }) => corrected).length, 1);
    t.is((await one.readBudget(org, { key: 'b' })).held, 30n);
  });

  test('a budget is kept until its time, as it was last told, and one without a time for ever', async (t) => {
    const { one, org } = await clientsOf();
    const now = Date.now();
    const take = (id: string, key: string, keepUntil?: number) =>
      one.admit(
        org,
        held(id, [{ kind: 'budget', key, amount: 5n, ...(keepUntil === undefined ? {} : { keepUntil }) }]),
      );
    await take('a', 'short', now + 1500);
    await take('b', 'prolonged', now + 1500);
    await take('c', 'prolonged', now + HOUR_MS);
    await take('d', 'for ever', now + 1500);
    await take('e', 'for ever');
    await take('f', 'settled', now + 1500);
    await one.settle(org, { id: 'f', charges: [{ key: 'settled', amount: 4n }] });
    const owed = { key: 'owed', amount: 7n, keepUntil: now + 1500 };
    await one.settle(org, { id: 'nobody', charges: [owed], orphan: 'charge' });
    t.deepEqual(await one.readBudget(org, { key: 'owed' }), { spent: 7n, held: 0n });
    t.deepEqual(await one.readBudget(org, { key: 'short' }), { spent: 0n, held: 5n });
    await sleep(1900);
    const sums: Record<string, bigint> = {};
    for (const key of ['short', 'prolonged', 'for ever', 'settled', 'owed']) {
      // Whatever a store forgets in turns, it forgets while it is used.
      await one.admit(org, {
        limits: [{ kind: 'window', key: `w-${key}`, limit: 1, windowMs: 1000, cost: 1 }],
      });
      await sleep(120);
      const { spent, held: now } = await one.readBudget(org, { key });
      sums[key] = spent + now;
    }
    t.deepEqual(sums, { short: 0n, prolonged: 10n, 'for ever': 10n, settled: 0n, owed: 0n });
    // What a call held of a budget that is gone is settled all the same.
    t.is((await one.settle(org, { id: 'a', charges: [{ key: 'short', amount: 3n }] })).outcome, 'settled');
  });

  test('a thousand limits are one step', async (t) => {
    const { one, org } = await clientsOf();
    const limits = Array.from({ length: 1000 }, (_, i): AdmitRequest['limits'][number] => {
      const key = `k${i}`;
      if (i % 3 === 0) return { kind: 'budget', key, cap: i === 999 ? 5n : 1000n, amount: 3n };
      if (i % 3 === 1) return { kind: 'slots', key, limit: 5 };
      return { kind: 'window', key, limit: 10, windowMs: HOUR_MS, cost: 3 };
    });
    t.is((await one.admit(org, held('a', limits))).outcome, 'admitted');
    const denied = await one.admit(org, held('b', limits));
    t.is(denied.outcome, 'denied');
    t.deepEqual(
      denied.limits.flatMap(({ denied: no }, i) => (no ? [i] : [])),
      [999],
    );
    t.deepEqual(await one.readBudget(org, { key: 'k0' }), { spent: 0n, held: 3n });
    const charges = limits.flatMap(({ kind, key }) => (kind === 'budget' ? [{ key, amount: 1n }] : []));
    t.is((await one.settle(org, { id: 'a', charges })).budgets.length, charges.length);
    t.deepEqual(await one.readBudget(org, { key: 'k999' }), { spent: 1n, held: 0n });
    await t.throwsAsync(
      one.admit(
        org,
        held(
          'c',
          Array.from({ length: 1025 }, (_, i) => ({ kind: 'slots', key: `${i}`, limit: 1 })),
        ),
      ),
    );
  });

  test('an admission of the same id, a dry run and a denial take nothing', async (t) => {
    const { one, org } = await clientsOf();
    const limits: AdmitRequest['limits'] = [
      { kind: 'window', key: 'w', limit: 10, windowMs: HOUR_MS, cost: 4 },
      { kind: 'slots', key: 's', limit: 5 },
    ];
    t.is((await one.admit(org, { ...held('a', limits), dryRun: true })).outcome, 'fits');
    t.is((await one.admit(org, held('a', limits))).outcome, 'admitted');
    t.is((await one.admit(org, held('a', limits))).outcome, 'repeated');
    t.is((await one.admit(org, held('b', limits))).limits[0]?.remaining, 2n);
    const denied = await one.admit(org, held('c', limits));
    t.is(denied.outcome, 'denied');
    t.true((denied.retryAfterMs ?? 0) > HOUR_MS / 2);
    t.deepEqual(
      denied.limits.map(({ denied: no, remaining }) => [no, remaining]),
      [
        [true, 2n],
        [false, 3n],
      ],
    );
    t.is((await one.release(org, { id: 'b', refund: true })).outcome, 'settled');
    t.is((await one.admit(org, held('b', limits))).outcome, 'settled');
    t.is((await one.admit(org, held('d', limits))).outcome, 'admitted');
    t.is((await one.settle(org, { id: 'nobody' })).outcome, 'unknown');
  });

  test('slots end with their lease, and live on with its renewal', async (t) => {
    const { one, org } = await clientsOf();
    const slot: AdmitRequest['limits'] = [{ kind: 'slots', key: 's', limit: 1 }];
    t.is((await one.admit(org, held('a', slot, 1000))).outcome, 'admitted');
    t.is((await one.admit(org, held('b', slot))).outcome, 'denied');
    t.deepEqual(await one.renew(org, { ids: ['a', 'x'], owner: 'me', leaseMs: 2500 }), [
      'renewed',
      'unknown',
    ]);
    t.deepEqual(await one.renew(org, { ids: ['a'], owner: 'other', leaseMs: 2500 }), ['lost']);
    await sleep(1200);
    t.is((await one.admit(org, held('b', slot))).outcome, 'denied');
    await sleep(1500);
    t.is((await one.admit(org, held('b', slot))).outcome, 'admitted');
  });

  test('an expired hold is swept by one, stays held until it is settled, and comes again', async (t) => {
    const { all, one, org } = await clientsOf();
    const limits: AdmitRequest['limits'] = [{ kind: 'budget', key: 'b', cap: 100n, amount: 60n }];
    await one.admit(org, { limits, hold: { id: 'a', owner: 'gone', leaseMs: 1, note: 'why' } });
    await sleep(20);
    const sweeps = await Promise.all(
      all.map((client, i) => client.sweep(org, { owner: `s${i}`, leaseMs: 1500, max: 10 })),
    );
    const swept = sweeps.flat();
    t.is(swept.length, 1);
    t.like(swept[0], { id: 'a', owner: 'gone', note: 'why', budgets: [{ key: 'b', amount: 60n }] });
    t.deepEqual(await one.readBudget(org, { key: 'b' }), { spent: 0n, held: 60n });
    await sleep(1600);
    t.is((await one.sweep(org, { owner: 's', leaseMs: 300, max: 10 })).length, 1);
    t.is((await one.settle(org, { id: 'a', charges: [{ key: 'b', amount: 5n }] })).outcome, 'settled');
    t.is((await one.settle(org, { id: 'a' })).outcome, 'repeated');
    t.deepEqual(await one.readBudget(org, { key: 'b' }), { spent: 5n, held: 0n });
    await sleep(400);
    t.deepEqual(await one.sweep(org, { owner: 's', leaseMs: 300, max: 10 }), []);
  });

  test('a settlement is in the books and in the journal, or in neither', async (t) => {
    const { one, org } = await clientsOf();
    const budget: AdmitRequest['limits'] = [{ kind: 'budget', key: 'b', amount: 1n }];
    const opened = { id: 'a', data: 'opened' };
    await one.admit(org, { ...held('a', budget), journal: { maxLength: 1, entry: opened } });
    t.is((await one.admit(org, { ...held('b', budget), journal: { maxLength: 1 } })).outcome, 'journal_full');
    const entry = { id: 'a', data: 'settled' };
    await one.settle(org, { id: 'a', entry });
    await one.settle(org, { id: 'a', entry });
    const claimed = await one.claimJournal(org, { consumer: 'c', leaseMs: 1000, max: 10 });
    t.deepEqual(
      claimed.map(({ data }) => data),
      ['opened', 'settled'],
    );
  });

  test('the journal hands each entry to one consumer at a time, and again when it is not acknowledged', async (t) => {
    const { all, one, org } = await clientsOf();
    const entries = Array.from({ length: 200 }, (_, i) => ({ id: `e-${i}`, data: `{"n":${i}}` }));
    const parts = [entries.slice(0, 100), entries.slice(50, 150), entries.slice(100)];
    const appended = await Promise.all(
      parts.map((part, i) =>
        (all[i % all.length] as SharedState).appendJournal(org, { entries: part, maxLength: 200 }),
      ),
    );
    t.is(
      appended.reduce((sum, { repeated }) => sum + repeated, 0),
      100,
    );
    const full = await one.appendJournal(org, { entries: [{ id: 'more', data: '' }], maxLength: 200 });
    t.deepEqual(full, { accepted: false, repeated: 0, size: 200 });

    t.is((await one.claimJournal(org, { consumer: 'dies', leaseMs: 200, max: 30 })).length, 30);
    const seen = new Map<string, number>();
    const drain = async (client: SharedState, consumer: string): Promise<void> => {
      for (let idle = 0; idle < 6; ) {
        const claimed = await client.claimJournal(org, { consumer, leaseMs: 5000, max: 17 });
        for (const { id } of claimed) seen.set(id, (seen.get(id) ?? 0) + 1);
        const seqs = claimed.map(({ seq }) => seq);
        t.is(await client.acknowledgeJournal(org, { consumer, seqs }), seqs.length);
        if (claimed.length === 0) await sleep(100);
        idle = claimed.length === 0 ? idle + 1 : 0;
      }
    };
    await Promise.all(all.map((client, i) => drain(client, `c${i}`)));
    t.is(seen.size, 200);
    t.deepEqual([...new Set(seen.values())], [1]);
    t.like(await one.readJournal(org), { size: 0, claimed: 0, lagMs: 0 });
    const again = await one.appendJournal(org, { entries: [{ id: 'e-1', data: '' }], maxLength: 200 });
    t.is(again.repeated, 1, 'an acknowledged entry is still known');
  });

  test('a lease has one owner, and its token only rises', async (t) => {
    const { all, one, org } = await clientsOf();
    const leases = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (all[i % all.length] as SharedState).acquireLease(org, { key: 'l', owner: `o${i}`, leaseMs: 1500 }),
      ),
    );
    const won = leases.filter(({ acquired }) => acquired);
    t.is(won.length, 1);
    t.is(new Set(leases.map(({ owner }) => owner)).size, 1);
    const owner = won[0]?.owner ?? '';
    t.false(await one.renewLease(org, { key: 'l', owner: 'nobody', leaseMs: 1500 }));
    t.true(await one.renewLease(org, { key: 'l', owner, leaseMs: 1500 }));
    await sleep(1700);
    t.false(await one.releaseLease(org, { key: 'l', owner }));
    const next = await one.acquireLease(org, { key: 'l', owner: 'next', leaseMs: 1500 });
    t.true(next.acquired && next.token > (won[0]?.token ?? 0));
    t.true(await one.releaseLease(org, { key: 'l', owner: 'next' }));
    const last = await one.acquireLease(org, { key: 'l', owner: 'last', leaseMs: 1500 });
    t.true(last.token > next.token);
  });

  test('compare-and-set loses no increment', async (t) => {
    const { all, one, org } = await clientsOf();
    const add = async (client: SharedState): Promise<void> => {
      for (;;) {
        const { version, value = '0' } = await client.readValue(org, { key: 'n' });
        const next = String(Number(value) + 1);
        if ((await client.writeValue(org, { key: 'n', version, value: next })).written) return;
      }
    };
    await Promise.all(Array.from({ length: 30 }, (_, i) => add(all[i % all.length] as SharedState)));
    t.deepEqual(await one.readValue(org, { key: 'n' }), { version: 30, value: '30' });
    await one.writeValue(org, { key: 'n', version: 30, value: undefined });
    t.deepEqual(await one.readValue(org, { key: 'n' }), { version: 31, value: undefined });
  });

  test('a circuit opens, lets one probe through and closes', async (t) => {
    const { one, org } = await clientsOf();
    const rules = { key: 'k', windowMs: 60_000, failures: 3, openMs: 1500, probeMs: 60_000 };
    for (const caller of ['a', 'b', 'c']) await one.reportCircuit(org, { ...rules, caller, failed: true });
    t.like(await one.readCircuit(org, rules), { state: 'open', failures: 3, outcomes: 3 });
    t.like(await one.allowCircuit(org, { ...rules, caller: 'a' }), { allowed: false, probe: false });
    await sleep(1700);
    const asked = await Promise.all(
      ['a', 'b', 'c'].map((caller) => one.allowCircuit(org, { ...rules, caller })),
    );
    t.is(asked.filter(({ allowed }) => allowed).length, 1);
    const caller = ['a', 'b', 'c'][asked.findIndex(({ probe }) => probe)] ?? '';
    t.like(await one.reportCircuit(org, { ...rules, caller, failed: false }), {
      state: 'closed',
      failures: 0,
    });
  });

  test('a circuit by share waits for enough outcomes; by number or share, either suffices', async (t) => {
    const { one, org } = await clientsOf();
    const base = { windowMs: 60_000, openMs: 60_000, probeMs: 60_000, percent: 50 };
    const stateAfter = async (key: string, more: object, outcomes: readonly boolean[]) => {
      const rules = { ...base, failures: 1, ...more, key };
      for (const failed of outcomes) await one.reportCircuit(org, { ...rules, caller: 'a', failed });
      return (await one.readCircuit(org, rules)).state;
    };
    const share = { minimum: 4 };
    t.is(await stateAfter('a', share, [true, true, true]), 'closed');
    t.is(await stateAfter('b', share, [true, true, true, true]), 'open');
    t.is(await stateAfter('c', share, [false, false, false, true, true]), 'closed');
    const either = { failures: 3, minimum: 2, either: true };
    t.is(await stateAfter('d', either, [false, false, false, false, true, true]), 'closed');
    t.is(await stateAfter('e', either, [false, false, false, false, true, true, true]), 'open', 'by number');
    t.is(await stateAfter('f', either, [false, true]), 'open', 'by share');
  });

  test('the cache keeps bytes as they are, within its bound, for their time', async (t) => {
    const { one, org } = await clientsOf();
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    const write = (key: string, ttlMs = HOUR_MS) =>
      one.writeCache(org, { key, value: bytes, ttlMs, maxBytes: 3 * 257 });
    for (const key of ['a', 'b', 'c']) t.is((await write(key)).evicted, 0);
    t.deepEqual(Buffer.from((await one.readCache(org, { key: 'a' }))?.value ?? []), bytes);
    t.deepEqual(await write('d'), { kept: true, bytes: 3 * 257, evicted: 1 });
    t.is(await one.readCache(org, { key: 'b' }), undefined, 'the one used longest ago');
    t.truthy(await one.readCache(org, { key: 'a' }));
    t.is(await one.readCache(freshOrg(), { key: 'a' }), undefined);
    await write('e', 50);
    await sleep(100);
    t.is(await one.readCache(org, { key: 'e' }), undefined);
    t.is(await one.readCache(org, { key: 'd', maxAgeMs: 50 }), undefined);
    t.true(await one.removeCache(org, { key: 'd' }));
    t.false((await one.writeCache(org, { key: 'z', value: bytes, ttlMs: 1, maxBytes: 100 })).kept);
  });

  test('every subscriber of every client learns of a change', async (t) => {
    const { all, one, org } = await clientsOf();
    const heard: NoticeEvent[][] = all.map(() => []);
    const stops = all.map((client, i) => client.subscribe((event) => heard[i]?.push(event)));
    const broken = one.subscribe(() => {
      throw new Error('a bad listener');
    });
    const notice = { organisationId: org, collection: 'keys', id: 'k', version: 7 };
    const of = (events: readonly NoticeEvent[]) =>
      events.filter((event) => event.kind === 'changed' && event.notice.organisationId === org);
    // A subscription is under way until the first notice comes.
    for (let i = 0; i < 100 && heard.some((events) => of(events).length === 0); i++) {
      await one.publish(notice);
      await sleep(20);
    }
    for (const events of heard) t.deepEqual(of(events)[0], { kind: 'changed', notice });
    for (const stop of [...stops, broken]) stop();
    const counts = heard.map((events) => events.length);
    await one.publish(notice);
    await sleep(100);
    t.deepEqual(
      heard.map((events) => events.length),
      counts,
    );
  });

  test('organisations do not meet', async (t) => {
    const { one, org } = await clientsOf();
    const limits: AdmitRequest['limits'] = [
      { kind: 'window', key: 'w', limit: 1, windowMs: HOUR_MS, cost: 1 },
    ];
    for (const name of [org, `${org}}`, `{${org}`, `${org}:w`, freshOrg()]) {
      t.is((await one.admit(name, { limits })).outcome, 'admitted', name);
      t.is((await one.admit(name, { limits })).outcome, 'denied', name);
    }
  });

  test('what cannot be is a 400, and nothing was taken', async (t) => {
    const { one, org } = await clientsOf();
    const window = { kind: 'window', key: 'w', limit: 10, windowMs: 1000, cost: 1 } as const;
    const budget = { kind: 'budget', key: 'b', cap: 1n, amount: 1n } as const;
    const status = async (call: Promise<unknown>): Promise<number> => {
      const error = await t.throwsAsync(call);
      return error instanceof GatewayError ? error.status : 0;
    };
    t.is(await status(one.admit('', { limits: [window] })), 400);
    t.is(await status(one.admit(org, { limits: [budget] })), 400);
    t.is(await status(one.admit(org, { limits: [window, window] })), 400);
    t.is(await status(one.admit(org, { limits: [{ ...window, cost: -1 }] })), 400);
    t.is(await status(one.admit(org, { limits: [{ ...window, cost: 0.5 }] })), 400);
    t.is(await status(one.admit(org, { limits: [{ ...window, windowMs: Number.NaN }] })), 400);
    t.is(await status(one.admit(org, { limits: [{ ...window, key: 'null\0byte' }] })), 400);
    t.is(await status(one.admit(org, held('a', [{ ...budget, amount: -1n }]))), 400);
    t.is(await status(one.admit(org, held('a', [{ ...budget, amount: 10n ** 22n }]))), 400);
    t.is(await status(one.admit(org, held('a', [budget], 0))), 400);
    t.is(await status(one.acknowledgeJournal(org, { consumer: 'c', seqs: ['0-1; drop'] })), 400);
    t.is((await one.admit(org, { limits: [window] })).limits[0]?.remaining, 9n);
  });

  test.serial('the caller’s clock does not matter', async (t) => {
    const { one, org } = await clientsOf();
    const { now } = Date;
    const limits: AdmitRequest['limits'] = [
      { kind: 'window', key: 'w', limit: 20, windowMs: HOUR_MS, cost: 1 },
    ];
    let admitted = 0;
    try {
      for (let i = 0; i < 40; i++) {
        Date.now = () => now() + (i % 2 === 0 ? 1 : -1) * i * HOUR_MS;
        if ((await one.admit(org, { limits })).outcome === 'admitted') admitted++;
      }
      t.true((await one.acquireLease(org, { key: 'l', owner: 'a', leaseMs: 60_000 })).acquired);
      Date.now = () => now() + 10 * HOUR_MS;
      t.false((await one.acquireLease(org, { key: 'l', owner: 'b', leaseMs: 60_000 })).acquired);
    } finally {
      Date.now = now;
    }
    t.is(admitted, 20);
  });
}
