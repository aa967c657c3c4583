// The stores that the settings name, opened: documents with their secrets and their changes, and what instances share.

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { destination, type Logger } from 'pino';
import { encryptionKeyOf } from '../access/encryption-key.ts';
import { openEncryptionKeys } from '../access/encryption-keys.ts';
import { accessCollections } from '../access/identity-collections.ts';
import { type KeyHasher, keyHasherOf } from '../access/key-hash.ts';
import { declaredCollections } from '../access/managed-records.ts';
import { masterKey } from '../access/master-key.ts';
import type { RotateCommandDeps } from '../access/rotate-command.ts';
import { configCollections } from '../configs/config-collections.ts';
import { batchCollections } from '../inference/batches/collection.ts';
import { fileCollections } from '../inference/files/collection.ts';
import { alertCollections } from '../ledger/alerts/alert.ts';
import { exportCollections } from '../ledger/exports/collection.ts';
import { ledgerCollections } from '../ledger/policies.ts';
import { priceCollections } from '../ledger/prices/price-collections.ts';
import { reRateCollections } from '../ledger/re-rate/run.ts';
import { promptRoomCollections } from '../prompts/prompt-collections.ts';
import { secretCollections } from '../secrets/secret-collections.ts';
import type { Settings } from '../settings.ts';
import type { BlobStore } from '../store/blobs.ts';
import { type OpenFeed, openChangeFeed } from '../store/change-feed.ts';
import type { Collection } from '../store/collection.ts';
import type { Part } from '../store/data-folder/parts.ts';
import type { DocumentStore } from '../store/documents.ts';
import { encryptedDocuments } from '../store/encrypted-documents.ts';
import { folderBlobs } from '../store/folder-blobs.ts';
import type { MongoStore } from '../store/mongo/open-mongo.ts';
import { noticedDocuments } from '../store/noticed-documents.ts';
import type { SharedState } from '../store/shared-state.ts';
import { openSqliteStore, type SqliteStore } from '../store/sqlite/open-sqlite.ts';
import { type Family, gauge } from '../telemetry/family.ts';
import { createLog } from '../telemetry/log.ts';
import { storeAddress } from './store-addresses.ts';
import { openedWhenThere, RedisWatch } from './stores-away.ts';
import { within } from './within.ts';

const REDIS_CONNECT_MS = 2000;
const UNREADABLE_TOLD = 1000;

/** All that the document store keeps; `sluice migrate` upgrades and copies these. */
export const COLLECTIONS: readonly Collection<object>[] = [
  ...accessCollections,
  ...ledgerCollections,
  ...alertCollections,
  ...configCollections,
  ...promptRoomCollections,
  ...secretCollections,
  ...priceCollections,
  ...exportCollections,
  ...reRateCollections,
  ...fileCollections,
  ...batchCollections,
  ...declaredCollections,
];

/** What is kept, opened. */
export interface Stores {
  readonly store: SqliteStore | MongoStore;
  /** The store's documents: secrets open, and changes told. */
  readonly documents: DocumentStore;
  /** Bytes too many for documents: where every instance can read them. */
  readonly blobs: BlobStore;
  /** What documents have changed, by whichever instance. */
  readonly feed: OpenFeed;
  /** What rotating its encryption takes. */
  readonly rotation: Omit<RotateCommandDeps, 'say'>;
  /** What instances share; undefined when there is one. */
  readonly state: SharedState | undefined;
  readonly hasher: KeyHasher;
  /** 32 bytes that no change of the encryption key changes. */
  readonly hashSecret: Uint8Array;
  /** The given log without what fails only because a store is away. */
  readonly log: Logger;
  close(): Promise<void>;
}

/**
 * Opens the stores that the settings name.
 * @param waitMs how long a MongoDB that cannot be reached is tried again
 * @throws Error with a message for people when one cannot be used.
 */
