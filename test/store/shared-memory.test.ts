// The embedded adapter of shared state: the contract, and what is its own.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { eventually } from '../support/eventually.ts';
import { sharedStateContract } from './shared-state.contract.ts';
import { openEmbedded, START_MS } from './shared-stores.ts';

const shared = await openEmbedded();
test.after.always(() => shared.close());

sharedStateContract(test, async () => [shared]);

test('budgets, holds, journal and values are there after a restart; a second process is refused', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-state-'));
  const first = await openMemoryState({ dataDir });
  const limits = [{ kind: 'budget', key: 'b', cap: 10n ** 20n, amount: 10n ** 19n } as const];
  await first.admit('o', { limits, hold: { id: 'a', owner: 'me', leaseMs: 60_000, note: 'n' } });
  await first.appendJournal('o', { entries: [{ id: 'e', data: 'd' }], maxLength: 10 });
  await first.writeValue('o', { key: 'v', version: 0, value: 'x' });
  t.is(statSync(join(dataDir, 'state.db')).mode & 0o777, 0o600);
  const refused = await t.throwsAsync(openMemoryState({ dataDir }), { instanceOf: GatewayError });
  t.is(refused?.reason, 'store_unavailable');
  t.true(refused?.message.includes(dataDir) && refused.message.includes('in use'));
  await first.close();
  await t.throwsAsync(first.readValue('o', { key: 'v' }), { instanceOf: GatewayError });
  await t.throwsAsync(first.acquireLease('o', { key: 'l', owner: 'x', leaseMs: 1 }));

  const second = await openMemoryState({ dataDir });
  t.deepEqual(await second.readBudget('o', { key: 'b' }), { spent: 0n, held: 10n ** 19n });
  t.is((await second.settle('o', { id: 'a' })).outcome, 'settled');
  t.like(await second.readJournal('o'), { size: 1, claimed: 0 });
  t.deepEqual(await second.readValue('o', { key: 'v' }), { version: 1, value: 'x' });
  await second.close();
  rmSync(dataDir, { recursive: true });
});

test('rows of the first layout, which knew no time for budgets, are taken over', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-state-'));
  const made = await openMemoryState({ dataDir });
  const limits = [{ kind: 'budget', key: 'b', amount: 5n } as const];
  await made.admit('o', { limits, hold: { id: 'a', owner: 'me', leaseMs: 60_000 } });
  await made.close();
  const file = new DatabaseSync(join(dataDir, 'state.db'));
  file.exec('DROP INDEX budgets_kept; ALTER TABLE budgets DROP COLUMN keep_until; PRAGMA user_version = 1');
  file.close();
  for (let turn = 0; turn < 2; turn++) {
    const state = await openMemoryState({ dataDir });
    t.deepEqual(await state.readBudget('o', { key: 'b' }), { spent: 0n, held: 5n });
    await state.close();
  }
  rmSync(dataDir, { recursive: true });
});

test('a call that fails among others leaves nothing behind, and the others are as they would be', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-state-'));
  await (await openMemoryState({ dataDir })).close();
  const file = new DatabaseSync(join(dataDir, 'state.db'));
  file.exec(`CREATE TRIGGER refuse BEFORE INSERT ON budgets WHEN NEW.key = 'bad'
    BEGIN SELECT RAISE(ABORT, 'not this one'); END`);
  file.close();
  const state = await openMemoryState({ dataDir });
  const window = { kind: 'window', key: 'w', limit: 100, windowMs: 3_600_000, cost: 1 } as const;
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => {
      const budget = { kind: 'budget', key: i % 2 === 0 ? 'good' : 'bad', amount: 1n } as const;
      const hold = { id: `h${i}`, owner: 'me', leaseMs: 60_000 };
      return state.admit('o', { limits: [window, budget], hold });
    }),
  );
  t.deepEqual(
    outcomes.map(({ status }) => status),
    Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? 'fulfilled' : 'rejected')),
  );
  t.deepEqual(await state.readBudget('o', { key: 'good' }), { spent: 0n, held: 10n });
  t.is((await state.admit('o', { limits: [{ ...window, cost: 0 }] })).limits[0]?.remaining, 90n);
  t.is((await state.settle('o', { id: 'h1' })).outcome, 'unknown');
  t.is((await state.settle('o', { id: 'h2' })).outcome, 'settled');
  await state.close();
  rmSync(dataDir, { recursive: true });
});

test('what is settled is forgotten after its time, and not before', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-state-'));
  const clock = { ms: START_MS };
  const state = await openMemoryState({ dataDir, rememberMs: 1000, clock: () => clock.ms });
  const request = { limits: [], hold: { id: 'a', owner: 'me', leaseMs: 10 } };
  await state.admit('o', request);
  await state.settle('o', { id: 'a' });
  clock.ms += 900;
  t.is((await state.admit('o', request)).outcome, 'settled');
  clock.ms += 200;
  await state.readBudget('o', { key: 'x' });
  t.is((await state.admit('o', request)).outcome, 'admitted');
  await state.close();
  rmSync(dataDir, { recursive: true });
});

test.serial(
  'a lazy one starts no thread while nothing waits, and finds what an earlier process left',
  async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'sluice-state-'));
    const threads = async (): Promise<number> => {
      const { readFile } = await import('node:fs/promises');
      const text = await readFile('/proc/self/status', 'utf8').catch(() => 'Threads:\t0\n');
      return Number(/^Threads:\s+(\d+)/m.exec(text)?.[1]);
    };
    const claim = { consumer: 'me', leaseMs: 60_000, max: 10 };
    const before = await threads();
    const first = await openMemoryState({ dataDir, lazy: true });
    t.deepEqual(await first.claimJournal('o', claim), []);
    t.deepEqual(await first.readJournal('o'), { size: 0, claimed: 0, lagMs: 0 });
    t.deepEqual(await first.sweep('o', { owner: 'me', leaseMs: 60_000, max: 10 }), []);
    await first.ready();
    t.is(await threads(), before);
    await first.appendJournal('o', { entries: [{ id: 'e', data: 'd' }], maxLength: 10 });
    t.is((await first.readJournal('o')).size, 1);
    await first.close();

    const second = await openMemoryState({ dataDir, lazy: true });
    const claimed = await second.claimJournal('o', claim);
    t.deepEqual(
      claimed.map(({ id }) => id),
      ['e'],
    );
    await second.acknowledgeJournal('o', { consumer: 'me', seqs: claimed.map(({ seq }) => seq) });
    const limits = [{ kind: 'budget', key: 'b', amount: 5n } as const];
    await second.admit('o', { limits, hold: { id: 'a', owner: 'me', leaseMs: 1 } });
    await second.close();

    const third = await openMemoryState({ dataDir, lazy: true });
    await eventually('the hold has expired', async () => {
      const swept = await third.sweep('o', { owner: 'me', leaseMs: 60_000, max: 10 });
      return swept.some(({ id }) => id === 'a');
    });
    await third.settle('o', { id: 'a' });
    await third.close();

    const fourth = await openMemoryState({ dataDir, lazy: true });
    t.deepEqual(await fourth.sweep('o', { owner: 'me', leaseMs: 60_000, max: 10 }), []);
    t.deepEqual(await fourth.readBudget('o', { key: 'b' }), { spent: 5n, held: 0n });
    await fourth.close();
    rmSync(dataDir, { recursive: true });
  },
);
