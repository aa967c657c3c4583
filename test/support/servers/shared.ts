// The servers that one run shares, and the report on them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { mongoKind, mongoUri } from './mongo.ts';
import { type ServerKind, type ServerProcess, startServer } from './process.ts';
import { redisKind, redisUrl } from './redis.ts';

export interface SharedServer {
  readonly label: string;
  /** The variable by which tests learn of it, and its value. */
  readonly variable: string;
  readonly address: string | undefined;
  /** Started here, and gone with its data at the end. */
  readonly disposable: boolean;
  /** What it is, or why there is none. */
  readonly what: string;
  /** Whether a test asked for it. */
  used(): boolean;
  stop(): Promise<void>;
}

/** MongoDB for the run: the user's, or one started here. */
export function sharedMongo(runFolder: string): Promise<SharedServer> {
  return share(runFolder, 'mongo', {
    label: 'real MongoDB',
    variable: 'SLUICE_TEST_MONGODB_URI',
    given: process.env.MONGODB_URI,
    givenBy: 'MONGODB_URI',
    kind: mongoKind,
    address: mongoUri,
    missing: 'no mongod on the PATH and no .cache/mongo',
  });
}

/** Redis for the run: the user's, or one started here. */
export function sharedRedis(runFolder: string): Promise<SharedServer> {
  return share(runFolder, 'redis', {
    label: 'real Redis',
    variable: 'SLUICE_TEST_REDIS_URL',
    given: process.env.REDIS_URL,
    givenBy: 'REDIS_URL',
    kind: redisKind,
    address: redisUrl,
    missing: 'redis-server is not on the PATH',
  });
}

interface Wanted {
  readonly label: string;
  readonly variable: string;
  readonly given: string | undefined;
  readonly givenBy: string;
  readonly kind: () => ServerKind | undefined;
  readonly address: (port: number) => string;
  readonly missing: string;
}

async function share(runFolder: string, name: string, wanted: Wanted): Promise<SharedServer> {
  const { label, variable } = wanted;
  const used = (): boolean => existsSync(join(runFolder, `used-${name}`));
  const without = (address: string | undefined, what: string): SharedServer => ({
    label,
    variable,
    address,
    disposable: false,
    what,
    used,
    stop: async () => undefined,
  });
  if (wanted.given) return without(wanted.given, wanted.givenBy);
  const kind = wanted.kind();
  if (kind === undefined) return without(undefined, wanted.missing);
  let server: ServerProcess;
  try {
    server = await startServer(kind);
  } catch (error) {
    return without(undefined, error instanceof Error ? error.message : String(error));
  }
  return { ...without(wanted.address(server.port), kind.name), disposable: true, stop: server.stop };
}
