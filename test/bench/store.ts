// Measures the embedded store and prints a table: node test/bench/store.ts [log entries, 1,000,000 by default].
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRequestLog } from '../../src/ledger/request-log.ts';
import { defineCollection } from '../../src/store/collection.ts';
import type { PageQuery } from '../../src/store/documents.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { logEntry } from '../store/log-entries.ts';

const LOG_ENTRIES = Number(process.argv[2] ?? 1_000_000);
const DOCUMENTS = 100_000;

interface Thing {
  readonly name: string;
  readonly kind: string;
  readonly size: number;
  readonly text: string;
}

const things = defineCollection<Thing>({
  name: 'things',
  schemaVersion: 1,
  fields: [
    { name: 'name', type: 'text' },
    { name: 'kind', type: 'text' },
    { name: 'size', type: 'integer' },
  ],
  unique: [{ fields: ['slug'], per: 'workspace' }],
  sortable: ['name', 'size'],
});
const scope = { organisationId: 'org-1', workspaceId: undefined };

function print(what: string, figure: string): void {
  console.log(`${what.padEnd(64)} ${figure}`);
}

function quantiles(times: number[]): string {
  const sorted = times.sort((a, b) => a - b);
  const at = (q: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0).toFixed(3);
  return `p50 ${at(0.5)} ms  p99 ${at(0.99)} ms  max ${at(1)} ms`;
}

async function timed(times: number, run: (i: number) => Promise<unknown>): Promise<string> {
  const found: number[] = [];
  for (let i = 0; i < times; i++) {
    const start = performance.now();
    await run(i);
    found.push(performance.now() - start);
  }
  return quantiles(found);
}

/** How long the event loop was away at the most while `run` ran. */
async function loopDelay<T>(what: string, run: () => Promise<T>): Promise<T> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const result = await run();
  delay.disable();
  // The histogram holds the sleep of 1 ms itself too.
  const ms = (ns: number): string => Math.max(0, ns / 1e6 - 1).toFixed(1);
  print(`  event loop away, ${what}`, `p99 ${ms(delay.percentile(99))} ms  max ${ms(delay.max)} ms`);
  return result;
}

const ids: string[] = [];
let written = 0;
async function insert(store: SqliteStore): Promise<void> {
  const i = written++;
  const id = randomUUID();
  const body = {
    name: `thing ${randomBytes(4).toString('hex')}`,
    kind: `kind ${i % 50}`,
    size: i % 1000,
    text: 'x'.repeat(400),
  };
  const workspaceId = `ws-${i % 20}`;
  await store.documents.insert(scope, things, {
    id,
    workspaceId,
    slug: `thing-${i}`,
    createdAt: 1e12 + i,
    body,
  });
  ids.push(id);
}

async function documents(store: SqliteStore): Promise<void> {
  const start = performance.now();
  await loopDelay('256 writers at once', () =>
    Promise.all(
      Array.from({ length: 256 }, async () => {
        while (written < DOCUMENTS) await insert(store);
      }),
    ),
  );
  print(
    `documents inserted (of 0.5 KB, 256 at once, synced)`,
    `${Math.round((DOCUMENTS / (performance.now() - start)) * 1000)} /s`,
  );
  print('one insert after the other', await timed(500, () => insert(store)));
  const pick = (): string => ids[Math.floor(Math.random() * ids.length)] as string;
  print('get by id', await timed(5000, () => store.documents.get(scope, things, pick())));
  const slug = (i: number): string => `thing-${(i * 7919) % DOCUMENTS}`;
  print('get by slug', await timed(2000, (i) => store.documents.get(scope, things, slug(i))));

  let writing = true;
  const writers = Array.from({ length: 8 }, async () => {
    while (writing) {
      await insert(store);
      await sleep(1);
    }
  });
  const before = written;
  const page = async (
    what: string,
    query: Partial<PageQuery>,
    within = scope as { organisationId: string; workspaceId: string | undefined },
  ): Promise<void> => {
    const run = () => store.documents.page(within, things, { pageSize: 50, ...query });
    print(`page of 50, ${what}`, await timed(40, run));
  };
  await loopDelay('pages while 8 write', async () => {
    const desc = { sort: { field: 'createdAt', order: 'desc' } } as const;
    await page('newest first, first', { ...desc, page: 0 });
    await page('newest first, middle', { ...desc, page: 1000 });
    await page('newest first, last', { ...desc, page: 1999 });
    const byName = { sort: { field: 'name', order: 'asc' } } as const;
    await page('by name, first', { ...byName, page: 0 });
    await page('by name, last', { ...byName, page: 1999 });
    await page('by name, both statuses, last', { ...byName, status: 'all', page: 1999 });
    const first = await store.documents.page(scope, things, { ...byName, pageSize: 1000 });
    await page('by name, after a cursor', { ...byName, cursor: first.nextCursor ?? '' });
    await page('one workspace, last', { page: 99 }, { organisationId: 'org-1', workspaceId: 'ws-3' });
    await page('one kind of 50, middle', {
      filter: [{ field: 'kind', op: 'eq', value: 'kind 7' }],
      page: 20,
    });
    await page('name contains', { filter: [{ field: 'name', op: 'contains', value: 'abcd' }] });
    await page('size over 990, newest first', { ...desc, filter: [{ field: 'size', op: 'gt', value: 990 }] });
  });
  writing = false;
  await Promise.all(writers);
  print('  documents written meanwhile', String(written - before));
}

