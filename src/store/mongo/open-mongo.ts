// Opens the MongoDB store: what kind of server it is, its indexes, the ports over it.
import type mongoose from 'mongoose';
import type { BlobStore } from '../blobs.ts';
import type { ChangeWatch } from '../change-feed.ts';
import type { Collection } from '../collection.ts';
import type { DocumentStore } from '../documents.ts';
import type { Heartbeats } from '../heartbeats.ts';
import type { KeptValues } from '../kept-values.ts';
import type { LogStore } from '../log-store.ts';
import type { DocumentMaintenance, LogMaintenance } from '../maintenance.ts';
import { type UpgradeReport, upgradeCollections } from '../upgrade-documents.ts';
import { fillMissingValues } from './backfill.ts';
import { mongoBlobs } from './blobs.ts';
import { type Calls, createCalls } from './calls.ts';
import { connect } from './connection.ts';
import { type CopyMark, copyMark, refuseHalfCopied } from './copy-mark.ts';
import { mongoDocuments } from './documents.ts';
import { gridBlobs } from './grid-blobs.ts';
import { mongoHeartbeats } from './heartbeats.ts';
import { buildIndexes } from './indexes.ts';
import { mongoKeptValues } from './kept-values.ts';
import { moveOldEntries } from './log/old-entries.ts';
import { Roller } from './log/roller.ts';
import { mongoLogMaintenance } from './log-maintenance.ts';
import { mongoMaintenance } from './maintenance.ts';
import { type LogTuning, logPlace, mongoRequestLog } from './request-log.ts';
import { markUpgraded, refuseOlderProgram } from './schema-versions.ts';
import { checkTopology, helloOf } from './topology.ts';
import { mongoWatch } from './watch.ts';

export interface MongoStoreOptions {
  /** With credentials as the case may be: it appears in no message. */
  readonly uri: string;
  readonly collections: readonly Collection<object>[];
  /** The database's name; the URI's by default, and `sluice` when that has none. */
  readonly database?: string;
  /** How long a call may take, in milliseconds; 5000 by default. */
  readonly deadlineMs?: number;
  /** Connections; 50 by default. */
  readonly maxPoolSize?: number;
  /** Calls under way at once; 10,000 by default. Further ones are refused. */
  readonly maxPending?: number;
  /** Opened to copy into it: also while a copy is not finished, when a gateway is refused. */
  readonly forCopy?: boolean;
  /** Told when the server refuses change streams, so that changes are polled for. */
  readonly onPolling?: (error: unknown) => void;
  /** When the request log's roll-ups are made, and in which pieces entries are scanned. */
  readonly log?: LogTuning;
  /** Told when they could not be made: they are tried again. */
  readonly onSumsTrouble?: (error: unknown) => void;
}

export interface MongoStore {
  readonly documents: DocumentStore;
  readonly maintenance: DocumentMaintenance;
  readonly logMaintenance: LogMaintenance;
  readonly requestLog: LogStore;
  readonly copyMark: CopyMark;
  readonly blobs: BlobStore;
  readonly kept: KeptValues;
  readonly heartbeats: Heartbeats;
  /** Reports every write, by any instance, to the collections that are declared `noticed`. */
  readonly watch: ChangeWatch;
  /**
   * Writes the documents of older schema versions in the current one. After it programs of older versions are refused
   * at their start: it is for when none of them runs any more.
   */
  upgrade(): Promise<readonly UpgradeReport[]>;
  /** Makes the roll-ups that are due by now; the store does it by itself every minute. */
  makeRollups(): Promise<void>;
  /** Resolves when the primary answers within a second; rejects with `store_unavailable` otherwise. */
  ready(): Promise<void>;
  /** Waits for the calls under way, then disconnects. Calls after it are refused. */
  close(): Promise<void>;
}

const READY_MS = 1000;
const DEADLINE_MS = 5000;
/** An index over millions of documents takes minutes. */
const BUILD_MS = 30 * 60_000;

/**
 * Connects, checks that the server can do transactions, and builds what is missing of the indexes. Rejects with
 * `store_unavailable` and a message for people when any of it fails, or when the data is of a newer program.
 */
export async function openMongoStore(options: MongoStoreOptions): Promise<MongoStore> {
  const {
    uri,
    collections,
    database,
    deadlineMs = DEADLINE_MS,
    maxPoolSize = 50,
    maxPending = 10_000,
  } = options;
  const names = new Set(collections.map((collection) => collection.name));
  if (names.size < collections.length) throw new Error('two collections have the same name');
  await ensureIndexes(options);
  const connection = await connect({ uri, database, answerMs: deadlineMs, reachMs: deadlineMs, maxPoolSize });
  return storeOver(connection, options, createCalls(deadlineMs, maxPending));
}

/**
 * Builds the indexes (`sluice migrate`; every open does too), over a connection of its own on which a command may
 * take its time.
 */
export async function ensureIndexes(
  options: Pick<MongoStoreOptions, 'uri' | 'collections' | 'database' | 'deadlineMs' | 'forCopy'>,
): Promise<void> {
  const { uri, collections, database, deadlineMs = DEADLINE_MS, forCopy = false } = options;
  const calls = createCalls(deadlineMs, 1);
  const connection = await connect({
    uri,
    database,
    answerMs: BUILD_MS,
    reachMs: deadlineMs,
    maxPoolSize: 2,
  });
  try {
    checkTopology(await calls.run((deadline) => helloOf(connection, deadline.remaining())));
    await calls.run(() => refuseOlderProgram(connection, collections));
    if (!forCopy) await calls.run(() => refuseHalfCopied(connection));
    await calls.run(() => buildIndexes(connection, collections), BUILD_MS);
    const place = logPlace(connection, calls, BUILD_MS);
    await calls.run((deadline) => moveOldEntries(place, deadline), BUILD_MS);
  } finally {
    await connection.close(true);
  }
}

function storeOver(
  connection: mongoose.Connection,
  { collections, onPolling, log, onSumsTrouble, deadlineMs = DEADLINE_MS }: MongoStoreOptions,
  calls: Calls,
): MongoStore {
  let closed: Promise<void> | undefined;
  const closing = new AbortController();
  const maintenance = mongoMaintenance(connection, collections, calls);
  const mark = copyMark(connection);
  const place = logPlace(connection, calls, deadlineMs, log);
  const roller = new Roller(place, onSumsTrouble ?? (() => undefined));
  roller.start();
  const close = async (): Promise<void> => {
    closing.abort();
    await roller.close();
    await calls.close();
    await connection.close(true);
  };
  return {
    copyMark: {
      read: () => calls.run(mark.read),
      begin: () => calls.run(mark.begin),
      end: () => calls.run(mark.end),
    },
    documents: mongoDocuments(connection, collections, calls),
    blobs: gridBlobs(connection, calls, mongoBlobs(connection, calls)),
    kept: mongoKeptValues(connection, calls),
    heartbeats: mongoHeartbeats(connection, calls),
    maintenance,
    logMaintenance: mongoLogMaintenance(place),
    upgrade: () =>
      upgradeCollections(maintenance, collections, async (collection) => {
        await calls.run(() => fillMissingValues(connection, collection), BUILD_MS);
        await calls.run(() => markUpgraded(connection, collection));
      }),
    requestLog: mongoRequestLog(place, roller),
    makeRollups: () => roller.roll(),
    watch: mongoWatch(connection, collections, {
      closing: closing.signal,
      ...(onPolling ? { onPolling } : {}),
    }),
    ready: () =>
      calls.run(async (deadline) => {
        checkTopology(await helloOf(connection, deadline.remaining()));
      }, READY_MS),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}
