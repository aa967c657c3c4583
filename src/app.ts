// The composition root: it and the files of app/ are the only ones that see every room.
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { ensureFirstKeys, type FirstKeys, type Tenancy } from './access/bootstrap.ts';
import { forgetWhenUsed } from './access/first-keys.ts';
import { ownUrl, readAllowList } from './app/addresses.ts';
import { openBackgroundRuns } from './app/background-runs.ts';
import type { Base } from './app/base.ts';
import { openBatches } from './app/batches.ts';
import type { ConfigFileDeps } from './app/config-file.ts';
import { openControl } from './app/control.ts';
import { gauges } from './app/gauges.ts';
import { openInstances } from './app/instances.ts';
import { ledgerCommands } from './app/ledger-commands.ts';
import { openMetricsPort } from './app/metrics-port.ts';
import { openEdge } from './app/open-edge.ts';
import { type Identity, openIdentity } from './app/open-identity.ts';
import { type Ledger, openLedger } from './app/open-ledger.ts';
import { openMcp } from './app/open-mcp.ts';
import { openPipeline } from './app/open-pipeline.ts';
import { openReplicas } from './app/open-replicas.ts';
import { openServices } from './app/open-services.ts';
import { lendOperatorKey, operatorCommand } from './app/operator.ts';
import { readOwnOperations } from './app/own-operations.ts';
import { readiness } from './app/readiness.ts';
import { ownVersion } from './app/status-deps.ts';
import { damageFamily, openStores } from './app/stores.ts';
import { openWatch } from './app/telemetry.ts';
import type { WorkerLink } from './app/workers/link.ts';
import type { RequestLog } from './ledger/request-log.ts';
import { HeaderNames } from './lib/gateway-headers.ts';
import type { ReadingBudget } from './lib/incoming/reading-budget.ts';
import { leanThreads } from './lib/lean-threads.ts';
import { openModelCatalogue } from './providers/catalog/models.ts';
import { createInFlight } from './rpc/in-flight.ts';
import { createMetrics } from './rpc/metrics.ts';
import type { Rpc } from './rpc/rpc.ts';
import { processValidator } from './rpc/validator.ts';
import type { Settings } from './settings.ts';
import type { Family } from './telemetry/family.ts';
import { createLog } from './telemetry/log.ts';
import { storeFamily } from './telemetry/process-families.ts';

/** A running gateway. */
export interface App {
  readonly address: AddressInfo;
  readonly tenancy: Tenancy;
  /** Keys to be shown: none of them was used yet. */
  readonly firstKeys: FirstKeys;
  readonly rpc: Rpc;
  /** The metrics of this process. */
  readonly families: readonly Family[];
  readonly requestLog: RequestLog;
  /** Bytes of request bodies that are being read. */
  readonly budget: ReadingBudget;
  /** To the process that started this one beside others; undefined: it is the only one. */
  readonly link: WorkerLink | undefined;
  /** Where metrics have a port of their own. */
  readonly metricsAddress: AddressInfo | undefined;
  /** A key for the operator's commands, which counts as long as this gateway runs. */
  lendOperatorKey(): { readonly key: string; readonly takeBack: () => void };
  /** Takes no more connections, lets open calls end within the grace period, flushes, closes. */
  stop(): Promise<void>;
}

/** How long work of the pipeline that outlives its call may go on when the gateway stops. */
const PIPELINE_CLOSE_MS = 2000;

/**
 * Starts everything.
 * @param storeWaitMs how long a MongoDB that cannot be reached is waited for
 * @throws Error with a message for people when the start is not possible.
 */
