// A start on a log with many entries that are not sealed: it waits for none of them, nothing is kept twice, and they are
// sealed while the store is used.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import test from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import { fail } from '../../src/lib/errors.ts';
import { encodeEntry } from '../../src/store/log/entry-text.ts';
import { createLogTables, tailSize } from '../../src/store/sqlite/log/manifest.ts';
import { SegmentFiles } from '../../src/store/sqlite/log/segment-files.ts';
import { tailWriter } from '../../src/store/sqlite/log/tail-writes.ts';
import { unsealed, untilSealed } from '../../src/store/sqlite/log/unsealed.ts';
import { LogView } from '../../src/store/sqlite/log/view.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { type StatementCache, statementCache } from '../../src/store/sqlite/statement-cache.ts';
import type { WorkerClient } from '../../src/store/sqlite/worker-client.ts';
import { FailureError } from '../../src/store/sqlite/worker-loop.ts';
import { eventually } from '../support/eventually.ts';
import { logEntry } from './log-entries.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-log-start-'));
test.after.always(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;
const freshDir = (): string => mkdtempSync(join(root, String(folders++)));

const BEGIN = Date.UTC(2026, 10, 1);
const ROW = 100;
const scope = { organisationId: 'o', workspaceId: undefined };

function entryOf(n: number): RequestRecord {
  return logEntry({
    id: `e${n}`,
    organisationId: 'o',
    createdAt: BEGIN + n * 1000,
    apiKeyId: `key-${n % 7}`,
  });
}

function entriesOf(count: number, from = 0): RequestRecord[] {
  return Array.from({ length: count }, (_, i) => entryOf(from + i));
}

function textOf(entries: readonly RequestRecord[]): string {
  return entries.map((entry) => `${encodeEntry(entry)}\n`).join('');
}

/** Puts entries into the tail as a process left them that did not come to sealing. */
function leave(database: DatabaseSync, entries: readonly RequestRecord[]): void {
  const insert = database.prepare('INSERT INTO log_tail (seq, count, min_time, entries) VALUES (?, ?, ?, ?)');
  database.exec('BEGIN');
  for (let at = 0; at < entries.length; at += ROW) {
    const own = entries.slice(at, at + ROW);
    insert.run(at + own.length, own.length, own[0]?.createdAt ?? 0, textOf(own));
  }
  database.exec('COMMIT');
}

/** A database with such a tail, and how many of its rows are read. */
function tailOf(entries: readonly RequestRecord[]) {
  const database = new DatabaseSync(':memory:');
  createLogTables(database);
  leave(database, entries);
  const plain = statementCache(database);
  const seen = { rows: 0 };
  const counted = (statement: StatementSync): StatementSync =>
    new Proxy(statement, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        if (name !== 'iterate') return member.bind(target);
        return function* (...values: never[]) {
          for (const row of target.iterate(...values)) {
            seen.rows++;
            yield row;
          }
        };
      },
    });
  const cached: StatementCache = (sql) =>
    sql.includes('entries FROM log_tail') ? counted(plain(sql)) : plain(sql);
  return { database, cached, seen };
}

test('the size of a long tail is told without reading an entry, and a write reads a generation', (t) => {
  const { database, cached, seen } = tailOf(entriesOf(5000));
  const writer = tailWriter(cached, root, 200);
  t.is(writer.size(), 5000);
  t.is(seen.rows, 0);
  const now = Date.now();
  const fresh = [1, 2, 3].map((n) => ({ ...entryOf(n), id: `new-${n}`, createdAt: now + 60_000 + n }));
  t.is(writer.append(textOf(fresh)), 5003, 'a call that began after the start waits for nothing more');
  t.true(seen.rows <= 4, `${seen.rows} rows of ${ROW}`);
  t.is(writer.append(textOf(fresh)), 5003);
  // Of the newest entries the keys are known.
  t.is(writer.size(), 5003);
  database.close();
});

test('an entry from before the start is looked for step by step, and kept once', (t) => {
  const all = entriesOf(40_000);
  const { database, cached, seen } = tailOf(all);
  const writer = tailWriter(cached, root, 200);
  const again = textOf([entryOf(3), entryOf(20_000), entryOf(39_999), entryOf(50_000)]);
  t.is(writer.append(again), null, 'nothing is written before it is known what is there');
  t.is(tailSize(cached), 40_000);
  const steps: number[] = [];
  for (let done = false; !done; ) {
    const before = seen.rows;
    done = writer.readKeys();
    steps.push(seen.rows - before);
  }
  t.true(steps.length >= 3, 'in steps');
  t.true(Math.max(...steps) * ROW <= 16_384 + 2 * ROW, steps.join());
  t.is(writer.append(again), 40_001, 'the one that was not there');
  t.is(writer.append(textOf(all.slice(100, 140))), 40_001);
  t.true(writer.readKeys(), 'nothing is left to be read');
  database.close();
});

