// What waits for a caller who reads the log along, and what other instances add to it.
import test from 'ava';
import { otherInstances } from '../../src/admin/logs/other-instances.ts';
import { WaitingEntries } from '../../src/admin/logs/waiting-entries.ts';
import type { RequestRecord } from '../../src/call/record.ts';
import type { LogPage, LogPageRequest } from '../../src/store/request-log.ts';
import { logEntry } from '../store/log-entries.ts';
import { eventually } from '../support/eventually.ts';

const entryOf = (n: number): RequestRecord =>
  logEntry({ id: `e${n}`, organisationId: 'o', createdAt: Date.now() });

const many = (from: number, count: number): RequestRecord[] =>
  Array.from({ length: count }, (_, i) => entryOf(from + i));

/** All that waits, in the order in which it is told. */
function taken(waiting: WaitingEntries): { readonly ids: string[]; readonly skipped: number } {
  const ids: string[] = [];
  let skipped = 0;
  for (;;) {
    const next = waiting.take();
    skipped += next.skipped;
    if (next.entries.length === 0) return { ids, skipped };
    ids.push(...next.entries.map(({ id }) => id));
  }
}

/** A log of an other instance, the newest first, and how many pages were read of it. */
function logOf(entries: readonly RequestRecord[]) {
  let pages = 0;
  const sorted = entries.toReversed();
  const page = async (_: unknown, __: unknown, request: LogPageRequest): Promise<LogPage> => {
    pages++;
    const from = Number(request.after ?? 0);
    const next = from + request.pageSize;
    return {
      total: 0,
      totalCapped: false,
      entries: sorted.slice(from, next),
      ...(next < sorted.length ? { next: String(next) } : {}),
    };
  };
  return { store: { page }, now: Date.now, pages: () => pages };
}

const selection = { scope: { organisationId: 'o', workspaceId: undefined }, filter: {} };

test('entries from before come first, in order and all of them, then those that were made meanwhile', (t) => {
  const waiting = new WaitingEntries();
  waiting.put(entryOf(3000));
  waiting.earlier(many(0, 3001));
  t.deepEqual(taken(waiting), {
    ids: [...many(0, 3000), entryOf(3000)].map(({ id }) => id),
    skipped: 0,
  });
});

test('a slow caller misses the oldest, and is told how many', (t) => {
  const waiting = new WaitingEntries();
  for (const entry of many(0, 2500)) waiting.put(entry);
  const { ids, skipped } = taken(waiting);
  t.is(ids.length + skipped, 2500);
  t.true(skipped > 0);
  t.is(ids.at(-1), 'e2499');
});

test('an entry is told once, also after a hundred thousand others', (t) => {
  const waiting = new WaitingEntries();
  for (let n = 0; n < 120_000; n++) {
    waiting.put(entryOf(n));
    if (n % 500 === 0) taken(waiting);
  }
  taken(waiting);
  for (const entry of many(90_000, 30_000)) waiting.put(entry);
  t.deepEqual(taken(waiting), { ids: [], skipped: 0 });
});

test('all that another instance recorded since the last look is read, over several pages', async (t) => {
  const waiting = new WaitingEntries();
  const log = logOf(many(0, 750));
  const look = otherInstances(log, selection, waiting);
  look();
  await eventually('the look', async () => waiting.knows('e0'));
  t.deepEqual(taken(waiting), { ids: many(0, 750).map(({ id }) => id), skipped: 0 });
  const before = log.pages();
  look();
  await eventually('another look', async () => log.pages() > before);
  t.is(log.pages(), before + 1, 'it ends where all is known');
  t.deepEqual(taken(waiting), { ids: [], skipped: 0 });
});

test('an entry whose call took long is found among those that are known', async (t) => {
  const waiting = new WaitingEntries();
  const all = many(0, 900);
  for (const entry of all.slice(1)) waiting.put(entry);
  taken(waiting);
  const look = otherInstances(logOf(all), selection, waiting);
  await eventually('the long call', async () => {
    look();
    return waiting.knows('e0');
  });
  t.deepEqual(taken(waiting), { ids: ['e0'], skipped: 0 });
});

test('more than one look reads is told as skipped, and a store that is away ends nothing', async (t) => {
  const waiting = new WaitingEntries();
  const look = otherInstances(logOf(many(0, 10_000)), selection, waiting);
  look();
  await eventually('the look', async () => waiting.knows('e9999'));
  const { ids, skipped } = taken(waiting);
  t.is(ids.at(-1), 'e9999');
  t.true(skipped > 0);
  let asked = 0;
  const away = async (): Promise<LogPage> => {
    asked++;
    throw new Error('away');
  };
  const again = otherInstances({ store: { page: away }, now: Date.now }, selection, waiting);
  await eventually('a second try', async () => {
    again();
    return asked > 1;
  });
  t.deepEqual(taken(waiting), { ids: [], skipped: 0 });
});