async function log(store: SqliteStore): Promise<void> {
  const log = createRequestLog({
    store: store.requestLog,
    onDrop: (drop) => console.log('DROPPED', drop),
    flushDeadlineMs: 60_000,
  });
  const sample = Array.from({ length: 10_000 }, (_, i) => logEntry({ id: `warm-${i}` }));
  let start = performance.now();
  for (const entry of sample) log.record(entry);
  print('record(), one entry', `${(((performance.now() - start) / sample.length) * 1000).toFixed(3)} us`);
  await log.flush();

  const STEP = Math.min(250_000, LOG_ENTRIES);
  for (let done = 0; done < LOG_ENTRIES; done += STEP) {
    // Entries are made outside the measured time, in portions that fit memory.
    let spent = 0;
    for (let portion = 0; portion < STEP; portion += 50_000) {
      const size = Math.min(50_000, STEP - portion);
      const entries = Array.from({ length: size }, (_, i) => {
        const n = done + portion + i;
        return logEntry({
          id: randomUUID(),
          traceId: randomBytes(16).toString('hex'),
          createdAt:
            1_700_000_000_000 + Math.floor(n / 30) - (n % 7 === 0 ? Math.floor(Math.random() * 3000) : 0),
          workspaceId: `ws-${n % 20}`,
          statusCode: n % 50 === 0 ? 429 : 200,
        });
      });
      start = performance.now();
      for (const entry of entries) log.record(entry);
      await log.flush();
      spent += performance.now() - start;
    }
    print(
      `log entries stored, ${done.toLocaleString('en')} to ${(done + STEP).toLocaleString('en')}`,
      `${Math.round((STEP / spent) * 1000)} /s`,
    );
  }

  const page = async (what: string, filter: object, page: number, workspaceId?: string): Promise<void> => {
    const within = { organisationId: 'org-1', workspaceId };
    const request = { page, pageSize: 50, order: 'desc' } as const;
    print(`log page of 50, ${what}`, await timed(20, () => store.requestLog.page(within, filter, request)));
  };
  await page('newest', {}, 0);
  await page('100,000 deep', {}, 2000);
  await page('one workspace, newest', {}, 0, 'ws-3');
  await page('one workspace, 40,000 deep', {}, 800, 'ws-3');
  await page('status 429', { statusCodes: [429] }, 0);
  await page('status 200 or 429, 50,000 deep', { statusCodes: [200, 429] }, 1000);
  await page('status 500 (none)', { statusCodes: [500] }, 0);
  await page('status 500 (none), one workspace', { statusCodes: [500] }, 0, 'ws-3');
  await page('one trace', { traceIds: ['trace'] }, 0);

  // 10,000 entries a second, as in traffic, and documents written beside.
  await loopDelay('10,000 entries/s and documents', async () => {
    const inserts: number[] = [];
    const until = performance.now() + 5000;
    let recorded = 0;
    const begun = performance.now();
    const writing = (async () => {
      while (performance.now() < until) {
        const at = performance.now();
        await insert(store);
        inserts.push(performance.now() - at);
      }
    })();
    while (performance.now() < until) {
      const due = Math.floor((performance.now() - begun) * 10);
      while (recorded < due) {
        recorded++;
        log.record(
          logEntry({
            id: randomUUID(),
            traceId: randomUUID(),
            createdAt: 1_700_000_040_000 + Math.floor(recorded / 10),
          }),
        );
      }
      await sleep(1);
    }
    await writing;
    await log.flush();
    print('insert of a document beside 10,000 entries/s', quantiles(inserts));
  });
  await log.close();
  print('  books', JSON.stringify(log.stats()));
}

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
try {
  const store = await openSqliteStore({ dataDir, collections: [things] });
  await documents(store);
  await log(store);
  const start = performance.now();
  await store.close();
  print('close', `${(performance.now() - start).toFixed(0)} ms`);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
