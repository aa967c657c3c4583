// Entries on their way from the journal to the log: none is lost, none holds up another.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Journal } from '../../src/ledger/journal.ts';
import { interruptedEntry, noteOf } from '../../src/ledger/limits/hold-note.ts';
import { RetryQueue } from '../../src/ledger/limits/retry-queue.ts';
import { fail, invalidField } from '../../src/lib/errors.ts';
import { encodeEntry, readWritten } from '../../src/store/log/entry-text.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import type { RequestLogStore } from '../../src/store/request-log.ts';
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
  append: RequestLogStore['append'],
): { readonly journal: Journal; readonly troubles: string[] } {
  const troubles: string[] = [];
  const journal = new Journal({
    state,
    store: { append },
    owner,
    organisations: () => [ORG],
    onTrouble: (_, what) => troubles.push(what),
  });
  t.teardown(() => journal.close());
  return { journal, troubles };
}

const fill = (state: SharedState, ids: readonly string[]) =>
  state.appendJournal(ORG, {
    // The first as versions before wrote them.
    entries: ids.map((id) => ({ id, data: (id === '1' ? JSON.stringify : encodeEntry)(logEntry({ id })) })),
    maxLength: 1000,
  });

test('what the log does not take waits, and is taken when it does', async (t) => {
  const state = await openState(t, Date.now);
  const taken: string[] = [];
  let away = true;
  const { journal, troubles } = journalOf(t, state, 'a', async (batch) => {
    if (away) throw fail('store_unavailable', 'away');
    taken.push(...batch.map((entry) => readWritten(entry).id));
  });
  await fill(state, ['1', '2']);
  await journal.flush();
  t.true(troubles.length >= 1);
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
    if (batch.some((entry) => readWritten(entry).id === 'bad')) throw invalidField('id', 'is bad');
    taken.push(...batch.map((entry) => readWritten(entry).id));
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
    taken.push(...batch.map((entry) => readWritten(entry).id));
  });
  await journal.flush();
  t.deepEqual(taken, []);
  now += 30_001;
  journal.mark(ORG);
  await journal.flush();
  t.deepEqual(taken, ['1', '2']);
});

/** Settles a call as admission does: with an entry that is the process's own, where there is room. */
async function settle(state: SharedState, journal: Journal, id: string): Promise<void> {
  const [entry, claim] = [logEntry({ id }), journal.own.claim()];
  const text = encodeEntry(entry);
  const written = { id, data: text, ...(claim ? { claim } : {}) };
  const { seq = '' } = await state.settle(ORG, { id, orphan: 'charge', entry: written });
  journal.own.add({ organisationId: ORG, seq, entry, text, at: performance.now() });
}

test('what a process has written it carries without reading it, and nobody else claims it', async (t) => {
  const state = await openState(t, Date.now);
  const claims: number[] = [];
  const watched: SharedState = {
    ...state,
    claimJournal: async (...call) => {
      const claimed = await state.claimJournal(...call);
      claims.push(claimed.length);
      return claimed;
    },
  };
  const taken: (string | undefined)[] = [];
  const { journal } = journalOf(t, watched, 'a', async (batch, texts) => {
    taken.push(
      ...batch.map((entry, i) => {
        const { id } = readWritten(entry);
        return texts?.[i] === encodeEntry(logEntry({ id })) ? id : undefined;
      }),
    );
  });
  for (const id of ['1', '2']) await settle(state, journal, id);
  await fill(state, ['3']);
  const others = await state.claimJournal(ORG, { consumer: 'b', leaseMs: 1000, max: 10 });
  t.deepEqual(
    others.map(({ id }) => id),
    ['3'],
  );
  await journal.flush();
  t.deepEqual(taken, ['1', '2']);
  t.true(claims.every((count) => count === 0));
  t.like(await state.readJournal(ORG), { size: 1, claimed: 1 });
});

test('what a process has written and not carried is carried by the next one', async (t) => {
  let now = 1_700_000_000_000;
  const state = await openState(t, () => now);
  const gone = journalOf(t, state, 'gone', async () => {
    throw fail('store_unavailable', 'away');
  });
  for (const id of ['1', '2']) await settle(state, gone.journal, id);
  await gone.journal.flush();
  // Its own timer may have tried as well.
  t.true(gone.troubles.length > 0);
  const taken: string[] = [];
  const { journal } = journalOf(t, state, 'b', async (batch) => {
    taken.push(...batch.map((entry) => readWritten(entry).id));
  });
  await journal.flush();
  t.deepEqual(taken, []);
  now += 6001;
  journal.mark(ORG);
  await journal.flush();
  t.deepEqual(taken, ['1', '2']);
  t.is((await state.readJournal(ORG)).size, 0);
});

test('a store that is away for long is no reason to keep all that comes in memory', async (t) => {
  const state = await openState(t, Date.now);
  const { journal } = journalOf(t, state, 'a', async () => {
    throw fail('store_unavailable', 'away');
  });
  const entry = logEntry({ id: 'x' });
  let kept = 0;
  for (; journal.own.claim() !== undefined && kept < 100_000; kept++)
    journal.own.add({ organisationId: ORG, seq: String(kept), entry, text: 'x'.repeat(1000), at: 0 });
  t.is(kept, 5000);
  // They are others' already: it lets them go.
  await journal.flush();
  t.not(journal.own.claim(), undefined);
});

test('a note tells the entry of a call that nobody ends, and is no longer than a hold takes', (t) => {
  const { metadata, ...call } = logEntry({ id: 'x' });
  const note = noteOf({ ...call, metadata }, { input: 10, output: 1024 }, 123n);
  const entry = interruptedEntry(ORG, note ?? '', call.createdAt + 5000);
  t.like(entry, {
    id: 'x',
    organisationId: ORG,
    outcome: 'interrupted',
    cost: '123',
    usageEstimated: true,
    latencyMs: 5000,
    metadata,
    usage: { promptTokens: 10, completionTokens: 1024, totalTokens: 1034 },
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
  const later = new RetryQueue({ everyMs: 60_000, most: 3, onTrouble: () => {} });
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
