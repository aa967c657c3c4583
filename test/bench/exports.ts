// One export of many entries out of an embedded store: how long, how fast, how much memory.
//   node test/bench/exports.ts [--entries 1000000]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type ExportRun, type LogExportBody, logExports } from '../../src/ledger/exports/collection.ts';
import { EXPORT_FIELDS } from '../../src/ledger/exports/fields.ts';
import { runExports } from '../../src/ledger/exports/runner.ts';
import { openChangeFeed } from '../../src/store/change-feed.ts';
import { folderBlobs } from '../../src/store/folder-blobs.ts';
import { noticedDocuments } from '../../src/store/noticed-documents.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { logEntry } from '../store/log-entries.ts';

const { values } = parseArgs({ options: { entries: { type: 'string', default: '1000000' } } });
const entries = Number(values.entries);
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-exports-'));
const store = await openSqliteStore({ dataDir: folder, collections: [logExports] });
const begin = Date.now() - 86_400_000;
for (let at = 0; at < entries; at += 1000) {
  const batch = Array.from({ length: Math.min(1000, entries - at) }, (_, i) =>
    logEntry({ id: `entry-${at + i}`, organisationId: 'o', createdAt: begin + Math.floor((at + i) / 12) }),
  );
  await store.requestLog.append(batch);
}
const run: ExportRun = {
  filter: { until: Date.now() },
  fields: EXPORT_FIELDS,
  skip: 0,
  take: entries,
  passed: 0,
  rows: 0,
  bytes: 0,
  parts: [],
  startedAt: Date.now(),
};
const body: LogExportBody = {
  filters: {},
  requestedData: EXPORT_FIELDS,
  createdBy: 'k',
  status: 'in_progress',
  turns: 0,
  run,
};
const scope = { organisationId: 'o', workspaceId: undefined };
await store.documents.insert(scope, logExports, { id: 'x', createdAt: 1, body });
globalThis.gc?.();
const mb = (bytes: number): number => Math.round(bytes / 1024 / 1024);
const before = process.memoryUsage();
const peak = { rss: 0, heap: 0, stall: 0 };
let last = performance.now();
const watch = setInterval(() => {
  const { rss, heapUsed } = process.memoryUsage();
  const now = performance.now();
  peak.stall = Math.max(peak.stall, now - last - 10);
  last = now;
  peak.rss = Math.max(peak.rss, rss);
  peak.heap = Math.max(peak.heap, heapUsed);
}, 10);
const started = performance.now();
const feed = openChangeFeed({ watch: store.watch, onError: () => {} });
const runner = await runExports({
  feed,
  documents: noticedDocuments(store.documents, feed),
  blobs: folderBlobs(join(folder, 'exports')),
  store: store.requestLog,
  organisations: () => ['o'],
  alone: true,
  now: Date.now,
  onTrouble: (error) => process.stderr.write(`${String(error)}\n`),
});
const marks: string[] = [];
for (;;) {
  const found = (await store.documents.get(scope, logExports, 'x')) as { body: LogExportBody };
  const { status, run: stand } = found.body;
  if (status !== 'in_progress') {
    const seconds = (performance.now() - started) / 1000;
    process.stdout.write(
      `${status}: ${stand?.rows} entries, ${mb(stand?.bytes ?? 0)} MiB in ${seconds.toFixed(1)} s, ` +
        `${Math.round((stand?.rows ?? 0) / seconds)} entries/s\n` +
        `RSS before ${mb(before.rss)} MiB, peak ${mb(peak.rss)} MiB; heap before ${mb(before.heapUsed)}, peak ` +
        `${mb(peak.heap)} MiB; longest stall of the event loop ${peak.stall.toFixed(1)} ms\n${marks.join('\n')}\n`,
    );
    break;
  }
  if ((stand?.rows ?? 0) / entries > (marks.length + 1) / 10)
    marks.push(`at ${stand?.rows}: RSS ${mb(process.memoryUsage().rss)} MiB`);
  await sleep(100);
}
clearInterval(watch);
await runner.close();
await feed.close();
await store.close();
rmSync(folder, { recursive: true, force: true });
