// Limit policies as they are stored: which requests they apply to, and the limits of those.
import { type Collection, defineCollection } from '../store/collection.ts';
import type { Bounded } from '../store/set-above.ts';
import type { Schedule } from './limits/period.ts';

/** One condition; all of a policy's conditions hold. */
export interface PolicyCondition {
  /** api_key, organisation_id, workspace_id, provider, mcp_server, mcp_tool or metadata.<field>. */
  readonly key: string;
  /** One of them is the request's; `*` is any. */
  readonly values: readonly string[];
  readonly excludes?: readonly string[];
}

/** What happens to calls under a limit while the store that counts does not answer. */
export type OnStoreOutage = 'deny' | 'allow' | 'local';

/** What both kinds of policies have. */
export interface PolicyBody extends Bounded {
  readonly name?: string;
  readonly conditions: readonly PolicyCondition[];
  /** Keys; one count for each combination of their values. */
  readonly groupBy: readonly string[];
  /** Absent: rates allow, budgets deny. */
  readonly onStoreOutage?: OnStoreOutage;
  /** Absent: model calls. */
  readonly target?: 'mcp_tools';
  /** Tokens that a call without a stated maximum is assumed to make. */
  readonly assumedOutputTokens?: number;
}

/** So many in any span of the unit's length; `concurrent`: so many calls in flight. */
export interface RateLimitPolicyBody extends PolicyBody {
  readonly type: 'requests' | 'tokens';
  readonly unit: 'rpm' | 'rph' | 'rpd' | 'concurrent';
  readonly value: number;
}

/** A budget of each group. */
export interface UsageLimitPolicyBody extends PolicyBody {
  readonly type: 'cost' | 'tokens' | 'requests';
  readonly creditLimit: number;
  readonly alertThreshold?: number;
  readonly periodicReset?: 'weekly' | 'monthly';
  readonly periodicResetDays?: number;
  /** Unix milliseconds. */
  readonly nextUsageResetAt?: number;
  /** Start of the period that ends then, in Unix milliseconds. */
  readonly countedSince?: number;
}

/** How a policy's usage is reset. */
export function scheduleOfPolicy(body: UsageLimitPolicyBody): Schedule {
  return {
    reset: body.periodicReset,
    days: body.periodicResetDays,
    next: body.nextUsageResetAt,
    began: body.countedSince,
    since: undefined,
  };
}

export const rateLimitPolicies: Collection<RateLimitPolicyBody> = defineCollection<RateLimitPolicyBody>({
  name: 'rate_limit_policies',
  schemaVersion: 1,
  inWorkspace: { name: 'rate-limit policies', blocks: false },
  noticed: true,
  fields: [
    { name: 'type', type: 'text' },
    { name: 'unit', type: 'text' },
  ],
});

export const usageLimitPolicies: Collection<UsageLimitPolicyBody> = defineCollection<UsageLimitPolicyBody>({
  name: 'usage_limit_policies',
  schemaVersion: 1,
  inWorkspace: { name: 'usage-limit policies', blocks: false },
  noticed: true,
  fields: [{ name: 'type', type: 'text' }],
});

/** One combination of values that a usage-limit policy counts apart. */
export interface UsageLimitEntityBody {
  readonly policyId: string;
  /** As its counter names it. */
  readonly group: string;
  /** For people. */
  readonly valueKey: string;
  /** When its usage was last reset by hand, in Unix milliseconds. */
  readonly resetAt?: number;
}

export const usageLimitEntities: Collection<UsageLimitEntityBody> = defineCollection<UsageLimitEntityBody>({
  name: 'usage_limit_entities',
  schemaVersion: 1,
  fields: [
    { name: 'policyId', type: 'text' },
    { name: 'valueKey', type: 'text' },
  ],
});

/** What admission follows. */
export const policyCollections: readonly Collection<object>[] = [rateLimitPolicies, usageLimitPolicies];

/** All collections of this room. */
export const ledgerCollections: readonly Collection<object>[] = [...policyCollections, usageLimitEntities];
