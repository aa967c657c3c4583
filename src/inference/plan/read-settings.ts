// The settings of one level of a config over what it inherits.
import type {
  RoutingBreaker,
  RoutingHedge,
  RoutingRetry,
} from '../../../gen/gateway/inference/v2/config_pb.ts';
import { GatewayError } from '../../lib/errors.ts';
import { nearProviders } from '../../providers/catalog/registry.ts';
import type { ClientCut, ProviderEntry } from '../../providers/dialect.ts';
import { type CacheSettings, parseCacheSettings } from '../cache/settings.ts';
import { configOptions, keepOptionsToStored } from './config-options.ts';
import { clip, type Fault, step } from './faults.ts';
import type { Inherited } from './inherited.ts';
import { joinParams } from './params.ts';
import type { ParseDeps } from './parse-deps.ts';
import type { BreakerPlan, HedgePlan, RetryPlan, TargetPlan } from './plan.ts';
import type { ConfigLevel } from './read-config.ts';
import { notForwardable } from './request-settings.ts';

/** Statuses that a retry is for when its config names none. */
export const RETRY_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504, 529]);
const DEFAULT_MINIMUM_REQUESTS = 5;
const DEFAULT_COOLDOWN_MS = 30_000;

/** Reads a level. `readEmbeddings` makes the target of a semantic cache. */
export function readSettings(
  level: ConfigLevel,
  above: Inherited,
  deps: ParseDeps,
  faults: Fault[],
  readEmbeddings: (json: object, path: string) => TargetPlan | undefined,
): Inherited {
  const { config, json, path } = level;
  const at = (name: string): string => step(path, name);
  const fault = (name: string, message: string): void => void faults.push({ path: at(name), message });
  const { provider, slug } = readProvider(level, above, deps, faults);
  if (config.apiKey !== undefined && deps.isOwnKey(config.apiKey))
    fault('api_key', "a key of this gateway is no provider's credential");
  if (config.customHost !== undefined)
    checkHost(config.customHost, at('custom_host'), provider?.localPort, deps, faults);
  checkForwarded(level, deps, faults);
  if (slug !== undefined) keepToStored(level, above, deps.mayOverride?.(slug) ?? false, faults);
  const guardrails = deps.readGuardrails(json, path, faults);
  if (path !== '') refuseDefaults(level, faults);
  return {
    provider,
    slug,
    passthrough: config.passthrough ?? above.passthrough,
    credential:
      config.apiKey === undefined
        ? above.credential
        : { value: config.apiKey, provider: provider?.id, path: at('api_key') },
    options: { ...above.options, ...configOptions(level, provider, faults) },
    customHost: config.customHost ?? above.customHost,
    strict: config.strictOpenAiCompliance ?? above.strict,
    timeoutMs: config.requestTimeout ?? above.timeoutMs,
    onClientCut: cutOf(config.onClientCut) ?? above.onClientCut,
    forwardHeaders: has(json, 'forward_headers') ? config.forwardHeaders : above.forwardHeaders,
    params: joinParams(above.params, config.defaultParams, config.overrideParams, config.dropParams),
    retry: config.retry === undefined ? above.retry : retryOf(config.retry),
    breaker:
      breakerOf(config.strategy?.cbConfig ?? config.cbConfig, at('cb_config'), faults) ?? above.breaker,
    cache: readCache(json, path, faults, readEmbeddings) ?? above.cache,
    guardrails: deps.joinGuardrails(above.guardrails, guardrails),
    deployments: has(json, 'deployments')
      ? config.deployments.map(({ deploymentId, alias, apiVersion, isDefault }) => ({
          id: deploymentId,
          alias,
          apiVersion,
          isDefault: isDefault === true,
        }))
      : above.deployments,
  };
}

export function hedgeOf(hedge: RoutingHedge | undefined): HedgePlan | undefined {
  return hedge && { afterMs: hedge.afterMs, max: hedge.max ?? 1 };
}

