// Every budget that a caller may see, with its owner: keys and workspaces from memory, the rest page by page.
import type { Directory } from '../../access/directory.ts';
import type { KeyRing } from '../../access/key-ring.ts';
import { integrationCounter, providerCounter } from '../../access/providers/own-limits.ts';
import {
  type IntegrationBody,
  integrations,
  type ProviderBody,
  storedProviders,
} from '../../access/providers/provider-collections.ts';
import type { TenantScope } from '../../call/scope.ts';
import { groupRule } from '../../ledger/limits/policy-set.ts';
import { type BudgetRule, budgetRule } from '../../ledger/limits/rule.ts';
import { usageLimitEntities, usageLimitPolicies } from '../../ledger/policies.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Condition, DocumentStore } from '../../store/documents.ts';
import { everyDocument } from '../../store/every-document.ts';

export interface CarriedBudget {
  readonly kind: 'api-key' | 'workspace' | 'provider' | 'integration' | 'policy';
  readonly id: string;
  readonly name: string;
  readonly workspaceId: string;
  /** As callers wrote it: dollars, tokens or requests. */
  readonly creditLimit: number;
  readonly rule: BudgetRule;
}

export interface CarriedDeps {
  readonly documents: DocumentStore;
  readonly directory: Directory;
  readonly keys: KeyRing;
}

type Limits = JsonObject | readonly JsonObject[] | undefined;

/** More are not shown. */
export const MOST = 10_000;

/** @param ownUser only the keys of this user, where members see no others */
export async function carriedBudgets(
  deps: CarriedDeps,
  scope: TenantScope,
  ownUser: string | undefined,
): Promise<CarriedBudget[]> {
  const { directory } = deps;
  const isSeen = (workspaceId = ''): boolean =>
    scope.workspaceId === undefined || workspaceId === scope.workspaceId;
  const ids = directory.workspaceIds(scope.organisationId).filter(isSeen);
  const found = ids.flatMap((id) => {
    const { name, usageLimits } = directory.workspace(scope.organisationId, id)?.body ?? { name: '' };
    return rulesOf({ kind: 'workspace', id, name, workspaceId: id }, `ws:${id}`, usageLimits);
  });
  for (const { principal, settings } of deps.keys.replica.of(scope.organisationId).values()) {
    const { keyId: id, keyName: name, workspaceId = '', userId } = principal;
    if (settings?.usageLimits === undefined || !isSeen(workspaceId)) continue;
    if (ownUser !== undefined && userId !== ownUser) continue;
    const owner = { kind: 'api-key', id, name, workspaceId } as const;
    found.push(...rulesOf(owner, `key:${id}`, settings.usageLimits, settings.usageResetAt));
  }
  for await (const { id, workspaceId = '', body } of everyDocument<ProviderBody>(
    deps.documents,
    scope,
    storedProviders,
  )) {
    const owner = { kind: 'provider', id, name: body.name, workspaceId } as const;
    found.push(...rulesOf(owner, providerCounter(id), body.usageLimits, body.usageResetAt));
  }
  found.push(...(await ofIntegrations(deps, scope, isSeen)), ...(await ofPolicies(deps, scope)));
  return found.slice(0, MOST);
}

async function ofIntegrations(
  deps: CarriedDeps,
  { organisationId }: TenantScope,
  isSeen: (workspaceId: string) => boolean,
): Promise<CarriedBudget[]> {
  const found: CarriedBudget[] = [];
  const whole = { organisationId, workspaceId: undefined };
  for await (const { id, body } of everyDocument<IntegrationBody>(deps.documents, whole, integrations))
    for (const [workspaceId, { usageLimits, usageResetAt }] of Object.entries(body.workspaces ?? {})) {
      if (!isSeen(workspaceId)) continue;
      const owner = { kind: 'integration', id, name: body.name, workspaceId } as const;
      found.push(...rulesOf(owner, integrationCounter(id, workspaceId), usageLimits, usageResetAt));
    }
  return found;
}

async function ofPolicies(deps: CarriedDeps, scope: TenantScope): Promise<CarriedBudget[]> {
  const found: CarriedBudget[] = [];
  for await (const policy of everyDocument(deps.documents, scope, usageLimitPolicies)) {
    const { id, workspaceId = '', body } = policy;
    const named: readonly Condition[] = [{ field: 'policyId', op: 'eq', value: id }];
    for await (const group of everyDocument(deps.documents, scope, usageLimitEntities, { filter: named })) {
      const name = [body.name ?? id, group.body.valueKey].join(': ');
      const rule = groupRule(policy, group.body.group);
      found.push({ kind: 'policy', id, name, workspaceId, creditLimit: body.creditLimit, rule });
      if (found.length >= MOST) return found;
    }
  }
  return found;
}

type Owner = Pick<CarriedBudget, 'kind' | 'id' | 'name' | 'workspaceId'>;

function rulesOf(owner: Owner, counter: string, limits: Limits, resetAt?: number): CarriedBudget[] {
  const list = [limits ?? []].flat() as readonly JsonObject[];
  return list.map((limit, place) => ({
    ...owner,
    creditLimit: Number(limit.credit_limit),
    rule: budgetRule(limit, counter, '', resetAt, place),
  }));
}
