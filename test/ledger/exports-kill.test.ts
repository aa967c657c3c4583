// kill -9 in the middle of exports, over and over: in the end every entry's line is there once.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { type ExportRun, type LogExportBody, logExports } from '../../src/ledger/exports/collection.ts';
import { isThere } from '../../src/ledger/exports/file.ts';
import type { BlobStore } from '../../src/store/blobs.ts';
import type { DocumentStore } from '../../src/store/documents.ts';
import { folderBlobs } from '../../src/store/folder-blobs.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import type { RequestLogStore } from '../../src/store/request-log.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { ROUNDS } from '../store/kill-rounds.ts';
import { logEntry } from '../store/log-entries.ts';
import { dropDatabase, freshDatabase } from '../store/mongo-database.ts';
import { mongoServer, reportMissing } from '../support/servers.ts';

const CHILD = fileURLToPath(new URL('./exports-child.ts', import.meta.url));
/** Entries. */
const COUNT = 4000;
const SHORT = 700;
const scope = { organisationId: 'o', workspaceId: undefined };
const FIELDS = ['id', 'trace_id', 'created_at', 'ai_model', 'cost', 'metadata', 'request', 'response_time'];

interface Opened {
  readonly documents: DocumentStore;
  readonly requestLog: RequestLogStore;
  readonly blobs: BlobStore;
  close(): Promise<void>;
}

async function fill({ documents, requestLog }: Opened, entries: number): Promise<void> {
  for (let at = 0; at < entries; at += 1000) {
    const batch = Array.from({ length: Math.min(1000, entries - at) }, (_, i) => {
      const n = at + i;
      const common = { id: `e${n}`, organisationId: 'o', createdAt: Date.now() - 60_000 + Math.floor(n / 7) };
      return logEntry({ ...common, metadata: { text: 'é'.repeat(300), n: String(n) } });
    });
    await requestLog.append(batch);
  }
  const run: ExportRun = {
    filter: { until: Date.now() },
    fields: FIELDS,
    skip: 5,
    take: entries - 10,
    passed: 0,
    rows: 0,
    bytes: 0,
    parts: [],
    startedAt: Date.now(),
  };
  const body: LogExportBody = {
    filters: {},
    requestedData: FIELDS,
    createdBy: 'k',
    status: 'in_progress',
    turns: 0,
    run,
  };
  await documents.insert(scope, logExports, { id: 'x', createdAt: 1, body });
  // More than run at once: they give way to each other all the time.
  const short: LogExportBody = { ...body, run: { ...run, take: SHORT } };
  for (const id of ['y', 'z']) await documents.insert(scope, logExports, { id, createdAt: 1, body: short });
}

/** Starts the child; kills it a random while after it began. Whether it was done before. */
async function runAndKill(place: string, round: number, withinMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [CHILD, place, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  const closed = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), closed]);
  await Promise.race([sleep(Math.random() * withinMs), closed]);
  child.kill('SIGKILL');
  await closed;
  return said.includes('done');
}

async function proven(t: ExecutionContext, opened: Opened, entries: number): Promise<void> {
  const all = await idsOf(opened.requestLog, entries);
  await provenOne(t, opened, 'x', all.slice(5, entries - 5));
  for (const id of ['y', 'z']) await provenOne(t, opened, id, all.slice(5, 5 + SHORT));
}

/** @param wanted newest first; which of the same millisecond is first is the store's to say, and must not change */
async function provenOne(
  t: ExecutionContext,
  opened: Opened,
  id: string,
  wanted: readonly string[],
): Promise<void> {
  const found = await opened.documents.get(scope, logExports, id);
  const { status, run, turns } = found!.body;
  t.is(status, 'success');
  t.is(run!.rows, wanted.length);
  t.true(await isThere(opened.blobs, run!));
  const pieces: Uint8Array[] = [];
  for (const { name, bytes } of run!.parts)
    for await (const piece of opened.blobs.read(name, bytes)) pieces.push(piece);
  const text = Buffer.concat(pieces).toString('utf8');
  const ids = text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id);
  t.deepEqual(ids, wanted);
  t.log(`${run!.parts.length} parts, ${turns} turns, ${run!.bytes} bytes`);
}

async function idsOf(log: RequestLogStore, entries: number): Promise<string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const page = await log.page(
      scope,
      {},
      {
        page: 0,
        pageSize: 1000,
        order: 'desc',
        count: false,
        ...(after === undefined ? {} : { after }),
      },
    );
    ids.push(...page.entries.map(({ id }) => id));
    after = page.next;
  } while (after !== undefined && ids.length < entries);
  return ids;
}

async function killed(
  t: ExecutionContext,
  place: string,
  open: () => Promise<Opened>,
  entries: number,
): Promise<void> {
  const before = await open();
  await fill(before, entries);
  await before.close();
  let round = 0;
  for (let kills = 0; kills < Math.ceil(ROUNDS / 2); kills++)
    if (await runAndKill(place, ++round, 600)) break;
  while (!(await runAndKill(place, ++round, 60_000)));
  const after = await open();
  await proven(t, after, entries).finally(() => after.close());
}

test('an export in a folder', async (t) => {
  t.timeout(120_000);
  const place = mkdtempSync(join(tmpdir(), 'sluice-exports-'));
  t.teardown(() => rmSync(place, { recursive: true, force: true }));
  const blobs = folderBlobs(join(place, 'exports'));
  await killed(
    t,
    place,
    async () => ({ ...(await openSqliteStore({ dataDir: place, collections: [logExports] })), blobs }),
    COUNT,
  );
});

const server = await mongoServer();
if (server === undefined) reportMissing(test, 'MongoDB');
else
  test('an export in MongoDB', async (t) => {
    t.timeout(240_000);
    const database = freshDatabase();
    t.teardown(() => dropDatabase(server, database));
    const { uri } = server;
    const open = () => openMongoStore({ uri, database, collections: [logExports], deadlineMs: 20_000 });
    await killed(t, `${uri}#${database}`, open, COUNT / 2);
  });
