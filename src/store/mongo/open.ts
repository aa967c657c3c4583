// Opens the MongoDB store: what kind of server it is, its indexes, the ports over it.
import type mongoose from 'mongoose';
import type { Collection } from '../collection.ts';
import type { DocumentStore } from '../documents.ts';
import type { RequestLogStore } from '../request-log.ts';
import { type Calls, createCalls } from './calls.ts';
import { connect } from './connection.ts';
import { mongoDocuments } from './documents.ts';
import { buildIndexes } from './indexes.ts';
import { mongoRequestLog } from './request-log.ts';
import { checkTopology, helloOf } from './topology.ts';

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
}

export interface MongoStore {
  readonly documents: DocumentStore;
  readonly requestLog: RequestLogStore;
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
 * `store_unavailable` and a message for people when any of it fails.
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
  return storeOver(connection, collections, createCalls(deadlineMs, maxPending));
}

/**
 * Builds the indexes (`sluice migrate`; every open does too), over a connection of its own on which a command may
 * take its time.
 */
export async function ensureIndexes(
  options: Pick<MongoStoreOptions, 'uri' | 'collections' | 'database' | 'deadlineMs'>,
): Promise<void> {
  const { uri, collections, database, deadlineMs = DEADLINE_MS } = options;
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
    await calls.run(() => buildIndexes(connection, collections), BUILD_MS);
  } finally {
    await connection.close(true);
  }
}

function storeOver(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
  calls: Calls,
): MongoStore {
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await calls.close();
    await connection.close(true);
  };
  return {
    documents: mongoDocuments(connection, collections, calls),
    requestLog: mongoRequestLog(connection, calls),
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
