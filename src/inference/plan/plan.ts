// A plan: a config parsed once, everything inherited folded in. Interpreted by inference/route.
import { bringsCredential } from '../../providers/auth/index.ts';
import type { ClientCut, ProviderEntry, ProviderOptions } from '../../providers/dialect.ts';
import type { CacheSettings } from '../cache/settings.ts';
import type { Condition } from './condition.ts';
import type { ParamRules } from './params.ts';

/** How a call is routed. */
export type Plan = TargetPlan | FallbackPlan | BalancePlan | ConditionalPlan;

export interface PlanNode {
  /** Where it stands in the config: "config", "config.targets[1].targets[0]". */
  readonly path: string;
  /** Its name among its siblings. */
  readonly name: string | undefined;
  /** Its share of a load balance. */
  readonly weight: number;
  /** Statuses that move on from it in a fallback whose strategy names none. */
  readonly statuses: ReadonlySet<number> | undefined;
  readonly hedge: HedgePlan | undefined;
  /** Paths of its siblings that are never tried: the strategy "single" takes the first. */
  readonly passedOver?: readonly string[];
}

/** One target: the provider, retries and time limits. */
export interface TargetPlan extends PlanNode {
  readonly kind: 'target';
  /** Undefined: the provider that the call's headers select. */
  readonly provider: ProviderEntry | undefined;
  /** Slug of a stored provider, resolved with every call; its credential is the store's. */
  readonly slug: string | undefined;
  /** Whether the provider may also be named by the request's model, "@slug/model". */
  readonly passthrough: boolean;
  readonly apiKey: string | undefined;
  readonly options: ProviderOptions;
  readonly customHost: string | undefined;
  /** Undefined: as the call's header says. */
  readonly strict: boolean | undefined;
  /** Milliseconds of one attempt. */
  readonly timeoutMs: number | undefined;
  /** Of a stream whose client leaves; undefined: as its provider says. */
  readonly onClientCut: ClientCut | undefined;
  /** Names of the caller's headers that go on to the provider. */
  readonly forwardHeaders: readonly string[];
  readonly params: ParamRules | undefined;
  readonly retry: RetryPlan | undefined;
  readonly breaker: BreakerPlan | undefined;
  readonly cache: CacheSettings<TargetPlan> | undefined;
  /** As `PlanDeps.readGuardrails` made it. */
  readonly guardrails: object | undefined;
  readonly deployments: readonly DeploymentPlan[];
}

/** One after another until one answers. */
export interface FallbackPlan extends PlanNode {
  readonly kind: 'fallback';
  readonly targets: readonly Plan[];
  /** Statuses that move on; undefined: every status that is no success. */
  readonly onStatuses: ReadonlySet<number> | undefined;
}

/** One of several. Its targets all have a weight above 0. */
export interface BalancePlan extends PlanNode {
  readonly kind: 'balance';
  readonly targets: readonly Plan[];
  readonly algorithm: 'weighted' | 'least_latency' | 'least_busy';
  readonly sticky: StickyPlan | undefined;
  readonly affinity: AffinityPlan | undefined;
}

/** The one that the call asks for. */
export interface ConditionalPlan extends PlanNode {
  readonly kind: 'conditional';
  readonly targets: readonly Plan[];
  readonly rules: readonly ConditionalRule[];
  /** Index of the target when no rule holds. */
  readonly otherwise: number | undefined;
}

export interface ConditionalRule {
  readonly condition: Condition;
  /** The query as it was given, for explanations. */
  readonly query: object;
  /** Index of the target. */
  readonly target: number;
}

export interface HedgePlan {
  readonly afterMs: number;
  readonly max: number;
}

export interface RetryPlan {
  /** Further calls after the first. */
  readonly attempts: number;
  readonly statuses: ReadonlySet<number>;
  readonly useRetryAfter: boolean;
}

