// Entries on their way from the journal to the log: none is lost, none holds up another.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Journal } from '../../src/ledger/journal.ts';
import { interruptedEntry, noteOf } from '../../src/ledger/limits/hold-note.ts';
import { Later } from '../../src/ledger/limits/later.ts';
import { fail, invalidField } from '../../src/lib/errors.ts';
import { openMemoryState } from '../../src/store/memory/open.ts';
import type { RequestRecord } from '../../src/store/request-log.ts';
import type { SharedState } from '../../src/store/shared-state.ts';
import { logEntry } from '../store/log-entries.ts';

const ORG = 'org-1';

async function openState(t: ExecutionContext, clock: () => number): Promise<SharedState> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-journal-'));
  const state = await openMemoryState({ dataDir, clock });
  t.teardown(async () => {
    await state.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return state;
}

function journalOf(
  t: ExecutionContext,
  state: SharedState,
  owner: string,
  append: (batch: readonly RequestRecord[]) => Promise<void>,
): { readonly journal: Journal; readonly troubles: string[] } {
  const troubles: string[] = [];
  const journal = new Journal({
    ...{ state, store: { append }, owner, organisations: () => [ORG] },
    onTrouble: (_, what) => troubles.push(what),
  });
  t.teardown(() => journal.close());
  return { journal, troubles };
}

const fill = (state: SharedState, ids: readonly string[]) =>
  state.appendJournal(ORG, {
    entries: ids.map((id) => ({ id, data: JSON.stringify(logEntry({ id })) })),
    maxLength: 1000,
  });

test('what the log does not take waits, and is taken when it does', async (t) => {
  const state = await openState(t, Date.now);
  const taken: string[] = [];
  let away = true;
  const { journal, troubles } = journalOf(t, state, 'a', async (batch) => {
    if (away) throw fail('store_unavailable', 'away');
    taken.push(...batch.map(({ id }) => id));
  });
  await fill(state, ['1', '2']);
  await journal.flush();
  t.is(troubles.length, 1);
  t.is((await state.readJournal(ORG)).size, 2);
  away = false;
  await fill(state, ['3']);
  journal.mark(ORG);
  await journal.turn();
  await journal.turn();
  journal.mark(ORG);
  await journal.turn();
  t.deepEqual(taken, ['1', '2', '3']);
  t.is((await state.readJournal(ORG)).size, 0);
});

test('an entry that the log refuses for good holds up no other', async (t) => {
  const state = await openState(t, Date.now);
  const taken: string[] = [];
  const { journal, troubles } = journalOf(t, state, 'a', async (batch) => {
    if (batch.some(({ id }) => id === 'bad')) throw invalidField('id', 'is bad');
    taken.push(...batch.map(({ id }) => id));
  });
  await fill(state, ['1', 'bad', '2']);
  await journal.flush();
  t.deepEqual(taken, ['1', '2']);
  t.deepEqual(troubles, ['the request log refuses the entry bad']);
  t.is((await state.readJournal(ORG)).size, 0);
});

test('what a process claimed and did not carry is carried by the next one', async (t) => {
  let now = 1_700_000_000_000;
  const state = await openState(t, () => now);
  const taken: string[] = [];
  await fill(state, ['1', '2']);
  await state.claimJournal(ORG, { consumer: 'dead', leaseMs: 30_000, max: 10 });
  const { journal } = journalOf(t, state, 'b', async (batch) => {
    taken.push(...batch.map(({ id }) => id));
  });
  await journal.flush();
  t.deepEqual(taken, []);
  now += 30_001;
  journal.mark(ORG);
  await journal.flush();
  t.deepEqual(taken, ['1', '2']);
});

test('a note tells the entry of a call that nobody ends, and is no longer than a hold takes', (t) => {
  const { metadata, ...call } = logEntry({ id: 'x' });
  const note = noteOf({ ...call, metadata }, { input: 10, output: 1024 }, 123n);
  const entry = interruptedEntry(ORG, note ?? '', call.createdAt + 5000);
  t.like(entry, {
    ...{
      id: 'x',
      organisationId: ORG,
      outcome: 'interrupted',
      cost: '123',
      usageEstimated: true,
      latencyMs: 5000,
    },
    ...{ metadata, usage: { promptTokens: 10, completionTokens: 1024, totalTokens: 1034 } },
  });
  t.is(entry?.attempts.length, 1);
  const long = { text: 'x'.repeat(5000) };
  const short = noteOf({ ...call, metadata: long }, { input: 1, output: 1 }, undefined);
  t.true(short !== undefined && short.length <= 4096);
  t.like(interruptedEntry(ORG, short ?? '', call.createdAt), { metadata: {}, unpriced: true });
  for (const text of ['', 'x', '1', '{}']) t.is(interruptedEntry(ORG, text, 1), undefined);
});

test('steps that wait are made in order; one that is refused for good holds up no other', async (t) => {
  const made: string[] = [];
  let away = true;
  const later = new Later({ everyMs: 60_000, most: 3, onTrouble: () => {} });
  const step = (name: string) => async (): Promise<void> => {
    if (away) throw fail('store_unavailable', 'away');
    if (name === 'bad') throw invalidField('x', 'is bad');
    made.push(name);
  };
  for (const name of ['1', 'bad', '2']) t.true(later.add(step(name), () => made.push(`${name} dropped`)));
  t.false(later.add(step('one too many')));
  await later.turn();
  t.is(later.size, 3);
  away = false;
  await later.turn();
  t.deepEqual(made, ['1', 'bad dropped', '2']);
  later.add(step('3'), () => made.push('3 dropped'));
  later.stop();
  t.deepEqual(made.at(-1), '3 dropped');
});
