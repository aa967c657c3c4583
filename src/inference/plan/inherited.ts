import type { PlanNode, TargetPlan } from './plan.ts';

/** A credential, and the provider that it was written for. */
export interface Credential {
  readonly value: string;
  /** The provider that its level names; undefined: whichever the levels below name. */
  readonly provider: string | undefined;
  readonly path: string;
}

/** Settings so far. */
export interface Inherited extends Omit<TargetPlan, 'kind' | 'apiKey' | keyof PlanNode> {
  readonly credential: Credential | undefined;
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
