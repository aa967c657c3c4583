// The limits that a stored provider's calls count in: the provider's and those of its integration for the workspace.
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import type { IntegrationBody, ProviderBody } from './provider-collections.ts';
import { accessOf } from './workspace-access.ts';

/** Limits of one owner, as callers write them. */
export interface OwnLimits {
  /** The id of their counters. */
  readonly id: string;
  /** For refusals. */
  readonly name: string;
  readonly carried: {
    readonly rateLimits: readonly JsonObject[] | undefined;
    readonly usageLimits: JsonObject | readonly JsonObject[] | undefined;
    /** When usage was last reset by hand, in Unix milliseconds. */
    readonly usageResetAt: number | undefined;
  };
}

/** Where a stored provider's usage is counted. */
export function providerCounter(id: string): string {
  return `prov:${id}`;
}

/** Where a workspace's usage of an integration is counted. */
export function integrationCounter(id: string, workspaceId: string): string {
  return `int:${id}:${workspaceId}`;
}

/** Undefined when there are none. */
export function limitsOf(
  { id, slug = '', workspaceId = '', body }: Document<ProviderBody>,
  integration: Document<IntegrationBody> | undefined,
): readonly OwnLimits[] | undefined {
  const own = owned(providerCounter(id), `the stored provider ${slug}`, body);
  const access = integration && accessOf(integration, workspaceId);
  const shared =
    integration &&
    access &&
    owned(
      integrationCounter(integration.id, workspaceId),
      `the integration ${integration.slug ?? ''} in this workspace`,
      access,
    );
  const all = [own, shared].filter((one) => one !== undefined);
  return all.length === 0 ? undefined : all;
}

function owned(
  id: string,
  name: string,
  { rateLimits = [], usageLimits, usageResetAt }: Partial<OwnLimits['carried']>,
): OwnLimits | undefined {
  const budgets = [usageLimits ?? []].flat();
  if (rateLimits.length === 0 && budgets.length === 0) return undefined;
  // A separate list each: a limit for all workspaces is counted in each of them.
  return { id, name, carried: { rateLimits: [...rateLimits], usageLimits: budgets, usageResetAt } };
}
