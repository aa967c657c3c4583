// The usage of an integration's budgets, by workspace.

import { integrationCounter } from '../../access/providers/own-limits.ts';
import type { IntegrationBody, WorkspaceAccess } from '../../access/providers/provider-collections.ts';
import type { Usage, UsageReader } from '../../ledger/limits/usage.ts';
import type { Document } from '../../store/documents.ts';

/** Of one workspace, in the order of its budgets; undefined where it is unknown. */
type Standing = readonly (Usage | undefined)[];

/** Of the workspaces that are named and have budgets, by their ids. */
export async function workspaceUsages(
  reader: UsageReader,
  { id, organisationId, body }: Document<IntegrationBody>,
): Promise<ReadonlyMap<string, Standing>> {
  const read = async (
    workspaceId: string,
    { usageLimits = [], usageResetAt }: WorkspaceAccess,
  ): Promise<[string, Standing]> => {
    const counter = integrationCounter(id, workspaceId);
    const standing = await Promise.all(
      usageLimits.map((limit, place) =>
        reader.readLimit(organisationId, counter, limit, usageResetAt, place),
      ),
    );
    return [workspaceId, standing];
  };
  const limited = Object.entries(body.workspaces ?? {}).filter(([, access]) => access.usageLimits?.length);
  return new Map(await Promise.all(limited.map(([workspaceId, access]) => read(workspaceId, access))));
}
