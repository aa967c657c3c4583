// `sluice migrate --from`: copies an embedded store into MongoDB and Redis. Every step may be the last before a crash:
// what is done is seen by the data itself, and the command is simply run again.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { organisationIds } from '../access/organisation-ids.ts';
import { hasLeftFlights } from '../ledger/flight/flight-folder.ts';
import { progressOf } from '../lib/progress.ts';
import { SettingsError } from '../settings.ts';
import type { BlobStore } from '../store/blobs.ts';
import { compareDocuments, copyDocuments, documentConflicts } from '../store/copy/documents.ts';
import { compareKept, copyKept, KEPT_NAME } from '../store/copy/kept-values.ts';
import { compareLogParts, copyLogParts } from '../store/copy/log-parts.ts';
import { compareLogs, copyLog, LOG_NAME } from '../store/copy/request-log.ts';
import { type Comparison, type Conflict, isEqual } from '../store/copy/sides.ts';
import { compareState, copyState, stateConflicts } from '../store/copy/state.ts';
import { folderBlobs } from '../store/folder-blobs.ts';
import { countedEntries } from '../store/log/entry-count.ts';
import { openStateExport, type StateExport } from '../store/memory/export.ts';
import { type MongoStore, openMongoStore } from '../store/mongo/open-mongo.ts';
import { openRedisTransfer, type RedisTransfer } from '../store/redis/transfer.ts';
import { s3Blobs } from '../store/s3/s3-blobs.ts';
import { openSqliteStore, type SqliteStore } from '../store/sqlite/open-sqlite.ts';
import { compareExportFiles, copyExportFiles, type ExportFiles, FILES_NAME } from './export-files.ts';
import { compareKeptFiles, copyKeptFiles, KEPT_FILES_NAME } from './kept-files.ts';
import { DEADLINE_MS, type MigrateDeps } from './migrate-deps.ts';
import { refuseOtherKey } from './same-key.ts';
import { table } from './table.ts';

/** Both ends of a copy. */
interface Ends {
  readonly source: SqliteStore;
  readonly target: MongoStore;
  readonly sourceState: StateExport | undefined;
  /** Undefined when there is no state to copy. */
  readonly targetState: RedisTransfer | undefined;
  /** The files of exports. */
  readonly sourceFiles: ExportFiles;
  /** Where files go. */
  readonly blobs: BlobStore;
}

/**
 * Copies the embedded store of a data directory, which no gateway may have open, into the MongoDB and the Redis of the
 * settings, and compares all rows at the end. Resolves with false when the two sides differ, or before anything is
 * written when the target has other data.
 * @throws Error with a message for people when the copy cannot begin
 */
