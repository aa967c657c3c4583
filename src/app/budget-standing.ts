// Since when a budget counts its present total: read from its carrier, by the name of its counter.
import { apiKeys, workspaces } from '../access/identity-collections.ts';
import { integrationCounter, providerCounter } from '../access/providers/own-limits.ts';
import { integrations, storedProviders } from '../access/providers/provider-collections.ts';
import { accessOf } from '../access/providers/workspace-access.ts';
import type { TenantScope } from '../call/scope.ts';
import { entityId } from '../ledger/limits/groups.ts';
import { groupRule } from '../ledger/limits/policy-set.ts';
import { type BudgetRule, budgetRule } from '../ledger/limits/rule.ts';
import { budgetKey } from '../ledger/limits/usage.ts';
import { usageLimitEntities, usageLimitPolicies } from '../ledger/policies.ts';
import type { ReRateDeps } from '../ledger/re-rate/re-rate.ts';
import type { JsonObject } from '../store/collection.ts';
import type { DocumentStore } from '../store/documents.ts';

/** Limits of one owner, and when their usage was last reset by hand. */
interface Carried {
  readonly counter: string;
  readonly usageLimits: JsonObject | readonly JsonObject[] | undefined;
  readonly resetAt?: number | undefined;
}

/** @param now Unix milliseconds */
export function budgetStanding(
  documents: Pick<DocumentStore, 'get'>,
  now: () => number,
): ReRateDeps['countsSince'] {
  return async (organisationId, key) => {
    const scope = { organisationId, workspaceId: undefined };
    const id = key.slice(0, key.lastIndexOf(':'));
    const [kind, ...parts] = id.split(':');
    if (kind === 'p') return policySince(documents, scope, parts, key, now());
    // Only its issuer knows the limits in a token: its charges count.
    if (parts[0] === 'token') return 0;
    const carried = await carriedBy(documents, scope, parts);
    const rule = rulesOf(carried).find((one) => one.id === id);
    return rule !== undefined && budgetKey(rule, now()) === key ? 0 : undefined;
  };
}

function rulesOf(carried: Carried | undefined): readonly BudgetRule[] {
  if (carried === undefined) return [];
  const { counter, usageLimits, resetAt } = carried;
  const limits = [usageLimits ?? []].flat() as readonly JsonObject[];
  return limits.map((limit, place) => budgetRule(limit, counter, '', resetAt, place));
}

async function carriedBy(
  documents: Pick<DocumentStore, 'get'>,
  scope: TenantScope,
  [type, id = '', workspaceId = '']: readonly string[],
): Promise<Carried | undefined> {
  switch (type) {
    case 'key': {
      const key = await documents.get(scope, apiKeys, id);
      return (
        key && { counter: `key:${id}`, usageLimits: key.body.usageLimits, resetAt: key.body.usageResetAt }
      );
    }
    case 'ws': {
      const workspace = await documents.get(scope, workspaces, id);
      return workspace && { counter: `ws:${id}`, usageLimits: workspace.body.usageLimits };
    }
    case 'prov': {
      const found = await documents.get(scope, storedProviders, id);
      const { usageLimits, usageResetAt: resetAt } = found?.body ?? {};
      return { counter: providerCounter(id), usageLimits, resetAt };
    }
    case 'int': {
      const found = await documents.get(scope, integrations, id);
      const access: { usageLimits?: readonly JsonObject[]; usageResetAt?: number } | undefined =
        found && accessOf(found, workspaceId);
      const counter = integrationCounter(id, workspaceId);
      return { counter, usageLimits: access?.usageLimits, resetAt: access?.usageResetAt };
    }
    default:
      return undefined;
  }
}

/** A group's usage may have been reset by hand within its period. */
async function policySince(
  documents: Pick<DocumentStore, 'get'>,
  scope: TenantScope,
  [id = '', group = '']: readonly string[],
  key: string,
  now: number,
): Promise<number | undefined> {
  const policy = await documents.get(scope, usageLimitPolicies, id);
  if (policy === undefined || budgetKey(groupRule(policy, group), now) !== key) return undefined;
  const entity = await documents.get(scope, usageLimitEntities, entityId(id, group));
  return entity?.body.resetAt ?? 0;
}
