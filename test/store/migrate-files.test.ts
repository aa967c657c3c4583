// The files of exports are copied with the documents: those that are done, whole, and once.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { type ExportRun, type LogExportBody, logExports } from '../../src/ledger/exports/collection.ts';
import { compareExportFiles, copyExportFiles } from '../../src/migrate/export-files.ts';
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