export async function startApp(
  settings: Settings,
  given: Logger = createLog(settings.logLevel),
  storeWaitMs = 0,
): Promise<App> {
  leanThreads();
  const allow = readAllowList(settings.egressAllow);
  const operations = await readOwnOperations(settings.mcpOperations);
  const stores = await openStores(settings, given, storeWaitMs);
  const { log } = stores;
  const base: Base = { settings, log, stores, onTrouble: (err, what) => log.error({ err }, what) };
  const identity = await openIdentity(base, allow);
  const replicas = await openReplicas(base, identity);
  const models = openModelCatalogue();
  const watch = await openWatch(settings, models, log);
  const ledger = await openLedger(base, identity, replicas, watch.onEntry);
  const names = new HeaderNames(settings.headerPrefixes);
  const opened = openPipeline(base, identity, replicas, ledger, { models, names });
  const validator = processValidator();
  const ready = readiness(base);
  const { directory, auditLog, tenancy } = identity;
  const { callBooks, limits } = ledger;
  const inFlight = createInFlight(settings.maxInFlight, () => directory.hasSeveralWorkspaces());
  const metrics = createMetrics(inFlight, callBooks.books, [
    ...gauges({ books: callBooks, auditLost: auditLog.lost, limits, circuits: opened.circuits }),
    ...watch.families,
    storeFamily(ready.stores),
    ...damageFamily(stores.store),
  ]);
  const publicUrl = (): string => settings.publicUrl ?? ownUrl(settings, address.port);
  const mcp = openMcp({ ...base, operations }, identity, replicas, ledger, opened, publicUrl);
  const { requestLog } = callBooks;
  const instances = openInstances({
    heartbeats: 'heartbeats' in stores.store ? stores.store.heartbeats : undefined,
    version: ownVersion(),
    log: () => ({ buffered: requestLog.stats().buffered, lagMs: requestLog.lagMs() }),
  });
  const rooms = {
    ...base,
    mcp,
    identity,
    replicas,
    ledger,
    opened,
    watch,
    validator,
    allow,
    publicUrl,
    ready,
    instances,
    names,
  };
  const services = openServices(rooms);
  const edge = openEdge({ ...rooms, ...services, names, inFlight, metrics, unready: ready.unready });
  const batches = await openBatches({
    ...base,
    identity,
    ledger,
    names,
    files: services.files,
    transport: edge.rpc.transport,
  });
  const { rpc } = edge;
  const backgroundRuns = openBackgroundRuns({
    runs: services.backgroundRuns,
    transport: rpc.transport,
    names,
    keys: identity.keys,
  });
  // Before the port is bound: a faulty file ends the start.
  const configFile = await openDeclared(base, tenancy, services.declared);
  const address = await edge.listen();
  // Keys are made once the port is bound: a reader of the output can use them at once.
  const firstKeys = await openFirstKeys(base, identity);
  const metricsPort = await openMetricsPort(settings.host, edge.metricsDeps);
  const control =
    settings.mongodbUri === undefined
      ? await openOwnControl(base, identity, ledger, () => loopbackUrl(settings, address.port))
      : undefined;

  return {
    address,
    tenancy,
    firstKeys,
    rpc,
    families: metrics.families,
    requestLog,
    budget: edge.budget,
    link: edge.link,
    metricsAddress: metricsPort?.address,
    lendOperatorKey: () => lendOperatorKey(identity.keys, tenancy),
    async stop() {
      configFile?.close();
      ready.drain();
      ledger.live.close();
      await Promise.all([edge.drain(), services.backgroundRuns.drain(settings.drainMs)]);
      backgroundRuns.close();
      await services.backgroundRuns.close();
      await batches.close();
      await services.files.close();
      await opened.close(PIPELINE_CLOSE_MS);
      await ledger.endJobs();
      await identity.dialer.close();
      await ledger.close();
      await watch.close();
      await auditLog.close();
      replicas.stop();
      await metricsPort?.close();
      await control?.close();
      await instances.close();
      await stores.close();
    },
  };
}

async function openFirstKeys({ log, stores: { documents } }: Base, identity: Identity): Promise<FirstKeys> {
  const { keyDeps, tenancy, given, keys } = identity;
  const firstKeys = await ensureFirstKeys(keyDeps, tenancy, given);
  await forgetWhenUsed([firstKeys.admin, firstKeys.workspace], {
    documents,
    keys,
    now: Date.now,
    onTrouble: (error) => log.warn({ err: error }, 'a first key was used and is still kept to be shown'),
  });
  return firstKeys;
}

/** The socket that commands reach the gateway by that has the data folder open. */
function openOwnControl(
  { settings, log, stores }: Base,
  identity: Identity,
  ledger: Ledger,
  url: () => string,
) {
  const { store, documents } = stores;
  const commands = ledgerCommands({
    logMaintenance: store.logMaintenance,
    requestLog: store.requestLog,
    maintenance: store.maintenance,
    documents,
    state: ledger.state,
    prices: ledger.callBooks.prices,
    flush: ledger.flush,
    logDays: settings.logDays,
    systemChanges: identity.auditLog.systemChanges,
    organisations: () => identity.directory.organisationIds(),
  });
  const operator = operatorCommand(identity.keys, identity.tenancy, url);
  return openControl(settings, stores, log, { ...commands, operator });
}

/** Where commands of this machine reach the gateway. */
function loopbackUrl({ host, tls }: Settings, port: number): string {
  const isAny = host === '0.0.0.0' || host === '::';
  const name = isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

/** Declared state of the settings' file; undefined: they name none. */
async function openDeclared(
  { settings, log }: Base,
  tenancy: Tenancy,
  declared: ConfigFileDeps['declared'],
): Promise<{ close(): void } | undefined> {
  const { configFile: path, configEnvironment: env } = settings;
  if (path === undefined) return undefined;
  const { openConfigFile } = await import('./app/config-file.ts');
  return openConfigFile({ path, declared, tenancy, log, env });
}
