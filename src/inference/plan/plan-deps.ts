// What planning a call needs to know of the gateway.

import type { Principal } from '../../call/principal.ts';
import type { PricingRecord } from '../../call/record.ts';
import type { TenantScope } from '../../call/scope.ts';
import type { Network } from '../../lib/egress/network.ts';
import type { GatewayError } from '../../lib/errors.ts';
import type { ProviderEntry, ProviderOptions } from '../../providers/dialect.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { ParseDeps } from './parse-deps.ts';
import type { WholePlan } from './plan.ts';

/** The config of calls that name none, and whether they may name one. */
export interface Preset {
  /** Id or slug. */
  readonly config: string | undefined;
  /** Whose setting it is, for refusals, e.g. "the API key". */
  readonly owner: string;
  readonly mayOverride: boolean;
}

/** Which models a stored provider lets through, and how single ones of them are reached. */
export interface StoredModels {
  /** Whether there is a model that is not let through. */
  readonly restricted: boolean;
  /** Models that it names and allows. */
  readonly named?: readonly string[];
  allows(model: string): boolean;
  /** The model's own base address. */
  hostOf(model: string): string | undefined;
  /** Flat pairs of the model's own headers. */
  headersOf(model: string): readonly string[];
}

/** A deployment of Azure that a stored provider has. */
export interface StoredDeployment {
  readonly id: string;
  readonly apiVersion: string | undefined;
  readonly alias: string | undefined;
  /** The model that it serves. */
  readonly model: string | undefined;
  readonly isDefault: boolean;
}

/** Limits that calls of a stored provider count in, as callers write them. */
export interface StoredLimits {
  /** Names their counters. */
  readonly id: string;
  /** For refusals. */
  readonly name: string;
  readonly carried: {
    readonly rateLimits?: readonly JsonObject[] | undefined;
    readonly usageLimits?: JsonObject | readonly JsonObject[] | undefined;
    /** When usage was last reset by hand, in Unix milliseconds. */
    readonly usageResetAt?: number | undefined;
  };
}

/** A provider that the control plane keeps. */
export interface StoredProvider {
  /** Of the stored provider, and of the integration that it goes by. */
  readonly id?: string;
  /** What the log names it by. */
  readonly slug?: string;
  readonly integrationId?: string | undefined;
  readonly entry: ProviderEntry;
  readonly apiKey: string | undefined;
  readonly options: ProviderOptions;
  readonly customHost: string | undefined;
  /** Flat pairs of headers that every request to it carries. */
  readonly headers?: readonly string[];
  readonly deployments?: readonly StoredDeployment[];
  readonly models?: StoredModels | undefined;
  /** The prices that its integration sets for a model. */
  readonly pricing?: ((model: string) => PricingRecord | undefined) | undefined;
  /** Its own and its integration's; the same list until they change. Undefined: none. */
  readonly limits?: readonly StoredLimits[] | undefined;
  /** The network settings of its integration; only its own calls use them. */
  readonly network?: Network | undefined;
  /** What becomes of paths that are passed through to it, where it is stricter than the gateway. */
  readonly rawPaths?: 'govern' | 'deny' | undefined;
  /** Whether configs may set its options; where its credential goes they never say. */
  readonly mayOverride?: boolean;
  /**
   * Why its credential may not go to an origin; undefined: it may. Absent: it may go to its own hosts.
   * @param own the origin that the provider has of its own with the call's options; undefined: none
   */
  readonly hostFault?: (origin: string, own: string | undefined) => GatewayError | undefined;
  /** Why it may not be called now; undefined: it may. */
  readonly refused?: () => GatewayError | undefined;
}

/** The stored provider that a model selects, and the model to ask it for: undefined, the name as it was given. */
export interface ByModel {
  readonly slug: string;
  readonly model: string | undefined;
}

/** A config that the control plane keeps. */
export interface SavedConfig {
  readonly id: string;
  /** What the log names it by. */
  readonly slug?: string;
  /** Changes with every change of the config. */
  readonly version: string;
  /** The same object as long as the version is the same: plans are kept by it. */
  readonly json: unknown;
}

type Soon<T> = T | Promise<T>;

/** What planning needs to know. What a slug stands for may be known at once, or be read first. */
export interface PlanDeps extends Omit<ParseDeps, 'hasProvider' | 'mayOverride' | 'savedConfig'> {
  /** A saved config of the tenant by its id or slug. */
  readonly resolveConfig: (tenant: TenantScope, slug: string) => Soon<SavedConfig | undefined>;
  /** Slugs of the tenant's saved configs: for refusals. */
  readonly configSlugs?: ((tenant: TenantScope) => readonly string[]) | undefined;
  /** The saved config that calls of the tenant take when they select nothing. */
  readonly defaultConfig: (tenant: TenantScope) => SavedConfig | undefined;
  /** The saved config of the alias that a call gives as its model; undefined: the tenant has no such alias. */
  readonly resolveAlias?: ((tenant: TenantScope, model: string) => SavedConfig | undefined) | undefined;
  /** A stored provider of the tenant by its slug. */
  readonly resolveProvider: (tenant: TenantScope, slug: string) => Soon<StoredProvider | undefined>;
  /** The stored provider that a model's name selects. @throws GatewayError selection_conflict where several are meant */
  readonly selectByModel?: ((tenant: TenantScope, model: string) => ByModel | undefined) | undefined;
  /** Stored providers that the tenant may name, by slug: for refusals. */
  readonly slugsOf?: ((tenant: TenantScope) => readonly string[]) | undefined;
  /** Why a slug names nothing in the tenant's workspace although its organisation has it; undefined: it has not. */
  readonly unsharedAs?: ((tenant: TenantScope, slug: string) => string | undefined) | undefined;
  /** The same without values that must be fetched first: enough to know that it is there. */
  readonly peekProvider?: ((tenant: TenantScope, slug: string) => StoredProvider | undefined) | undefined;
  /** A plan with the saved guardrails that it names, and with those that every call of the tenant passes. */
  readonly guarded?: ((plan: WholePlan, tenant: TenantScope) => WholePlan) | undefined;
  /** The config that a caller's calls start with. */
  readonly presetOf?: ((principal: Principal) => Preset | undefined) | undefined;
}
