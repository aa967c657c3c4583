// The log's writing side against a store that can fail.
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import { createRequestLog, type LogDrop, type RequestLogOptions } from '../../src/ledger/request-log.ts';
import { fail, GatewayError, invalidField } from '../../src/lib/errors.ts';
import { encodeEntry, readWritten } from '../../src/store/log/entry-text.ts';
import type { RequestLogStore } from '../../src/store/request-log.ts';
import { logEntry } from '../store/log-entries.ts';

interface FakeStore extends RequestLogStore {
  readonly batches: (readonly RequestRecord[])[];
  /** Called before each append; may throw or wait. */
  before: (batch: readonly RequestRecord[]) => void | Promise<void>;
}

function fakeStore(): FakeStore {
  const batches: (readonly RequestRecord[])[] = [];
  const store: FakeStore = {
    batches,
    before: () => undefined,
    append: async (written) => {
      const batch = written.map(readWritten);
      await store.before(batch);
      batches.push(batch);
    },
    page: () => Promise.reject(new Error('not read here')),
  };
  return store;
}

function logOver(store: RequestLogStore, options: Partial<RequestLogOptions> = {}) {
  const drops: LogDrop[] = [];
  const log = createRequestLog({ store, onDrop: (drop) => drops.push(drop), ...options });
  const record = (...ids: (number | string)[]): void => {
    for (const id of ids) {
      const entry = logEntry({ id: String(id) });
      // Mostly its text is at hand.
      log.record(entry, Number(id) % 3 === 0 ? undefined : encodeEntry(entry));
    }
  };
  return { log, drops, record };
}

function idsOf(store: FakeStore): string[] {
  return store.batches.flat().map((entry) => entry.id);
}

function numbers(from: number, until: number): number[] {
  return Array.from({ length: until - from }, (_, i) => from + i);
}

test('entries are stored behind the caller, in order and in batches', async (t) => {
  const store = fakeStore();
  const { log, drops, record } = logOver(store, { flushEveryMs: 10, maxBatch: 4 });
  record(...numbers(0, 10));
  t.deepEqual(log.stats(), { recorded: 10, stored: 0, buffered: 10, spilled: 0, failed: 0 });
  while (log.stats().stored < 10) await sleep(5);
  t.deepEqual(idsOf(store), numbers(0, 10).map(String));
  t.deepEqual(
    store.batches.map((batch) => batch.length),
    [4, 4, 2],
  );
  await log.close();
  t.deepEqual(drops, []);
});

test('flush waits for what was recorded before it, and no longer', async (t) => {
  const store = fakeStore();
  const { log, record } = logOver(store, { flushEveryMs: 60_000 });
  await log.flush();
  record('a');
  const flushed = log.flush();
  record('b');
  await flushed;
  t.true(idsOf(store).includes('a'));
  await log.close();
  t.deepEqual(idsOf(store), ['a', 'b']);
  t.deepEqual(log.stats(), { recorded: 2, stored: 2, buffered: 0, spilled: 0, failed: 0 });
});

test('a store that is away is asked again, in order and without a loss', async (t) => {
  const store = fakeStore();
  const { log, drops, record } = logOver(store, { flushEveryMs: 5, maxBatch: 3 });
  let failures = 3;
  store.before = () => {
    if (failures-- > 0) throw failures % 2 ? fail('store_unavailable', 'away') : new Error('socket closed');
  };
  record(...numbers(0, 7));
  await sleep(20);
  record(7, 8);
  await log.flush();
  t.deepEqual(idsOf(store), numbers(0, 9).map(String));
  t.deepEqual(drops, []);
  await log.close();
});

test('beyond the bound the oldest go, counted and reported', async (t) => {
  const store = fakeStore();
  const { log, drops, record } = logOver(store, { flushEveryMs: 5, maxBatch: 10, maxBuffered: 50 });
  let away = true;
  store.before = () => {
    if (away) throw fail('store_unavailable', 'away');
  };
  record(...numbers(0, 10));
  await sleep(20);
  for (let i = 10; i < 1000; i++) record(i);
  t.deepEqual(log.stats(), { recorded: 1000, stored: 0, buffered: 50, spilled: 0, failed: 950 });
  away = false;
  await log.flush();
  // The batch that was on its way stays; of the rest the newest.
  t.deepEqual(idsOf(store), [...numbers(0, 10), ...numbers(960, 1000)].map(String));
  t.is(
    drops.reduce((sum, drop) => sum + drop.count, 0),
    950,
  );
  t.true(drops.length < 20 && drops.every((drop) => drop.reason === 'overflow'));
  await log.close();
});

test('an entry that no store takes goes alone', async (t) => {
  const store = fakeStore();
  const { log, drops, record } = logOver(store, { flushEveryMs: 60_000 });
  store.before = (batch) => {
    if (batch.some((entry) => entry.id === 'bad')) throw invalidField('id', 'is bad');
    if (batch.some((entry) => entry.id === 'cyclic')) throw new TypeError('cyclic');
  };
  record(0, 1, 'bad', 2, 3, 4, 'cyclic', 5);
  await log.flush();
  t.deepEqual(idsOf(store), numbers(0, 6).map(String));
  t.deepEqual(
    drops.map((drop) => [drop.count, drop.reason]),
    [
      [1, 'refused'],
      [1, 'refused'],
    ],
  );
  t.deepEqual(log.stats(), { recorded: 8, stored: 6, buffered: 0, spilled: 0, failed: 2 });
  await log.close();
});

test('flush and close have an end when the store has none', async (t) => {
  const store = fakeStore();
  const { log, drops, record } = logOver(store, { flushEveryMs: 5, flushDeadlineMs: 60 });
  store.before = () => new Promise(() => undefined);
  record('a', 'b');
  const error = await t.throwsAsync(log.flush(), { instanceOf: GatewayError });
  t.is(error?.reason, 'store_unavailable');
  record('c');
  await log.close();
  await log.close();
  t.deepEqual(
    drops.map((drop) => [drop.count, drop.reason]),
    [[3, 'closed']],
  );
  t.notThrows(() => record('late'));
  t.deepEqual(log.stats(), { recorded: 4, stored: 0, buffered: 0, spilled: 0, failed: 4 });
});

test('a listener that throws hurts nobody', async (t) => {
  const store = fakeStore();
  const log = createRequestLog({
    store,
    maxBuffered: 1,
    onDrop: () => {
      throw new Error('listener');
    },
  });
  t.notThrows(() => {
    for (let i = 0; i < 5; i++) log.record(logEntry({ id: String(i) }));
  });
  await log.flush();
  t.deepEqual(idsOf(store), ['4']);
  await log.close();
});
