// A log store that takes few entries in its time: batches become smaller until it does, and larger again.
import test from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import { Journal } from '../../src/ledger/journal.ts';
import { createRequestLog } from '../../src/ledger/request-log.ts';
import { SlicedAppend } from '../../src/ledger/sliced-append.ts';
import { fail, invalidField } from '../../src/lib/errors.ts';
import type { SharedState } from '../../src/store/shared-state.ts';
import { logEntry } from '../store/log-entries.ts';

interface SlowStore {
  readonly stored: string[];
  /** Entries that it takes in its time. */
  most: number;
  readonly tried: number[];
  append(batch: readonly RequestRecord[]): Promise<void>;
}

function slowStore(most: number): SlowStore {
  const store: SlowStore = {
    stored: [],
    most,
    tried: [],
    async append(batch) {
      store.tried.push(batch.length);
      if (batch.length > store.most) throw fail('store_unavailable', 'the store did not answer in time');
      for (const { id } of batch) if (!store.stored.includes(id)) store.stored.push(id);
    },
  };
  return store;
}

const entriesOf = (count: number): RequestRecord[] =>
  Array.from({ length: count }, (_, i) => logEntry({ id: `e${i}` }));
const idsOf = (count: number): string[] => entriesOf(count).map(({ id }) => id);

test('slices are halved when the store is late, and grow when it is not', async (t) => {
  const store = slowStore(60);
  const slices = new SlicedAppend(store, 400);
  const entries = entriesOf(400);
  let at = 0;
  for (let turn = 0; at < entries.length; turn++) {
    if (turn > 50) throw new Error('it does not come to its end');
    await slices.append(entries.slice(at), (count) => (at += count)).catch(() => undefined);
  }
  t.deepEqual(store.stored, idsOf(400));
  t.deepEqual(store.tried.slice(0, 4), [400, 200, 100, 50]);
  store.most = 1000;
  store.tried.length = 0;
  await slices.append(entriesOf(1500));
  t.is(Math.max(...store.tried), 400);
});

test('a refusal is told at once and makes no slice smaller', async (t) => {
  const store = {
    append: async (batch: readonly RequestRecord[]) => {
      if (batch.some(({ id }) => id === 'e3')) throw invalidField('id', 'is bad');
    },
  };
  const slices = new SlicedAppend(store, 2);
  let stored = 0;
  await t.throwsAsync(slices.append(entriesOf(6), (count) => (stored += count)));
  t.is(stored, 2);
});

test('the log and the journal come to their end on such a store', async (t) => {
  const store = slowStore(70);
  const log = createRequestLog({
    store: { ...store, append: store.append, page: () => Promise.reject(new Error('not read here')) },
    onDrop: () => t.fail(),
  });
  for (const entry of entriesOf(300)) log.record(entry);
  await log.flush();
  t.deepEqual(store.stored, idsOf(300));
  await log.close();

  const other = slowStore(70);
  let left = entriesOf(300).map(({ id }, i) => ({
    id,
    seq: String(i),
    data: JSON.stringify(logEntry({ id })),
  }));
  const state = {
    claimJournal: async () => left,
    acknowledgeJournal: async (_: string, { seqs }: { seqs: readonly string[] }) => {
      left = left.filter(({ seq }) => !seqs.includes(seq));
      return seqs.length;
    },
    readJournal: async () => ({ size: left.length, claimed: 0, lagMs: left.length > 0 ? 5000 : 0 }),
  } as unknown as SharedState;
  const troubles: string[] = [];
  const journal = new Journal({
    state,
    store: other,
    owner: 'a',
    organisations: () => ['org-1'],
    onTrouble: (_, what) => troubles.push(what),
  });
  t.teardown(() => journal.close());
  for (let turn = 0; left.length > 0 && turn < 10; turn++) {
    journal.mark('org-1');
    await journal.turn();
    if (left.length > 0) {
      t.is(journal.stats().entries, 300);
      t.true(journal.stats().lagMs >= 5000);
    }
  }
  t.deepEqual(other.stored, idsOf(300));
  t.true(troubles.length > 0);
});
