// The composition root: the only file that sees every room.
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { ApiKeysService } from '../gen/gateway/admin/v2/api_keys_pb.ts';
import { AuditLogsService } from '../gen/gateway/admin/v2/audit_logs_pb.ts';
import { CollectionsService } from '../gen/gateway/admin/v2/collections_pb.ts';
import { ConfigsService } from '../gen/gateway/admin/v2/configs_pb.ts';
import { DeploymentsService } from '../gen/gateway/admin/v2/deployments_pb.ts';
import { GuardrailsService } from '../gen/gateway/admin/v2/guardrails_pb.ts';
import { IntegrationsService } from '../gen/gateway/admin/v2/integrations_pb.ts';
import { JwtSettingsService } from '../gen/gateway/admin/v2/jwt_pb.ts';
import { LabelsService } from '../gen/gateway/admin/v2/labels_pb.ts';
import { LogsService } from '../gen/gateway/admin/v2/logs_pb.ts';
import { ModelPricingService } from '../gen/gateway/admin/v2/model_pricing_pb.ts';
import { OrganisationsService } from '../gen/gateway/admin/v2/organisations_pb.ts';
import { PromptPartialsService } from '../gen/gateway/admin/v2/prompt_partials_pb.ts';
import { PromptsService } from '../gen/gateway/admin/v2/prompts_pb.ts';
import { ProvidersService } from '../gen/gateway/admin/v2/providers_pb.ts';
import { RateLimitPoliciesService } from '../gen/gateway/admin/v2/rate_limit_policies_pb.ts';
import { SecretReferencesService } from '../gen/gateway/admin/v2/secret_references_pb.ts';
import { UsageLimitPoliciesService } from '../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import { UserInvitesService } from '../gen/gateway/admin/v2/user_invites_pb.ts';
import { UsersService } from '../gen/gateway/admin/v2/users_pb.ts';
import { VirtualKeysService } from '../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { WorkspaceExclusionsService } from '../gen/gateway/admin/v2/workspace_exclusions_pb.ts';
import { WorkspaceMembersService } from '../gen/gateway/admin/v2/workspace_members_pb.ts';
import { WorkspacesService } from '../gen/gateway/admin/v2/workspaces_pb.ts';
import { ChatService } from '../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionsService } from '../gen/gateway/inference/v2/completions_pb.ts';
import { ConfigExplanationService } from '../gen/gateway/inference/v2/config_pb.ts';
import { EmbeddingsService } from '../gen/gateway/inference/v2/embeddings_pb.ts';
import { ModelsService } from '../gen/gateway/inference/v2/models_pb.ts';
import { ModerationsService } from '../gen/gateway/inference/v2/moderations_pb.ts';
import { PromptCompletionsService } from '../gen/gateway/inference/v2/prompts_pb.ts';
import { ProxyService } from '../gen/gateway/inference/v2/proxy_pb.ts';
import { createAuditLog } from './access/audit/audit-log.ts';
import { authenticate, type Callers } from './access/authenticate.ts';
import { bootstrap, type Tenancy } from './access/bootstrap.ts';
import { accessCollections } from './access/collections.ts';
import { configPreset } from './access/config-preset.ts';
import { Directory } from './access/directory.ts';
import { encryptionKeyOf } from './access/encryption-key.ts';
import { openEncryptionKeys } from './access/encryption-keys.ts';
import { guardrailDefaultsOf } from './access/guardrail-defaults.ts';
import { jwksUriCheck } from './access/jwt/jwks-uri.ts';
import { Tokens } from './access/jwt/tokens.ts';
import { type KeyHasher, keyHasherOf } from './access/key-hash.ts';
import { KeyRing } from './access/key-ring.ts';
import { makeKey } from './access/keys.ts';
import { masterKey } from './access/master-key.ts';
import type { Principal } from './access/principal.ts';
import { ProviderShelf } from './access/providers/provider-shelf.ts';
import { type RotateCommandFacts, rotateDataKeys } from './access/rotate-command.ts';
import { followSnapshot, organisationIds } from './access/snapshot.ts';
import { type ApiKeysFacts, apiKeysService } from './admin/api-keys.ts';
import { type AuditLogsFacts, auditLogsService } from './admin/audit-logs.ts';
import { collectionsService } from './admin/collections.ts';
import { type ConfigsFacts, configsService } from './admin/configs.ts';
import { deploymentsService } from './admin/deployments.ts';
import { guardrailFault } from './admin/guardrail-usage.ts';
import { guardrailsService } from './admin/guardrails.ts';
import { integrationsService } from './admin/integrations.ts';
import { type JwtFacts, jwtSettingsService } from './admin/jwt.ts';
import { labelsService } from './admin/labels.ts';
import { logsService } from './admin/logs.ts';
import { type ModelPricingFacts, modelPricingService } from './admin/model-pricing.ts';
import { organisationsService } from './admin/organisations.ts';
import { promptPartialsService } from './admin/prompt-partials.ts';
import { promptsService } from './admin/prompts.ts';
import type { PromptsFacts } from './admin/prompts-facts.ts';
import type { ProviderFacts } from './admin/provider-facts.ts';
import { providersService } from './admin/providers.ts';
import { rateLimitPoliciesService } from './admin/rate-limit-policies.ts';
import { type SecretReferencesFacts, secretReferencesService } from './admin/secret-references.ts';
import { type UsageLimitPoliciesFacts, usageLimitPoliciesService } from './admin/usage-limit-policies.ts';
import { type InvitesFacts, userInvitesService } from './admin/user-invites.ts';
import { usersService } from './admin/users.ts';
import { virtualKeysService } from './admin/virtual-keys.ts';
import { workspaceExclusionsService } from './admin/workspace-exclusions.ts';
import { workspaceMembersService } from './admin/workspace-members.ts';
import { workspacesService } from './admin/workspaces.ts';
import { docs } from './edge/docs.ts';
import { createEdge } from './edge/edge.ts';
import { createListener } from './edge/listener.ts';
import { chatService } from './inference/chat.ts';
import { completionsService } from './inference/completions.ts';
import { embeddingsService } from './inference/embeddings.ts';
import { configExplanationService } from './inference/explain-config.ts';
import { mappedProvider } from './inference/mapped-provider.ts';
import { modelsService } from './inference/models.ts';
import { moderationsService } from './inference/moderations.ts';
import { createPipeline, type PipelineParts } from './inference/pipeline/create-pipeline.ts';
import type { Pipeline } from './inference/pipeline/pipeline.ts';
import { type PromptRuns, promptRuns } from './inference/prompts.ts';
import { proxyService } from './inference/proxy.ts';
import { Books } from './ledger/books.ts';
import { openLimits } from './ledger/limits/open.ts';
import { UsageReader } from './ledger/limits/usage.ts';
import { ledgerCollections } from './ledger/policies.ts';
import { priceCollections } from './ledger/prices/collections.ts';
import { OwnPrices } from './ledger/prices/own-prices.ts';
import { openPriceList } from './ledger/prices/price-list.ts';
import { createRequestLog, type RequestLog } from './ledger/request-log.ts';
import { createTokenCounter } from './ledger/tokens/counter.ts';
import { clientAddress } from './lib/client-address.ts';
import { type ControlSocket, listenControl } from './lib/control-socket.ts';
import { parseAllowList } from './lib/egress/allow-list.ts';
import { createDialer } from './lib/egress/dialer.ts';
import { type GatewayHeaders, HeaderNames } from './lib/gateway-headers.ts';
import { createMailer } from './lib/mailer.ts';
import { PromptBook } from './prompts/book.ts';
import { promptRoomCollections } from './prompts/collections.ts';
import { PromptShelf } from './prompts/shelf.ts';
import { openModelCatalogue } from './providers/catalog/models.ts';
import { providerById } from './providers/catalog/registry.ts';
import { createDialects } from './providers/dialects/registry.ts';
import { codec } from './rest/codec.ts';
import { createRouteTable } from './rest/routes.ts';
import type { Implementation } from './rpc/handler.ts';
import { check } from './rpc/interceptors/validate.ts';
import type { Registration } from './rpc/methods.ts';
import { createMetrics } from './rpc/metrics.ts';
import { createRpc, type Rpc } from './rpc/rpc.ts';
import { contractValidator } from './rpc/validator.ts';
import { savedCollections } from './saved/collections.ts';
import { Saved } from './saved/snapshot.ts';
import { secretCollections } from './secrets/collections.ts';
import { SecretReferences } from './secrets/references.ts';
import { createSecrets } from './secrets/secrets.ts';
import { type Settings, SettingsError } from './settings.ts';
import { type OpenFeed, openChangeFeed } from './store/change-feed.ts';
import type { Collection } from './store/collection.ts';
import type { DocumentStore } from './store/documents.ts';
import { encryptedDocuments } from './store/encrypted-documents.ts';
import { openMemoryState } from './store/memory/open.ts';
import { type MongoStore, openMongoStore } from './store/mongo/open.ts';
import { noticedDocuments } from './store/noticed-documents.ts';
import { openRedisState } from './store/redis/open.ts';
import type { SharedState } from './store/shared-state.ts';
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
const UNREADABLE_TOLD = 1000;
/** What runs beside calls may go on for this long when the gateway stops. */
const PIPELINE_CLOSE_MS = 2000;
/** A write that was encrypted before its key changed is made within its deadline, or not at all. */
const OWN_WRITES_MS = 6000;
const OPENAPI = new URL('../gen/openapi.json', import.meta.url);

