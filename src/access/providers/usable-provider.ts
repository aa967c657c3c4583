// A stored provider as model calls use it: its documents read once, and kept until one of them changes.
import type { Network } from '../../lib/egress/network.ts';
import { fail, type GatewayError, toGatewayError } from '../../lib/errors.ts';
import type { ProviderEntry, ProviderOptions } from '../../providers/dialect.ts';
import { COMMON_OPTIONS } from '../../providers/options/common.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { type ModelAccess, modelAccess } from './model-access.ts';
import { limitsOf, type OwnLimits } from './own-limits.ts';
import { type PricingOf, pricingOf } from './pricing.ts';
import type { Credentials, IntegrationBody, ProviderBody, StoredMapping } from './provider-collections.ts';
import { accessOf } from './workspace-access.ts';

/** A deployment of Azure that a stored provider has. */
export interface StoredDeployment {
  readonly id: string;
  readonly apiVersion: string | undefined;
  readonly alias: string | undefined;
  /** The model that it serves. */
  readonly model: string | undefined;
  readonly isDefault: boolean;
}

/** A stored provider, ready to be called. */
export interface UsableProvider {
  /** Of the stored provider, and of the integration that it goes by. */
  readonly id: string;
  readonly integrationId: string | undefined;
  readonly slug: string;
  readonly entry: ProviderEntry;
  readonly apiKey: string | undefined;
  readonly options: ProviderOptions;
  readonly customHost: string | undefined;
  /** Flat pairs of headers that every request to it carries. */
  readonly headers: readonly string[];
  readonly deployments: readonly StoredDeployment[];
  readonly models: ModelAccess | undefined;
  /** What its integration says of prices. */
  readonly pricing: PricingOf | undefined;
  /** Limits that its calls count in; undefined: none. */
  readonly limits: readonly OwnLimits[] | undefined;
  /** The way out of its integration. */
  readonly network: Network | undefined;
  /** Whether configs of callers may set options over these. */
  readonly mayOverride: boolean;
  /** What becomes of paths that are passed through, where it is stricter than the gateway. */
  readonly rawPaths: 'govern' | 'deny' | undefined;
  /** Values that come from secret references, as `key` and `options.<name>`. */
  readonly mappings: readonly StoredMapping[];
  /** Why it may not be called now; undefined: it may. */
  refused(): GatewayError | undefined;
}

/** Makes it. `integration` is undefined where the provider has none, or where it is gone. */
export function usableProvider(
  document: Document<ProviderBody>,
  integration: Document<IntegrationBody> | undefined,
  entry: ProviderEntry,
  now: () => number,
): UsableProvider {
  const { id, slug = '', body } = document;
  const base = { id, slug, entry, integrationId: body.integrationId };
  const refuse = (error: GatewayError): UsableProvider => ({ ...base, ...EMPTY, refused: () => error });
  const at = `the stored provider ${slug}`;
  if (body.integrationId !== undefined) {
    if (integration === undefined) return refuse(fail('forbidden', `${at}: its integration is archived`));
    if (!accessOf(integration, document.workspaceId ?? '').enabled)
      return refuse(fail('forbidden', `${at}: its integration is not shared with this workspace`));
  }
  const { expiresAt } = body;
  const expired =
    expiresAt === undefined
      ? undefined
      : fail('forbidden', `${at} expired at ${new Date(expiresAt).toISOString()}`);
  try {
    return {
      ...base,
      ...read(entry, integration?.body ?? body),
      models: integration && modelAccess(integration.body),
      pricing: integration && pricingOf(integration.body),
      limits: limitsOf(document, integration),
      network: integration && networkOf(integration),
      rawPaths: body.rawPaths,
      mayOverride: integration?.body.allowConfigOverride ?? false,
      refused: () => (expired !== undefined && (expiresAt as number) <= now() ? expired : undefined),
    };
  } catch (thrown) {
    // A secret that cannot be opened is reported where it is read; here the provider cannot be called.
    const cause = toGatewayError(thrown);
    return refuse(fail('store_unavailable', `${at}: its credential cannot be read`, { cause }));
  }
}

const EMPTY = {
  apiKey: undefined,
  options: {},
  customHost: undefined,
  headers: [],
  deployments: [],
  models: undefined,
  pricing: undefined,
  limits: undefined,
  network: undefined,
  mayOverride: false,
  rawPaths: undefined,
  mappings: [],
} as const;

function networkOf({ id, version, body }: Document<IntegrationBody>): Network | undefined {
  if (body.network === undefined) return undefined;
  const { clientCertificate, clientKey, caCertificates, proxyUrl } = body.network;
  return Object.freeze({ id, version, clientCertificate, clientKey, caCertificates, proxyUrl });
}

/** Options of how a call is made, which are none of the provider's own. */
const OWN: ReadonlySet<string> = new Set(COMMON_OPTIONS.map(({ name }) => name));

function read(
  entry: ProviderEntry,
  { key, configurations = {}, secretConfigurations = {}, secretMappings = [] }: Credentials,
) {
  const table = optionsOf(entry).deployments?.name;
  const all: JsonObject = { ...configurations, ...secretConfigurations };
  const options: Record<string, string> = {};
  for (const [name, value] of Object.entries(all)) {
    if (!OWN.has(name) && name !== table)
      options[name] = typeof value === 'string' ? value : JSON.stringify(value);
  }
  const { custom_host: host, custom_headers: headers = {} } = all;
  const deployments = (table === undefined ? undefined : all[table]) ?? [];
  return {
    apiKey: key,
    options: Object.freeze(options),
    customHost: typeof host === 'string' ? host : undefined,
    headers: Object.freeze(Object.entries(headers as Readonly<Record<string, string>>).flat()),
    deployments: (deployments as readonly JsonObject[]).map(deploymentOf),
    mappings: secretMappings.map((mapping) => ({
      ...mapping,
      targetField: mapping.targetField.replace(/^[^.]+\./, 'options.'),
    })),
  };
}

function deploymentOf(one: JsonObject): StoredDeployment {
  const text = (value: Json | undefined): string | undefined =>
    typeof value === 'string' ? value : undefined;
  return {
    id: String(one.azure_deployment_name),
    apiVersion: text(one.azure_api_version),
    alias: text(one.alias),
    model: text(one.azure_model_slug),
    isDefault: one.is_default === true,
  };
}
