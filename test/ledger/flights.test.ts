// Calls in flight on disk: whatever a process had noted when it was killed, the books have each call once.

import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { Call } from '../../src/call/call.ts';
import type { RequestRecord } from '../../src/call/record.ts';
import { takeLeft } from '../../src/ledger/flight/flight-folder.ts';
import { InFlightJournal } from '../../src/ledger/flight/in-flight-journal.ts';
import { ownFile } from '../../src/ledger/flight/line-file.ts';
import { attemptLine, endLine, type Line, readLine } from '../../src/ledger/flight/lines.ts';
import { openInFlightJournal } from '../../src/ledger/flight/open-in-flight-journal.ts';
import { type ReplayDeps, replay } from '../../src/ledger/flight/replay.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { createRequestLog } from '../../src/ledger/request-log.ts';
import { fail } from '../../src/lib/errors.ts';
import { decodeEntry, encodeEntry, readWritten } from '../../src/store/log/entry-text.ts';
import type { SettleRequest } from '../../src/store/shared-state.ts';
import { logEntry } from '../store/log-entries.ts';
import { callWith, type GivenCall } from '../support/calls.ts';
import { eventually } from '../support/eventually.ts';

const prices = openPriceList();

function folderOf(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-flights-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const quiet = {
  onTrouble: (error: unknown) => {
    throw error;
  },
  onLost: () => undefined,
};

function callOf(id: string, held?: Call['account']['held'], given: GivenCall = {}): Call {
  return callWith({
    id,
    principal: { organisationId: 'org-1', workspaceId: 'ws-1', keyId: 'key-1' },
    held,
    ...given,
    members: { traceId: `trace-${id}`, arrivedAt: 1_700_000_000_000, ...given.members },
  });
}

const noteOf = (id: string) => ({
  id,
  provider: 'openai',
  host: 'api.openai.com',
  model: 'gpt-4o-mini',
  startedAt: 1_700_000_000_001,
  input: 10,
  output: 20,
});

/** The entry of a call that made these attempts. */
function entryOf(call: Call, attempts: readonly string[]): RequestRecord {
  const { attempts: own, ...entry } = logEntry({
    id: call.id,
    traceId: call.traceId,
    createdAt: call.arrivedAt,
    metadata: call.record.metadata,
    operation: 'gateway.inference.v2.ChatService/CreateChatCompletion',
    path: call.source.path,
  });
  const [first] = own;
  if (first === undefined) throw new Error('a log entry has an attempt');
  return {
    ...entry,
    attempts: attempts.map((id) => ({
      ...first,
      ...(noteOf(id).id === id ? { id } : {}),
      startedAt: 1_700_000_000_001,
    })),
  };
}

const text = fc.string({ unit: 'binary', maxLength: 12 });

test('what is written of a call is what is read, whatever callers and providers say', (t) => {
  fc.assert(
    fc.property(
      text,
      text,
      text,
      text,
      fc.dictionary(text, text),
      fc.nat(3),
      (path, model, said, trace, metadata, extra) => {
        // A dictionary may have a member that is no text's.
        const call = callOf('c', undefined, {
          path,
          record: { streamed: true, metadata },
          members: { traceId: trace },
        });
        const notes = Array.from({ length: 1 + extra }, (_, i) => ({ ...noteOf(`a${i}`), model }));
        const base = entryOf(
          call,
          notes.map(({ id }) => id),
        );
        const entry: RequestRecord = {
          ...base,
          model,
          responseModel: said,
          error: { reason: said, message: said },
          streamed: true,
          attempts: base.attempts.map((one, i) => ({
            ...one,
            model,
            responseModel: i === 0 ? said : 'other',
            ...(i === 1 ? { usage: base.usage as never } : {}),
          })),
        };
        const order = { id: 'c', charges: [{ key: said, amount: 10n ** 20n }] };
        const lines = notes.map((note) => attemptLine(7, call, note, [{ key: said, type: 'cost' }]));
        const end = endLine(7, encodeEntry(entry), order);
        for (const line of [...lines, end]) t.is(line.indexOf('\n'), line.length - 1);
        const read = [...lines, end].map((line) => readLine(7, line.slice(0, -1)) as Line);
        t.true(
          lines.every((line) => readLine(8, line.slice(0, -1)) === undefined),
          'another file’s',
        );
        const attempts = read.flatMap((line) => (line.kind === 'attempt' ? [line.note] : []));
        const last = read.at(-1);
        if (last?.kind !== 'end') throw new Error('the end is read as something else');
        t.deepEqual(last.note.order, order);
        t.deepEqual(last.note.entry, JSON.parse(JSON.stringify(entry)) as RequestRecord);
        t.deepEqual(attempts[0]?.held, [{ key: said, type: 'cost' }]);
      },
    ),
    { numRuns: 200 },
  );
  t.is(readLine(1, 'A1["half'), undefined);
  t.is(readLine(1, ''), undefined);
});

interface Kept extends ReplayDeps {
  readonly entries: RequestRecord[];
  readonly orders: SettleRequest[];
  readonly released: string[];
}

function keeper(outcome: 'settled' | 'repeated' | 'unknown' = 'settled'): Kept {
  const entries: RequestRecord[] = [];
  const orders: SettleRequest[] = [];
  const released: string[] = [];
  return {
    entries,
    orders,
    released,
    prices,
    mark: () => undefined,
    store: { append: async (batch) => void entries.push(...batch.map(readWritten)) },
    state: {
      settle: async (_, order) => {
        orders.push(order);
        return { outcome, budgets: [] };
      },
      release: async (_, { id }) => {
        released.push(id);
        return { outcome, budgets: [] };
      },
      readValue: async () => ({ version: 0, value: undefined }),
      writeValue: async () => ({ version: 1, value: undefined, written: true }),
    },
  };
}

/** What the next process would find if this one were killed now. */
async function killedNow(t: ExecutionContext, folder: string, kept = keeper()): Promise<Kept> {
  const copy = folderOf(t);
  for (const owner of readdirSync(folder)) {
    mkdirSync(join(copy, owner));
    for (const name of readdirSync(join(folder, owner)))
      if (name.endsWith('.lines')) cpSync(join(folder, owner, name), join(copy, owner, name));
  }
  for (const left of takeLeft(copy, 'none')) {
    await replay(kept, left.segments().map(ownFile));
    left.remove();
  }
  t.deepEqual(readdirSync(copy), []);
  return kept;
}

test('killed at any moment, each call is in the books once: ended ones as they ended, others interrupted', async (t) => {
  const step = fc.record({
    what: fc.constantFrom('begin', 'again', 'end', 'settle', 'over', 'pass'),
    which: fc.nat(100),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 120 }),
      fc.integer({ min: 500, max: 4000 }),
      async (steps, segmentBytes) => {
        const folder = folderOf(t);
        const flights = new InFlightJournal({ ...quiet, folder, segmentBytes });
        const open: { call: Call; attempts: string[] }[] = [];
        const settling: Call[] = [];
        const ended = new Map<string, number>();
        const settled = new Set<string>();
        let position = 0;
        let passed = 0;
        let made = 0;
        for (const { what, which } of steps) {
          const at = which % Math.max(1, open.length);
          const one = open[at];
          if (what === 'begin') {
            const held = which % 3 === 0 ? [{ key: 'b', type: 'tokens' } as const] : undefined;
            const begun = { call: callOf(`c${made++}`, held), attempts: [`a${made}-0`] };
            open.push(begun);
            await flights.attempt(begun.call, noteOf(begun.attempts[0] ?? ''));
          } else if (what === 'again' && one) {
            const id = `${one.call.id}-${one.attempts.length}`;
            one.attempts.push(id);
            await flights.attempt(one.call, noteOf(id));
          } else if (what === 'end' && one && one.call.account.held === undefined) {
            open.splice(at, 1);
            ended.set(one.call.id, ++position);
            await flights.ended(one.call, encodeEntry(entryOf(one.call, one.attempts)), position);
          } else if (what === 'settle' && one?.call.account.held) {
            open.splice(at, 1);
            flights.settling(one.call, encodeEntry(entryOf(one.call, one.attempts)), {
              id: one.call.id,
              charges: [{ key: 'b', amount: 5n }],
            });
            settling.push(one.call);
            await flights.turn();
          } else if (what === 'over') {
            const call = settling.shift();
            if (call) {
              flights.over(call);
              settled.add(call.id);
            }
          } else if (what === 'pass' && position > 0) {
            passed = Math.max(passed, which % (position + 1));
            flights.passed(passed);
          }
        }
        const { entries, orders } = await killedNow(t, folder);
        const kept = entries.map(({ id }) => id);
        t.is(new Set(kept).size, kept.length, 'once');
        const outcomes = new Map(entries.map((entry) => [entry.id, entry.outcome]));
        for (const [id, at] of ended) if (at > passed) t.is(outcomes.get(id), 'success', `${id} of ${at}`);
        for (const { call, attempts } of open) {
          const entry = call.account.held
            ? decodeEntry(orders.find(({ id }) => id === call.id)?.entry?.data ?? '{}')
            : entries.find(({ id }) => id === call.id);
          t.is(entry?.outcome, 'interrupted', call.id);
          t.deepEqual(
            entry?.attempts.map(({ id }) => id),
            attempts,
          );
          t.true(
            entry?.attempts.every(({ usageEstimated, usage }) => usageEstimated && usage?.totalTokens === 30),
          );
          if (call.account.held)
            t.deepEqual(orders.find(({ id }) => id === call.id)?.charges, [
              { key: 'b', amount: 30n * BigInt(attempts.length) },
            ]);
        }
        for (const { id } of settling) {
          // Lines that were carried to another file may be in both: a hold is settled once.
          const own = orders.filter((order) => order.id === id);
          t.true(own.length >= 1);
          for (const order of own) t.deepEqual(order, own[0]);
        }
        // What has ended is interrupted in no case.
        for (const id of [...ended.keys(), ...settled]) t.not(outcomes.get(id), 'interrupted');
        t.false(orders.some(({ id, charges }) => settled.has(id) && charges?.[0]?.amount !== 5n));
        flights.close();
      },
    ),
    { numRuns: 40 },
  );
});