/** All that the document store keeps; `sluice migrate` upgrades and copies these. */
export const COLLECTIONS: readonly Collection<object>[] = [
  ...accessCollections,
  ...ledgerCollections,
  ...savedCollections,
  ...promptRoomCollections,
  ...secretCollections,
  ...priceCollections,
];

/** What is kept, opened. */
export interface Stores {
  readonly store: SqliteStore | MongoStore;
  /** The store's documents: secrets open, and changes told. */
  readonly documents: DocumentStore;
  /** What documents have changed, by whichever instance. */
  readonly feed: OpenFeed;
  /** What rotating its encryption takes. */
  readonly rotation: Omit<RotateCommandFacts, 'say'>;
  /** What instances share; undefined when there is one. */
  readonly state: SharedState | undefined;
  readonly hasher: KeyHasher;
  /** 32 bytes that no change of the encryption key changes. */
  readonly hashSecret: Uint8Array;
  close(): Promise<void>;
}

/** Opens the stores that the settings name. @throws Error with a message for people when one cannot be used. */
export async function openStores(
  settings: Settings,
  log: Logger = pino({ level: settings.logLevel }, pino.destination(2)),
): Promise<Stores> {
  const { mongodbUri, redisUrl, dataDir } = settings;
  const encryptionKey = settings.encryptionKey ?? encryptionKeyOf(dataDir);
  const store =
    mongodbUri === undefined
      ? await openSqliteStore({ dataDir, collections: COLLECTIONS })
      : await openMongoStore({
          uri: mongodbUri,
          collections: COLLECTIONS,
          onPolling: (error) =>
            log.warn({ err: error }, 'MongoDB refuses change streams: changes are polled'),
        });
  const state = redisUrl === undefined ? undefined : openRedisState({ url: redisUrl });
  // A gateway starts while its Redis is away; one that is there gets the time to connect.
  if (state) await within(REDIS_CONNECT_MS, untilReady(state, REDIS_CONNECT_MS));
  const feed = openChangeFeed({
    state,
    watch: store.watch,
    onError: (error) => log.warn({ err: error }, 'a change was not told to the other instances at once'),
  });
  const close = async (): Promise<void> => {
    await feed.close();
    await state?.close();
    await store.close();
  };
  try {
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
      // Nobody else has an embedded store open.
      settleMs: mongodbUri === undefined ? 0 : undefined,
      reopen: open,
    };
    return {
      store,
      documents,
      feed,
      rotation,
      state,
      hasher: keyHasherOf(keys.hashSecret),
      hashSecret: keys.hashSecret,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts everything. @throws Error with a message for people when the start is not possible. */
export async function startApp(
  settings: Settings,
  log: Logger = pino({ level: settings.logLevel }),
): Promise<App> {
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

  const requestLog = createRequestLog({
    store: store.requestLog,
    onDrop: (count) =>
      log.error({ count }, 'request log: entries were dropped because the store does not take them'),
  });
  const prices = openPriceList([], ownPrices);
  const counter = createTokenCounter();
  const books = new Books({ prices, counter, log: requestLog });
  const metrics = createMetrics(settings.maxInFlight, books, [
    {
      name: 'sluice_request_log_buffered',
      help: 'Log entries not stored yet',
      read: () => requestLog.stats().buffered,
    },
    { name: 'sluice_request_log_failed', help: 'Log entries dropped', read: () => requestLog.stats().failed },
    {
      name: 'sluice_holds',
      help: 'Calls in flight that hold budgets or tokens',
      read: () => limits.holds.size(),
    },
    { name: 'sluice_audit_lost', help: 'Audit entries that could not be written', read: auditLog.lost },
  ]);
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
  const { pipeline, close: closePipeline } = createPipeline({
    dialer,
    dialects: createDialects(codec),
    models: openModelCatalogue(),
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
  const limits = await openLimits({
    state: limitState,
    documents,
    store: store.requestLog,
    prices,
    leaseMs: settings.holdMs,
    follow: { ...followed, organisations: () => organisationIds(store.maintenance) },
    organisations: () => directory.organisationIds(),
    now: Date.now,
    onTrouble: (error, what) => log.error({ err: error }, what),
  });
  const usage = new UsageReader({
    state: limitState,
    now: Date.now,
    onTrouble: (error, what) => log.error({ err: error }, what),
  });
  const book = new PromptBook(promptShelf, documents);
  const messageRules: PromptsFacts['messageRules'] = (desc, message) => check(validator, desc, message);
  const runs = promptRuns(pipeline, { book, messageRules });
  const flushBooks = async (): Promise<void> => {
    await limits.flush();
    await books.flush();
  };
  const services = registrations(
    pipeline,
    { store: store.requestLog, flush: flushBooks },
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
    limits: { ...limits, books, keys, directory, foresee: runs.foresee },
    tokens,
    directory,
    observer: metrics,
    audit: auditLog.events,
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
      isKnown: (headers) => isAuthentic(headers, { keys, tokens }),
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
  const control = settings.mongodbUri === undefined ? await openControl(settings, stores, log) : undefined;

  return {
    address,
    tenancy,
    rpc,
    requestLog,
    async stop() {
      draining = true;
      await listener.drain(settings.drainMs);
      await closePipeline(PIPELINE_CLOSE_MS);
      await dialer.close();
      await limits.close();
      if (limitState !== state) await limitState.close();
      await books.flush().catch(() => {});
      await requestLog.close();
      await counter.close();
      await auditLog.close();
      for (const stop of unfollow) stop();
      await control?.close();
      await stores.close();
    },
  };
}

/** Where an embedded gateway takes commands that only it can do, for it alone has its data open. */
export function controlPath(dataDir: string): string {
  return join(dataDir, 'control.sock');
}

async function openControl(
  { dataDir }: Settings,
  { rotation }: Stores,
  log: Logger,
): Promise<ControlSocket | undefined> {
  try {
    return await listenControl(controlPath(dataDir), {
      'rotate-encryption': (say, signal) =>
        rotateDataKeys({ ...rotation, settleMs: OWN_WRITES_MS, say }, signal),
    });
  } catch (error) {
    log.warn({ err: error }, 'commands for the running gateway are not taken: it has to be stopped for them');
    return undefined;
  }
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

/** Whether the headers carry a valid key or token; why not is the auth interceptor's to say. */
function isAuthentic(headers: GatewayHeaders, callers: Callers): boolean | Promise<boolean> {
  try {
    const { principal } = authenticate(headers, callers, Date.now());
    if (!(principal instanceof Promise)) return true;
    return principal.then(
      () => true,
      () => false,
    );
  } catch {
    return false;
  }
}

/** The person behind a principal, as the audit log names them. */
function userOf(directory: Directory, { organisationId, workspaceId, userId }: Principal) {
  const user = userId === undefined ? undefined : directory.user(organisationId, userId);
  if (user === undefined) return undefined;
  const role = workspaceId === undefined ? undefined : directory.roleIn(organisationId, workspaceId, user.id);
  return { name: user.body.email, role: role ?? user.body.role };
}

function registrations(
  pipeline: Pipeline,
  logs: Parameters<typeof logsService>[0],
  identity: InvitesFacts &
    PromptsFacts & { readonly runs: PromptRuns } & JwtFacts &
    ApiKeysFacts &
    UsageLimitPoliciesFacts &
    ConfigsFacts &
    ProviderFacts &
    SecretReferencesFacts &
    ModelPricingFacts,
  audit: AuditLogsFacts,
): Registration[] {
  const { models } = pipeline;
  const ownModels = { models, providersOf: identity.shelf.providersOf.bind(identity.shelf) };
  // A service's functions take their own messages; the methods they are registered under say which.
  const implement = (implementation: object): Implementation => implementation as Implementation;
  return [
    { service: ChatService, implementation: implement(chatService(pipeline)) },
    { service: CompletionsService, implementation: implement(completionsService(pipeline)) },
    { service: EmbeddingsService, implementation: implement(embeddingsService(pipeline)) },
    { service: ModerationsService, implementation: implement(moderationsService(pipeline)) },
    { service: ModelsService, implementation: implement(modelsService(pipeline, ownModels)) },
    { service: ConfigExplanationService, implementation: implement(configExplanationService(pipeline)) },
    {
      service: PromptCompletionsService,
      implementation: implement(identity.runs.service),
    },
    { service: ProxyService, implementation: implement(proxyService(pipeline)) },
    { service: LogsService, implementation: implement(logsService(logs)) },
    { service: ApiKeysService, implementation: implement(apiKeysService(identity)) },
    { service: CollectionsService, implementation: implement(collectionsService(identity)) },
    { service: LabelsService, implementation: implement(labelsService(identity)) },
    // Before the prompts: "partials" is none of them.
    { service: PromptPartialsService, implementation: implement(promptPartialsService(identity)) },
    { service: PromptsService, implementation: implement(promptsService(identity)) },
    { service: ConfigsService, implementation: implement(configsService(identity)) },
    { service: GuardrailsService, implementation: implement(guardrailsService(identity)) },
    { service: IntegrationsService, implementation: implement(integrationsService(identity)) },
    { service: ProvidersService, implementation: implement(providersService(identity)) },
    { service: VirtualKeysService, implementation: implement(virtualKeysService(identity)) },
    { service: AuditLogsService, implementation: implement(auditLogsService(audit)) },
    { service: OrganisationsService, implementation: implement(organisationsService(identity)) },
    { service: DeploymentsService, implementation: implement(deploymentsService(identity)) },
    { service: WorkspacesService, implementation: implement(workspacesService(identity)) },
    { service: WorkspaceExclusionsService, implementation: implement(workspaceExclusionsService(identity)) },
    { service: WorkspaceMembersService, implementation: implement(workspaceMembersService(identity)) },
    { service: RateLimitPoliciesService, implementation: implement(rateLimitPoliciesService(identity)) },
    { service: ModelPricingService, implementation: implement(modelPricingService(identity)) },
    { service: SecretReferencesService, implementation: implement(secretReferencesService(identity)) },
    { service: UsageLimitPoliciesService, implementation: implement(usageLimitPoliciesService(identity)) },
    { service: UsersService, implementation: implement(usersService(identity)) },
    { service: UserInvitesService, implementation: implement(userInvitesService(identity)) },
    { service: JwtSettingsService, implementation: implement(jwtSettingsService(identity)) },
  ];
}

/** Where this machine reaches the gateway. */
function ownUrl({ host, tls }: Settings, port: number): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
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
