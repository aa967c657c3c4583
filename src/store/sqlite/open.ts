// Opens the embedded store: the lock, the writer, the reader, the ports over them.
import type { Collection } from '../collection.ts';
import type { DocumentStore } from '../documents.ts';
import type { RequestLogStore } from '../request-log.ts';
import { lockDataDir } from './data-dir.ts';
import { sqliteDocuments } from './documents.ts';
import type { ReaderCall, WorkerSetup, WriterCall } from './protocol.ts';
import { sqliteRequestLog } from './request-log.ts';
import { startWorker, type WorkerBounds, type WorkerClient } from './worker-client.ts';

export interface SqliteStoreOptions {
  /** Made when it is not there. One process at a time. */
  readonly dataDir: string;
  readonly collections: readonly Collection<object>[];
  /** How long a call may take, in milliseconds; 5000 by default. */
  readonly deadlineMs?: number;
  /** Calls that may wait for a worker; 10,000 by default, and 128 Mi characters of what they carry. */
  readonly maxQueued?: number;
}

export interface SqliteStore {
  readonly documents: DocumentStore;
  readonly requestLog: RequestLogStore;
  /** Resolves when both workers answer within a second; rejects with `store_unavailable` otherwise. */
  ready(): Promise<void>;
  /** Writes what was asked for, then lets go of the directory. Calls after it are refused. */
  close(): Promise<void>;
}

const READY_MS = 1000;
const MAX_QUEUED_LENGTH = 128 * 1024 * 1024;

/**
 * Opens (or makes) the store of a data directory. Rejects with `store_unavailable` and a message that names
 * the directory when another process has it, or when it cannot be made or opened.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { dataDir, collections, deadlineMs = 5000, maxQueued = 10_000 } = options;
  const names = new Set(collections.map((collection) => collection.name));
  if (names.size < collections.length) throw new Error('two collections have the same name');
  const lock = lockDataDir(dataDir);
  const setup: WorkerSetup = { path: lock.databasePath, collections };
  const bounds: WorkerBounds = { deadlineMs, maxQueued, maxQueuedLength: MAX_QUEUED_LENGTH };

  let writer: WorkerClient<WriterCall> | undefined;
  try {
    writer = await startWorker<WriterCall>(new URL('./writer.ts', import.meta.url), setup, bounds);
    const reader = await startWorker<ReaderCall>(new URL('./reader.ts', import.meta.url), setup, bounds);
    return storeOver(collections, writer, reader, lock.release);
  } catch (error) {
    await writer?.close({ kind: 'close' });
    lock.release();
    throw error;
  }
}

function storeOver(
  collections: readonly Collection<object>[],
  writer: WorkerClient<WriterCall>,
  reader: WorkerClient<ReaderCall>,
  release: () => void,
): SqliteStore {
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    // The reader first: the last connection's checkpoint then finds nobody in its way.
    await reader.close({ kind: 'close' });
    await writer.close({ kind: 'close' });
    release();
  };
  return {
    documents: sqliteDocuments(collections, writer, reader),
    requestLog: sqliteRequestLog(writer, reader),
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
