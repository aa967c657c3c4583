// A plan's target for one call: its provider, its credential and its headers, all of them known.
import { fail, type GatewayError, invalidHeader } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import type { ProviderEntry, ProviderOptions, Target } from '../../providers/dialect.ts';
import type { TargetPlan } from './plan.ts';
import { forwardedHeaders, ownKeyCheck } from './request-settings.ts';

/** A target that can be called. */
export interface BoundTarget {
  readonly plan: TargetPlan;
  readonly target: Target;
  /** Flat pairs of the caller's headers that go on to the provider. */
  readonly forwarded: readonly string[];
  /** The model to ask for in place of the request's: "@slug/model" without its slug. */
  readonly model: string | undefined;
}

/** The provider that a call selects by its headers or its model. */
export interface Selected {
  readonly entry: ProviderEntry;
  /** A stored provider's own settings; undefined: the caller's. */
  readonly stored:
    | {
        readonly apiKey: string | undefined;
        readonly options: ProviderOptions;
        readonly customHost: string | undefined;
      }
    | undefined;
  readonly customHost: string | undefined;
  readonly model: string | undefined;
}

/** What binding reads of a call. */
export interface BindingFacts {
  readonly headers: GatewayHeaders;
  readonly presentedKey: string | undefined;
  readonly isOwnKey: (text: string) => boolean;
  /** Names of the header forward-headers. */
  readonly names: readonly string[];
  /** The caller's credential, where this target may have it. */
  readonly credential: string | undefined;
  /** Whether the target is the only one: then the error names the header. */
  readonly only: boolean;
}

/**
 * Binds a target. `selected` is the stored provider that the plan names, or what the call selects where the plan
 * names none. @throws GatewayError of status 400 naming what is missing.
 */
export function bindTarget(
  plan: TargetPlan,
  selected: Selected | undefined,
  facts: BindingFacts,
  model: string | undefined,
): BoundTarget {
  const { headers, names } = facts;
  const entry = plan.provider ?? selected?.entry;
  if (entry === undefined) throw new Error(`no provider for ${plan.path}`);
  const stored = selected?.stored;
  const apiKey = plan.apiKey ?? (stored ? stored.apiKey : facts.credential);
  const customHost = plan.customHost ?? (stored ? stored.customHost : selected?.customHost);
  if (apiKey === undefined && !entry.keyless && customHost === undefined) {
    if (!facts.only) throw credentialMissing(plan, entry.id);
    throw invalidHeader('authorization', `${entry.id} needs a credential: Authorization: Bearer <key>`);
  }
  const own = plan.forwardHeaders;
  const all = own.length === 0 ? names : [...names, ...own];
  return {
    plan,
    target: {
      provider: entry,
      apiKey,
      options: optionsFor(plan, entry, stored?.options, headers, model),
      customHost,
      strict: plan.strict ?? headers.get('strict-open-ai-compliance') !== 'false',
    },
    forwarded:
      all.length === 0
        ? NONE
        : forwardedHeaders(all, headers, ownKeyCheck(facts.presentedKey, facts.isOwnKey)),
    model: plan.provider === undefined ? selected?.model : undefined,
  };
}

/** The error of a target that has no credential. */
export function credentialMissing({ path }: TargetPlan, id: string): GatewayError {
  const field = `${path.slice('config.'.length)}.api_key`.replace(/^\./, '');
  return fail('config_invalid', `invalid config: ${field}: is required: ${id} needs a credential`, {
    param: field,
    violations: [{ field, rule: 'config', message: `is required: ${id} needs a credential` }],
  });
}

const NONE: readonly string[] = Object.freeze([]);
const NO_OPTIONS: ProviderOptions = Object.freeze({});

function optionsFor(
  plan: TargetPlan,
  entry: ProviderEntry,
  stored: ProviderOptions | undefined,
  headers: GatewayHeaders,
  model: string | undefined,
): ProviderOptions {
  // Headers are the caller's: they say nothing of a provider that the control plane keeps.
  const base = stored ?? optionsOf(entry, headers);
  const { options, deployments } = plan;
  const deployment =
    deployments.length === 0
      ? undefined
      : (deployments.find(({ alias }) => alias !== undefined && alias === model) ??
        deployments.find(({ isDefault }) => isDefault));
  if (deployment === undefined && isEmpty(options)) return base;
  const bound: Record<string, string> = { ...base, ...options };
  if (deployment !== undefined) {
    bound.azure_deployment_id = deployment.id;
    if (deployment.apiVersion !== undefined) bound.azure_api_version = deployment.apiVersion;
  }
  return bound;
}

function isEmpty(options: ProviderOptions): boolean {
  for (const _ in options) return false;
  return true;
}

interface OptionHeader {
  readonly option: string;
  readonly header: string;
}

const optionHeaders = new WeakMap<ProviderEntry, readonly OptionHeader[]>();

/** The provider's options that headers set: `azure_api_version` is x-gateway-azure-api-version. */
function optionsOf(entry: ProviderEntry, headers: GatewayHeaders): ProviderOptions {
  let known = optionHeaders.get(entry);
  if (known === undefined) {
    known = (entry.options ?? []).map((option) => ({ option, header: option.replaceAll('_', '-') }));
    optionHeaders.set(entry, known);
  }
  let options: Record<string, string> | undefined;
  for (const { option, header } of known) {
    const value = headers.get(header) ?? headers.plain(header);
    if (value === undefined) continue;
    options ??= {};
    options[option] = value;
  }
  return options ?? NO_OPTIONS;
}
