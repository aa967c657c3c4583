// The composition root: it and the files of app/ are the only ones that see every room.
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { createAuditLog } from './access/audit/audit-log.ts';
import { bootstrap, type Tenancy } from './access/bootstrap.ts';
import { configPreset } from './access/config-preset.ts';
import { Directory } from './access/directory.ts';
import { guardrailDefaultsOf } from './access/guardrail-defaults.ts';
import { jwksUriCheck } from './access/jwt/jwks-uri.ts';
import { Tokens } from './access/jwt/tokens.ts';
import { KeyRing } from './access/key-ring.ts';
import { makeKey } from './access/keys.ts';
import { ProviderShelf } from './access/providers/provider-shelf.ts';
import { followSnapshot, organisationIds } from './access/snapshot.ts';
import { guardrailFault } from './admin/guardrail-usage.ts';
import type { PromptsFacts } from './admin/prompts-facts.ts';
import { ownUrl, readAllowList } from './app/addresses.ts';
import { openBudgetAlerts } from './app/alerts.ts';
import { openBodies } from './app/bodies.ts';
import { isAuthentic, userOf } from './app/callers.ts';
import { openControl } from './app/control.ts';
import { openExports } from './app/exports.ts';
import { openOwnFlights } from './app/flights.ts';
import { journalGauges } from './app/journal-gauges.ts';
import { readReRateOrder, reRateAll } from './app/re-rate.ts';
import { registrations } from './app/services.ts';
import { openStores } from './app/stores.ts';
import { openWatch } from './app/telemetry.ts';
import { readVerifyOrder, verifyLedger } from './app/verify.ts';
import { within } from './app/within.ts';
import { linkToPrimary, type WorkerLink } from './app/workers/link.ts';
import { docs } from './edge/docs.ts';
import { createEdge } from './edge/edge.ts';
import { createListener } from './edge/listener.ts';
import { mappedProvider } from './inference/mapped-provider.ts';
import { createPipeline, type PipelineParts } from './inference/pipeline/create-pipeline.ts';
import { promptRuns } from './inference/prompts.ts';
import { Books } from './ledger/books.ts';
import { lateHookRecord } from './ledger/late-hooks.ts';
import { openLimits } from './ledger/limits/open.ts';
import { UsageReader } from './ledger/limits/usage.ts';
import { OwnPrices } from './ledger/prices/own-prices.ts';
import { openPriceList } from './ledger/prices/price-list.ts';
import { createRequestLog, type RequestLog } from './ledger/request-log.ts';
import { keepRetention } from './ledger/retention.ts';
import { createTokenCounter } from './ledger/tokens/counter.ts';
import { clientAddress } from './lib/client-address.ts';
import { createDialer } from './lib/egress/dialer.ts';
import { HeaderNames } from './lib/gateway-headers.ts';
import { leanThreads } from './lib/lean-threads.ts';
import { createMailer } from './lib/mailer.ts';
import { PromptBook } from './prompts/book.ts';
import { PromptShelf } from './prompts/shelf.ts';
import { openModelCatalogue } from './providers/catalog/models.ts';
import { providerById } from './providers/catalog/registry.ts';
import { createDialects } from './providers/dialects/registry.ts';
import { codec } from './rest/codec.ts';
import { createRouteTable } from './rest/routes.ts';
import { check } from './rpc/interceptors/validate.ts';
import { createMetrics } from './rpc/metrics.ts';
import { createRpc, type Rpc } from './rpc/rpc.ts';
import { contractValidator } from './rpc/validator.ts';
import { Saved } from './saved/snapshot.ts';
import { SecretReferences } from './secrets/references.ts';
import { createSecrets } from './secrets/secrets.ts';
import type { Settings } from './settings.ts';
import { openMemoryState } from './store/memory/open.ts';
import { createLog } from './telemetry/log.ts';
import { storeFamily } from './telemetry/process-families.ts';

/** A running gateway. */
export interface App {
  readonly address: AddressInfo;
  readonly tenancy: Tenancy;
  readonly rpc: Rpc;
  readonly requestLog: RequestLog;
  /** To the process that started this one beside others; undefined: it is the only one. */
  readonly link: WorkerLink | undefined;
  /** Takes no more connections, lets open calls end within the grace period, flushes, closes. */
  stop(): Promise<void>;
}

