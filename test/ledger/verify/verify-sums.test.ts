// The sums kept beside entries against the entries.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { verifySums } from '../../../src/ledger/verify/verify-sums.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { logEntry } from '../../store/log-entries.ts';

const DAY_MS = 86_400_000;

test('sums of days that are over are those of their entries, and a wrong one is told', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-sums-'));
  const store = await openSqliteStore({ dataDir, collections: [] });
  t.teardown(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const now = Date.now();
  const entries = Array.from({ length: 40 }, (_, i) =>
    logEntry({
      ...{ id: `e${i}`, organisationId: 'org', cost: String(1000 + i) },
      createdAt: now - (2 + (i % 3)) * DAY_MS,
    }),
  );
  await store.requestLog.append(entries);
  await store.makeSums(now);
  const facts = { store: store.requestLog, organisations: ['org'], logDays: 10, now };
  const right = await verifySums(facts);
  t.is(right.days, 3);
  t.deepEqual(right.different, []);

  // A store whose kept sums have lost an entry.
  const wrong = await verifySums({
    ...facts,
    store: {
      async aggregate(scope, filter, aggregation) {
        const found = await store.requestLog.aggregate(scope, filter, aggregation);
        const [row] = found.rows;
        if (found.source === 'rollups' && row) row.sums.requests--;
        return found;
      },
    },
  });
  t.is(wrong.different.length, 3);
});
