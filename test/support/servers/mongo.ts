// How a server of MongoDB's protocol is found and started: a mongod of the machine, else the PyPI one.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import mongoose from 'mongoose';
import type { ServerKind } from './process.ts';

/** The virtual environment of the PyPI server. */
export const MONGO_ENVIRONMENT = fileURLToPath(new URL('../../../.cache/mongo', import.meta.url));
const SECANTUS = `${MONGO_ENVIRONMENT}/bin/secantusd-py`;
const OLDEST = 6;
const PROBE_MS = 1000;

/** The address by which tests reach a server on this port. */
export function mongoUri(port: number): string {
  return `mongodb://127.0.0.1:${port}/?directConnection=true`;
}

/** The kind that this machine has; undefined when it has none. */
export function mongoKind(): ServerKind | undefined {
  if ((mongodVersion() ?? 0) >= OLDEST) return mongod;
  return existsSync(SECANTUS) ? secantus() : undefined;
}

/** A server that is no replica set, which the store must refuse. */
export function standaloneMongoKind(): ServerKind | undefined {
  if ((mongodVersion() ?? 0) >= OLDEST) {
    return { name: 'mongod', command: (port, folder) => plainMongod(port, folder), probe: ping };
  }
  return existsSync(SECANTUS) ? secantus('--standalone') : undefined;
}

const mongod: ServerKind = {
  name: 'mongod',
  command: (port, folder) => [...plainMongod(port, folder), '--replSet', 'rs0'],
  probe: async (port) => {
    const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
    await withClient(port, async (admin) => {
      const { setName, isWritablePrimary } = await admin.command({ hello: 1 });
      if (isWritablePrimary === true) return;
      if (setName === undefined) await admin.command({ replSetInitiate: { _id: 'rs0', members } });
      throw new Error('the replica set has no primary yet');
    });
  },
};

function secantus(...more: string[]): ServerKind {
  return {
    name: 'secantusdb',
    command: (port, folder) => [
      SECANTUS,
      '--port',
      String(port),
      '--storage-path',
      folder,
      '--sync-on-commit',
      ...more,
    ],
    probe: ping,
  };
}

function plainMongod(port: number, folder: string): [string, ...string[]] {
  return ['mongod', '--port', String(port), '--dbpath', folder, '--bind_ip', '127.0.0.1'];
}

async function ping(port: number): Promise<void> {
  await withClient(port, async (admin) => {
    await admin.command({ ping: 1 });
  });
}

async function withClient(port: number, use: (admin: mongoose.mongo.Db) => Promise<void>): Promise<void> {
  const client = new mongoose.mongo.MongoClient(mongoUri(port), {
    serverSelectionTimeoutMS: PROBE_MS,
    connectTimeoutMS: PROBE_MS,
    socketTimeoutMS: PROBE_MS,
  });
  try {
    await use(client.db('admin'));
  } finally {
    await client.close();
  }
}

function mongodVersion(): number | undefined {
  try {
    const said = execFileSync('mongod', ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const major = /v(\d+)\./.exec(said)?.[1];
    return major === undefined ? undefined : Number(major);
  } catch {
    return undefined;
  }
}
