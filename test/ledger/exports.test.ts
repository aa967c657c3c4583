// Exports behind the calls that start them: taken over, kept for a while, taken away; and the addresses of their files.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { TenantScope } from '../../src/call/scope.ts';
import { type ExportRun, type LogExportBody, logExports } from '../../src/ledger/exports/collection.ts';
import { exportFile } from '../../src/ledger/exports/file.ts';
import { ExportLinks, LINK_MS } from '../../src/ledger/exports/link.ts';
import { type ExportRunner, FILE_MS, type RunnerDeps, runExports } from '../../src/ledger/exports/runner.ts';
import { fail } from '../../src/lib/errors.ts';
import type { BlobStore } from '../../src/store/blobs.ts';
import { type OpenFeed, openChangeFeed } from '../../src/store/change-feed.ts';
import type { DocumentStore } from '../../src/store/documents.ts';
import { folderBlobs } from '../../src/store/folder-blobs.ts';
import { noticedDocuments } from '../../src/store/noticed-documents.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { logEntry } from '../store/log-entries.ts';
import { eventually } from '../support/eventually.ts';

const ENTRIES = 1500;

const root = mkdtempSync(join(tmpdir(), 'sluice-exports-'));
let opened: SqliteStore;
let count = 0;
test.before(async () => {
  opened = await openSqliteStore({ dataDir: join(root, 'store'), collections: [logExports] });
});
test.after.always(async () => {
  await opened?.close();
  rmSync(root, { recursive: true, force: true });
});

/** An organisation of a test's own with an export that is started. */
interface Bench {
  readonly scope: TenantScope;
  readonly folder: string;
  readonly store: SqliteStore;
  readonly feed: OpenFeed;
  readonly documents: DocumentStore;
  readonly blobs: BlobStore;
  /** Added to the clock of every runner. */
  ahead: number;
  readonly trouble: unknown[];
  start(more?: Partial<RunnerDeps>): Promise<ExportRunner>;
  body(): Promise<LogExportBody>;
  until(holds: (body: LogExportBody) => boolean): Promise<LogExportBody>;
  ids(): Promise<string[]>;
}

async function bench(t: ExecutionContext, run: Partial<ExportRun> = {}): Promise<Bench> {
  const organisationId = `o${++count}`;
  const scope = { organisationId, workspaceId: undefined };
  const folder = join(root, organisationId);
  const store = opened;
  const feed = openChangeFeed({ onError: () => {} });
  const documents = noticedDocuments(store.documents, feed);
  const blobs = folderBlobs(join(folder, 'exports'));
  const runners: ExportRunner[] = [];
  t.teardown(async () => {
    for (const runner of runners) await runner.close();
    await feed.close();
  });
  for (let at = 0; at < ENTRIES; at += 500)
    await store.requestLog.append(
      Array.from({ length: 500 }, (_, i) =>
        logEntry({ id: `e${at + i}`, organisationId, createdAt: Date.now() - ENTRIES + at + i }),
      ),
    );
  const whole: ExportRun = {
    filter: { until: Date.now() + 1 },
    fields: ['id'],
    skip: 0,
    take: 50_000,
    passed: 0,
    rows: 0,
    bytes: 0,
    parts: [],
    startedAt: Date.now(),
    ...run,
  };
  const first: LogExportBody = {
    filters: {},
    requestedData: ['id'],
    createdBy: 'k',
    status: 'in_progress',
    turns: 0,
    run: whole,
  };
  await documents.insert(scope, logExports, { id: 'x', createdAt: 1, body: first });
  const one: Bench = {
    scope,
    folder,
    store,
    feed,
    documents,
    blobs,
    ahead: 0,
    trouble: [],
    async start(more = {}) {
      const runner = await runExports({
        feed,
        documents,
        blobs,
        store: store.requestLog,
        organisations: () => [organisationId],
        alone: false,
        now: () => Date.now() + one.ahead,
        onTrouble: (error) => one.trouble.push(error),
        writeLength: 1000,
        ...more,
      });
      runners.push(runner);
      return runner;
    },
    body: async () => (await documents.get(scope, logExports, 'x'))?.body as LogExportBody,
    async until(holds) {
      return eventually('what the export is to come to', async () => {
        const body = await one.body();
        return holds(body) && body;
      });
    },
    async ids() {
      const { run: done } = await one.body();
      const pieces: Uint8Array[] = [];
      for (const { name, bytes } of done?.parts ?? [])
        for await (const piece of blobs.read(name, bytes)) pieces.push(piece);
      const lines = Buffer.concat(pieces).toString('utf8').split('\n').slice(0, -1);
      return lines.map((line) => (JSON.parse(line) as { id: string }).id);
    },
  };
  return one;
}

