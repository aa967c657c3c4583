// Shared state carried from a data directory into Redis: by the port's own reads nothing tells the two apart.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { openStateExport } from '../../src/store/memory/export.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { openRedisState } from '../../src/store/redis/open-redis.ts';
import { openRedisTransfer } from '../../src/store/redis/transfer.ts';
import type { Limit, SharedState } from '../../src/store/shared-state.ts';
import { type StateRow, stateRowText } from '../../src/store/state-transfer.ts';
import { redisServer, reportMissing } from '../support/servers.ts';
import { clearRedis, freshOrg, untilReady } from './shared-stores.ts';

const server = await redisServer();
if (server === undefined) reportMissing(test, 'Redis');
else suite(server.url);

const HUGE = 12_345_678_901_234_567_890n;

/** The same every time: what is random here must not be a reason to fail once in a while. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}

/** All that can be: open, expired, settled and released holds, claims, removed values, ids that are remembered. */
async function fill(state: SharedState, org: string, clock: { ms: number }): Promise<void> {
  const random = numbers(org.length);
  const pick = (max: number): number => Math.floor(random() * max);
  for (let i = 0; i < 120; i++) {
    const id = `hold ${i} ünï`;
    const limits: Limit[] = [
      { kind: 'budget', key: `budget:${pick(4)}`, amount: HUGE * BigInt(pick(5)) },
      { kind: 'slots', key: `slots ${pick(2)}`, limit: 1000 },
      { kind: 'window', key: 'rate', limit: 1e6, windowMs: 60_000, cost: pick(9) },
    ];
    const leaseMs = pick(3) === 0 ? 50 : 300_000;
    await state.admit(org, {
      limits: limits.slice(0, 1 + pick(3)),
      hold: { id, owner: `o${pick(3)}`, leaseMs, note: pick(2) ? '{"n":"\\u0000"}' : '' },
      journal: { maxLength: 1e6, entry: { id: `admitted ${i}`, data: `data ${i} "é"` } },
    });
    if (pick(3) === 0) await state.settle(org, { id, charges: [{ key: 'budget:1', amount: 7n }] });
    else if (pick(4) === 0) await state.release(org, { id, refund: true });
    clock.ms += pick(20);
  }
  await state.sweep(org, { owner: 'sweeper', leaseMs: 1000, max: 3 });
  await state.appendJournal(org, {
    maxLength: 1e6,
    entries: Array.from({ length: 9 }, (_, i) => ({ id: `appended ${i}`, data: 'x'.repeat(i * 1000) })),
  });
  const claimed = await state.claimJournal(org, { consumer: 'c1', leaseMs: 10_000, max: 40 });
  await state.acknowledgeJournal(org, {
    consumer: 'c1',
    seqs: claimed.slice(0, 25).map(({ seq }) => seq),
  });
  await state.claimJournal(org, { consumer: 'c2', leaseMs: 10, max: 20 });
  for (const [key, times] of [
    ['a', 1],
    ['b', 3],
    ['c', 2],
  ] as const) {
    for (let version = 0; version < times; version++) {
      const value = key === 'c' && version === 1 ? undefined : `value ${version} ✓`;
      await state.writeValue(org, { key, version, value });
    }
  }
  clock.ms += 100;
}

/** What every read of the port says; those that change something come last. */
async function reads(state: SharedState, org: string): Promise<unknown[]> {
  const said: unknown[] = [];
  const say = async (promise: Promise<unknown>): Promise<void> => {
    said.push(await promise);
  };
  for (let i = 0; i < 5; i++) await say(state.readBudget(org, { key: `budget:${i}`, cap: 10n ** 21n }));
  for (const key of ['a', 'b', 'c', 'd']) await say(state.readValue(org, { key }));
  await say(state.readJournal(org));
  const ids = Array.from({ length: 121 }, (_, i) => `hold ${i} ünï`);
  await say(
    state.admit(org, {
      limits: [{ kind: 'slots', key: 'slots 1', limit: 1000 }],
      hold: { id: 'probe', owner: 'p', leaseMs: 1000 },
      dryRun: true,
    }),
  );
  await say(state.claimJournal(org, { consumer: 'c3', leaseMs: 1000, max: 15 }));
  await say(state.claimJournal(org, { consumer: 'c3', leaseMs: 1000, max: 500 }));
  await say(state.acknowledgeJournal(org, { consumer: 'c1', seqs: ['30', '31'] }));
  await say(state.appendJournal(org, { maxLength: 1e6, entries: [{ id: 'appended 3', data: '' }] }));
  await say(state.sweep(org, { owner: 's', leaseMs: 1000, max: 500 }));
  await say(state.renew(org, { ids, owner: 'o1', leaseMs: 5000 }));
  for (const id of ids.slice(0, 40)) await say(state.settle(org, { id }));
  await say(state.appendJournal(org, { maxLength: 1e6, entries: [{ id: 'new', data: '' }] }));
  await say(state.readJournal(org));
  return said;
}

async function collect(batches: AsyncIterable<readonly StateRow[]>): Promise<string[]> {
  const texts: string[] = [];
  for await (const batch of batches) texts.push(...batch.map(stateRowText));
  return texts.sort();
}

