// Runs the exports of a store until they are done, or until it is killed. The store is a directory's or, where an
// address of MongoDB and the database's name are given as `address#name`, a server's.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LogExportBody, logExports } from '../../src/ledger/exports/collection.ts';
import { runExports } from '../../src/ledger/exports/runner.ts';
import { openChangeFeed } from '../../src/store/change-feed.ts';
import { folderBlobs } from '../../src/store/folder-blobs.ts';
import { noticedDocuments } from '../../src/store/noticed-documents.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';

const [place = '', round = '0'] = process.argv.slice(2);
const collections = [logExports];
const scope = { organisationId: 'o', workspaceId: undefined };

async function openPlace() {
  if (!place.startsWith('mongodb:')) {
    const store = await openSqliteStore({ dataDir: place, collections });
    return { store, blobs: folderBlobs(join(place, 'exports')), alone: true };
  }
  const [uri = '', database = ''] = place.split('#');
  // It takes long to read, and is seldom needed.
  const { openMongoStore } = await import('../../src/store/mongo/open-mongo.ts');
  const store = await openMongoStore({ uri, database, collections, deadlineMs: 20_000 });
  return { store, blobs: store.blobs, alone: false };
}

const { store, blobs, alone } = await openPlace();
const feed = openChangeFeed({ watch: store.watch, onError: () => {} });
const documents = noticedDocuments(store.documents, feed);
process.stdout.write('begun\n');
const runner = await runExports({
  feed,
  documents,
  blobs,
  alone,
  store: store.requestLog,
  organisations: () => ['o'],
  // Each round begins when the leases of the one before are over.
  now: () => Date.now() + Number(round) * 60_000,
  // Small steps, so that kills fall between them.
  writeLength: 16_384,
  sliceMs: 20,
  onTrouble: (error) => process.stderr.write(`${String(error)}\n`),
});
for (;;) {
  const { documents: found } = await documents.page(scope, logExports, { pageSize: 100 });
  const statuses = found.map(({ body }) => (body as LogExportBody).status);
  if (!statuses.includes('in_progress')) break;
  await sleep(20);
}
process.stdout.write('done\n');
await runner.close();
await feed.close();
await store.close();
