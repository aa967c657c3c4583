// The composition root: the only file that sees every room.
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { LogsService } from '../gen/gateway/admin/v2/logs_pb.ts';
import { ChatService } from '../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionsService } from '../gen/gateway/inference/v2/completions_pb.ts';
import { EmbeddingsService } from '../gen/gateway/inference/v2/embeddings_pb.ts';
import { ModelsService } from '../gen/gateway/inference/v2/models_pb.ts';
import { ModerationsService } from '../gen/gateway/inference/v2/moderations_pb.ts';
import { ProxyService } from '../gen/gateway/inference/v2/proxy_pb.ts';
import { authenticate } from './access/authenticate.ts';
import { bootstrap, type Tenancy } from './access/bootstrap.ts';
import { accessCollections } from './access/collections.ts';
import { encryptionKeyOf } from './access/encryption-key.ts';
import { createKeyHasher, type KeyHasher } from './access/key-hash.ts';
import { followKeys } from './access/key-notices.ts';
import { KeyRing } from './access/key-ring.ts';
import { loadKeys } from './access/keys.ts';
import { logsService } from './admin/logs.ts';
import { docs } from './edge/docs.ts';
import { createEdge } from './edge/edge.ts';
import { createListener } from './edge/listener.ts';
import { chatService } from './inference/chat.ts';
import { completionsService } from './inference/completions.ts';
import { embeddingsService } from './inference/embeddings.ts';
import { modelsService } from './inference/models.ts';
import { moderationsService } from './inference/moderations.ts';
import type { Pipeline } from './inference/pipeline/pipeline.ts';
import { proxyService } from './inference/proxy.ts';
import { createRequestLog, type RequestLog } from './ledger/request-log.ts';
import { parseAllowList } from './lib/egress/allow-list.ts';
import { createDialer } from './lib/egress/dialer.ts';
import { type GatewayHeaders, HeaderNames } from './lib/gateway-headers.ts';
import { providerById } from './providers/catalog/registry.ts';
import { createDialects } from './providers/dialects/registry.ts';
import { codec } from './rest/codec.ts';
import { createRouteTable } from './rest/routes.ts';
import type { Implementation } from './rpc/handler.ts';
import type { Registration } from './rpc/methods.ts';
import { createMetrics } from './rpc/metrics.ts';
import { createRpc, type Rpc } from './rpc/rpc.ts';
import { type Settings, SettingsError } from './settings.ts';
import { type MongoStore, openMongoStore } from './store/mongo/open.ts';
import { openRedisState } from './store/redis/open.ts';
import type { Notice, SharedState } from './store/shared-state.ts';
import { openSqliteStore, type SqliteStore } from './store/sqlite/open.ts';

/** A running gateway. */
export interface App {
  readonly address: AddressInfo;
  readonly tenancy: Tenancy;
  readonly rpc: Rpc;
  readonly requestLog: RequestLog;
  /** Takes no more connections, lets open calls end within the grace period, flushes, closes. */
  stop(): Promise<void>;
}

const READY_WITHIN_MS = 2000;
const REDIS_CONNECT_MS = 2000;
const OPENAPI = new URL('../gen/openapi.json', import.meta.url);

/** What is kept, opened. */
export interface Stores {
  readonly store: SqliteStore | MongoStore;
  /** What instances tell each other through; undefined when there is one. */
  readonly state: SharedState | undefined;
  readonly hasher: KeyHasher;
  close(): Promise<void>;
}

/** Opens the stores that the settings name. @throws Error with a message for people when one cannot be used. */
export async function openStores(settings: Settings): Promise<Stores> {
  const { mongodbUri, redisUrl, dataDir } = settings;
  const encryptionKey = settings.encryptionKey ?? encryptionKeyOf(dataDir);
  const store =
    mongodbUri === undefined
      ? await openSqliteStore({ dataDir, collections: accessCollections })
      : await openMongoStore({ uri: mongodbUri, collections: accessCollections });
  const state = redisUrl === undefined ? undefined : openRedisState({ url: redisUrl });
  // A gateway starts while its Redis is away; one that is there gets the time to connect.
  if (state) await within(REDIS_CONNECT_MS, untilReady(state, REDIS_CONNECT_MS));
  return {
    store,
    state,
    hasher: createKeyHasher(encryptionKey),
    async close() {
      await state?.close();
      await store.close();
    },
  };
}