function suite(url: string): void {
  const root = mkdtempSync(join(tmpdir(), 'sluice-transfer-'));
  test.after.always(async () => {
    await clearRedis(url);
    rmSync(root, { recursive: true, force: true });
  });

  test('state reads the same after it was carried over, and carrying it again changes nothing', async (t) => {
    const [one, two] = [freshOrg(), `${freshOrg()} *{}[?`];
    const clock = { ms: Date.now() };
    const from = join(root, 'from');
    const filled = await openMemoryState({ dataDir: from, clock: () => clock.ms });
    await fill(filled, one, clock);
    await fill(filled, two, clock);
    await filled.close();
    const twin = join(root, 'twin');
    cpSync(from, twin, { recursive: true });

    const source = openStateExport(from);
    const target = await openRedisTransfer({ url });
    if (source === undefined) return t.fail('there is no state');
    const outcomesOf = async (step: 'look' | 'write'): Promise<Set<string>> => {
      const outcomes = new Set<string>();
      for await (const batch of source.rows()) for (const o of await target[step](batch)) outcomes.add(o);
      return outcomes;
    };
    t.deepEqual([...(await outcomesOf('look'))], ['written']);
    t.deepEqual(await collect(target.rows(new Set([one, two]))), []);
    t.deepEqual([...(await outcomesOf('write'))], ['written']);
    const rows = await collect(source.rows());
    t.true(rows.length > 400);
    t.deepEqual(await collect(target.rows(new Set([one, two]))), rows);
    t.deepEqual([...(await outcomesOf('look'))], ['present']);
    t.deepEqual([...(await outcomesOf('write'))], ['present']);
    source.close();
    target.close();

    const embedded = await openMemoryState({ dataDir: twin, clock: () => clock.ms });
    const redis = openRedisState({ url, deadlineMs: 5000, testClock: () => clock.ms });
    await untilReady(redis);
    for (const org of [one, two]) t.deepEqual(await reads(redis, org), await reads(embedded, org));
    await embedded.close();
    await redis.close();
  });

  test('what is there already and differs is neither overwritten nor passed over', async (t) => {
    const org = freshOrg();
    const target = await openRedisTransfer({ url });
    const soon = Date.now() + 600_000;
    const base: readonly StateRow[] = [
      { kind: 'budget', org, key: 'k', spent: '5', held: '1' },
      { kind: 'hold', org, id: 'h', owner: 'o', expiresAt: 9, note: '', items: [['b', 'k', '1']] },
      { kind: 'settled', org, id: 's', forgetAt: soon },
      { kind: 'slot', org, key: 'k', id: 'h', expiresAt: 9 },
      { kind: 'journal', org, seq: 4, id: 'e', madeAt: 1, data: 'd', claim: { consumer: 'c', until: 7 } },
      { kind: 'journal_head', org, tail: 4, claimedTo: 4 },
      { kind: 'journal_id', org, id: 'e', forgetAt: soon },
      { kind: 'value', org, key: 'k', version: 3, value: 'v' },
    ];
    t.deepEqual(new Set(await target.write(base)), new Set(['written']));
    const others: readonly StateRow[] = [
      { kind: 'budget', org, key: 'k', spent: '6', held: '1' },
      { kind: 'hold', org, id: 'h', owner: 'o', expiresAt: 9, note: '', items: [['b', 'k', '2']] },
      { kind: 'hold', org, id: 's', owner: 'o', expiresAt: 9, note: '', items: [] },
      { kind: 'settled', org, id: 's', forgetAt: soon + 1 },
      { kind: 'slot', org, key: 'k', id: 'h', expiresAt: 10 },
      { kind: 'journal', org, seq: 4, id: 'e', madeAt: 1, data: 'd' },
      { kind: 'journal', org, seq: 3, id: 'x', madeAt: 1, data: 'd' },
      { kind: 'journal_head', org, tail: 5, claimedTo: 4 },
      { kind: 'journal_id', org, id: 'e', forgetAt: soon + 1 },
      { kind: 'value', org, key: 'k', version: 3 },
    ];
    for (const row of others) {
      t.deepEqual(await target.look([row]), ['differs'], stateRowText(row));
      t.deepEqual(await target.write([row]), ['differs'], stateRowText(row));
    }
    t.deepEqual(await collect(target.rows(new Set([org]))), base.map(stateRowText).sort());
    target.close();
  });

  test('state that a process has is not carried, and one that is not there is none', async (t) => {
    const dataDir = join(root, 'busy');
    t.is(openStateExport(dataDir), undefined);
    const state = await openMemoryState({ dataDir });
    const error = t.throws(() => openStateExport(dataDir), { instanceOf: GatewayError });
    t.regex(error?.message ?? '', /busy is in use by another process/);
    await state.close();
    openStateExport(dataDir)?.close();
  });

  test('a Redis that is not there is refused within the deadline', async (t) => {
    const error = await t.throwsAsync(openRedisTransfer({ url: 'redis://127.0.0.1:1', deadlineMs: 300 }), {
      instanceOf: GatewayError,
    });
    t.regex(error?.message ?? '', /REDIS_URL/);
  });
}