test('entries that are written faster than they are sealed are kept once, too', (t) => {
  const { database, cached } = tailOf([]);
  const writer = tailWriter(cached, root, 50);
  for (let at = 0; at < 1000; at += 20) writer.append(textOf(entriesOf(20, at)));
  t.is(writer.size(), 1000);
  for (const at of [0, 300, 700, 980]) t.is(writer.append(textOf(entriesOf(20, at))), 1000, String(at));
  database.close();
});

test('a store opens on more entries than a reader takes in, seals them, and answers with all of them', async (t) => {
  const dataDir = freshDir();
  const bounds = { block: 500, unsealed: 1000 };
  const empty = await openSqliteStore({ dataDir, collections: [], logBounds: bounds });
  await empty.close();
  const database = new DatabaseSync(join(dataDir, 'sluice.db'));
  leave(database, entriesOf(6000));
  database.close();

  const store = await openSqliteStore({ dataDir, collections: [], logBounds: bounds, deadlineMs: 60_000 });
  try {
    const [first, facets, sums] = await Promise.all([
      store.requestLog.page(scope, {}, { page: 0, pageSize: 10, order: 'desc' }),
      store.requestLog.facets(scope, {}, { by: ['apiKey'], take: 50, names: 10 }),
      store.requestLog.aggregate(scope, {}, {}),
    ]);
    t.is(first.total, 6000);
    t.is(first.entries[0]?.id, 'e5999');
    t.is(
      facets.facets[0]?.values.reduce((sum, { requests }) => sum + requests, 0),
      6000,
    );
    t.is(sums.rows[0]?.rollup.requests, 6000);
    await store.requestLog.append([entryOf(1), entryOf(5999), entryOf(6000)]);
    t.is((await store.requestLog.aggregate(scope, {}, {})).rows[0]?.rollup.requests, 6001);
    await eventually('sealed', () => {
      const read = new DatabaseSync(join(dataDir, 'sluice.db'), { readOnly: true });
      try {
        return tailSize(statementCache(read)) < 500;
      } finally {
        read.close();
      }
    });
  } finally {
    await store.close();
  }
});

test('a reader takes so many unsealed entries into memory; of more of them it says how many there are', (t) => {
  const { database, cached, seen } = tailOf(entriesOf(300));
  const files = new SegmentFiles(root, 1);
  const error = t.throws(() => new LogView(cached, files, { block: 50, unsealed: 299 }).refresh(), {
    instanceOf: FailureError,
  });
  t.like(error?.failure, { reason: 'store_unavailable', retryAfterMs: 1000 });
  t.regex(error?.message ?? '', /300 entries are left/);
  t.is(seen.rows, 0, 'none of them is read');
  const view = new LogView(cached, files, { block: 50, unsealed: 300 });
  const count = (): number => view.refresh().parts.reduce((sum, part) => sum + part.count, 0);
  t.is(count(), 300);
  // What comes while it reads along is little each time.
  for (let from = 300; from < 900; from += 300) {
    const text = textOf(entriesOf(300, from));
    database.prepare('INSERT INTO log_tail VALUES (?, ?, ?, ?)').run(from + 300, 300, BEGIN, text);
    t.is(count(), from + 300);
  }
  database.close();
});

test('a question waits while entries are sealed, and is told so when its time is over', async (t) => {
  const waiting = unsealed(7).failure;
  const { reason, message, cause, retryAfterMs = 0 } = waiting;
  let left = 2;
  const reader: WorkerClient<string> = {
    call: async <T>(call: string): Promise<T> => {
      if (call === 'broken') throw fail('validation_failed', 'no');
      if (left-- > 0) throw fail(reason, message, { cause, retryAfterMs });
      return call as T;
    },
    close: async () => {},
  };
  t.is(await untilSealed(reader, { deadlineMs: 600_000 }).call<string>('an answer'), 'an answer');
  left = Number.POSITIVE_INFINITY;
  const impatient = untilSealed(reader, { deadlineMs: 500 });
  const error = await t.throwsAsync(impatient.call('another'));
  t.like(error, { reason, message, details: { retryAfterMs: 1000 } });
  await t.throwsAsync(impatient.call('broken'), { message: 'no' });
});
