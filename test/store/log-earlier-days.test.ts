// What has expired is only looked for where the log has something of a day that is over: the compactor's thread rests else.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { DAY_MS } from '../../src/store/sqlite/log/buckets.ts';
import { compactionStore } from '../../src/store/sqlite/log/compaction-store.ts';
import { LogCompactor } from '../../src/store/sqlite/log/compactor.ts';
import { hasEarlierDays } from '../../src/store/sqlite/log/earlier-days.ts';
import { changeSegments, createLogTables } from '../../src/store/sqlite/log/manifest.ts';
import { statementCache } from '../../src/store/sqlite/statement-cache.ts';
import type { WorkerClient } from '../../src/store/sqlite/worker-client.ts';

/** Midnight. */
const TODAY = 20_780 * DAY_MS;
const BLOCK = 100;

const segment = {
  ...({ kind: 'entries', cube: 0, keep: -1, file: 'f', offset: 0, length: 1, head: 1, count: 1 } as const),
  ...{ minTime: TODAY, maxTime: TODAY, firstSeq: 1, lastSeq: 1, covers: [] },
};

function opened(t: { teardown(run: () => void): void }) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-earlier-'));
  const database = new DatabaseSync(':memory:');
  t.teardown(() => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  createLogTables(database);
  const cached = statementCache(database);
  return { folder, cached, seen: (now: number) => hasEarlierDays(cached, folder, now) };
}

test('an empty log has no earlier days', (t) => {
  t.false(opened(t).seen(TODAY));
});

test('entries of the tail are of an earlier day once theirs is over', (t) => {
  const { cached, seen } = opened(t);
  cached('INSERT INTO log_tail (seq, count, min_time, entries) VALUES (1, 1, ?, ?)').run(TODAY, '');
  t.false(seen(TODAY + DAY_MS - 1));
  t.true(seen(TODAY + DAY_MS));
});

test('so are segments', (t) => {
  const { cached, seen } = opened(t);
  changeSegments(cached, { add: [{ ...segment, day: TODAY / DAY_MS }], remove: [], alone: [] });
  t.false(seen(TODAY + DAY_MS - 1));
  t.true(seen(TODAY + DAY_MS));
});

test('and bodies', (t) => {
  const { folder, seen } = opened(t);
  const date = new Date(TODAY).toISOString().slice(0, 10);
  writeFileSync(join(folder, `bodies-${date}.7d.db`), '');
  t.false(seen(TODAY + DAY_MS - 1));
  t.true(seen(TODAY + DAY_MS));
});

test('the compactor is asked only then', async (t) => {
  const client = (call: (asked: { readonly kind: string }) => unknown): WorkerClient<never> => ({
    call: async <T>(asked: never) => call(asked) as T,
    close: async () => {},
  });
  const retention = { logDays: 1, bodyDays: 1, metricDays: 1 };
  for (const earlier of [false, true]) {
    const asked: string[] = [];
    const keeping = client(({ kind }) => {
      asked.push(kind);
      return kind === 'due' ? { tail: false, retire: [], sum: [], forget: [] } : [];
    });
    const writer = client(() => earlier);
    const compactor = new LogCompactor(writer, keeping, BLOCK);
    const store = compactionStore(
      writer,
      client(() => undefined),
      keeping,
      compactor,
    );
    t.deepEqual(await store.expire(retention, TODAY), []);
    t.deepEqual(asked, earlier ? ['due', 'expireBodies'] : []);
  }
});
