// What is in a workspace, and how it goes with it.
import { apiKeys, members, type WorkspaceBody } from '../access/collections.ts';
import { integrations, storedProviders } from '../access/providers/collections.ts';
import { rateLimitPolicies, usageLimitPolicies } from '../ledger/policies.ts';
import { fail } from '../lib/errors.ts';
import { configs } from '../saved/collections.ts';
import type { Collection } from '../store/collection.ts';
import {
  archiveOperation,
  type Document,
  type DocumentStore,
  type WriteOperation,
} from '../store/documents.ts';

/** A collection whose documents belong to workspaces. */
interface Dependent {
  readonly collection: Collection<object>;
  /** In words, as refusals name it. */
  readonly name: string;
  /** Whether it is in the way of the workspace's end. */
  readonly blocks: boolean;
}

/** All of them. */
const DEPENDENTS: readonly Dependent[] = [
  { collection: apiKeys, name: 'API keys', blocks: true },
  { collection: configs, name: 'configs', blocks: true },
  { collection: storedProviders, name: 'stored providers', blocks: true },
  { collection: integrations, name: 'integrations', blocks: true },
  { collection: members, name: 'members', blocks: false },
  { collection: rateLimitPolicies, name: 'rate-limit policies', blocks: false },
  { collection: usageLimitPolicies, name: 'usage-limit policies', blocks: false },
];

/** Operations of one commit, so that the workspace's own and the audit log's fit too. */
const BATCH = 500;

/**
 * The operations that archive what is in a workspace. Beyond 500 of them, all but the last are written before,
 * by `commit`: who is interrupted finds the workspace still there and may ask again.
 * @throws GatewayError conflict when something is in the way and `force` is not given.
 */
export async function archiveContents(
  documents: DocumentStore,
  workspace: Document<WorkspaceBody>,
  force: boolean,
  updatedAt: number,
  commit: (operations: readonly WriteOperation[]) => Promise<unknown>,
): Promise<readonly WriteOperation[]> {
  const scope = { organisationId: workspace.organisationId, workspaceId: workspace.id };
  let batch: WriteOperation[] = [];
  for (const { collection, name, blocks } of DEPENDENTS) {
    let cursor: string | undefined;
    do {
      const page = await documents.page(scope, collection, {
        pageSize: BATCH,
        ...(cursor === undefined ? {} : { cursor }),
      });
      if (blocks && !force && page.documents.length > 0)
        throw fail('conflict', `the workspace still has ${name}: delete them, or give force_delete`);
      for (const { id } of page.documents) {
        batch.push(archiveOperation(collection, id, { updatedAt }));
        if (batch.length < BATCH) continue;
        await commit(batch);
        batch = [];
      }
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
  return batch;
}
