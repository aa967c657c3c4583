// The fields of documents that levels share: a value that a higher level set stays.
import type { WorkspaceBody } from '../../access/identity-collections.ts';
import type { KeyDetails } from '../../access/keys.ts';
import type { IntegrationBody, ProviderBody } from '../../access/providers/provider-collections.ts';
import { ASSUMED_OUTPUT_TOKENS } from '../../ledger/limits/estimate.ts';
import type { RateLimitPolicyBody, UsageLimitPolicyBody } from '../../ledger/policies.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { BoundRule } from './bounds.ts';
import * as tighter from './tighter.ts';

/** Where usage and rates are limited alike. */
interface Limited {
  readonly usageLimits?: JsonObject | readonly JsonObject[];
  readonly rateLimits?: readonly JsonObject[];
}

const LIMITS: readonly BoundRule<Limited>[] = [
  { field: 'usage_limits', of: ({ usageLimits }) => usageLimits as Json, isAsTight: tighter.usageLimits },
  { field: 'rate_limits', of: ({ rateLimits }) => rateLimits as Json, isAsTight: tighter.rateLimits },
];
const EXPIRY: BoundRule<{ readonly expiresAt?: number }> = {
  field: 'expires_at',
  of: ({ expiresAt }) => expiresAt,
  isAsTight: tighter.notAbove,
};

/** A member of an object of the body. */
function member<Body>(
  group: keyof Body & string,
  name: string,
  isAsTight: BoundRule<Body>['isAsTight'],
): BoundRule<Body> {
  const of = (body: Body): Json | undefined => {
    const value = (body[group] as JsonObject | undefined)?.[name];
    // A list or an object without members sets nothing.
    const empty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    return empty || value === null ? undefined : value;
  };
  return { field: `${group}.${name}`, of, isAsTight };
}

/** 0 and less: without a bound. */
const fewest: BoundRule<object>['isAsTight'] = (given, set) =>
  Number(set) < 1 || (Number(given) >= 1 && Number(given) <= Number(set));
/** -1: any number. */
const count: BoundRule<object>['isAsTight'] = (given, set) =>
  Number(set) < 0 || (Number(given) >= 0 && Number(given) <= Number(set));

export const WORKSPACE_RULES: readonly BoundRule<WorkspaceBody>[] = [
  ...LIMITS,
  member<WorkspaceBody>('defaults', 'input_guardrails', tighter.everyOne),
  member<WorkspaceBody>('defaults', 'output_guardrails', tighter.everyOne),
  member<WorkspaceBody>('defaults', 'metadata', tighter.everyMember),
  member<WorkspaceBody>('defaults', 'user_api_key_config', tighter.same),
  member<WorkspaceBody>('settings', 'debug_log', tighter.same),
  member<WorkspaceBody>('settings', 'log_retention_days', tighter.same),
  member<WorkspaceBody>('settings', 'user_api_key_ttl', fewest),
  member<WorkspaceBody>('settings', 'user_api_key_max_ttl', fewest),
  member<WorkspaceBody>('settings', 'user_api_key_count', count),
  member<WorkspaceBody>('settings', 'user_key_metadata', tighter.everyMember),
  member<WorkspaceBody>('settings', 'user_key_metadata_override', tighter.same),
];

export const KEY_RULES: readonly BoundRule<KeyDetails>[] = [
  ...LIMITS,
  EXPIRY,
  member<KeyDetails>('defaults', 'metadata', tighter.everyMember),
  member<KeyDetails>('defaults', 'config_id', tighter.same),
  member<KeyDetails>('defaults', 'allow_config_override', (given, set) => set === true || given === false),
];

/** The rules of a key whose expiry comes from its workspace's settings and not from the caller. */
export const KEY_RULES_WITHOUT_EXPIRY = KEY_RULES.filter(({ field }) => field !== EXPIRY.field);

export const PROVIDER_RULES: readonly BoundRule<ProviderBody>[] = [...LIMITS, EXPIRY];

/** Which models an integration lets through, as one value. */
const modelsOf = ({ allowAllModels: all, models = [] }: IntegrationBody): Json | undefined => {
  const slugs = (enabled: boolean): string[] =>
    models.filter((model) => model.enabled === enabled).map(({ slug }) => slug);
  const [on, off] = [slugs(true), slugs(false)];
  return all && off.length === 0 ? undefined : { all, on: all ? [] : on, off };
};

export const INTEGRATION_RULES: readonly BoundRule<IntegrationBody>[] = [
  {
    field: 'models',
    of: modelsOf,
    isAsTight: (given, set) => {
      const none = { all: true, on: [], off: [] };
      const [mine, theirs] = [(given ?? none) as typeof none, set as typeof none];
      const allows = ({ all, on, off }: typeof none, slug: string): boolean =>
        all ? !off.includes(slug as never) : on.includes(slug as never);
      if (mine.all && !theirs.all) return false;
      return [...mine.on, ...theirs.off].every((slug) => !allows(mine, slug) || allows(theirs, slug));
    },
  },
  {
    field: 'pricing_adjustments',
    of: ({ pricingAdjustments }) => pricingAdjustments,
    isAsTight: tighter.same,
  },
];

type Policy = UsageLimitPolicyBody | RateLimitPolicyBody;

const outage: BoundRule<Policy>['isAsTight'] = (given, set) => {
  const order = ['allow', 'local', 'deny'];
  return order.indexOf(String(given)) >= order.indexOf(String(set));
};

/** @param usual how calls are treated by default, while the store does not answer */
const policyRules = (usual: string): readonly BoundRule<Policy>[] => [
  { field: 'conditions', of: ({ conditions }) => conditions as unknown as Json, isAsTight: tighter.same },
  { field: 'on_store_outage', of: ({ onStoreOutage = usual }) => onStoreOutage, isAsTight: outage },
  {
    field: 'assumed_output_tokens',
    of: ({ type, assumedOutputTokens = ASSUMED_OUTPUT_TOKENS }) =>
      type === 'requests' ? undefined : assumedOutputTokens,
    isAsTight: tighter.notBelow,
  },
];

export const RATE_POLICY_RULES: readonly BoundRule<RateLimitPolicyBody>[] = [
  ...policyRules('allow'),
  // A value means nothing without its unit.
  { field: 'unit', of: ({ unit }) => unit, isAsTight: tighter.same },
  { field: 'value', of: ({ value }) => value, isAsTight: tighter.notAbove },
];

export const USAGE_POLICY_RULES: readonly BoundRule<UsageLimitPolicyBody>[] = [
  ...policyRules('deny'),
  { field: 'credit_limit', of: ({ creditLimit }) => creditLimit, isAsTight: tighter.notAbove },
  { field: 'alert_threshold', of: ({ alertThreshold }) => alertThreshold, isAsTight: tighter.notAbove },
  {
    field: 'periodic_reset',
    of: ({ periodicReset, periodicResetDays, nextUsageResetAt }) => [
      ...[periodicReset ?? null, periodicResetDays ?? null, nextUsageResetAt ?? null],
    ],
    isAsTight: (given, set) => {
      const [[name, days, next], [setName, setDays, setNext]] = [given as Json[], set as Json[]];
      return name === setName && days === setDays && Number(next) >= Number(setNext);
    },
  },
];
