// Every budget, except for those of tokens (JWT), which only their issuer knows.
import { type ApiKeyBody, apiKeys, type WorkspaceBody, workspaces } from '../access/identity-collections.ts';
import { integrationCounter, providerCounter } from '../access/providers/own-limits.ts';
import {
  type IntegrationBody,
  integrations,
  type ProviderBody,
  storedProviders,
} from '../access/providers/provider-collections.ts';
import { groupRule } from '../ledger/limits/policy-set.ts';
import { type BudgetRule, budgetRule } from '../ledger/limits/rule.ts';
import { usageLimitEntities, usageLimitPolicies } from '../ledger/policies.ts';
import type { Collection, JsonObject } from '../store/collection.ts';
import type { Condition, DocumentStore } from '../store/documents.ts';
import { everyDocument } from '../store/every-document.ts';

type Limits = JsonObject | readonly JsonObject[] | undefined;

/** Budgets of an organisation, read page by page: it may have many. */
export async function* budgetsOf(
  documents: Pick<DocumentStore, 'page'>,
  organisationId: string,
): AsyncGenerator<BudgetRule> {
  const all = <B extends object>(collection: Collection<B>, filter: readonly Condition[] = []) =>
    everyDocument(documents, { organisationId, workspaceId: undefined }, collection, { filter });
  for await (const { id, body } of all<ApiKeyBody>(apiKeys))
    yield* rulesOf(`key:${id}`, body.usageLimits, body.usageResetAt);
  for await (const { id, body } of all<WorkspaceBody>(workspaces))
    yield* rulesOf(`ws:${id}`, body.usageLimits);
  for await (const { id, body } of all<ProviderBody>(storedProviders))
    yield* rulesOf(providerCounter(id), body.usageLimits, body.usageResetAt);
  for await (const { id, body } of all<IntegrationBody>(integrations))
    for (const [workspaceId, { usageLimits, usageResetAt }] of Object.entries(body.workspaces ?? {}))
      yield* rulesOf(integrationCounter(id, workspaceId), usageLimits, usageResetAt);
  for await (const policy of all(usageLimitPolicies))
    for await (const { body } of all(usageLimitEntities, [{ field: 'policyId', op: 'eq', value: policy.id }]))
      yield groupRule(policy, body.group);
}

function rulesOf(counter: string, limits: Limits, resetAt?: number): readonly BudgetRule[] {
  const all = [limits ?? []].flat() as readonly JsonObject[];
  return all.map((limit, place) => budgetRule(limit, counter, '', resetAt, place));
}