const READY_WITHIN_MS = 2000;
/** How long a start waits for what killed processes left; then it goes on behind it. */
const REPLAY_MS = 5000;
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
  const tenancy = await bootstrap(
    { documents, hasher, now: Date.now },
    { adminKey: settings.adminApiKey, workspaceKey: settings.apiKey },
  );
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
  const saved = new Saved();
  const secretReferenceShelf = new SecretReferences();
  const ownPrices = new OwnPrices();
  const promptShelf = new PromptShelf();
  const validator = contractValidator();
  const shelf = new ProviderShelf({ providerById, now: Date.now });
  const followed = {
    feed,
    documents,
    onError: (error: unknown) => log.error({ err: error }, 'a change could not be read yet'),
  };
  const unfollow = await Promise.all([
    followSnapshot({ ...followed, maintenance: store.maintenance, snapshot: { keys, directory, tokens } }),
    saved.follow({ ...followed, organisations: () => organisationIds(store.maintenance) }),
    shelf.follow({ ...followed, organisations: () => organisationIds(store.maintenance) }),
    promptShelf.follow({ ...followed, organisations: () => organisationIds(store.maintenance) }),
    secretReferenceShelf.follow({ ...followed, organisations: () => organisationIds(store.maintenance) }),
    ownPrices.follow({ ...followed, organisations: () => organisationIds(store.maintenance) }),
  ]);
  const { changes } = auditLog;
  const secrets = createSecrets({
    dialer,
    environment: settings.secretEnvironment,
    now: Date.now,
    references: secretReferenceShelf,
    envAllow: settings.secretEnvAllow,
    fileAllow: settings.secretFileAllow,
    ownIdentity: settings.secretOwnIdentity,
    lifetimeMs: settings.secretTtlMs,
    onTrouble: (error) => log.warn({ err: error }, 'a secret could not be read from its manager'),
  });

  const opened = openOwnFlights(settings, log);
  const flights = opened?.flights;
  const requestLog = createRequestLog({
    store: store.requestLog,
    ...(flights && {
      spill: (position) => flights.spill(position),
      onPassed: (position) => flights.passed(position),
    }),
    onDrop: (count) =>
      log.error({ count }, 'request log: entries were dropped because the store does not take them'),
  });
  const prices = openPriceList([], ownPrices);
  const counter = createTokenCounter();
  const bodyLog = openBodies(store.requestLog, log);
  const bodies = settings.logBodies === 'full' ? bodyLog : undefined;
  const models = openModelCatalogue();
  const watch = await openWatch(settings, models, log);
  const keepDays = (workspaceId: string | undefined): number | undefined =>
    fewer(directory.logRules(workspaceId)?.keepDays, settings.logDays);
  const keepsMetadata = settings.logBodies !== 'none';
  const books = new Books({
    ...{ prices, counter, log: requestLog, flights, bodies, onEntry: watch.onEntry },
    ...{ keepDays, keepsMetadata },
  });
  const keepsBodies = (workspaceId: string | undefined): boolean =>
    bodies !== undefined && directory.logRules(workspaceId)?.bodies !== false;
  const endRetention = keepRetention({
    store: store.requestLog,
    retention: settings,
    now: Date.now,
    onDropped: (buckets) => log.info({ buckets }, 'the log of days that are over was dropped'),
    onTrouble: (error) => log.error({ err: error }, 'the log of days that are over could not be dropped yet'),
  });
  const storesUp = {
    documents: () => within(READY_WITHIN_MS, store.ready()),
    ...(state && { shared: () => within(READY_WITHIN_MS, state.ready()) }),
  };
  const metrics = createMetrics(
    settings.maxInFlight,
    books,
    [
      {
        name: 'sluice_request_log_buffered',
        help: 'Log entries not stored yet',
        read: () => requestLog.stats().buffered,
      },
      {
        name: 'sluice_request_log_lag_seconds',
        help: 'How long the oldest log entry that is not stored yet has waited',
        read: () => requestLog.lagMs() / 1000,
      },
      {
        name: 'sluice_log_bodies_dropped_total',
        help: 'Calls whose bodies were not kept',
        type: 'counter',
        read: () => bodyLog.dropped(),
      },
      {
        name: 'sluice_request_log_dropped_total',
        help: 'Log entries dropped',
        type: 'counter',
        read: () => requestLog.stats().failed + (flights?.lost ?? 0),
      },
      ...journalGauges(requestLog, flights, () => limits.waiting()),
      {
        name: 'sluice_holds',
        help: 'Calls in flight that hold budgets or tokens',
        read: () => limits.holds.size(),
      },
      {
        name: 'sluice_audit_lost_total',
        help: 'Audit entries that could not be written',
        type: 'counter',
        read: auditLog.lost,
      },
      {
        name: 'sluice_circuit_refusals_total',
        help: 'Calls of targets that a circuit breaker kept back',
        type: 'counter',
        read: () => circuits.refused(),
      },
      {
        name: 'sluice_circuits_open',
        help: 'Circuit breakers that keep calls back, as far as this process knows',
        read: () => circuits.open(),
      },
    ],
    [...watch.families, storeFamily(storesUp)],
  );
  const names = new HeaderNames(settings.headerPrefixes);
  const plans: PipelineParts['plans'] = {
    providerById,
    checkHost: (url, param) => dialer.check(url, param),
    isOwnKey: (text) => keys.find(text) !== undefined || tokens.isOurs(text),
    resolveConfig: (tenant, slug) => saved.configs.find(tenant, slug),
    resolveProvider: (tenant, slug) => mappedProvider(shelf.resolve(tenant, slug), tenant, secrets.resolve),
    peekProvider: (tenant, slug) => shelf.resolve(tenant, slug),
    defaultConfig: (tenant) => saved.configs.defaultOf(tenant),
    presetOf: (caller) => configPreset({ keys, directory }, caller),
  };
  const {
    pipeline,
    circuits,
    close: closePipeline,
  } = createPipeline({
    dialer,
    dialects: createDialects(codec),
    models,
    names,
    state,
    cache: { bytes: settings.cacheBytes, secret: stores.hashSecret },
    onTrouble: (error, what) => log.error({ err: error }, what),
    onGuardrail: (verdict) => log.info(verdict, 'an asynchronous guardrail has ended'),
    plans,
    guardrails: {
      revision: () => saved.guardrails.revision,
      find: (tenant, id) => saved.guardrails.find(tenant, id),
      defaultsOf: guardrailDefaultsOf(directory),
    },
    keepsBodies,
    keepsLate: (late) => {
      bodyLog.keep(lateHookRecord(late, keepDays(late.entry.workspaceId)));
    },
    flights,
    targets: { hold: (order) => limits.targets.hold(order) },
    now: Date.now,
  });

  let draining = false;
  const unready = async (): Promise<string | undefined> => {
    if (draining) return 'draining';
    if (!(await within(READY_WITHIN_MS, store.ready()))) return 'the document store does not answer';
    if (state && !(await within(READY_WITHIN_MS, state.ready()))) return 'the shared store does not answer';
    return undefined;
  };
  const mailer =
    settings.smtpUrl === undefined ? undefined : createMailer(settings.smtpUrl, settings.mailFrom);
  // Without Redis limits are counted here alone, and what must outlive a crash is in the data folder.
  const limitState = state ?? (await openMemoryState({ dataDir: settings.dataDir }));
  const { alerts, close: closeAlerts } = await openBudgetAlerts({
    ...{ documents, directory, dialer, mailer, systemChanges: auditLog.systemChanges },
    flushGroups: () => limits.groups.flush(),
    state: limitState,
    follow: { ...followed, organisations: () => organisationIds(store.maintenance) },
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
    follow: { ...followed, organisations: () => organisationIds(store.maintenance) },
    organisations: () => directory.organisationIds(),
    now: Date.now,
    onTrouble: (error, what) => log.error({ err: error }, what),
  });
  const ledger = { store: store.requestLog, state: limitState, mark: limits.mark, prices };
  if (opened) await within(REPLAY_MS, opened.follow(ledger, requestLog));
  const usage = new UsageReader({
    state: limitState,
    alerts,
    now: Date.now,
    onTrouble: (error, what) => log.error({ err: error }, what),
  });
  const book = new PromptBook(promptShelf, documents);
  const messageRules: PromptsFacts['messageRules'] = (desc, message) => check(validator, desc, message);
  const runs = promptRuns(pipeline, { book, messageRules });
  const flushBooks = async (): Promise<void> => {
    await limits.flush();
    await books.flush();
    await bodyLog.flush();
  };
  const exports = await openExports(
    {
      ...{ stores, feed, documents, store: store.requestLog },
      organisations: () => organisationIds(store.maintenance),
      alone: settings.mongodbUri === undefined,
    },
    log,
  );
  const services = registrations(
    pipeline,
    {
      ...{ store: store.requestLog, flush: flushBooks, directory, documents, prices },
      ...{ blobs: stores.blobs, links: exports.links },
      ...{ keepsBodies, keepsMetadata, keepDays },
      now: Date.now,
    },
    {
      runs,
      book,
      messageRules,
      storedProvider: plans.resolveProvider,
      savedConfigs: saved.configs,
      rules: {
        plans: pipeline.planner.facts,
        resolveProvider: plans.resolveProvider,
        guardrailFault: (tenant, id, event) => guardrailFault(documents, tenant, id, event),
      },
      documents,
      changes,
      directory,
      usage,
      groups: limits.groups,
      now: Date.now,
      shelf,
      providerById,
      checkHost: (url, param) => dialer.check(url, param),
      secrets,
      secretUsers: [{ firstUserOf: (organisationId, { id }) => shelf.userOfSecret(organisationId, id) }],
      secretReferences: secretReferenceShelf,
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
  const rpc = createRpc({
    services,
    validator,
    keys,
    limits: { ...limits, books, flights, keys, directory, foresee: runs.foresee },
    tokens,
    directory,
    observer: metrics,
    spans: watch.spans,
    audit: auditLog.events,
    log,
    names,
    bodyLimit: settings.bodyLimit,
    ready: async () => (await unready()) === undefined,
  });
  const routes = createRouteTable(rpc.methods.services);
  watch.learn(routes);
  const link = linkToPrimary(metrics.render);
  const edge = createEdge({
    rest: {
      routes,
      transport: rpc.transport,
      names,
      bodyLimit: settings.bodyLimit,
      isKnown: (headers) => isAuthentic(headers, { keys, tokens }),
      full: metrics.full,
    },
    pages: {
      unready,
      metrics: link?.metrics ?? metrics.render,
      openapi,
      docs: docs(),
      exportFile: exports.file,
    },
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
  const control =
    settings.mongodbUri === undefined
      ? await openControl(settings, stores, log, {
          verify: (say, _, argument) => {
            const { logMaintenance, requestLog, maintenance } = store;
            const { logDays } = settings;
            const of = { logMaintenance, requestLog, maintenance };
            const parts = { ...of, state: limitState, documents, logDays, say, flush: flushBooks };
            return verifyLedger(parts, readVerifyOrder(JSON.parse(argument)));
          },
          're-rate': async (say, signal, argument) => {
            const order = readReRateOrder(JSON.parse(argument), Date.now());
            const parts = {
              ...{ log: store.requestLog, state: limitState, documents, prices, say },
              ...{ systemChanges: auditLog.systemChanges, flush: flushBooks },
              organisations: () => directory.organisationIds(),
            };
            await reRateAll(parts, order, signal);
            return true;
          },
        })
      : undefined;

  return {
    address,
    tenancy,
    rpc,
    requestLog,
    link,
    async stop() {
      draining = true;
      await listener.drain(settings.drainMs);
      await closePipeline(PIPELINE_CLOSE_MS);
      await closeAlerts();
      await exports.close();
      await dialer.close();
      await limits.close();
      // What the last calls crossed is written down, for the next start or another instance to send.
      await alerts.claimed();
      if (limitState !== state) await limitState.close();
      await books.drained();
      await books.flush().catch(() => {});
      await bodyLog.close();
      await endRetention();
      await requestLog.close();
      await opened?.close();
      await counter.close();
      await watch.close();
      await auditLog.close();
      for (const stop of unfollow) stop();
      await control?.close();
      await stores.close();
    },
  };
}

/** The days that a workspace says, where they are fewer than all others'. */
function fewer(own: number | undefined, all: number): number | undefined {
  return own === undefined || own >= all ? undefined : own;
}
