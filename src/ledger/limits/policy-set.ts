// The policies of all organisations in memory: which of them apply to a call, and under which counter.
import { hash } from 'node:crypto';
import type { Document } from '../../store/documents.ts';
import {
  type PolicyBody,
  type PolicyCondition,
  type RateLimitPolicyBody,
  rateLimitPolicies,
  scheduleOfPolicy,
  type UsageLimitPolicyBody,
  usageLimitPolicies,
} from '../policies.ts';
import type { Groups } from './groups.ts';
import {
  type BudgetRule,
  capOf,
  type RateRule,
  type Rule,
  type SlotRule,
  slotRule,
  WINDOWS,
} from './rule.ts';
import { PROVIDER_KEY, type Subject, valuesOf } from './subject.ts';

interface Compiled {
  readonly policyId: string;
  readonly workspaceId: string | undefined;
  readonly conditions: readonly PolicyCondition[];
  readonly groupBy: readonly string[];
  /** It names the provider: it is asked for each attempt, and not for the call. */
  readonly ofTarget: boolean;
  readonly rule: Rule;
}

/** Follows policies by their documents; an older version changes nothing. */
export class PolicySet {
  readonly #versions = new Map<string, number>();
  /** By organisation, then by id. */
  readonly #policies = new Map<string, Map<string, Compiled>>();
  readonly #groups: Pick<Groups, 'note'> | undefined;

  /** @param groups takes note of the groups that budgets are counted in */
  constructor(groups?: Pick<Groups, 'note'>) {
    this.#groups = groups;
  }

  /** Takes a policy as it is now, archived ones too. */
  apply(collection: string, document: Document<object>): void {
    const { id, organisationId, version, status } = document;
    if ((this.#versions.get(id) ?? 0) >= version) return;
    this.#versions.set(id, version);
    const own = this.#policies.get(organisationId) ?? new Map<string, Compiled>();
    this.#policies.set(organisationId, own);
    const rule = status === 'active' ? ruleOf(collection, document) : undefined;
    if (rule === undefined) {
      own.delete(id);
      return;
    }
    const { conditions, groupBy } = document.body as PolicyBody;
    const keys = [...groupBy, ...conditions.map(({ key }) => key)];
    const ofTarget = keys.includes(PROVIDER_KEY);
    own.set(id, { policyId: id, workspaceId: document.workspaceId, conditions, groupBy, ofTarget, rule });
  }

  /** Whether an organisation has any policy. */
  has(organisationId: string): boolean {
    return (this.#policies.get(organisationId)?.size ?? 0) > 0;
  }

  /** Whether an organisation has a policy that is asked for each attempt. */
  hasOfTargets(organisationId: string): boolean {
    for (const { ofTarget } of this.#policies.get(organisationId)?.values() ?? []) if (ofTarget) return true;
    return false;
  }

  /** The rules of the policies that apply to a call, or to an attempt, each with the counter of its group. */
  rulesFor(subject: Subject): readonly Rule[] {
    const own = this.#policies.get(subject.organisationId);
    if (own === undefined) return [];
    const rules: Rule[] = [];
    const isAttempt = subject.provider !== undefined;
    for (const { policyId, workspaceId, conditions, groupBy, ofTarget, rule } of own.values()) {
      if (ofTarget !== isAttempt) continue;
      if (workspaceId !== undefined && workspaceId !== subject.workspaceId) continue;
      if (!conditions.every((condition) => holds(condition, subject))) continue;
      const group = groupOf(groupBy, subject);
      const id = `${rule.id}:${group}`;
      rules.push({ ...rule, id });
      if (rule.kind !== 'budget') continue;
      const { organisationId } = subject;
      this.#groups?.note(id, () => {
        const valueKey = valueKeyOf(groupBy, subject);
        return { organisationId, workspaceId, policyId, group, valueKey };
      });
    }
    return rules;
  }
}

function holds({ key, values, excludes }: PolicyCondition, subject: Subject): boolean {
  const own = valuesOf(subject, key);
  if (own.length === 0) return false;
  if (excludes?.some((value) => own.includes(value))) return false;
  return values.some((value) => value === '*' || own.includes(value));
}

/** Names of groups by what they are made of: calls come from the same ones again and again. */
const named = new Map<string, string>();
const MOST_NAMED = 4096;
/** Of one of them, in UTF-16 units. */
const LONGEST_NAMED = 512;

/** One name for each combination of values: hashed, for a caller's metadata may be long. */
function groupOf(groupBy: readonly string[], subject: Subject): string {
  const parts = JSON.stringify(groupBy.map((key) => [key, valuesOf(subject, key)[0] ?? null]));
  const known = named.get(parts);
  if (known !== undefined) return known;
  const name = hash('sha256', parts, 'base64url').slice(0, 22);
  if (named.size >= MOST_NAMED) named.clear();
  if (parts.length <= LONGEST_NAMED) named.set(parts, name);
  return name;
}

/** The same for people. */
function valueKeyOf(groupBy: readonly string[], subject: Subject): string {
  return groupBy.map((key) => `${key}:${valuesOf(subject, key)[0] ?? ''}`).join(',');
}

function ruleOf(collection: string, document: Document<object>): Rule | undefined {
  if (collection === rateLimitPolicies.name) return rateRule(document as Document<RateLimitPolicyBody>);
  if (collection === usageLimitPolicies.name) return usageRule(document as Document<UsageLimitPolicyBody>);
  return undefined;
}

function nameOf(id: string, { name }: PolicyBody): string {
  return name ? `the policy "${name}"` : `the policy ${id}`;
}

/**
 * Groups of a rate-limit policy that are counted apart at once, where callers' metadata make them: what would be one
 * more is counted together with all others.
 */
export const MOST_RATE_GROUPS = 10_000;

function rateRule({ id, body }: Document<RateLimitPolicyBody>): RateRule | SlotRule {
  const { type, unit, value, onStoreOutage: onOutage = 'allow' } = body;
  if (unit === 'concurrent') return slotRule(`p:${id}`, nameOf(id, body), Math.floor(value), onOutage);
  return {
    kind: 'rate',
    id: `p:${id}`,
    name: nameOf(id, body),
    type,
    unit,
    windowMs: WINDOWS[unit] ?? 60_000,
    limit: Math.floor(value),
    pool: body.groupBy.some((key) => key.startsWith('metadata.'))
      ? { key: `p:${id}`, most: MOST_RATE_GROUPS }
      : undefined,
    assumedOutput: body.assumedOutputTokens,
    onOutage,
  };
}

/** The budget of one of a policy's groups. */
export function groupRule(policy: Document<UsageLimitPolicyBody>, group: string): BudgetRule {
  const rule = usageRule(policy);
  return { ...rule, id: `${rule.id}:${group}` };
}

function usageRule({ id, body }: Document<UsageLimitPolicyBody>): BudgetRule {
  const { type, creditLimit, alertThreshold } = body;
  return {
    kind: 'budget',
    id: `p:${id}`,
    name: nameOf(id, body),
    type,
    cap: capOf(type, creditLimit),
    threshold: alertThreshold === undefined ? undefined : capOf(type, alertThreshold),
    schedule: scheduleOfPolicy(body),
    assumedOutput: body.assumedOutputTokens,
    onOutage: body.onStoreOutage ?? 'deny',
  };
}