export async function openStores(
  settings: Settings,
  given: Logger = createLog(settings.logLevel, destination(2)),
  waitMs = 0,
): Promise<Stores> {
  const { mongodbUri, redisUrl, dataDir } = settings;
  const store =
    mongodbUri === undefined
      ? await openEmbedded(settings, given)
      : await openedWhenThere(() => openMongo(mongodbUri, given), {
          log: given,
          address: storeAddress(mongodbUri),
          waitMs,
        });
  const state = redisUrl === undefined ? undefined : await openRedis(redisUrl);
  const watch = state && new RedisWatch(given, storeAddress(redisUrl ?? ''), () => state.ready());
  const log = watch?.quiet() ?? given;
  // A gateway starts while its Redis is away; one that is there gets the time to connect.
  if (state) {
    await within(REDIS_CONNECT_MS, untilReady(state, REDIS_CONNECT_MS));
    await within(REDIS_CONNECT_MS, watch?.look() ?? Promise.resolve());
  }
  const feed = openChangeFeed({
    state,
    watch: store.watch,
    onError: (error) => log.warn({ err: error }, 'a change was not told to the other instances at once'),
  });
  const s3 =
    settings.s3 && (await import('../store/s3/s3-blobs.ts').then(({ s3Blobs }) => s3Blobs(settings.s3!)));
  const close = async (): Promise<void> => {
    watch?.stop();
    await s3?.close();
    await feed.close();
    await state?.close();
    await store.close();
  };
  try {
    // Made after the folder's parts are checked: a lost key is never replaced by a new one.
    const encryptionKey = settings.encryptionKey ?? encryptionKeyOf(dataDir);
    const source = settings.encryptionKey === undefined ? join(dataDir, 'encryption.key') : undefined;
    const open = (key: Uint8Array) =>
      openEncryptionKeys({ documents: store.documents, master: masterKey(key, source), now: Date.now });
    const keys = await open(encryptionKey);
    const encrypted = encryptedDocuments(store.documents, { keys, onUnreadable: unreadableTo(log) });
    const documents = noticedDocuments(encrypted, feed);
    const rotation = {
      keys,
      maintenance: store.maintenance,
      collections: COLLECTIONS,
      keyFolder: settings.encryptionKey === undefined ? dataDir : undefined,
      // No other process has an embedded store open.
      settleMs: mongodbUri === undefined ? 0 : undefined,
      reopen: open,
    };
    return {
      store,
      documents,
      blobs:
        s3 ??
        (mongodbUri === undefined ? folderBlobs(join(dataDir, 'exports')) : (store as MongoStore).blobs),
      feed,
      rotation,
      state,
      hasher: keyHasherOf(keys.hashSecret),
      hashSecret: keys.hashSecret,
      log,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The parts of the data folder that the settings use. */
export function partsOf({
  redisUrl,
  encryptionKey,
}: Pick<Settings, 'redisUrl' | 'encryptionKey'>): readonly Part[] {
  return [
    ...(['logs', 'exports', 'flights'] as const),
    ...(redisUrl === undefined ? (['state.db'] as const) : []),
    ...(encryptionKey === undefined ? (['encryption.key'] as const) : []),
  ];
}

/** Folders without which calls are not in the books: all that is embedded is kept there. */
export function writtenFolders({ mongodbUri, redisUrl, dataDir }: Settings): readonly string[] {
  if (mongodbUri === undefined) return [dataDir, join(dataDir, 'logs')];
  return redisUrl === undefined ? [dataDir] : [];
}

/** How much of the log's files cannot be read. */
export function damageFamily(store: SqliteStore | MongoStore): Family[] {
  const damaged = 'damaged' in store ? store.damaged : undefined;
  if (damaged === undefined) return [];
  return [
    gauge(
      'sluice_request_log_damaged',
      'Files and segments of the request log that cannot be read',
      'max',
      damaged,
    ),
  ];
}

function openEmbedded(settings: Settings, log: Logger): Promise<SqliteStore> {
  return openSqliteStore({
    dataDir: settings.dataDir,
    collections: COLLECTIONS,
    parts: partsOf(settings),
    onDamage: ({ lost, ...damage }) =>
      lost
        ? log.error(
            damage,
            'a file of the request log is damaged: the rest is served; restore it, see `sluice doctor`',
          )
        : log.warn(damage, 'a file in the data folder is not known: it was set aside'),
  });
}

/** Its client is read when there is a Redis: it takes memory. */
async function openRedis(url: string): Promise<SharedState> {
  const { openRedisState } = await import('../store/redis/open-redis.ts');
  return openRedisState({ url });
}

/** Its driver is read when there is a MongoDB: it takes memory. */
async function openMongo(uri: string, log: Logger): Promise<MongoStore> {
  const { openMongoStore } = await import('../store/mongo/open-mongo.ts');
  return openMongoStore({
    uri,
    collections: COLLECTIONS,
    onPolling: (error) => log.warn({ err: error }, 'MongoDB refuses change streams: changes are polled'),
    onSumsTrouble: (error) =>
      log.warn({ err: error }, 'sums of the request log could not be made: they are tried again'),
  });
}

/** Each secret that cannot be read is logged once: it may be read all the time. */
function unreadableTo(log: Logger): (secret: Error) => void {
  const told = new Set<string>();
  return (secret) => {
    if (told.has(secret.message) || told.size >= UNREADABLE_TOLD) return;
    told.add(secret.message);
    log.error({ err: secret }, 'a secret in the store cannot be read');
  };
}

async function untilReady(state: SharedState, ms: number): Promise<void> {
  const giveUpAt = performance.now() + ms;
  while (performance.now() < giveUpAt) {
    const ready = await state.ready().then(
      () => true,
      () => false,
    );
    if (ready) return;
    await sleep(20);
  }
}
