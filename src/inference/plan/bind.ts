// A plan's target for one call: its provider, its credential and its headers, all of them known.
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { bringsCredential } from '../../providers/auth/index.ts';
import type { ProviderEntry, ProviderOptions, Target } from '../../providers/dialect.ts';
import { locate } from '../../providers/locate.ts';
import { checkOptions } from '../../providers/options/check.ts';
import { KEY_WAYS, keyError } from '../../providers/options/named.ts';
import { isHarmlessName } from './config-options.ts';
import { headerOptions } from './header-options.ts';
import type { TargetPlan } from './plan.ts';
import type { StoredProvider } from './plan-deps.ts';
import { forwardedHeaders, secretCheck } from './request-settings.ts';
import { deploymentOptions, type StoredReach, sameHost, storedReach } from './stored-target.ts';

/** A target that can be called. */
export interface BoundTarget {
  readonly plan: TargetPlan;
  readonly target: Target;
  /** Flat pairs of the caller's headers that go on to the provider. */
  readonly forwarded: readonly string[];
  /** The model to ask for in place of the request's: "@slug/model" without its slug. */
  readonly model: string | undefined;
  /** What a stored provider says of the call. */
  readonly stored?: StoredReach | undefined;
  /** Whether the caller's credential was meant for another target: then no header may bring it here. */
  readonly stranger: boolean;
}

/** The provider that a call selects by its headers or its model. */
export interface Selected {
  readonly entry: ProviderEntry;
  /** A stored provider's own settings; undefined: the caller's. */
  readonly stored: Omit<StoredProvider, 'entry'> | undefined;
  readonly customHost: string | undefined;
  readonly model: string | undefined;
}

/** What binding reads of a call. */
export interface BindingInput {
  readonly headers: GatewayHeaders;
  readonly presentedKey: string | undefined;
  readonly isOwnKey: (text: string) => boolean;
  /** Names of the header forward-headers. */
  readonly names: readonly string[];
  /** The caller's. */
  readonly credential: string | undefined;
  /** Whether it was meant for another target. */
  readonly stranger: boolean;
  /** The model that the request asks for, without the slug of a stored provider; undefined: it has none. */
  readonly bare?: string | undefined;
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
  input: BindingInput,
  model: string | undefined,
): BoundTarget {
  const { headers, names, credential, stranger } = input;
  const entry = plan.provider ?? selected?.entry;
  if (entry === undefined) throw new Error(`no provider for ${plan.path}`);
  const stored = selected?.stored;
  const apiKey = plan.apiKey ?? (stored ? stored.apiKey : stranger ? undefined : credential);
  if (stored && plan.customHost !== undefined) throw hostOfStored(plan);
  const reach = stored && storedReach(entry, stored, plan, selected?.model ?? model);
  const customHost = reach ? reach.customHost : (plan.customHost ?? selected?.customHost);
  const options = optionsFor(plan, entry, reach, headers, model);
  if (
    apiKey === undefined &&
    !entry.keyless &&
    customHost === undefined &&
    !bringsCredential(entry, options)
  ) {
    if (stored)
      throw fail(
        'forbidden',
        `${entry.id} needs a credential, and the stored provider has none that can be used`,
      );
    // Options may bring the credential: where they are missing, they are what to give.
    checkOptions(entry, options, undefined, false);
    if (!input.only) throw credentialMissing(plan, entry.id);
    throw keyError(`${entry.id} needs a credential`);
  }
  const own = plan.forwardHeaders;
  const all = own.length === 0 ? names : [...names, ...own];
  const target: Target = {
    provider: entry,
    apiKey,
    options,
    customHost,
    strict: plan.strict ?? headers.get('strict-open-ai-compliance') !== 'false',
  };
  const fault = stored?.hostFault?.(locate(target, undefined, undefined).origin, ownOrigin(target));
  if (fault !== undefined) throw fault;
  return {
    plan,
    target,
    // The operator's headers come last: they replace the caller's.
    forwarded: joined(
      all.length === 0
        ? NONE
        : forwardedHeaders(
            all,
            headers,
            secretCheck(input.presentedKey, input.isOwnKey, stranger ? credential : undefined),
          ),
      reach?.headers ?? NONE,
    ),
    model: modelToSet(plan, plan.provider === undefined ? selected?.model : input.bare),
    stored: reach,
    stranger,
  };
}

/** What is asked for in place of the request's model; one that the config sets counts, without the target's own slug. */
function modelToSet({ params, slug }: TargetPlan, named: string | undefined): string | undefined {
  const model = params?.overrides.model;
  if (typeof model !== 'string') return named;
  return slug !== undefined && model.startsWith(`@${slug}/`) ? model.slice(slug.length + 2) : undefined;
}

function ownOrigin(target: Target): string | undefined {
  try {
    return locate({ ...target, customHost: undefined }, undefined, undefined).origin;
  } catch {
    // It has none, or the options that would make it are absent.
    return undefined;
  }
}

/** The error of a target that has no credential. */
export function credentialMissing({ path }: TargetPlan, id: string): GatewayError {
  const field = `${path.slice('config.'.length)}.api_key`.replace(/^\./, '');
  const message = `is required: ${id} needs a credential (${KEY_WAYS})`;
  return fail('config_invalid', `invalid config: ${field}: ${message}`, {
    param: field,
    violations: [{ field, rule: 'config', message }],
  });
}

/** A stored provider's credential never goes to a host that a caller names. */
function hostOfStored({ path }: TargetPlan, name = 'custom_host'): GatewayError {
  const field = `${path.slice('config.'.length)}.${name}`.replace(/^\./, '');
  return fail(
    'selection_conflict',
    `${field}: belongs to the stored provider, whose credential goes nowhere else`,
    {
      param: field,
    },
  );
}

const NONE: readonly string[] = Object.freeze([]);

function joined(first: readonly string[], then: readonly string[]): readonly string[] {
  if (then.length === 0) return first;
  return first.length === 0 ? then : [...first, ...then];
}

function optionsFor(
  plan: TargetPlan,
  entry: ProviderEntry,
  stored: StoredReach | undefined,
  headers: GatewayHeaders,
  model: string | undefined,
): ProviderOptions {
  // Headers are the caller's: they say nothing of a provider that the control plane keeps, and of a target that
  // brings its own credential nothing that could lead it elsewhere.
  const base = stored?.options ?? headerOptions(entry, headers, plan.apiKey !== undefined);
  const { options, deployments } = plan;
  const deployment =
    deployments.length === 0
      ? undefined
      : (deployments.find(({ alias }) => alias !== undefined && alias === model) ??
        deployments.find(({ isDefault }) => isDefault));
  if (deployment === undefined && isEmpty(options)) return base;
  const bound: Record<string, string> = { ...base };
  for (const [name, value] of Object.entries(options)) {
    // A stored provider's credential goes where its own settings say.
    if (stored === undefined || stored.mayOverride || isHarmlessName(name)) bound[name] = value;
  }
  if (deployment !== undefined) Object.assign(bound, deploymentOptions(entry, deployment));
  if (stored?.mayOverride && !sameHost(entry, base, bound, stored.customHost !== undefined))
    throw hostOfStored(plan, 'provider');
  return bound;
}

function isEmpty(options: ProviderOptions): boolean {
  for (const _ in options) return false;
  return true;
}
