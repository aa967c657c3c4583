// The policies of all organisations in memory: which of them apply to a call, and under which counter.
import { hash } from 'node:crypto';
import type { Document } from '../../store/documents.ts';
import { Replica } from '../../store/replica.ts';
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
  /** It is for tool calls, and for nothing else. */
  readonly ofTools: boolean;
  readonly rule: Rule;
}

/** The active policies of all organisations. */
export class PolicySet {
  readonly #rates = new Replica(rateLimitPolicies, {
    row: (document) => compiled(document, rateRule(document)),
  });
  readonly #usages = new Replica(usageLimitPolicies, {
    row: (document) => compiled(document, usageRule(document)),
  });
  readonly replicas = [this.#rates, this.#usages] as const;
  readonly #groups: Pick<Groups, 'note'> | undefined;

  /** @param groups takes note of the groups that budgets are counted in */
  constructor(groups?: Pick<Groups, 'note'>) {
    this.#groups = groups;
  }

  /** Whether an organisation has any policy. */
  has(organisationId: string): boolean {
    return this.#rates.of(organisationId).size > 0 || this.#usages.of(organisationId).size > 0;
  }

  /** Whether an organisation has a policy that is asked for each attempt. */
  hasOfTargets(organisationId: string): boolean {
    for (const replica of this.replicas)
      for (const { ofTarget } of replica.of(organisationId).values()) if (ofTarget) return true;
    return false;
  }

  /** The rules of the policies that apply to a call, or to an attempt, each with the counter of its group. */
  rulesFor(subject: Subject): readonly Rule[] {
    const rules: Rule[] = [];
    for (const replica of this.replicas) this.#addRules(rules, replica.of(subject.organisationId), subject);
    return rules;
  }

  #addRules(rules: Rule[], own: ReadonlyMap<string, Compiled>, subject: Subject): void {
    const isAttempt = subject.provider !== undefined;
    const isTool = subject.mcp !== undefined;
    for (const { policyId, workspaceId, conditions, groupBy, ofTarget, ofTools, rule } of own.values()) {
      if (ofTarget !== isAttempt || ofTools !== isTool) continue;
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
  }
}

function compiled({ id, workspaceId, body }: Document<PolicyBody>, rule: Rule): Compiled {
  const { conditions, groupBy } = body;
  const ofTarget = [...groupBy, ...conditions.map(({ key }) => key)].includes(PROVIDER_KEY);
  return {
    policyId: id,
    workspaceId,
    conditions,
    groupBy,
    ofTarget,
    ofTools: body.target === 'mcp_tools',
    rule,
  };
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

function nameOf(id: string, { name }: PolicyBody): string {
  return name ? `the policy "${name}"` : `the policy ${id}`;
}

/**
 * Groups of a policy that are counted apart at once, where callers' metadata make them: what would be one more is counted
 * together with all others.
 */
export const MOST_COUNTED_GROUPS = 10_000;

function isDividedByCallers({ groupBy }: PolicyBody): boolean {
  return groupBy.some((key) => key.startsWith('metadata.'));
}

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
    pool: isDividedByCallers(body) ? { key: `p:${id}`, most: MOST_COUNTED_GROUPS } : undefined,
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
    pool: isDividedByCallers(body)
      ? { id: `p:${id}`, most: MOST_COUNTED_GROUPS, others: `p:${id}:others` }
      : undefined,
    assumedOutput: body.assumedOutputTokens,
    onOutage: body.onStoreOutage ?? 'deny',
  };
}