test('what is not needed any more is written over, and a folder whose calls are all in the books goes', async (t) => {
  const folder = folderOf(t);
  const flights = new InFlightJournal({ ...quiet, folder, segmentBytes: 4000 });
  for (let i = 1; i <= 500; i++) {
    const call = callOf(`c${i}`);
    await flights.attempt(call, noteOf(`a${i}`));
    await flights.ended(call, encodeEntry(entryOf(call, [`a${i}`])), i);
    flights.passed(i);
  }
  t.true(flights.bytes < 20_000, `${flights.bytes} bytes`);
  const { entries } = await killedNow(t, folder);
  t.true(entries.length < 20, 'what earlier uses of the files left is not read');
  t.true(entries.every(({ outcome }) => outcome === 'success'));
  flights.close();
  t.deepEqual(readdirSync(folder), []);
});

test('a file that ends in the middle of a line loses that line alone; a live process’s folder is left alone', async (t) => {
  const folder = folderOf(t);
  const flights = new InFlightJournal({ ...quiet, folder });
  await Promise.all(['1', '2'].map((id) => flights.attempt(callOf(id), noteOf(`a${id}`))));
  t.deepEqual([...takeLeft(folder, 'none')], []);
  const path = join(folder, flights.owner, '1.lines');
  truncateSync(path, flights.bytes - 10);
  const { entries } = await killedNow(t, folder);
  t.deepEqual(
    entries.map(({ id }) => id),
    ['1'],
  );
  flights.close();
  const [left] = [...takeLeft(folder, 'none')];
  t.is(left?.segments().length, 1, 'what is open is left for the next process');
  left?.remove();
});

