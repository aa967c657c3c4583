// What a stored provider says of one call: where it goes, with which headers and options, and which models it lets
// through. None of it is the caller's to say.
import type { Network } from '../../lib/egress/network.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { ProviderEntry, ProviderOptions } from '../../providers/dialect.ts';
import type { TargetPlan } from './plan.ts';
import type { StoredDeployment, StoredLimits, StoredModels, StoredProvider } from './plan-facts.ts';

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
  /** The way out of its integration, for its own calls alone. */
  readonly network: Network | undefined;
}

type Stored = Omit<StoredProvider, 'entry'>;

const NONE: readonly string[] = Object.freeze([]);
/** Options that choose the model. */
const CHOOSING: readonly string[] = [
  'azure_deployment_id',
  'azure_deployment_name',
  'azure_model_name',
  'aws_bedrock_model',
  'vertex_model_name',
];

/**
 * @param model the request's
 * @throws GatewayError why the stored provider may not be called; validation_failed where none of its deployments is
 * meant; forbidden where a config would choose a model past what its integration allows.
 */
export function storedReach(stored: Stored, plan: TargetPlan, model: string | undefined): StoredReach {
  const refused = stored.refused?.();
  if (refused !== undefined) throw refused;
  const { models, deployments = [] } = stored;
  if (models?.restricted) checkChoice(plan);
  const override = plan.params?.overrides.model;
  const asked = typeof override === 'string' ? override : model;
  const deployment = deploymentFor(deployments, asked, plan);
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
    options: deployment === undefined ? stored.options : withDeployment(stored.options, deployment),
    customHost: host ?? stored.customHost,
    mayOverride: stored.mayOverride ?? false,
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
  if (entry.locate === undefined || own === changed) return true;
  return originOf(entry, own, hosted) === originOf(entry, changed, hosted);
}

function originOf({ locate, baseUrl }: ProviderEntry, options: ProviderOptions, hosted: boolean): string {
  const url = locate?.(options, undefined, hosted).baseUrl ?? baseUrl;
  return url === undefined ? '' : new URL(url).origin;
}

function checkChoice({ options, deployments, path }: TargetPlan): void {
  const named =
    deployments.length > 0 ? 'deployments' : CHOOSING.find((name) => Object.hasOwn(options, name));
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
  { options, deployments: configured }: TargetPlan,
): StoredDeployment | undefined {
  if (deployments.length === 0 || configured.length > 0 || options.azure_deployment_id !== undefined)
    return undefined;
  const found =
    deployments.find(({ alias }) => alias !== undefined && alias === model) ??
    deployments.find((one) => one.model !== undefined && one.model === model) ??
    deployments.find(({ id }) => id === model) ??
    deployments.find(({ isDefault }) => isDefault) ??
    (deployments.length === 1 ? deployments[0] : undefined);
  if (found === undefined && model !== undefined && model !== '') throw noDeployment();
  return found;
}

function noDeployment(): GatewayError {
  const message = 'names no deployment of the stored provider';
  return fail('validation_failed', `model: ${message}`, {
    param: 'model',
    violations: [{ field: 'model', rule: 'deployment', message }],
  });
}

function withDeployment(
  options: ProviderOptions,
  { id, apiVersion, model }: StoredDeployment,
): ProviderOptions {
  return {
    ...options,
    azure_deployment_id: id,
    ...(apiVersion === undefined ? {} : { azure_api_version: apiVersion }),
    ...(model === undefined ? {} : { azure_model_name: model }),
  };
}
