// The composition root: it and the files of app/ are the only ones that see every room.
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { createAuditLog } from './access/audit/audit-log.ts';
import {
  ensureFirstKeys,
  ensureTenancy,
  type FirstKeys,
  storeGivenKeys,
  type Tenancy,
} from './access/bootstrap.ts';
import { configPreset } from './access/config-preset.ts';
import { Directory } from './access/directory.ts';
import { forgetWhenUsed } from './access/first-keys.ts';
import { guardrailDefaultsOf } from './access/guardrail-defaults.ts';
import { identify } from './access/identify.ts';
import { jwksUriCheck } from './access/jwt/jwks-uri.ts';
import { Tokens } from './access/jwt/tokens.ts';
import { KeyRing } from './access/key-ring.ts';
import { makeKey } from './access/keys.ts';
import { organisationIds } from './access/organisation-ids.ts';
import { ProviderReplica } from './access/providers/provider-replica.ts';
import { guardrailFault } from './admin/guardrails/usage.ts';
import type { PromptsDeps } from './admin/prompts/deps.ts';
import { ownUrl, readAllowList } from './app/addresses.ts';
import { openBudgetAlerts } from './app/alerts.ts';
import { openCallBooks } from './app/call-books.ts';
import { userOf } from './app/callers.ts';
import { openControl } from './app/control.ts';
import { openExports } from './app/exports.ts';
import { gauges } from './app/gauges.ts';
import { ledgerCommands } from './app/ledger-commands.ts';
import { listenError } from './app/listen-error.ts';
import { openMetricsPort } from './app/metrics-port.ts';
import { reRateDeps } from './app/re-rate.ts';
import { registrations } from './app/services.ts';
import { damageFamily, openStores, writtenFolders } from './app/stores.ts';
import { openWatch } from './app/telemetry.ts';
import { within } from './app/within.ts';
import { linkToPrimary, type WorkerLink } from './app/workers/link.ts';
import { ConfigCatalogue } from './configs/config-catalogue.ts';
import { GuardrailCatalogue } from './configs/guardrail-catalogue.ts';
import { docs } from './edge/docs.ts';
import { createEdge } from './edge/edge.ts';
import { createListener } from './edge/listener.ts';
import { mappedProvider } from './inference/mapped-provider.ts';
import { createPipeline, type PipelineParts } from './inference/pipeline/create-pipeline.ts';
import { promptRuns } from './inference/prompts.ts';
import { openLimits } from './ledger/limits/open-limits.ts';
import { UsageReader } from './ledger/limits/usage.ts';
import { OwnPrices } from './ledger/prices/own-prices.ts';
import { createReRateJobs } from './ledger/re-rate/jobs.ts';
import type { RequestLog } from './ledger/request-log.ts';
import { clientAddress } from './lib/client-address.ts';
import { diskProbe } from './lib/disk-probe.ts';
import { createDialer } from './lib/egress/dialer.ts';
import { HeaderNames } from './lib/gateway-headers.ts';
import { Pace } from './lib/incoming/pace.ts';
import { ReadingBudget } from './lib/incoming/reading-budget.ts';
import { leanThreads } from './lib/lean-threads.ts';
import { createMailer } from './lib/mailer.ts';
import { PromptCatalogue } from './prompts/prompt-catalogue.ts';
import { PromptReplica } from './prompts/prompt-replica.ts';
import { openModelCatalogue } from './providers/catalog/models.ts';
import { providerById } from './providers/catalog/registry.ts';
import { createDialects } from './providers/dialects/registry.ts';
import { codec } from './rest/codec.ts';
import { createRouteTable } from './rest/routes.ts';
import { createInFlight } from './rpc/in-flight.ts';
import { check } from './rpc/interceptors/validate.ts';
import { createMetrics } from './rpc/metrics.ts';
import { createRpc, type Rpc } from './rpc/rpc.ts';
import { contractValidator } from './rpc/validator.ts';
import { SecretReferences } from './secrets/references.ts';
import { createSecrets } from './secrets/secrets.ts';
import type { Settings } from './settings.ts';
import { follow, type ReplicaSource } from './store/follow.ts';
import { openMemoryState } from './store/memory/open-memory.ts';
import { createLog } from './telemetry/log.ts';
import { storeFamily } from './telemetry/process-families.ts';

/** A running gateway. */
export interface App {
  readonly address: AddressInfo;
  readonly tenancy: Tenancy;
  /** Keys to be shown: none of them was used yet. */
  readonly firstKeys: FirstKeys;
  readonly rpc: Rpc;
  readonly requestLog: RequestLog;
  /** Bytes of request bodies that are being read. */
  readonly budget: ReadingBudget;
  /** To the process that started this one beside others; undefined: it is the only one. */
  readonly link: WorkerLink | undefined;
  /** Where metrics have a port of their own. */
  readonly metricsAddress: AddressInfo | undefined;
  /** Takes no more connections, lets open calls end within the grace period, flushes, closes. */
  stop(): Promise<void>;
}

