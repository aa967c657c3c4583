// Calls that are killed between their admission and their first line never reached a provider: what was held for them is
// let go when their lease ends. Those with a line are charged, and so is everything when a line may be missing.

import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Call } from '../../src/call/call.ts';
import {
  type OpenInFlightJournal,
  openInFlightJournal,
} from '../../src/ledger/flight/open-in-flight-journal.ts';
import { linesNote, noteOf } from '../../src/ledger/limits/hold-note.ts';
import { keepHolds } from '../../src/ledger/limits/holds.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { readWritten } from '../../src/store/log/entry-text.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import type { SharedState } from '../../src/store/shared-state.ts';
import { callWith } from '../support/calls.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-never-sent-'));
test.after.always(() => rmSync(root, { recursive: true, force: true }));

const ORG = 'o';
const KEY = 'u:key:1';
const LEASE_MS = 300;
const HELD = 1000n;

const call = (id: string): Call =>
  callWith({
    id,
    principal: { organisationId: ORG, workspaceId: 'w', keyId: '1' },
    held: [{ key: KEY, type: 'requests' }],
    members: { traceId: id },
  });

/** Holds as an admission does. @param owner of the hold @param lines whose lines tell of it */
async function hold(state: SharedState, id: string, lines: string, ofCall: boolean): Promise<void> {
  const facts = {
    id,
    traceId: id,
    workspaceId: 'w',
    apiKeyId: '1',
    createdAt: Date.now(),
    metadata: {},
    operation: 'CreateChatCompletion',
    protocol: 'rest' as const,
    method: 'POST',
    path: '/p',
    provider: 'openai',
    model: 'gpt-4o',
  };
  const note = ofCall ? noteOf(facts, { input: 1, output: 1 }, 5n, undefined, lines) : linesNote(lines);
  await state.admit(ORG, {
    limits: [{ kind: 'budget', key: KEY, cap: 1_000_000n, amount: HELD }],
    hold: { id, owner: 'gone', leaseMs: LEASE_MS, ...(note === undefined ? {} : { note }) },
    journal: { maxLength: 1000 },
  });
}

/** The next process on what a killed one left, until nothing is held any more. Answers what was spent. */
async function afterKill(
  t: ExecutionContext,
  killed: OpenInFlightJournal,
  dataDir: string,
  state: SharedState,
  prepare: (flights: string) => void = () => {},
): Promise<{ readonly spent: bigint; readonly entries: readonly string[] }> {
  const next = mkdtempSync(join(root, 'next-'));
  cpSync(join(dataDir, 'flights'), join(next, 'flights'), {
    recursive: true,
    filter: (path) => !/lock\.db/.test(path),
  });
  prepare(join(next, 'flights', killed.flights.owner));
  const flights = openInFlightJournal({
    dataDir: next,
    onTrouble: (error) => t.fail(String(error)),
    onLost: () => {},
  });
  const prices = openPriceList();
  const appended: string[] = [];
  await flights.follow(
    {
      state,
      prices,
      mark: () => {},
      store: { append: async (batch) => void appended.push(...batch.map((entry) => readWritten(entry).id)) },
    },
    { stats: () => ({ buffered: 0, failed: 0 }) } as never,
  );
  const holds = keepHolds({
    state,
    owner: 'next',
    lines: flights.flights.owner,
    leaseMs: LEASE_MS,
    journal: { mark: () => {} },
    organisations: () => [ORG],
    onTrouble: (error) => t.fail(String(error)),
  });
  while ((await state.readBudget(ORG, { key: KEY })).held > 0n) await sleep(20);
  holds.stop();
  await flights.close();
  const { spent } = await state.readBudget(ORG, { key: KEY });
  const journal = await state.claimJournal(ORG, { consumer: 'c', max: 100, leaseMs: 1000 });
  return { spent, entries: [...appended, ...journal.map(({ id }) => id)] };
}

interface Ran {
  readonly dataDir: string;
  readonly state: SharedState;
  readonly flights: OpenInFlightJournal;
}

/** A process with a call that has its line, one that has none yet, and an attempt's hold without one. */
async function running(t: ExecutionContext): Promise<Ran> {
  const dataDir = mkdtempSync(join(root, 'ran-'));
  const state = await openMemoryState({ dataDir });
  t.teardown(() => state.close());
  const flights = openInFlightJournal({
    dataDir,
    onTrouble: (error) => t.fail(String(error)),
    onLost: () => {},
  });
  t.teardown(() => flights.close());
  const { owner } = flights.flights;
  for (const id of ['sent', 'not-sent']) await hold(state, id, owner, true);
  await hold(state, 'attempt', owner, false);
  await flights.flights.attempt(call('sent'), {
    id: 'a1',
    provider: 'openai',
    host: '',
    model: 'gpt-4o',
    startedAt: Date.now(),
    input: 1,
    output: 1,
  });
  return { dataDir, state, flights };
}

test('what no line tells of is let go, what one tells of is charged once', async (t) => {
  const { dataDir, state, flights } = await running(t);
  const { spent, entries } = await afterKill(t, flights, dataDir, state);
  t.is(spent, 1n, 'the one request');
  t.deepEqual(entries, ['sent']);
});

test('where a line may be missing, all that was held is charged', async (t) => {
  const { dataDir, state, flights } = await running(t);
  const { spent, entries } = await afterKill(t, flights, dataDir, state, (folder) => {
    t.true(readdirSync(folder).includes('whole'));
    rmSync(join(folder, 'whole'));
  });
  t.is(spent, 1n + 2n * HELD);
  t.deepEqual([...entries].sort(), ['not-sent', 'sent']);
});

test('where the lines are lost, all that was held is charged', async (t) => {
  const { dataDir, state, flights } = await running(t);
  const { spent } = await afterKill(t, flights, dataDir, state, (folder) =>
    rmSync(folder, { recursive: true }),
  );
  t.is(spent, 3n * HELD);
});
