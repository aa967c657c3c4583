// kill -9 of an embedded process amid holds, settlements and journal entries: nothing acknowledged is lost, nothing
// is half done. SLUICE_KILL_ROUNDS sets how often (5 by default).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import type { SharedState } from '../../src/store/shared-state.ts';

const ROUNDS = Number(process.env.SLUICE_KILL_ROUNDS ?? 5);
const CHILD = fileURLToPath(new URL('./shared-kill-child.ts', import.meta.url));

/** Of calls at once, as the child makes them. */
const LANES = 3;
/** What the reader of the child's lines is held by before every other kill: a busy machine. */
const BUSY_MS = 300;

async function killed(dataDir: string, org: string, busy: boolean): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, dataDir, org], { stdio: ['ignore', 'pipe', 'inherit'] });
  const reader = createInterface({ input: child.stdout });
  const lines: string[] = [];
  reader.on('line', (line) => lines.push(line));
  const ended = once(reader, 'close');
  await Promise.race([once(reader, 'line'), ended]);
  await sleep(50 + Math.random() * 300);
  if (busy) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS);
  child.kill('SIGKILL');
  await ended;
  return lines;
}

async function journalOf(state: SharedState, org: string): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const claimed = await state.claimJournal(org, { consumer: 'c', leaseMs: 60_000, max: 1000 });
    if (claimed.length === 0) return ids;
    ids.push(...claimed.map(({ id }) => id));
  }
}

async function verify(
  t: ExecutionContext,
  state: SharedState,
  org: string,
  lines: readonly string[],
): Promise<void> {
  const said = (verb: string): string[] =>
    lines.filter((line) => line.startsWith(`${verb} `)).map((line) => line.slice(verb.length + 1));
  const journal = await journalOf(state, org);
  t.is(new Set(journal).size, journal.length, 'an entry twice');
  const known = new Set(journal);
  const settled = journal.filter((id) => !id.startsWith('j-'));
  t.deepEqual(
    said('settle').filter((id) => !known.has(id)),
    [],
    'a settlement lost',
  );
  for (const i of said('append')) t.true(known.has(`j-${i}-0`) && known.has(`j-${i}-4`), 'entries lost');
  const batches = journal.filter((id) => id.startsWith('j-'));
  t.is(batches.length % 5, 0, 'half a batch');

  const { spent, held } = await state.readBudget(org, { key: 'b' });
  t.is(spent, BigInt(settled.length) * 3n, 'spent is what the journal says');
  const open: string[] = [];
  const outcomeOf = async (id: string): Promise<string> => {
    const { outcome } = await state.settle(org, { id, charges: [{ key: 'b', amount: 0n }] });
    if (outcome === 'settled') open.push(id);
    return outcome;
  };
  for (const id of said('admit'))
    t.is(await outcomeOf(id), known.has(id) ? 'repeated' : 'settled', `admission ${id} lost`);
  // At most one call of each lane was made and not acknowledged.
  const unsaid = Array.from({ length: LANES }, (_, lane) => {
    const last = said('admit').findLast((id) => id.startsWith(`${lane}-`));
    return `${lane}-${last === undefined ? 0 : Number(last.split('-')[1]) + 1}`;
  });
  const outcomes = new Map<string, string>();
  for (const id of unsaid) outcomes.set(id, await outcomeOf(id));
  const states = () => `open: ${open.join()}; not acknowledged: ${[...outcomes].join(' ')}`;
  t.is(held, BigInt(open.length) * 10n, `held is what the holds say (${states()})`);
  const after = await state.readBudget(org, { key: 'b' });
  t.is(after.held, 0n, `all holds are settled (${states()})`);
}

test('kill -9 loses no acknowledged step and leaves none half done', async (t) => {
  t.timeout(240_000 + ROUNDS * 10_000);
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-state-kill-'));
  let acknowledged = 0;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const org = `round-${round}`;
      const lines = await killed(dataDir, org, round % 2 === 1);
      acknowledged += lines.length;
      const state = await openMemoryState({ dataDir });
      await verify(t, state, org, lines);
      await state.close();
    }
    t.log(`${ROUNDS} rounds, ${acknowledged} acknowledged steps`);
    t.true(acknowledged > ROUNDS);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