test('a hold that somebody settled keeps the entry that it was settled with; one that is not known is the log’s', async (t) => {
  const folder = folderOf(t);
  const flights = new InFlightJournal({ ...quiet, folder });
  await flights.attempt(callOf('1', []), noteOf('a1'));
  t.deepEqual((await killedNow(t, folder, keeper('repeated'))).entries, []);
  t.deepEqual(
    (await killedNow(t, folder, keeper('unknown'))).entries.map(({ id }) => id),
    ['1'],
  );
  flights.close();
});

test('a hold without a call is let go by the next process, unless it was already', async (t) => {
  const folder = folderOf(t);
  const flights = new InFlightJournal({ ...quiet, folder });
  const over = flights.releasing('org-1', 'h1');
  await flights.turn();
  t.deepEqual((await killedNow(t, folder)).released, ['h1']);
  over();
  flights.close();
  t.deepEqual(readdirSync(folder), []);
});

test('journals of several gone processes reach the books although the store was away when the first was read', async (t) => {
  const dataDir = folderOf(t);
  const folder = join(dataDir, 'flights');
  const ids = ['1', '2', '3'];
  for (const id of ids) {
    const gone = new InFlightJournal({ ...quiet, folder });
    await gone.attempt(callOf(id), noteOf(`a${id}`));
    gone.close();
  }
  const kept = keeper();
  let tries = 0;
  const store = {
    append: async (batch: readonly RequestRecord[]) => {
      if (tries++ === 0) throw fail('store_unavailable', 'away');
      await kept.store.append(batch, []);
    },
  };
  const { flights, follow, close } = openInFlightJournal({
    ...quiet,
    onTrouble: () => undefined,
    dataDir,
    leftMs: 20,
  });
  await follow({ ...kept, store }, { stats: () => ({ buffered: 0 }) as never });
  t.deepEqual(kept.entries, [], 'the store was away');
  await eventually('the folders go', () => readdirSync(folder).join() === flights.owner);
  t.deepEqual(kept.entries.map(({ id }) => id).sort(), ids);
  await close();
});