const READY_WITHIN_MS = 2000;
/** What runs beside calls may go on for this long when the gateway stops. */
const PIPELINE_CLOSE_MS = 2000;
const OPENAPI = new URL('../gen/openapi.json', import.meta.url);

/** Starts everything. @throws Error with a message for people when the start is not possible. */
export async function startApp(settings: Settings, log: Logger = createLog(settings.logLevel)): Promise<App> {
  leanThreads();
  const allow = readAllowList(settings.egressAllow);
  const openapi = readFileSync(OPENAPI, 'utf8');
  const stores = await openStores(settings, log);
  const { store, documents, feed, state, hasher } = stores;
  const given = { adminKey: settings.adminApiKey, workspaceKey: settings.apiKey };
  const keyDeps = { documents, hasher, now: Date.now };
  const tenancy = await ensureTenancy(keyDeps);
  await storeGivenKeys(keyDeps, tenancy, given);
  const keys = new KeyRing(hasher);
  const directory = new Directory();
  const dialer = createDialer({
    allow,
    ...(settings.httpsProxy === undefined ? {} : { httpsProxy: settings.httpsProxy }),
    ...(settings.noProxy === undefined ? {} : { noProxy: settings.noProxy }),
    ...(settings.extraCa === undefined ? {} : { extraCa: settings.extraCa }),
  });
  const tokens = new Tokens({
    dialer,
    directory,
    now: Date.now,
    onTrouble: (organisationId, error) =>
      log.warn({ err: error, organisationId }, 'the key set (JWKS) of an organisation cannot be fetched'),
  });
  const auditLog = createAuditLog({
    documents,
    now: Date.now,
    addressOf: ({ source, headers }) =>
      clientAddress(source.remote, headers.plain('x-forwarded-for'), settings.trustedProxies),
    userOf: (principal) => userOf(directory, principal),
    homeOrganisationId: tenancy.organisationId,
    ownerOf(token) {
      const principal = keys.find(token)?.principal;
      const organisationId = principal?.organisationId ?? tokens.organisationOf(token);
      return organisationId === undefined ? undefined : { organisationId, principal };
    },
    onLost: (error, count) => log.error({ err: error, count }, 'audit log: entries could not be written'),
  });
  const configs = new ConfigCatalogue();
  const guardrails = new GuardrailCatalogue();
  const secretReferences = new SecretReferences();
  const ownPrices = new OwnPrices();
  const promptReplica = new PromptReplica();
  const validator = contractValidator();
  const replica = new ProviderReplica({ providerById, now: Date.now });
  const source: ReplicaSource = {
    feed,
    documents,
    organisations: () => organisationIds(store.maintenance),
    onError: (error) => log.error({ err: error }, 'a change could not be read yet'),
  };
  const unfollow = await Promise.all([
    follow(source, [...directory.replicas, tokens.replica, keys.replica]),
    follow(source, [guardrails.replica, configs.replica]),
    follow(source, replica.replicas),
    follow(source, promptReplica.replicas),
    follow(source, [secretReferences.replica]),
    follow(source, [ownPrices.replica]),
  ]);
  const { changes } = auditLog;
  const secrets = createSecrets({
    dialer,
    environment: settings.secretEnvironment,
    now: Date.now,
    references: secretReferences,
    envAllow: settings.secretEnvAllow,
    fileAllow: settings.secretFileAllow,
    ownIdentity: settings.secretOwnIdentity,
    lifetimeMs: settings.secretTtlMs,
    onTrouble: (error) => log.warn({ err: error }, 'a secret could not be read from its manager'),
  });

  const models = openModelCatalogue();
  const watch = await openWatch(settings, models, log);
  const { onEntry } = watch;
  const callBooks = openCallBooks(settings, { store: store.requestLog, directory, ownPrices, onEntry }, log);
  const { books, requestLog, flights, prices, counter } = callBooks;
  const storesUp = {
    documents: () => within(READY_WITHIN_MS, store.ready()),
    ...(state && { shared: () => within(READY_WITHIN_MS, state.ready()) }),
  };
  const inFlight = createInFlight(settings.maxInFlight, () => directory.hasSeveralWorkspaces());
  const metrics = createMetrics(inFlight, books, [
    ...gauges({
      books: callBooks,
      auditLost: auditLog.lost,
      limits: () => limits,
      circuits: () => circuits,
    }),
    ...watch.families,
    storeFamily(storesUp),
    ...damageFamily(store),
  ]);
  const names = new HeaderNames(settings.headerPrefixes);
  const plans: PipelineParts['plans'] = {
    providerById,
    checkHost: (url, param) => dialer.check(url, param),
    isOwnKey: (text) => keys.find(text) !== undefined || tokens.isOurs(text),
    resolveConfig: (tenant, slug) => configs.find(tenant, slug),
    resolveProvider: (tenant, slug) => mappedProvider(replica.resolve(tenant, slug), tenant, secrets),
    peekProvider: (tenant, slug) => replica.resolve(tenant, slug),
    defaultConfig: (tenant) => configs.defaultOf(tenant),
    presetOf: (caller) => configPreset({ keys, directory }, caller),
  };
  const {
    pipeline,
    circuits,
    close: closePipeline,
  } = createPipeline({
    dialer,
    dialects: createDialects(codec),
    own: {
      environment: settings.secretEnvironment,
      identity: settings.secretOwnIdentity.includes('bedrock'),
    },
    models,
    names,
    state,
    cache: { bytes: settings.cacheBytes, secret: stores.hashSecret },
    onTrouble: (error, what) => log.error({ err: error }, what),
    onGuardrail: (verdict) => log.info(verdict, 'an asynchronous guardrail has ended'),
    plans,
    guardrails: {
      revision: () => guardrails.revision,
      find: (tenant, id) => guardrails.find(tenant, id),
      defaultsOf: guardrailDefaultsOf(directory),
    },
    keepsBodies: callBooks.keepsBodies,
    keepsWords: callBooks.keepsWords,
    keepsLate: callBooks.keepsLate,
    flights,
    targets: { hold: (order) => limits.targets.hold(order) },
    now: Date.now,
  });

  const diskFault = diskProbe({ folders: writtenFolders(settings) });
  let draining = false;
  const unready = async (): Promise<string | undefined> => {
    if (!validator.isWarm) return 'the rules on requests are not compiled yet';
    if (draining) return 'draining';
    if (!(await within(READY_WITHIN_MS, store.ready()))) return 'the document store does not answer';
    if (state && !(await within(READY_WITHIN_MS, state.ready()))) return 'the shared store does not answer';
    return diskFault();
  };
  const mailer =
    settings.smtpUrl === undefined ? undefined : createMailer(settings.smtpUrl, settings.mailFrom);
  // Without Redis limits are counted here alone, and what must outlive a crash is in the data folder.
  const limitState = state ?? (await openMemoryState({ dataDir: settings.dataDir }));
  const { alerts, close: closeAlerts } = await openBudgetAlerts({
    documents,
    directory,
    dialer,
    mailer,
    systemChanges: auditLog.systemChanges,
    flushGroups: () => limits.groups.flush(),
    state: limitState,
    source,
    now: Date.now,
    onTrouble: (error, what) => log.error({ err: error }, what),
  });
  const limits = await openLimits({
    watch: alerts,
    flights,
    state: limitState,
    documents,
    store: store.requestLog,
    prices,
    counter,
    leaseMs: settings.holdMs,
    source,
    organisations: () => directory.organisationIds(),
    now: Date.now,
    onTrouble: (error, what) => log.error({ err: error }, what),
  });
  await callBooks.follow({ state: limitState, mark: limits.mark });
  const usage = new UsageReader({
    state: limitState,
    alerts,
    now: Date.now,
    onTrouble: (error, what) => log.error({ err: error }, what),
  });
  const book = new PromptCatalogue(promptReplica, documents);
  const messageRules: PromptsDeps['messageRules'] = (desc, message) => check(validator, desc, message);
  const runs = promptRuns(pipeline, { book, messageRules });
  const flushBooks = async (): Promise<void> => {
    await limits.flush();
    await callBooks.flush();
  };
  const reRates = createReRateJobs({
    deps: () =>
      reRateDeps({
        log: store.requestLog,
        state: limitState,
        documents,
        prices,
        systemChanges: auditLog.systemChanges,
      }),
    flush: flushBooks,
    onTrouble: (error, what) => log.error({ err: error }, what),
  });
  const exports = await openExports(
    {
      stores,
      feed,
      documents,
      store: store.requestLog,
      organisations: () => organisationIds(store.maintenance),
      alone: settings.mongodbUri === undefined,
    },
    log,
  );
  const services = registrations(
    pipeline,
    {
      store: store.requestLog,
      flush: flushBooks,
      directory,
      documents,
      prices,
      blobs: stores.blobs,
      links: exports.links,
      keepsBodies: callBooks.keepsBodies,
      keepsMetadata: callBooks.keepsMetadata,
      keepDays: callBooks.keepDays,
      onUsageRefused: watch.onUsageRefused,
      now: Date.now,
    },
    {
      runs,
      book,
      messageRules,
      storedProvider: plans.resolveProvider,
      savedConfigs: configs,
      rules: {
        plans: pipeline.planner.deps,
        resolveProvider: plans.resolveProvider,
        guardrailFault: (tenant, id, event) => guardrailFault(documents, tenant, id, event),
      },
      documents,
      changes,
      directory,
      usage,
      groups: limits.groups,
      reRates,
      now: Date.now,
      replica,
      providerById,
      checkHost: (url, param) => dialer.check(url, param),
      secrets,
      secretUsers: [{ firstUserOf: (organisationId, { id }) => replica.userOfSecret(organisationId, id) }],
      secretReferences: secretReferences,
      prices,
      hasher,
      makeKey: (key) => makeKey(hasher, key, Date.now()),
      checkUri: jwksUriCheck(dialer, allow),
      publicUrl: () => settings.publicUrl ?? ownUrl(settings, address.port),
      mail:
        mailer &&
        ((mail) => {
          mailer.send(mail).catch((error) => log.error({ err: error }, 'a mail could not be sent'));
        }),
    },
    { documents, directory, flush: auditLog.flush, now: Date.now },
  );
  const prove = (req: IncomingMessage): void => listener.prove(req);
  const pace = new Pace(settings.bodyStallMs);
  const budget = new ReadingBudget({ totalBytes: settings.readingBytes, keyBytes: settings.keyReadingBytes });
  const rpc = createRpc({
    pace,
    budget,
    prove,
    services,
    validator,
    keys,
    limits: { ...limits, books, flights, keys, directory, foresee: runs.foresee },
    tokens,
    directory,
    capacity: metrics,
    observer: metrics,
    inFlight,
    spans: watch.spans,
    audit: auditLog.events,
    log,
    names,
    bodyLimit: settings.bodyLimit,
    ready: async () => (await unready()) === undefined,
  });
  const routes = createRouteTable(rpc.methods.services);
  watch.learn(routes);
  const link = linkToPrimary(metrics.read);
  const metricsDeps = {
    read: link?.metrics ?? (async () => [await metrics.read()]),
    token: settings.metricsToken,
    port: settings.metricsPort,
  };
  const dispatch = createEdge({
    rest: {
      routes,
      transport: rpc.transport,
      names,
      bodyLimit: settings.bodyLimit,
      identify: (call) => identify(call, { keys, tokens }),
      pace,
      budget,
      prove,
      full: inFlight.full,
    },
    pages: {
      unready,
      metrics: metricsDeps,
      openapi,
      docs: docs(),
      exportFile: exports.file,
    },
    rpc: rpc.handler,
    corsOrigins: settings.corsOrigins,
    log,
  });
  const listener = createListener({
    limits: { total: settings.maxConnections, perAddress: settings.maxConnectionsPerAddress },
    tls: settings.tls,
    dispatch,
  });
  const address = await listener
    .listen(settings.host, settings.port)
    .catch((error: unknown) => Promise.reject(listenError(error, settings)));
  const warm = validator.warm(rpc.methods.services);
  // Keys are made once the port is bound: a reader of the output can use them at once.
  const firstKeys = await ensureFirstKeys(keyDeps, tenancy, given);
  await forgetWhenUsed([firstKeys.admin, firstKeys.workspace], {
    documents,
    keys,
    now: Date.now,
    onTrouble: (error) => log.warn({ err: error }, 'a first key was used and is still kept to be shown'),
  });
  const metricsPort = await openMetricsPort(settings.host, metricsDeps);
  const control =
    settings.mongodbUri === undefined
      ? await openControl(
          settings,
          stores,
          log,
          ledgerCommands({
            logMaintenance: store.logMaintenance,
            requestLog: store.requestLog,
            maintenance: store.maintenance,
            documents,
            state: limitState,
            prices,
            flush: flushBooks,
            logDays: settings.logDays,
            systemChanges: auditLog.systemChanges,
            organisations: () => directory.organisationIds(),
          }),
        )
      : undefined;

  await warm;
  return {
    address,
    tenancy,
    firstKeys,
    rpc,
    requestLog,
    budget,
    link,
    metricsAddress: metricsPort?.address,
    async stop() {
      draining = true;
      await listener.drain(settings.drainMs);
      await closePipeline(PIPELINE_CLOSE_MS);
      await closeAlerts();
      await exports.close();
      await reRates.close();
      await dialer.close();
      await limits.close();
      // What the last calls crossed is written down, for the next start or another instance to send.
      await alerts.claimed();
      if (limitState !== state) await limitState.close();
      await callBooks.close();
      await watch.close();
      await auditLog.close();
      for (const stop of unfollow) stop();
      await metricsPort?.close();
      await control?.close();
      await stores.close();
    },
  };
}