const ALL = Array.from({ length: ENTRIES }, (_, i) => `e${ENTRIES - 1 - i}`);
const is = (status: string) => (body: LogExportBody) => body.status === status;

/** Bytes that stop coming after so many writes, as those of an instance that hangs. */
function hanging(blobs: BlobStore, writes: number): BlobStore {
  let left = writes;
  return { ...blobs, write: (...given) => (left-- > 0 ? blobs.write(...given) : new Promise(() => {})) };
}

test('several instances: one runs it, and every line is there once', async (t) => {
  const one = await bench(t);
  await Promise.all([one.start(), one.start(), one.start()]);
  const { turns, run } = await one.until(is('success'));
  t.is(turns, 1);
  t.is(run?.lease, undefined);
  t.deepEqual(await one.ids(), ALL);
});

test('one that hangs is taken over when its lease is over, and what it writes then does not count', async (t) => {
  const one = await bench(t);
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let writes = 0;
  const late: BlobStore = {
    ...one.blobs,
    async write(...given) {
      if (++writes > 6) await held;
      await one.blobs.write(...given);
    },
  };
  await one.start({ blobs: late });
  await one.until(({ run }) => (run?.rows ?? 0) > 0);
  const second = await one.start();
  await sleep(50);
  t.is((await one.body()).turns, 1, 'it has it to itself');
  one.ahead = 31_000;
  const { turns } = await one.until(is('success'));
  t.is(turns, 2);
  const before = await one.body();
  release();
  await sleep(50);
  t.deepEqual(await one.body(), before);
  t.deepEqual(await one.ids(), ALL);
  await second.close();
});

test('who has many exports does not keep others waiting', async (t) => {
  const many = await bench(t);
  const { documents, scope } = many;
  const body = await many.body();
  for (let i = 0; i < 6; i++)
    await documents.insert(scope, logExports, { id: `many-${i}`, createdAt: 1, body });
  const other = { organisationId: `${scope.organisationId}-other`, workspaceId: undefined };
  await documents.insert(other, logExports, { id: 'one', createdAt: 1, body });
  const written = new Set<string>();
  const noting: BlobStore = {
    ...many.blobs,
    write: (name, ...rest) => {
      written.add(name);
      return many.blobs.write(name, ...rest);
    },
  };
  const organisations = () => [scope.organisationId, other.organisationId];
  await many.start({ blobs: noting, organisations });
  const state = async () => (await documents.get(other, logExports, 'one'))?.body.status;
  await eventually('the other one’s export', async () => (await state()) === 'success');
  t.true(written.size <= 4, [...written].join());
});

for (const whose of ['the same organisation', 'another one'])
  test(`a short export of ${whose} does not wait for the end of long ones, which go on where they stood`, async (t) => {
    const one = await bench(t);
    const { documents, scope } = one;
    const body = await one.body();
    await documents.insert(scope, logExports, { id: 'y', createdAt: 1, body });
    const other = { organisationId: `${scope.organisationId}-short`, workspaceId: undefined };
    const place = whose === 'another one' ? other : scope;
    const slow: BlobStore = {
      ...one.blobs,
      async write(...given) {
        await sleep(15);
        await one.blobs.write(...given);
      },
    };
    const organisations = () => [scope.organisationId, other.organisationId];
    await one.start({ blobs: slow, organisations, sliceMs: 40, writeLength: 300 });
    await one.until(({ run }) => (run?.rows ?? 0) > 0);
    const short = { ...body, run: { ...(body.run as ExportRun), take: 3 } };
    await documents.insert(place, logExports, { id: 'z', createdAt: 1, body: short });
    const read = async (of: TenantScope, id: string) =>
      (await documents.get(of, logExports, id))?.body as LogExportBody;
    await eventually('the short export', async () => (await read(place, 'z')).status === 'success');
    for (const id of ['x', 'y']) t.is((await read(scope, id)).status, 'in_progress', id);
    // Several more, so that both gave way again and again.
    for (let i = 0; i < 6; i++)
      await documents.insert(place, logExports, { id: `z${i}`, createdAt: 1, body: short });
    await one.until(is('success'));
    await eventually('the other long export', async () => (await read(scope, 'y')).status === 'success');
    for (const id of ['x', 'y']) {
      const { run, turns, status } = await read(scope, id);
      t.deepEqual([status, turns, run?.parts.length, run?.rows], ['success', 1, 1, ENTRIES], id);
    }
    t.deepEqual(await one.ids(), ALL);
    t.deepEqual(one.trouble, []);
  });

