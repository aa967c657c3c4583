// Integrations and stored providers as they are stored.
import { type Collection, defineCollection, type JsonObject } from '../../store/collection.ts';
import type { Bounded } from '../../store/set-above.ts';

/** A value that comes from a secret reference, by the reference's id. */
export interface StoredMapping {
  /** `key`, or an option with its group before it. */
  readonly targetField: string;
  readonly secretReferenceId: string;
  readonly secretKey?: string;
  readonly valueFormat?: 'string' | 'json';
  /** Origins, in addition to the provider's own, that an owner or admin of the organisation lets the value go to. */
  readonly origins?: readonly string[];
}

/** How a provider is reached and authenticated. Secrets are sealed; masks are their shown form. */
export interface Credentials {
  readonly key?: string;
  readonly keyMask?: string;
  /** Options as they were given, by name. */
  readonly configurations?: JsonObject;
  readonly secretConfigurations?: JsonObject;
  /** By option: a text, or an object of texts. */
  readonly secretMasks?: JsonObject;
  readonly secretMappings?: readonly StoredMapping[];
}

/** The way out of an integration's calls: see lib/egress/network.ts. */
export interface StoredNetwork {
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly caCertificates?: string;
  /** With its credentials; `proxyShown` is what is shown of it. */
  readonly proxyUrl?: string;
  readonly proxyShown?: string;
  /** Whether there is a key: known without opening it. */
  readonly hasKey?: true;
}

/** Words to find a thing by. */
export interface Tagged {
  readonly tags?: Readonly<Record<string, string>>;
  /** The same as one text, by which lists are filtered: see tags.ts. */
  readonly tagText?: string;
}

/** An integration's settings of a model. */
export interface ModelEntry {
  readonly slug: string;
  readonly enabled: boolean;
  readonly isCustom?: true;
  readonly isFinetune?: true;
  readonly baseModelSlug?: string;
  readonly customHost?: string;
  readonly customHeaders?: Readonly<Record<string, string>>;
  readonly headerMasks?: Readonly<Record<string, string>>;
  /** As callers write it. */
  readonly pricingConfig?: JsonObject;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Whether and within which limits a workspace may use an integration. Limits are kept as callers write them. */
export interface GlobalAccess {
  readonly enabled: boolean;
  readonly usageLimits?: readonly JsonObject[];
  readonly rateLimits?: readonly JsonObject[];
}

export interface WorkspaceAccess extends GlobalAccess {
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly usageResetAt?: number;
}

export interface IntegrationBody extends Credentials, Tagged, Bounded {
  readonly name: string;
  readonly description?: string;
  readonly aiProviderId: string;
  readonly level: 'organisation' | 'workspace';
  /** Id of the user or key that made it. */
  readonly ownerId: string;
  readonly pricingAdjustments?: JsonObject;
  readonly network?: StoredNetwork;
  readonly allowConfigOverride?: true;
  /** Whether models that are not named are allowed. */
  readonly allowAllModels: boolean;
  /** By name. */
  readonly models?: readonly ModelEntry[];
  /** By the workspace's id; for integrations of the organisation. */
  readonly workspaces?: Readonly<Record<string, WorkspaceAccess>>;
  /** Of workspaces that are not named. */
  readonly globalAccess?: GlobalAccess;
}

/** A stored provider: of an integration, or with credentials of its own (a virtual key). */
export interface ProviderBody extends Credentials, Tagged, Bounded {
  readonly name: string;
  /** What becomes of paths that are passed through to it; absent: as the gateway does. */
  readonly rawPaths?: 'govern' | 'deny';
  readonly note?: string;
  readonly aiProviderId: string;
  readonly integrationId?: string;
  readonly usageLimits?: JsonObject;
  readonly rateLimits?: readonly JsonObject[];
  /** When usage was last reset by hand; Unix milliseconds. */
  readonly usageResetAt?: number;
  /** Unix milliseconds. */
  readonly expiresAt?: number;
}

export const integrations: Collection<IntegrationBody> = defineCollection<IntegrationBody>({
  name: 'integrations',
  schemaVersion: 1,
  inWorkspace: { name: 'integrations', blocks: true },
  noticed: true,
  fields: [
    { name: 'level', type: 'text' },
    { name: 'tagText', type: 'text', nullable: true },
  ],
  unique: [{ fields: ['slug'], per: 'organisation' }],
  secret: ['key', 'secretConfigurations', 'models.*.customHeaders', 'network.clientKey', 'network.proxyUrl'],
});

export const storedProviders: Collection<ProviderBody> = defineCollection<ProviderBody>({
  name: 'providers',
  schemaVersion: 1,
  inWorkspace: { name: 'stored providers', blocks: true },
  noticed: true,
  fields: [
    { name: 'integrationId', type: 'text', nullable: true },
    { name: 'tagText', type: 'text', nullable: true },
  ],
  unique: [{ fields: ['slug'], per: 'workspace' }],
  secret: ['key', 'secretConfigurations'],
});

/** In the order in which they are read. */
export const PROVIDER_COLLECTIONS: readonly Collection<object>[] = [integrations, storedProviders];