export async function migrateFrom(deps: MigrateDeps, dataDir: string): Promise<boolean> {
  const closing: (() => unknown)[] = [];
  try {
    const ends = await openEnds(deps, dataDir, closing);
    if (!refuseConflicts(deps, await conflictsOf(deps, ends))) return false;
    // A target that was copied completely before may be in use by now, and gets no mark.
    const { copyMark } = ends.target;
    if (await isEmpty(deps, ends.target)) await copyMark.begin();
    if (!refuseConflicts(deps, await copyAll(deps, ends))) return false;
    const same = report(deps, await compareAll(deps, ends));
    if (same) await copyMark.end();
    return same;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function openEnds(
  { settings, collections }: MigrateDeps,
  dataDir: string,
  closing: (() => unknown)[],
): Promise<Ends> {
  const { mongodbUri: uri, redisUrl: url, encryptionKey } = settings;
  if (uri === undefined || encryptionKey === undefined) {
    throw new SettingsError('MONGODB_URI: is missing; it names the target of the copy');
  }
  if (!existsSync(join(dataDir, 'sluice.db'))) throw new Error(`${dataDir}: there is no embedded store here`);
  const source = await openSqliteStore({ dataDir, collections, deadlineMs: DEADLINE_MS });
  closing.push(() => source.close());
  await refuseOtherKey(source, dataDir, encryptionKey);
  if (hasLeftFlights(join(dataDir, 'flights')))
    throw new Error(
      `${dataDir}: a killed gateway left calls there: start one on the folder and stop it first`,
    );
  const sourceState = openStateExport(dataDir);
  if (sourceState !== undefined) closing.push(() => sourceState.close());
  const needsRedis = sourceState !== undefined && (await hasRows(sourceState));
  if (needsRedis && url === undefined) {
    throw new SettingsError(
      `REDIS_URL: is missing; ${dataDir} has budgets, holds or journal entries to be copied there`,
    );
  }
  const target = await openMongoStore({ uri, collections, deadlineMs: DEADLINE_MS, forCopy: true });
  closing.push(() => target.close());
  const targetState = needsRedis && url !== undefined ? await openRedisTransfer({ url }) : undefined;
  if (targetState !== undefined) closing.push(() => targetState.close());
  const sourceFiles = { documents: source, blobs: folderBlobs(join(dataDir, 'exports')) };
  const s3 = settings.s3 && s3Blobs(settings.s3);
  if (s3 !== undefined) closing.push(() => s3.close());
  return { source, target, sourceState, targetState, sourceFiles, blobs: s3 ?? target.blobs };
}

async function hasRows(state: StateExport): Promise<boolean> {
  for await (const batch of state.rows()) if (batch.length > 0) return true;
  return false;
}

async function isEmpty({ collections }: MigrateDeps, { maintenance }: MongoStore): Promise<boolean> {
  for (const collection of collections) {
    if ((await maintenance.scan(collection, { limit: 1 })).documents.length > 0) return false;
  }
  return true;
}

async function conflictsOf({ collections }: MigrateDeps, ends: Ends): Promise<readonly Conflict[]> {
  const { source, target, sourceState, targetState } = ends;
  for (const collection of collections) {
    const conflicts = await documentConflicts(source, target, collection);
    if (conflicts.length > 0) return conflicts;
  }
  return sourceState && targetState ? stateConflicts(sourceState, targetState) : [];
}

/** Answers what came in the way meanwhile. */
async function copyAll({ collections, say }: MigrateDeps, ends: Ends): Promise<readonly Conflict[]> {
  const { source, target, sourceState, targetState, sourceFiles } = ends;
  for (const collection of collections) {
    const { name, written, present, conflicts } = await copyDocuments(source, target, collection);
    say(`${name}: ${written} copied, ${present} there already`);
    if (conflicts.length > 0) return conflicts;
  }
  const entries = await entriesOf(source);
  const told = progressOf(LOG_NAME, say, entries);
  say(`${LOG_NAME}: ${await copyLog(source, target, told)} entries are there`);
  // An entry has bodies once at the most.
  const parts = await copyLogParts(source, target, (name) =>
    progressOf(name, say, name.endsWith('bodies') ? entries : undefined),
  );
  for (const { name, count } of parts) say(`${name}: ${count} are there`);
  say(`${KEPT_NAME}: ${await copyKept(source.kept, target.kept)} are there`);
  const { gone, ...files } = await copyExportFiles(sourceFiles, ends.blobs);
  say(`${FILES_NAME}: ${files.written} copied, ${files.present} there already`);
  for (const { id, organisationId } of gone)
    say(`  of the export ${id} of ${organisationId} there is no file: it has to be changed and started anew`);
  const kept = await copyKeptFiles(sourceFiles, ends.blobs);
  say(`${KEPT_FILES_NAME}: ${kept.written} copied, ${kept.present} there already`);
  for (const { id, organisationId } of kept.gone)
    say(`  the bytes of ${id} of ${organisationId} are not there`);
  if (sourceState === undefined || targetState === undefined) return [];
  const { name, written, present, conflicts } = await copyState(sourceState, targetState);
  say(`${name}: ${written} copied, ${present} there already`);
  return conflicts;
}

/** How many entries the log has; undefined: they cannot be counted in time. */
async function entriesOf({ maintenance, requestLog }: SqliteStore): Promise<number | undefined> {
  let sum = 0;
  for (const id of await organisationIds(maintenance)) {
    const count = await countedEntries(requestLog, id);
    if (count === undefined) return undefined;
    sum += count;
  }
  return sum;
}

async function compareAll({ collections }: MigrateDeps, ends: Ends): Promise<Comparison[]> {
  const { source, target, sourceState, targetState, sourceFiles } = ends;
  const comparisons: Comparison[] = [];
  for (const collection of collections) {
    comparisons.push(await compareDocuments(source, target, collection));
  }
  comparisons.push(await compareLogs(source, target), ...(await compareLogParts(source, target)));
  comparisons.push(await compareKept(source.kept, target.kept));
  comparisons.push(await compareExportFiles(sourceFiles, ends.blobs));
  comparisons.push(await compareKeptFiles(sourceFiles, ends.blobs));
  if (sourceState && targetState) comparisons.push(...(await compareState(sourceState, targetState)));
  return comparisons;
}

/** False when there are some. */
function refuseConflicts({ say }: MigrateDeps, conflicts: readonly Conflict[]): boolean {
  if (conflicts.length === 0) return true;
  say('The target has other data: empty it, or name another one. In the way:');
  for (const { name, organisationId, id, why } of conflicts)
    say(`  ${name} ${id} of ${organisationId} ${why}`);
  return false;
}

function report({ say }: MigrateDeps, comparisons: readonly Comparison[]): boolean {
  const rows = comparisons.map((comparison) => {
    const { name, source, target } = comparison;
    const verdict = isEqual(comparison) ? 'same' : 'DIFFERS';
    return [
      name,
      String(source.count),
      short(source.hash),
      String(target.count),
      short(target.hash),
      verdict,
    ];
  });
  table(['', 'embedded', 'hash', 'copied', 'hash', ''], rows).forEach(say);
  const same = comparisons.every(isEqual);
  say(same ? 'Everything is there, and the same.' : 'The two sides differ.');
  return same;
}

function short(hash: string): string {
  return hash.slice(0, 12);
}
