// The contents of a workspace, which are archived with it.
import { apiKeys, members, type WorkspaceBody } from '../../access/identity-collections.ts';
import { mcpConnections, mcpIntegrations, mcpServers } from '../../access/mcp/mcp-collections.ts';
import { integrations, storedProviders } from '../../access/providers/provider-collections.ts';
import { configs, guardrails, modelAliases } from '../../configs/config-collections.ts';
import { rateLimitPolicies, usageLimitPolicies } from '../../ledger/policies.ts';
import { fail } from '../../lib/errors.ts';
import { labels, partials, promptCollections, prompts } from '../../prompts/prompt-collections.ts';
import type { Collection } from '../../store/collection.ts';
import type { Document, DocumentStore, WriteOperation } from '../../store/documents.ts';
import { archiveFound } from '../kit/archive-found.ts';

/** A collection whose documents belong to workspaces. */
interface Dependent {
  readonly collection: Collection<object>;
  /** In words, as refusals name it. */
  readonly name: string;
  /** Whether it prevents the workspace's archival. */
  readonly blocks: boolean;
}

/** All of them. */
const DEPENDENTS: readonly Dependent[] = [
  { collection: apiKeys, name: 'API keys', blocks: true },
  { collection: modelAliases, name: 'model aliases', blocks: false },
  { collection: configs, name: 'configs', blocks: true },
  { collection: guardrails, name: 'guardrails', blocks: true },
  { collection: storedProviders, name: 'stored providers', blocks: true },
  { collection: prompts, name: 'prompts', blocks: true },
  { collection: partials, name: 'prompt partials', blocks: true },
  { collection: promptCollections, name: 'collections', blocks: false },
  { collection: labels, name: 'labels', blocks: false },
  { collection: integrations, name: 'integrations', blocks: true },
  { collection: mcpServers, name: 'MCP servers', blocks: true },
  { collection: mcpIntegrations, name: 'MCP integrations', blocks: true },
  { collection: mcpConnections, name: 'MCP connections', blocks: false },
  { collection: members, name: 'members', blocks: false },
  { collection: rateLimitPolicies, name: 'rate-limit policies', blocks: false },
  { collection: usageLimitPolicies, name: 'usage-limit policies', blocks: false },
];

/**
 * The operations that archive a workspace's contents; see archiveFound for the ones written before.
 * @throws GatewayError conflict when something is in the way and `force` is not given; nothing is written then.
 */
export async function archiveContents(
  documents: DocumentStore,
  workspace: Document<WorkspaceBody>,
  force: boolean,
  updatedAt: number,
  commit: (operations: readonly WriteOperation[]) => Promise<unknown>,
): Promise<readonly WriteOperation[]> {
  const scope = { organisationId: workspace.organisationId, workspaceId: workspace.id };
  for (const { collection, name } of DEPENDENTS.filter(({ blocks }) => blocks && !force)) {
    const page = await documents.page(scope, collection, { pageSize: 1 });
    if (page.documents.length > 0)
      throw fail('conflict', `the workspace still has ${name}: delete them, or give force_delete`);
  }
  return archiveFound({ documents, scope, updatedAt, commit }, DEPENDENTS);
}
