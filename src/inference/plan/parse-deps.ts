// What a config is checked against in addition to its schema.
import type { ProviderEntry } from '../../providers/dialect.ts';
import type { Fault } from './faults.ts';

/** What is left of the hooks and checks of one config, all its levels together. */
export interface GuardrailLimits {
  hooks: number;
  checks: number;
}

/** What parsing needs to know of the gateway. */
export interface ParseDeps {
  readonly providerById: (id: string) => ProviderEntry | undefined;
  /** Refuses addresses that may never be called. @throws GatewayError host_refused. */
  readonly checkHost: (url: string, param: string, localPort?: number) => void;
  /** Whether a text is a key of this gateway: such a text is never sent out. */
  readonly isOwnKey: (text: string) => boolean;
  /** Whether a lower-case header name is one of the gateway's own. */
  readonly ownsHeader: (lowerName: string) => boolean;
  /** Whether there is a stored provider of that slug. */
  readonly hasProvider: (slug: string) => boolean;
  /** Why a slug names no stored provider, in words. */
  readonly slugFault?: ((slug: string) => string) | undefined;
  /** Whether a config may set options of the stored provider of that slug; none when absent. */
  readonly mayOverride?: ((slug: string) => boolean) | undefined;
  /** A saved config's JSON by its id or slug; undefined when there is none. */
  readonly savedConfig: (slug: string) => unknown;
  /** Reads the hooks and guardrails of one level; undefined when it has none. */
  readonly readGuardrails: (
    level: Readonly<Record<string, unknown>>,
    path: string,
    faults: Fault[],
    limits?: GuardrailLimits,
  ) => object | undefined;
  /** What a config may have; none when absent. */
  readonly guardrailLimits?: (() => GuardrailLimits) | undefined;
  /** Those of a level and of a target below it, together. */
  readonly joinGuardrails: (outer: object | undefined, inner: object | undefined) => object | undefined;
}
