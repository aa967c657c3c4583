// kill -9 in the middle of writes: nothing acknowledged is lost, nothing is half done, and the lock goes with
// its process. SLUICE_KILL_ROUNDS sets how often (5 by default).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { heads, widgets } from './documents.contract.ts';
import { ROUNDS, startChild, verifyRound } from './kill-rounds.ts';

test('kill -9 loses no acknowledged write and leaves nothing half done', async (t) => {
  t.timeout(240_000 + ROUNDS * 5000);
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-kill-'));
  let acknowledged = 0;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const child = startChild(dataDir, String(round));
      await child.begun;
      await sleep(Math.random() * 300);
      await child.kill();
      acknowledged += child.lines.length;
      const store = await openSqliteStore({ dataDir, collections: [widgets, heads] });
      await verifyRound(t, store, round, child.lines);
      await store.close();
    }
    t.log(`${ROUNDS} rounds, ${acknowledged} acknowledged writes`);
    t.true(acknowledged > ROUNDS);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test('a second process is refused while the first lives, and let in when it was killed', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
  // Killed whatever happens: a child that lives on keeps the test's process from its end.
  const first = startChild(dataDir, '0');
  try {
    await first.begun;
    const second = startChild(dataDir, '0', 'intrude');
    await second.ended;
    t.is(second.lines.length, 1);
    t.regex(second.lines[0] ?? '', /^refused: /);
    t.true(second.lines[0]?.includes(dataDir));
    await first.kill();
    const third = startChild(dataDir, '0', 'intrude');
    await third.ended;
    t.deepEqual(third.lines, ['opened']);
  } finally {
    await first.kill();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
