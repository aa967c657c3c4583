// The files of exports are copied with the documents: those that are done, whole, and once.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { type FileBody, files } from '../../src/inference/files/collection.ts';
import { type ExportRun, type LogExportBody, logExports } from '../../src/ledger/exports/collection.ts';
import { compareExportFiles, copyExportFiles } from '../../src/migrate/export-files.ts';
import { compareKeptFiles, copyKeptFiles } from '../../src/migrate/kept-files.ts';
import { isEqual } from '../../src/store/copy/sides.ts';
import { folderBlobs } from '../../src/store/folder-blobs.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-files-'));
test.after.always(() => rmSync(root, { recursive: true, force: true }));

const MIB = 1024 * 1024;

test('files of exports that are done are copied, others begin anew, and what is gone is told', async (t) => {
  const store = await openSqliteStore({ dataDir: join(root, 'store'), collections: [logExports] });
  t.teardown(() => store.close());
  const [mine, theirs] = [folderBlobs(join(root, 'from')), folderBlobs(join(root, 'to'))];
  const long = Buffer.alloc(2 * MIB + 77, 'line\n');
  const made = async (id: string, status: LogExportBody['status'], parts: ExportRun['parts']) => {
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    const run: ExportRun = {
      filter: {},
      fields: ['id'],
      skip: 0,
      take: 9,
      passed: 0,
      rows: 1,
      bytes,
      parts,
      startedAt: 1,
    };
    const scope = { organisationId: `o-${id}`, workspaceId: undefined };
    const body: LogExportBody = {
      filters: {},
      requestedData: ['id'],
      createdBy: 'k',
      status,
      turns: 1,
      run,
    };
    await store.documents.insert(scope, logExports, { id, createdAt: 1, body });
  };
  await made('done', 'success', [
    { name: 'done.1', bytes: long.length },
    { name: 'done.2', bytes: 3 },
  ]);
  await mine.write('done.1', 0, long);
  // Behind what counts there may be what a killed turn wrote.
  await mine.write('done.2', 0, Buffer.from('abcdef'));
  await made('open', 'in_progress', [{ name: 'open.1', bytes: 3 }]);
  await mine.write('open.1', 0, Buffer.from('xyz'));
  await made('lost', 'success', [{ name: 'lost.1', bytes: 3 }]);
  await made('empty', 'success', []);
  // What a copy that was cut off left.
  await theirs.write('done.1', 0, Buffer.alloc(1000, '?'));

  const source = { documents: store, blobs: mine };
  t.false(isEqual(await compareExportFiles(source, theirs)));
  const gone = [{ id: 'lost', organisationId: 'o-lost' }];
  t.deepEqual(await copyExportFiles(source, theirs), { written: 2, present: 0, gone });
  t.deepEqual(await copyExportFiles(source, theirs), { written: 0, present: 2, gone });
  const compared = await compareExportFiles(source, theirs);
  t.true(isEqual(compared));
  t.is(compared.source.count, 2);
  t.deepEqual(await Promise.all(['done.2', 'open.1', 'lost.1'].map((name) => theirs.size(name))), [3, 0, 0]);
  await theirs.write('done.1', MIB, Buffer.from('!'));
  t.false(isEqual(await compareExportFiles(source, theirs)), 'what differs is seen');
});

test('files that the gateway keeps are copied, with what batches have written so far', async (t) => {
  const store = await openSqliteStore({ dataDir: join(root, 'kept'), collections: [files] });
  t.teardown(() => store.close());
  const [mine, theirs] = [folderBlobs(join(root, 'kept-from')), folderBlobs(join(root, 'kept-to'))];
  const owner = { organisationId: 'o', workspaceId: 'w' };
  const made = async (id: string, stored: number, body: Partial<FileBody>) => {
    const all: FileBody = {
      filename: 'f',
      purpose: 'user_data',
      contentType: 'text/plain',
      bytes: stored,
      stored,
      status: 'ready',
      key: '',
      copies: [],
      ...body,
    };
    await store.documents.insert(owner, files, { id, createdAt: 1, body: all });
  };
  await made('whole', 2 * MIB, {});
  await mine.write('whole', 0, Buffer.alloc(2 * MIB, 'sealed'));
  await made('of-a-batch', 0, { status: 'uploading', batch: 'b' });
  await mine.write('of-a-batch', 0, Buffer.from('rows so far'));
  await made('cut', 0, { status: 'uploading' });
  await mine.write('cut', 0, Buffer.from('half'));
  await made('lost', 5, {});
  const source = { documents: store, blobs: mine };
  const gone = [{ id: 'lost', organisationId: 'o' }];
  t.false(isEqual(await compareKeptFiles(source, theirs)));
  t.deepEqual(await copyKeptFiles(source, theirs), { written: 2, present: 0, gone });
  t.deepEqual(await copyKeptFiles(source, theirs), { written: 0, present: 2, gone });
  t.true(isEqual(await compareKeptFiles(source, theirs)));
  t.deepEqual(await Promise.all(['of-a-batch', 'cut'].map((name) => theirs.size(name))), [11, 0]);
});
