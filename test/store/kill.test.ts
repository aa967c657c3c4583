// kill -9 in the middle of writes: nothing acknowledged is lost, nothing is half done, and the lock goes with
// its process. SLUICE_KILL_ROUNDS sets how often (5 by default).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/open.ts';
import { heads, widgets } from './documents.contract.ts';

const ROUNDS = Number(process.env.SLUICE_KILL_ROUNDS ?? 5);
const BATCH = 20;
const CHILD = fileURLToPath(new URL('./kill-child.ts', import.meta.url));

interface Child {
  readonly lines: string[];
  /** Kills it and waits until it is gone and all that it said is read. */
  kill(): Promise<void>;
  /** Resolves at its first line. */
  readonly begun: Promise<unknown>;
  readonly ended: Promise<unknown>;
}

function start(...args: string[]): Child {
  const child = spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  const ended = once(reader, 'close');
  const begun = Promise.race([once(reader, 'line'), ended]);
  reader.on('line', (line) => lines.push(line));
  return {
    lines,
    begun,
    ended,
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function allOf<T>(page: (page: number) => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let number = 0; ; number++) {
    const found = await page(number);
    all.push(...found);
    if (found.length < 1000) return all;
  }
}

async function verify(
  t: ExecutionContext,
  store: SqliteStore,
  round: number,
  lines: readonly string[],
): Promise<void> {
  const scope = { organisationId: `round-${round}`, workspaceId: undefined };
  const documents = await allOf(
    async (page) => (await store.documents.page(scope, widgets, { pageSize: 1000, page })).documents,
  );
  const ids = new Set(documents.map((document) => document.id));
  const head = await store.documents.get(scope, heads, 'head');
  const count = head?.body.count ?? -1;
  const entries = await allOf(
    async (page) => (await store.requestLog.page(scope, {}, { page, pageSize: 1000, order: 'asc' })).entries,
  );
  const batches = new Map<string, number>();
  for (const { traceId } of entries) batches.set(traceId, (batches.get(traceId) ?? 0) + 1);

  const lost = lines.filter((line) => {
    if (line.startsWith('single-')) return !ids.has(line);
    if (line.startsWith('pair-')) return Number(line.slice(5)) > count;
    if (line.startsWith('batch-')) return !batches.has(line);
    return count < 0;
  });
  t.deepEqual(lost, [], 'acknowledged and lost');
  for (const side of ['left', 'right']) {
    t.is([...ids].filter((id) => id.startsWith(side)).length, count, 'half a commit');
    for (let i = 1; i <= count; i++) t.true(ids.has(`${side}-${i}`));
  }
  t.is(head?.version, count + 1);
  t.deepEqual(
    [...batches.values()].filter((size) => size !== BATCH),
    [],
    'half a batch',
  );
}

test('kill -9 loses no acknowledged write and leaves nothing half done', async (t) => {
  t.timeout(60_000 + ROUNDS * 5000);
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-kill-'));
  let acknowledged = 0;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const child = start(dataDir, String(round));
      await child.begun;
      await sleep(Math.random() * 300);
      await child.kill();
      acknowledged += child.lines.length;
      const store = await openSqliteStore({ dataDir, collections: [widgets, heads] });
      await verify(t, store, round, child.lines);
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
  try {
    const first = start(dataDir, '0');
    await first.begun;
    const second = start(dataDir, '0', 'intrude');
    await second.ended;
    t.is(second.lines.length, 1);
    t.true(second.lines[0]?.startsWith('refused: '));
    t.true(second.lines[0]?.includes(dataDir));
    await first.kill();
    const third = start(dataDir, '0', 'intrude');
    await third.ended;
    t.deepEqual(third.lines, ['opened']);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
