// What a stored provider says of one call: where it goes, with which headers and options, and which models it lets
// through. None of it is the caller's to say.

import type { Network } from '../../lib/egress/network.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { theNearest } from '../../lib/nearest-names.ts';
import { configOption } from '../../providers/catalog/known-options.ts';
import type { ProviderEntry, ProviderOptions } from '../../providers/dialect.ts';
import { originOf } from '../../providers/locate.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import type { TargetPlan } from './plan.ts';
import type { StoredDeployment, StoredLimits, StoredModels, StoredProvider } from './plan-deps.ts';

/** What is kept of a bound target's stored provider. */
export interface StoredReach {
  /** Of the stored provider, and of the integration that it goes by. */
  readonly id: string;
  readonly integrationId: string | undefined;
  readonly slug: string | undefined;
  /** Flat pairs of the operator's headers. */
  readonly headers: readonly string[];
  readonly models: StoredModels | undefined;
  readonly pricing: StoredProvider['pricing'];
  readonly limits: readonly StoredLimits[] | undefined;
  /** The model of the deployment that answers; undefined: the one that is asked for. */
  readonly model: string | undefined;
  readonly options: ProviderOptions;
  readonly customHost: string | undefined;
  readonly mayOverride: boolean;
  readonly rawPaths: StoredProvider['rawPaths'];
  /** The way out of its integration, for its own calls alone. */
  readonly network: Network | undefined;
}

type Stored = Omit<StoredProvider, 'entry'>;

const NONE: readonly string[] = Object.freeze([]);
/**
 * @param model the request's
 * @throws GatewayError why the stored provider may not be called; validation_failed where none of its deployments is
 * meant; forbidden where a config would choose a model past what its integration allows.
 */
export function storedReach(
  entry: ProviderEntry,
  stored: Stored,
  plan: TargetPlan,
  model: string | undefined,
): StoredReach {
  const refused = stored.refused?.();
  if (refused !== undefined) throw refused;
  const { models, deployments = [] } = stored;
  if (models?.restricted) checkChoice(plan);
  const override = plan.params?.overrides.model;
  const asked = typeof override === 'string' ? override : model;
  const deployment = deploymentFor(deployments, asked, entry, plan);
  const host = asked === undefined ? undefined : models?.hostOf(asked);
  const own = asked === undefined ? NONE : (models?.headersOf(asked) ?? NONE);
  const headers = stored.headers ?? NONE;
  return {
    id: stored.id ?? '',
    slug: stored.slug,
    integrationId: stored.integrationId,
    headers: own.length === 0 ? headers : [...headers, ...own],
    models,
    pricing: stored.pricing,
    limits: stored.limits,
    model: deployment?.model,
    options:
      deployment === undefined
        ? stored.options
        : { ...stored.options, ...deploymentOptions(entry, deployment) },
    customHost: host ?? stored.customHost,
    mayOverride: stored.mayOverride ?? false,
    rawPaths: stored.rawPaths,
    network: stored.network,
  };
}

/** Whether the options of a config leave the credential's way as it is. */
export function sameHost(
  entry: ProviderEntry,
  own: ProviderOptions,
  changed: ProviderOptions,
  hosted: boolean,
): boolean {
  // With a custom host, that is where both go.
  return hosted || own === changed || originOf(entry, own) === originOf(entry, changed);
}

function checkChoice({ options, deployments, path }: TargetPlan): void {
  const named =
    deployments.length > 0
      ? 'deployments'
      : Object.keys(options).find((name) => configOption(name)?.effect === 'model');
  if (named === undefined) return;
  const field = `${path.slice('config.'.length)}.${named}`.replace(/^\./, '');
  throw fail('forbidden', `${field}: the integration of this stored provider decides over its models`, {
    param: field,
  });
}

/** The deployment for a model: by its alias, the model that it serves, its name; else the one for all others. */
function deploymentFor(
  deployments: readonly StoredDeployment[],
  model: string | undefined,
  entry: ProviderEntry,
  { options, deployments: configured }: TargetPlan,
): StoredDeployment | undefined {
  if (deployments.length === 0 || configured.length > 0) return undefined;
  const id = optionsOf(entry).deployments?.deployment?.id;
  if (id !== undefined && options[id] !== undefined) return undefined;
  const found =
    deployments.find(({ alias }) => alias !== undefined && alias === model) ??
    deployments.find((one) => one.model !== undefined && one.model === model) ??
    deployments.find(({ id }) => id === model) ??
    deployments.find(({ isDefault }) => isDefault) ??
    (deployments.length === 1 ? deployments[0] : undefined);
  if (found === undefined && model !== undefined && model !== '') throw noDeployment(model, deployments);
  return found;
}

function noDeployment(model: string, deployments: readonly StoredDeployment[]): GatewayError {
  const names = deployments.map(({ alias, model: served, id }) => alias ?? served ?? id);
  const message = `names no deployment of the stored provider${theNearest(model, names)}`;
  return fail('validation_failed', `model: ${message}`, {
    param: 'model',
    violations: [{ field: 'model', rule: 'deployment', message }],
  });
}

/** The options that a deployment sets; none for providers that have no deployments. */
export function deploymentOptions(
  entry: ProviderEntry,
  { id, apiVersion, model }: Pick<StoredDeployment, 'id' | 'apiVersion'> & Partial<StoredDeployment>,
): ProviderOptions {
  const names = optionsOf(entry).deployments?.deployment;
  if (names === undefined) return {};
  const options: Record<string, string> = { [names.id]: id };
  if (names.version !== undefined && apiVersion !== undefined) options[names.version] = apiVersion;
  if (names.model !== undefined && model !== undefined) options[names.model] = model;
  return options;
}