test('one that gave way is taken over when the one that had it is gone', async (t) => {
  const one = await bench(t);
  const { documents, scope } = one;
  const body = await one.body();
  const held: BlobStore = {
    ...one.blobs,
    // The others never end: who gave way has no slot any more.
    async write(name, ...rest) {
      if (!name.startsWith('x.')) await new Promise(() => {});
      await sleep(10);
      await one.blobs.write(name, ...rest);
    },
  };
  await one.start({ blobs: held, sliceMs: 1, writeLength: 300 });
  await one.until(({ run }) => run?.lease !== undefined);
  for (const id of ['y', 'z']) await documents.insert(scope, logExports, { id, createdAt: 1, body });
  await one.until(({ run }) => (run?.rows ?? 0) > 0);
  await sleep(100);
  const { status, run: left } = await one.body();
  t.is(status, 'in_progress');
  t.true((left?.rows ?? 0) < ENTRIES);
  one.ahead = 31_000;
  await one.start();
  const { turns, run } = await one.until(is('success'));
  t.deepEqual([turns, run?.parts.map(({ name }) => name)], [2, ['x.1', 'x.2']]);
  t.deepEqual(await one.ids(), ALL);
});

test('one that stops keeps where it stands and lets go', async (t) => {
  const one = await bench(t);
  const slow: BlobStore = {
    ...one.blobs,
    async write(...given) {
      await sleep(20);
      await one.blobs.write(...given);
    },
  };
  const first = await one.start({ blobs: slow });
  await one.until(({ run }) => (run?.rows ?? 0) > 0);
  await first.close();
  const { run, status } = await one.body();
  t.is(status, 'in_progress');
  t.is(run?.lease, undefined);
  await one.start();
  const { turns } = await one.until(is('success'));
  t.is(turns, 2);
  t.deepEqual(await one.ids(), ALL);
});

test('a page of the entries: those before are passed over', async (t) => {
  const one = await bench(t, { skip: 600, take: 300 });
  await one.start();
  const { run } = await one.until(is('success'));
  t.like(run, { rows: 300, passed: 600 });
  t.deepEqual(await one.ids(), ALL.slice(600, 900));
});

test('cancelled while it runs it stops, and nothing more is kept', async (t) => {
  const one = await bench(t);
  await one.start({ blobs: hanging(one.blobs, 6) });
  await one.until(({ run }) => (run?.rows ?? 0) > 0);
  const found = await one.documents.get(one.scope, logExports, 'x');
  const body: LogExportBody = { ...(found?.body as LogExportBody), status: 'stopped' };
  await one.documents.update(one.scope, logExports, 'x', found?.version ?? 0, {
    body,
    updatedAt: Date.now(),
  });
  await sleep(50);
  t.deepEqual(await one.body(), body);
});