function readProvider(
  { config, path }: ConfigLevel,
  above: Inherited,
  { providerById, hasProvider, slugFault }: ParseDeps,
  faults: Fault[],
): { provider: ProviderEntry | undefined; slug: string | undefined } {
  const { provider: id, virtualKey } = config;
  const at = step(path, id === undefined ? 'virtual_key' : 'provider');
  if (id !== undefined && virtualKey !== undefined && id !== `@${virtualKey}` && id !== virtualKey)
    faults.push({ path: step(path, 'virtual_key'), message: 'selects another provider than `provider`' });
  const slug = id?.startsWith('@')
    ? id.slice(1)
    : id === undefined
      ? virtualKey?.replace(/^@/, '')
      : undefined;
  if (slug !== undefined) {
    if (!hasProvider(slug))
      faults.push({ path: at, message: slugFault?.(slug) ?? `there is no stored provider ${clip(slug)}` });
    return { provider: undefined, slug };
  }
  if (id === undefined) return { provider: above.provider, slug: above.slug };
  const provider = providerById(id);
  if (provider === undefined)
    faults.push({ path: at, message: `is not a known provider: ${clip(id)}${nearProviders(id)}` });
  return { provider, slug: undefined };
}

function checkHost(
  url: string,
  path: string,
  localPort: number | undefined,
  { checkHost: check }: ParseDeps,
  faults: Fault[],
): void {
  try {
    check(url, path, localPort);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const prefix = `${path}: `;
    const message = thrown.message.startsWith(prefix) ? thrown.message.slice(prefix.length) : thrown.message;
    faults.push({ path, message, reason: 'host_refused' });
  }
}

function cutOf(given: string | undefined): ClientCut | undefined {
  return given === 'drain' || given === 'cancel' ? given : undefined;
}

function retryOf({ attempts, onStatusCodes, useRetryAfterHeader }: RoutingRetry): RetryPlan {
  return {
    attempts: attempts ?? 0,
    statuses: onStatusCodes.length === 0 ? RETRY_STATUSES : new Set(onStatusCodes),
    useRetryAfter: useRetryAfterHeader === true,
  };
}

function breakerOf(
  given: RoutingBreaker | undefined,
  path: string,
  faults: Fault[],
): BreakerPlan | undefined {
  if (given === undefined) return undefined;
  const { failureThreshold, failureThresholdPercentage: percent, failureStatusCodes: codes } = given;
  if (failureThreshold === undefined && percent === undefined) {
    faults.push({ path, message: 'must have failure_threshold or failure_threshold_percentage' });
    return undefined;
  }
  return {
    failures: failureThreshold,
    percent,
    minimum: given.minimumRequests ?? DEFAULT_MINIMUM_REQUESTS,
    cooldownMs: given.cooldownInterval ?? DEFAULT_COOLDOWN_MS,
    statuses: codes.length === 0 ? undefined : new Set(codes),
  };
}

function readCache(
  json: Readonly<Record<string, unknown>>,
  path: string,
  faults: Fault[],
  readEmbeddings: (json: object, path: string) => TargetPlan | undefined,
): CacheSettings<TargetPlan> | undefined {
  const { cache } = json;
  if (cache === undefined || cache === null) return undefined;
  return parseCacheSettings<TargetPlan>(cache, step(path, 'cache'), faults, readEmbeddings);
}

/** A stored provider's credential goes to its own host and to no other that a config names. */
function keepToStored(
  { config, options, path }: ConfigLevel,
  above: Inherited,
  mayOverride: boolean,
  faults: Fault[],
): void {
  const fault = (name: string, message: string): void =>
    void faults.push({ path: step(path, name), message });
  if (config.apiKey !== undefined) fault('api_key', 'belongs to the stored provider');
  if ((config.customHost ?? above.customHost) !== undefined)
    fault('custom_host', 'belongs to the stored provider, whose credential goes nowhere else');
  if (!mayOverride) keepOptionsToStored(options, faults);
}

function checkForwarded({ config, path }: ConfigLevel, { ownsHeader }: ParseDeps, faults: Fault[]): void {
  for (const [i, name] of config.forwardHeaders.entries()) {
    const message = notForwardable(name, ownsHeader);
    if (message !== undefined) faults.push({ path: step(step(path, 'forward_headers'), i), message });
  }
}

function refuseDefaults({ json, path }: ConfigLevel, faults: Fault[]): void {
  for (const name of ['default_input_guardrails', 'default_output_guardrails']) {
    if (has(json, name)) faults.push({ path: step(path, name), message: 'belongs to the top of a config' });
  }
}

/** Whether a member is said, in either spelling. */
export function has(json: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = json[name] ?? json[camel(name)];
  return value !== undefined && value !== null;
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
