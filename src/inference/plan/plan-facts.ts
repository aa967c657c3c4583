// What planning a call needs to know of the gateway.
import type { ProviderEntry, ProviderOptions } from '../../providers/dialect.ts';
import type { ParseFacts } from './parse-facts.ts';

/** Whose call it is. */
export interface Tenant {
  readonly organisationId: string;
  /** Undefined: of the organisation as a whole. */
  readonly workspaceId: string | undefined;
}

/** A provider that the control plane keeps. */
export interface StoredProvider {
  readonly entry: ProviderEntry;
  readonly apiKey: string | undefined;
  readonly options: ProviderOptions;
  readonly customHost: string | undefined;
}

/** A config that the control plane keeps. */
export interface SavedConfig {
  readonly id: string;
  /** Changes with every change of the config. */
  readonly version: string;
  readonly json: unknown;
}

type Soon<T> = T | Promise<T>;

/** What planning needs to know. What a slug stands for may be known at once, or be read first. */
export interface PlanFacts extends Omit<ParseFacts, 'hasProvider' | 'savedConfig'> {
  /** A saved config of the tenant by its id or slug. */
  readonly resolveConfig: (tenant: Tenant, slug: string) => Soon<SavedConfig | undefined>;
  /** A stored provider of the tenant by its slug. */
  readonly resolveProvider: (tenant: Tenant, slug: string) => Soon<StoredProvider | undefined>;
}
