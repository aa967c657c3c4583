// The real servers of a test run. The launcher (run.ts) starts one of each for the whole run and passes the
// addresses on; a test file asks here, and takes a database name or a key prefix of its own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestFn } from 'ava';
import { mongoKind, mongoUri, standaloneMongoKind } from './servers/mongo.ts';
import { type ServerKind, type ServerProcess, startServer } from './servers/process.ts';
import { redisKind, redisUrl } from './servers/redis.ts';

export type { ServerProcess } from './servers/process.ts';

export interface SharedMongo {
  readonly uri: string;
  /** Its data goes with the run: nobody needs to drop a database, which some servers take long over. */
  readonly disposable: boolean;
}

export interface SharedRedis {
  readonly url: string;
  /** Its data goes with the run. */
  readonly disposable: boolean;
}

export interface OwnMongo extends ServerProcess {
  readonly uri: string;
}

export interface OwnRedis extends ServerProcess {
  readonly url: string;
}

/** The run's MongoDB: the user's (`MONGODB_URI`) or the launcher's. Undefined when there is none. */
export async function mongoServer(): Promise<SharedMongo | undefined> {
  const uri = process.env.SLUICE_TEST_MONGODB_URI || process.env.MONGODB_URI;
  if (!uri) return undefined;
  markUsed('mongo');
  return { uri, disposable: isDisposable('SLUICE_TEST_MONGODB_URI') };
}

/** The run's Redis: the user's (`REDIS_URL`) or the launcher's. Undefined when there is none. */
export async function redisServer(): Promise<SharedRedis | undefined> {
  const url = process.env.SLUICE_TEST_REDIS_URL || process.env.REDIS_URL;
  if (!url) return undefined;
  markUsed('redis');
  return { url, disposable: isDisposable('SLUICE_TEST_REDIS_URL') };
}

/** Starts a MongoDB for one test's faults; undefined when this machine has none. The caller stops it. */
export async function startOwnMongo(): Promise<OwnMongo | undefined> {
  return own(mongoKind(), 'mongo', (server) => ({ ...server, uri: mongoUri(server.port) }));
}

/** As `startOwnMongo`, without a replica set. */
export async function startStandaloneMongo(): Promise<OwnMongo | undefined> {
  return own(standaloneMongoKind(), 'mongo', (server) => ({ ...server, uri: mongoUri(server.port) }));
}

/** Starts a Redis for one test's faults; undefined when this machine has none. The caller stops it. */
export async function startOwnRedis(): Promise<OwnRedis | undefined> {
  return own(redisKind(), 'redis', (server) => ({ ...server, url: redisUrl(server.port) }));
}

/** Stands in for a suite whose server is missing, so that nobody takes its silence for success. */
export function reportMissing(test: TestFn, server: 'MongoDB' | 'Redis'): void {
  test(`NOT RUN: this suite needs a real ${server}`, (t) => {
    t.log(`REAL ${server.toUpperCase()} NOT USED: run it by "npm test -- <file>" or "npm run test:servers"`);
    t.pass();
  });
}

async function own<T>(
  kind: ServerKind | undefined,
  name: string,
  of: (server: ServerProcess) => T,
): Promise<T | undefined> {
  if (kind === undefined) return undefined;
  const server = of(await startServer(kind));
  markUsed(name);
  return server;
}

function isDisposable(variable: string): boolean {
  return process.env[`${variable}_DISPOSABLE`] === '1';
}

/** Lets the launcher tell a server that tests used from one that only ran. */
function markUsed(name: string): void {
  const folder = process.env.SLUICE_TEST_RUN_DIR;
  if (folder) writeFileSync(join(folder, `used-${name}`), '');
}
