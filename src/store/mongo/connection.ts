// A connection with bounds on everything: the pool, the waits for it, the search for a primary, each answer.
import mongoose from 'mongoose';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { MAJORITY } from './transaction.ts';

const DEFAULT_DATABASE = 'sluice';

export interface ConnectionOptions {
  readonly uri: string;
  /** The database's name; the URI's by default, and `sluice` when that has none. */
  readonly database?: string | undefined;
  /** How long one command may wait for its answer, in milliseconds. */
  readonly answerMs: number;
  /** How long to look for a primary, to connect, and to wait for a free connection, in milliseconds. */
  readonly reachMs: number;
  readonly maxPoolSize: number;
}

/**
 * Connects, or rejects with `store_unavailable` and a message for people that holds nothing of the URI. The driver
 * reconnects by itself, and repeats a read or a write once that a broken connection or an election cut off.
 */
export async function connect(options: ConnectionOptions): Promise<mongoose.Connection> {
  const { uri, database, answerMs, reachMs, maxPoolSize } = options;
  // A separate mongoose instance: the shared one keeps a list of all connections ever made.
  const connection = new mongoose.Mongoose().createConnection();
  try {
    await connection.openUri(uri, {
      appName: 'sluice',
      dbName: database ?? databaseOf(uri) ?? DEFAULT_DATABASE,
      autoIndex: false,
      autoCreate: false,
      bufferCommands: false,
      maxPoolSize,
      waitQueueTimeoutMS: reachMs,
      serverSelectionTimeoutMS: reachMs,
      connectTimeoutMS: reachMs,
      socketTimeoutMS: answerMs,
      retryReads: true,
      retryWrites: true,
      readConcern: { level: 'majority' },
      readPreference: 'primary',
      writeConcern: MAJORITY,
    });
  } catch (cause) {
    await connection.close(true).catch(() => undefined);
    throw unreachable(cause);
  }
  // A connection that broke is the next call's error; without a listener it would be the process's end.
  connection.on('error', () => undefined);
  return connection;
}

/** AuthenticationFailed, Unauthorized. */
const REFUSED = new Set<unknown>([13, 18]);
const { MongoServerError, MongoParseError, MongoInvalidArgumentError, MongoMissingDependencyError } =
  mongoose.mongo;

function unreachable(error: unknown): GatewayError {
  if (error instanceof MongoServerError && REFUSED.has(error.code)) {
    return fail('store_unavailable', 'MongoDB refuses the credentials of MONGODB_URI', { cause: error });
  }
  // The text of these may repeat parts of the URI: it goes nowhere.
  if (
    error instanceof MongoParseError ||
    error instanceof MongoInvalidArgumentError ||
    error instanceof TypeError
  ) {
    return fail('store_unavailable', 'MONGODB_URI cannot be used: it is no address of a MongoDB');
  }
  if (error instanceof MongoMissingDependencyError) {
    return fail('store_unavailable', 'MONGODB_URI asks for a feature whose package is not installed', {
      cause: error,
    });
  }
  return fail('store_unavailable', 'MongoDB cannot be reached at the address in MONGODB_URI', {
    cause: error,
  });
}

/** The database that a URI names. */
function databaseOf(uri: string): string | undefined {
  const name = /^mongodb(?:\+srv)?:\/\/[^/?]*\/([^?]+)/.exec(uri)?.[1];
  return name === undefined ? undefined : decodeURIComponent(name);
}