/** Starts everything. @throws Error with a message for people when the start is not possible. */
export async function startApp(
  settings: Settings,
  log: Logger = pino({ level: settings.logLevel }),
): Promise<App> {
  const allow = readAllowList(settings.egressAllow);
  const openapi = readFileSync(OPENAPI, 'utf8');
  const stores = await openStores(settings);
  const { store, state, hasher } = stores;
  const { documents } = store;
  const publish =
    state && telling(state, (error) => log.error({ err: error }, 'a change was not told to other instances'));
  const tenancy = await bootstrap(
    { documents, hasher, now: Date.now, publish },
    { adminKey: settings.adminApiKey, workspaceKey: settings.apiKey },
  );
  const keys = new KeyRing(hasher);
  // Followed before they are read, so that no change falls between.
  const unfollow =
    state &&
    followKeys({
      state,
      documents,
      organisationId: tenancy.organisationId,
      ring: keys,
      onError: (error) => log.error({ err: error }, 'a changed key could not be read'),
    });
  await loadKeys(documents, tenancy.organisationId, keys);

  const requestLog = createRequestLog({
    store: store.requestLog,
    onDrop: (count) =>
      log.error({ count }, 'request log: entries were dropped because the store does not take them'),
  });
  const metrics = createMetrics(settings.maxInFlight, (entry) => requestLog.record(entry), [
    {
      name: 'sluice_request_log_buffered',
      help: 'Log entries not stored yet',
      read: () => requestLog.stats().buffered,
    },
    { name: 'sluice_request_log_failed', help: 'Log entries dropped', read: () => requestLog.stats().failed },
  ]);
  const dialer = createDialer({
    allow,
    ...(settings.httpsProxy === undefined ? {} : { httpsProxy: settings.httpsProxy }),
    ...(settings.noProxy === undefined ? {} : { noProxy: settings.noProxy }),
    ...(settings.extraCa === undefined ? {} : { extraCa: settings.extraCa }),
  });
  const pipeline: Pipeline = {
    dialer,
    dialects: createDialects(codec),
    plans: {
      providerById,
      checkHost: (url, param) => dialer.check(url, param),
      isOwnKey: (text) => keys.find(text) !== undefined,
    },
    now: Date.now,
  };

  let draining = false;
  const unready = async (): Promise<string | undefined> => {
    if (draining) return 'draining';
    if (!(await within(READY_WITHIN_MS, store.ready()))) return 'the document store does not answer';
    if (state && !(await within(READY_WITHIN_MS, state.ready()))) return 'the shared store does not answer';
    return undefined;
  };
  const names = new HeaderNames(settings.headerPrefixes);
  const services = registrations(pipeline, { store: store.requestLog, flush: () => requestLog.flush() });
  const rpc = createRpc({
    services,
    keys,
    observer: metrics,
    audit: (event) => log.info({ audit: event }, 'audit'),
    log,
    names,
    bodyLimit: settings.bodyLimit,
    ready: async () => (await unready()) === undefined,
  });
  const edge = createEdge({
    rest: {
      routes: createRouteTable(rpc.methods.services),
      transport: rpc.transport,
      names,
      bodyLimit: settings.bodyLimit,
      isKnown: (headers) => isAuthentic(headers, keys),
      full: metrics.full,
    },
    pages: { unready, metrics: metrics.render, openapi, docs: docs() },
    rpc: rpc.handler,
    corsOrigins: settings.corsOrigins,
    log,
  });
  const listener = createListener({
    tls: settings.tls,
    dispatch(req, res) {
      if (draining && req.httpVersionMajor === 1) res.setHeader('connection', 'close');
      edge(req, res);
    },
  });
  const address = await listener.listen(settings.host, settings.port);

  return {
    address,
    tenancy,
    rpc,
    requestLog,
    async stop() {
      draining = true;
      await listener.drain(settings.drainMs);
      await dialer.close();
      await requestLog.close();
      unfollow?.();
      await stores.close();
    },
  };
}

/** Publishes changes; one that cannot be told is no reason to fail the change: who missed it reads it at the next start. */
export function telling(
  state: SharedState,
  onError: (error: unknown) => void,
): (notice: Notice) => Promise<void> {
  return (notice) => state.publish(notice).catch(onError);
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

/** Whether the headers carry a valid key; why not is the auth interceptor's to say. */
function isAuthentic(headers: GatewayHeaders, keys: KeyRing): boolean {
  try {
    authenticate(headers, keys, Date.now());
    return true;
  } catch {
    return false;
  }
}

function registrations(pipeline: Pipeline, logs: Parameters<typeof logsService>[0]): Registration[] {
  // A service's functions take their own messages; the methods they are registered under say which.
  const implement = (implementation: object): Implementation => implementation as Implementation;
  return [
    { service: ChatService, implementation: implement(chatService(pipeline)) },
    { service: CompletionsService, implementation: implement(completionsService(pipeline)) },
    { service: EmbeddingsService, implementation: implement(embeddingsService(pipeline)) },
    { service: ModerationsService, implementation: implement(moderationsService(pipeline)) },
    { service: ModelsService, implementation: implement(modelsService(pipeline)) },
    { service: ProxyService, implementation: implement(proxyService(pipeline)) },
    { service: LogsService, implementation: implement(logsService(logs)) },
  ];
}

function readAllowList(text: string) {
  try {
    return parseAllowList(text);
  } catch (error) {
    throw new SettingsError(
      `GATEWAY_EGRESS_ALLOW: ${error instanceof Error ? error.message : 'cannot be read'}`,
    );
  }
}

/** Whether a promise resolves within the bound. */
async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const soon = promise.then(
    () => true,
    () => false,
  );
  return Promise.race([soon, late]).finally(() => clearTimeout(timer));
}
