// What a level of a config hands down to the levels below it.
import type { ClientCut, ProviderEntry, ProviderOptions } from '../../providers/dialect.ts';
import type { CacheSettings } from '../cache/settings.ts';
import type { ParamRules } from './params.ts';
import type { BreakerPlan, DeploymentPlan, RetryPlan, TargetPlan } from './plan.ts';

/** A credential, and the provider that it was written for. */
export interface Credential {
  readonly value: string;
  /** The provider that its level names; undefined: whichever the levels below name. */
  readonly provider: string | undefined;
  readonly path: string;
}

/** Settings so far. */
export interface Inherited {
  readonly provider: ProviderEntry | undefined;
  readonly slug: string | undefined;
  readonly passthrough: boolean;
  readonly credential: Credential | undefined;
  readonly options: ProviderOptions;
  readonly customHost: string | undefined;
  readonly strict: boolean | undefined;
  readonly timeoutMs: number | undefined;
  readonly onClientCut: ClientCut | undefined;
  readonly forwardHeaders: readonly string[];
  readonly params: ParamRules | undefined;
  readonly retry: RetryPlan | undefined;
  readonly breaker: BreakerPlan | undefined;
  readonly cache: CacheSettings<TargetPlan> | undefined;
  readonly guardrails: object | undefined;
  readonly deployments: readonly DeploymentPlan[];
}

/** Above the top there is nothing. */
export const NOTHING: Inherited = Object.freeze({
  provider: undefined,
  slug: undefined,
  passthrough: false,
  credential: undefined,
  options: Object.freeze({}),
  customHost: undefined,
  strict: undefined,
  timeoutMs: undefined,
  onClientCut: undefined,
  forwardHeaders: Object.freeze([]),
  params: undefined,
  retry: undefined,
  breaker: undefined,
  cache: undefined,
  guardrails: undefined,
  deployments: Object.freeze([]),
});
