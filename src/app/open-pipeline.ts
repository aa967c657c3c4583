// What calls run through: plans, guardrails, the cache, routing and attempts.
import { configPreset } from '../access/config-preset.ts';
import { guardrailDefaultsOf } from '../access/guardrail-defaults.ts';
import { mappedProvider } from '../inference/mapped-provider.ts';
import { createPipeline, type PipelineParts } from '../inference/pipeline/create-pipeline.ts';
import { selectByModel } from '../inference/plan/by-model.ts';
import { providerById } from '../providers/catalog/registry.ts';
import { createDialects } from '../providers/dialects/registry.ts';
import { codec } from '../rest/codec.ts';
import { createSecrets } from '../secrets/secrets.ts';
import type { Base } from './base.ts';
import type { Identity } from './open-identity.ts';
import type { Ledger } from './open-ledger.ts';
import type { Replicas } from './open-replicas.ts';

export type OpenPipeline = ReturnType<typeof openPipeline>;

export function openPipeline(
  { settings, log, stores, onTrouble }: Base,
  { keys, tokens, sessions, grants, directory, dialer }: Identity,
  { aliases, configs, guardrails, providers, secretReferences }: Replicas,
  { callBooks, limits }: Ledger,
  { models, names }: Pick<PipelineParts, 'models' | 'names'>,
) {
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
  const plans: PipelineParts['plans'] = {
    providerById,
    checkHost: (url, param, localPort) => dialer.check(url, param, localPort),
    isOwnKey: (text) =>
      keys.find(text) !== undefined ||
      tokens.isOurs(text) ||
      sessions.isSecret(text) ||
      grants.isSecret(text),
    resolveConfig: (tenant, slug) => configs.find(tenant, slug),
    resolveAlias: (tenant, model) => {
      const alias = aliases.find(tenant, model);
      return alias && configs.find(tenant, alias.configId);
    },
    resolveProvider: (tenant, slug) => mappedProvider(providers.resolve(tenant, slug), tenant, secrets),
    peekProvider: (tenant, slug) => providers.resolve(tenant, slug),
    selectByModel: (tenant, model) =>
      selectByModel(
        providers.providersOf(tenant),
        model,
        (provider, name) =>
          models.find(provider, name) !== undefined ||
          callBooks.prices.find(provider, name, Date.now(), tenant.organisationId) !== undefined,
      ),
    slugsOf: (tenant) => providers.providersOf(tenant).map(({ slug }) => slug),
    configSlugs: (tenant) => configs.slugsOf(tenant),
    unsharedAs: (tenant, slug) => providers.unsharedAs(tenant, slug),
    defaultConfig: (tenant) => configs.defaultOf(tenant),
    presetOf: (caller) => configPreset({ keys, directory }, caller),
  };
  const opened = createPipeline({
    dialer,
    dialects: createDialects(codec),
    own: {
      environment: settings.secretEnvironment,
      identity: settings.secretOwnIdentity,
      fileAllow: settings.secretFileAllow,
    },
    models,
    names,
    state: stores.state,
    cache: { bytes: settings.cacheBytes, secret: stores.hashSecret },
    onTrouble,
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
    countTexts: (texts) => callBooks.counter.count(texts),
    flights: callBooks.flights,
    targets: limits.targets,
    raw: { paths: settings.rawPaths, bodyLimit: settings.bodyLimit },
    now: Date.now,
  });
  return { ...opened, plans, secrets };
}