export interface BreakerPlan {
  /** Opens at this many failures; undefined: does not count them. */
  readonly failures: number | undefined;
  /** Opens at this percentage of at least `minimum` calls; undefined: does not look at it. */
  readonly percent: number | undefined;
  readonly minimum: number;
  readonly cooldownMs: number;
  /** What counts as a failure; undefined: every status from 500 up. */
  readonly statuses: ReadonlySet<number> | undefined;
}

export interface StickyPlan {
  readonly fields: readonly StickyField[];
  readonly ttlMs: number;
}

/** Conversations stay where their prompt is cached. */
export interface AffinityPlan {
  /** What names a conversation; undefined: its prompt does. */
  readonly field: StickyField | undefined;
  /** Undefined: as the request says. */
  readonly ttlMs: number | undefined;
  /** Undefined: as the model is known for. */
  readonly minTokens: number | undefined;
}

export interface StickyField {
  readonly root: 'metadata' | 'params' | 'headers';
  readonly path: readonly string[];
}

/** An Azure deployment. */
export interface DeploymentPlan {
  readonly id: string;
  readonly alias: string | undefined;
  readonly apiVersion: string | undefined;
  readonly isDefault: boolean;
}

/** A plan and what is known of it as a whole. */
export interface WholePlan {
  readonly root: Plan;
  /** Every target, in order. */
  readonly targets: readonly TargetPlan[];
  /** Calls to providers that one request can become at the most. */
  readonly maxAttempts: number;
  /** Distinguishes it from others in shared state: hexadecimal. */
  readonly id: string;
  /** Whether targets take the provider that the call's headers select. */
  readonly open: boolean;
  /** Providers of the targets that name their own and bring no credential. */
  readonly needy: readonly string[];
  /** Whether a call of it may be hedged. */
  readonly hedged: boolean;
  /** Whether it is one target, called once and by no other rules than its provider's. */
  readonly straight: boolean;
  /** Whether it is one target, called once; guardrails and a cache may stand around it. */
  readonly once: boolean;
}

/** What is known of a plan as a whole. */
export function wholePlan(root: Plan, id: string): WholePlan {
  const targets = targetsOf(root);
  return {
    root,
    targets,
    maxAttempts: maxAttemptsOf(root),
    id,
    hedged: isHedged(root),
    straight: isOnce(root) && !(root.cache || root.guardrails),
    once: isOnce(root),
    open: targets.some((target) => target.provider === undefined && target.slug === undefined),
    needy: [
      ...new Set(
        targets
          .filter(({ apiKey, customHost }) => apiKey === undefined && customHost === undefined)
          .flatMap(({ provider, options }) =>
            provider === undefined || provider.keyless || bringsCredential(provider, options)
              ? []
              : [provider.id],
          ),
      ),
    ],
  };
}

function isHedged(plan: Plan): boolean {
  return plan.hedge !== undefined || (plan.kind !== 'target' && plan.targets.some(isHedged));
}

function isOnce(root: Plan): root is TargetPlan {
  if (root.kind !== 'target') return false;
  const { hedge, retry, breaker, timeoutMs } = root;
  const times = retry?.attempts ?? 0;
  return times === 0 && !(hedge || breaker || timeoutMs);
}

/** Every target below a plan, in order. */
export function targetsOf(plan: Plan): readonly TargetPlan[] {
  return plan.kind === 'target' ? [plan] : plan.targets.flatMap(targetsOf);
}

/** Calls to providers that a plan can make at the most. */
export function maxAttemptsOf(plan: Plan): number {
  const times = 1 + (plan.hedge?.max ?? 0);
  switch (plan.kind) {
    case 'target':
      return times * (1 + (plan.retry?.attempts ?? 0));
    case 'fallback': {
      // A hedge takes the next target early and none twice.
      return plan.targets.reduce((sum, one) => sum + maxAttemptsOf(one), 0);
    }
    default: {
      const each = plan.targets.map(maxAttemptsOf);
      // A conversation goes on to the next target when its warm one is down.
      const moves = plan.kind === 'balance' && plan.affinity !== undefined;
      return moves ? each.reduce((sum, one) => sum + one, 0) : times * Math.max(...each);
    }
  }
}
