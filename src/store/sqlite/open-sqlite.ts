// Opens the embedded store: the lock, the writer, the reader, the ports over them.
import { join } from 'node:path';
import type { ChangeWatch } from '../change-feed.ts';
import type { Collection } from '../collection.ts';
import { guardParts } from '../data-folder/guard.ts';
import { onDatabase, type Part } from '../data-folder/parts.ts';
import type { DocumentStore } from '../documents.ts';
import type { KeptValues } from '../kept-values.ts';
import type { LogStore } from '../log-store.ts';
import type { DocumentMaintenance, LogMaintenance } from '../maintenance.ts';
import { type UpgradeReport, upgradeCollections } from '../upgrade-documents.ts';
import { lockDataDir } from './data-dir.ts';
import { sqliteDocuments } from './documents.ts';
import { sqliteKeptValues } from './kept-values.ts';
import { type DamageList, damageList, type LogDamage } from './log/damage.ts';
import type { LogSetup } from './log/protocol.ts';
import { sweepFolder } from './log/sweep.ts';
import { sqliteMaintenance } from './maintenance.ts';
import { onDemandReader } from './on-demand-reader.ts';
import type { ReaderCall, WorkerSetup, WriterCall } from './protocol.ts';
import { type OpenLog, openLog } from './request-log.ts';
import { startWorker, type WorkerBounds, type WorkerClient } from './worker-client.ts';

export interface SqliteStoreOptions {
  /** Made when it is not there. One process at a time. */
  readonly dataDir: string;
  readonly collections: readonly Collection<object>[];
  /** How long a call may take, in milliseconds; 5000 by default. */
  readonly deadlineMs?: number;
  /** Calls that may wait for a worker; 10,000 by default, and 128 Mi characters of what they carry. */
  readonly maxQueued?: number;
  /**
   * Of the log: entries that are put into columns together (8,192 by default, at most 32,768), and how long a search in
   * texts may take (60 milliseconds), groups that are added up in one go (4,096), and entries that are not sealed which a
   * reader takes into memory (131,072).
   */
  readonly logBounds?: Partial<Pick<LogSetup, 'block' | 'searchMs' | 'groups' | 'unsealed'>>;
  /** Parts of the data folder that must be of this store (see guard.ts); none by default: any folder is taken. */
  readonly parts?: readonly Part[];
  /** Called with each file or piece of the log that is damaged or was set aside. */
  readonly onDamage?: (damage: LogDamage) => void;
  /** Whether documents of older schema versions are rewritten at the start; true by default. */
  readonly upgradeAtOpen?: boolean;
}

export interface SqliteStore {
  readonly documents: DocumentStore;
  readonly maintenance: DocumentMaintenance;
  readonly logMaintenance: LogMaintenance;
  readonly requestLog: LogStore;
  readonly kept: KeptValues;
  /** Files and segments of the log that were found damaged since the start. */
  readonly damaged?: () => number;
  /** Makes the log's roll-ups of days that are over; `expire` does this too. */
  makeRollups(now?: number): Promise<void>;
  /** Absent: one process writes, and notifies itself. */
  readonly watch?: ChangeWatch;
  /** Writes the documents of older schema versions in the current one, where there may be any. */
  upgrade(): Promise<readonly UpgradeReport[]>;
  /** Resolves when both workers answer within a second; rejects with `store_unavailable` otherwise. */
  ready(): Promise<void>;
  /** Completes accepted writes, then releases the directory. Later calls are refused. */
  close(): Promise<void>;
}

const READY_MS = 1000;
const LOG = { block: 8192, searchMs: 60, groups: 4096, unsealed: 131_072 } as const;
const MAX_QUEUED_LENGTH = 128 * 1024 * 1024;

/**
 * Opens (or makes) the store of a data directory, and upgrades its documents. Rejects with `store_unavailable`
 * and a message for people when another process has the directory, when it cannot be made or opened, or when a
 * newer version of the program wrote it.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const {
    dataDir,
    collections,
    deadlineMs = 5000,
    maxQueued = 10_000,
    upgradeAtOpen = true,
    logBounds,
    parts,
    onDamage = () => {},
  } = options;
  const names = new Set(collections.map((collection) => collection.name));
  if (names.size < collections.length) throw new Error('two collections have the same name');
  const lock = lockDataDir(dataDir);
  const folder = join(dataDir, 'logs');
  const damages = damageList(onDamage);
  try {
    if (parts) guardParts(dataDir, parts);
    lock.prepare();
    sweep(dataDir, folder, lock.databasePath, damages.add);
  } catch (error) {
    lock.release();
    throw error;
  }
  const plain = collections.map((collection) => ({ ...collection, upgrades: {} }));
  const setup: WorkerSetup = { path: lock.databasePath, folder, collections: plain };
  const bounds: WorkerBounds = { deadlineMs, maxQueued, maxQueuedLength: MAX_QUEUED_LENGTH };

  let writer: WorkerClient<WriterCall> | undefined;
  try {
    writer = await startWorker<WriterCall>(new URL('./writer.ts', import.meta.url), setup, bounds);
    const reader = onDemandReader(writer, () =>
      startWorker<ReaderCall>(new URL('./reader.ts', import.meta.url), setup, bounds),
    );
    const log = openLog(
      writer,
      reader,
      { path: lock.databasePath, folder, ...LOG, ...logBounds },
      bounds,
      damages.add,
    );
    const store = storeOver(collections, writer, reader, log, damages, lock.release);
    // One process has the file, so that no instance of an older version interferes. A document that cannot be
    // upgraded stays as it is, is upgraded when it is read, and is tried again at the next start.
    await log.begin().catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
    if (upgradeAtOpen)
      await store.upgrade().catch(async (error: unknown) => {
        await store.close();
        throw error;
      });
    return store;
  } catch (error) {
    await writer?.close({ kind: 'close' });
    lock.release();
    throw error;
  }
}

function sweep(dataDir: string, folder: string, path: string, onDamage: (damage: LogDamage) => void): void {
  const { aside, damaged } = onDatabase(path, (database) => sweepFolder(database, dataDir, folder));
  for (const { file, to } of aside)
    onDamage({ file, why: `it is not listed and was moved to ${to}`, lost: false });
  for (const { file, why } of damaged) onDamage({ file, why, lost: true });
}

function storeOver(
  collections: readonly Collection<object>[],
  writer: WorkerClient<WriterCall>,
  reader: WorkerClient<ReaderCall>,
  log: OpenLog,
  damages: DamageList,
  release: () => void,
): SqliteStore {
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await log.close();
    // The reader first: the last connection's checkpoint then meets no other connection.
    await reader.close({ kind: 'close' });
    await writer.close({ kind: 'close' });
    release();
  };
  const maintenance = sqliteMaintenance(collections, writer, reader);
  return {
    documents: sqliteDocuments(collections, writer, reader),
    maintenance,
    damaged: damages.count,
    logMaintenance: log.maintenance,
    upgrade: async () => {
      const places = await reader.call<number[]>({ kind: 'behind' });
      const behind = places.map((place) => collections[place] as Collection<object>);
      return upgradeCollections(maintenance, behind, (collection) =>
        writer.call({ kind: 'upgraded', c: collections.indexOf(collection) }),
      );
    },
    requestLog: log.store,
    kept: sqliteKeptValues(writer, reader),
    makeRollups: (now = Date.now()) => log.makeRollups(now),
    ready: async () => {
      await Promise.all([
        writer.call({ kind: 'ping' }, 0, READY_MS),
        reader.call({ kind: 'ping' }, 0, READY_MS),
      ]);
    },
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}