test('entries that the log has no room for wait in their files, and none is lost', async (t) => {
  const dataDir = folderOf(t);
  const { flights, follow, close } = openInFlightJournal({
    ...quiet,
    onTrouble: () => undefined,
    dataDir,
    segmentBytes: 20_000,
  });
  const stored = new Map<string, number>();
  let away = true;
  const store = {
    append: async (batch: readonly RequestRecord[]) => {
      if (away) throw fail('store_unavailable', 'away');
      for (const { id } of batch) stored.set(id, (stored.get(id) ?? 0) + 1);
    },
  };
  const log = createRequestLog({
    store: { ...store, page: () => Promise.reject(new Error('not read here')) },
    maxBuffered: 50,
    onDrop: () => t.fail('nothing is dropped'),
    flushEveryMs: 5,
    spill: (position) => flights.spill(position),
    onPassed: (position) => flights.passed(position),
  });
  await follow({ ...keeper(), store }, log);
  for (let i = 0; i < 400; i++) {
    const call = callOf(`c${i}`);
    await flights.attempt(call, noteOf(`a${i}`));
    const entry = entryOf(call, [`a${i}`]);
    await flights.ended(call, encodeEntry(entry), log.record(entry));
  }
  t.like(log.stats(), { recorded: 400, failed: 0, stored: 0 });
  t.true(flights.spilled >= 300, `${flights.spilled}`);
  t.true(log.lagMs() > 0);
  away = false;
  await eventually('all entries', () => stored.size >= 400);
  t.is(stored.size, 400);
  t.is(flights.spilled, 0);
  await log.close();
  await close();
  t.deepEqual(readdirSync(join(dataDir, 'flights')), []);
});

test('files grow to their bound; then the oldest entries are given up, and counted', async (t) => {
  const folder = folderOf(t);
  let lost = 0;
  const flights = new InFlightJournal({
    ...quiet,
    folder,
    segmentBytes: 5000,
    mostBytes: 30_000,
    onLost: (count) => (lost += count),
  });
  for (let i = 1; i <= 300; i++) {
    const call = callOf(`c${i}`);
    await flights.attempt(call, noteOf(`a${i}`));
    await flights.ended(call, encodeEntry(entryOf(call, [`a${i}`])), i);
    // The log keeps ten.
    if (i > 10) t.true(flights.spill(i - 10));
    flights.passed(i - 10);
  }
  t.true(flights.bytes <= 45_000, `${flights.bytes} bytes`);
  t.true(lost > 0);
  t.is(lost + flights.spilled, 290);
  flights.close();
});