test('stopped, changed and started while the one that wrote it has not heard of it: only the new run counts', async (t) => {
  const one = await bench(t);
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let writes = 0;
  const slow: BlobStore = {
    ...one.blobs,
    async write(...given) {
      if (++writes === 7) await held;
      await one.blobs.write(...given);
    },
  };
  await one.start({ blobs: slow });
  await one.until(({ run }) => (run?.rows ?? 0) > 0);
  const found = await one.documents.get(one.scope, logExports, 'x');
  const { run, ...rest } = await one.body();
  const { next: _, ...begin } = run as ExportRun;
  const anew: ExportRun = { ...begin, passed: 0, rows: 0, bytes: 0, parts: [], take: 10 };
  const { lease: __, ...free } = anew;
  const body: LogExportBody = { ...rest, run: free, turns: rest.turns + 1, discard: rest.turns };
  await one.documents.update(one.scope, logExports, 'x', found?.version ?? 0, {
    body,
    updatedAt: Date.now(),
  });
  release();
  await one.until(is('success'));
  t.deepEqual(await one.ids(), ALL.slice(0, 10));
  t.is((await one.body()).turns, 3);
});

test('a store that is away: it goes on; one that refuses: it has failed, and says why', async (t) => {
  const one = await bench(t);
  let away = 2;
  const page: SqliteStore['requestLog']['page'] = async (...given) => {
    if (away-- > 0) throw fail('store_unavailable', 'away');
    return one.store.requestLog.page(...given);
  };
  const runner = await one.start({ store: { ...one.store.requestLog, page } });
  await one.until(() => one.trouble.length > 0);
  one.ahead += 2500;
  await one.until(() => one.trouble.length > 1);
  one.ahead += 2500;
  await one.until(is('success'));
  t.deepEqual(await one.ids(), ALL);
  await runner.close();

  const other = await bench(t, { next: 'no cursor at all' });
  await other.start();
  const { run } = await other.until(is('failed'));
  t.regex(run?.error ?? '', /cursor|after/);
  t.is(other.trouble.length, 1);
});

test('bytes that are not there any more are written anew', async (t) => {
  const one = await bench(t, { rows: 700, bytes: 9000, parts: [{ name: 'x.1', bytes: 9000 }] });
  await one.start();
  await one.until(is('success'));
  t.deepEqual(await one.ids(), ALL);
});

test('the file goes after its time, and what was discarded at once', async (t) => {
  const one = await bench(t);
  await one.start();
  await one.until(is('success'));
  const files = (): string[] => readdirSync(join(one.folder, 'exports'));
  t.deepEqual(files(), ['x.1']);
  one.ahead = FILE_MS + 60_000;
  const { run, cleared, discard } = await one.until((body) => body.cleared === 1);
  t.deepEqual([run?.parts, cleared, discard, files()], [[], 1, undefined, []]);
});

test('an address: for one export, until its time, and nobody can make one', (t) => {
  const links = new ExportLinks(new Uint8Array(32).fill(7));
  const link = { scope: { organisationId: 'o', workspaceId: 'w' }, exportId: 'x', until: LINK_MS };
  const token = links.make(link);
  t.deepEqual(links.read(token, 0), link);
  t.is(links.read(token, LINK_MS), undefined);
  t.is(new ExportLinks(new Uint8Array(32)).read(token, 0), undefined);
  for (let i = 0; i < token.length; i++) {
    const other = token[i] === 'A' ? 'Q' : 'A';
    const changed = `${token.slice(0, i)}${other}${token.slice(i + 1)}`;
    // The last character of base64 may hold bits that say nothing.
    if (i < token.length - 1) t.is(links.read(changed, 0), undefined, String(i));
  }
  for (const text of ['', '.', 'a.b', '%', `${token}.${token}`]) t.is(links.read(text, 0), undefined);
});

test('a file is found by its address alone', async (t) => {
  const one = await bench(t);
  await one.start();
  const links = new ExportLinks(new Uint8Array(32));
  const facts = { documents: one.documents, blobs: one.blobs, links, now: () => 0 };
  const of = (organisationId: string, exportId = 'x') =>
    exportFile(facts, links.make({ scope: { organisationId, workspaceId: undefined }, exportId, until: 1 }));
  await one.until(is('success'));
  t.is((await of(one.scope.organisationId))?.bytes, (await one.body()).run?.bytes);
  t.is(await of('other'), undefined);
  t.is(await of(one.scope.organisationId, 'y'), undefined);
  await one.blobs.remove('x.1');
  t.is(await of(one.scope.organisationId), undefined);
});
