// An MCP server as callers are shown it.
import { create } from '@bufbuild/protobuf';
import { type McpServer, McpServerSchema } from '../../../gen/gateway/admin/v2/mcp_servers_pb.ts';
import type { Principal } from '../../call/principal.ts';
import type { JsonObject } from '../../store/collection.ts';
import { timeText } from '../kit/time.ts';
import { mayOnLevel } from '../mcp-integrations/access.ts';
import type { McpDeps } from '../mcp-integrations/deps.ts';
import { metadataRecord } from '../mcp-integrations/record.ts';
import { shownRules } from '../mcp-integrations/rules.ts';
import type { Served } from './find.ts';

/** @param caller undefined: the audit log, which shows nothing of the integration */
export function mcpServerRecord(
  { directory, mcp, publicUrl }: Pick<McpDeps, 'directory' | 'mcp' | 'publicUrl'>,
  caller: Principal | undefined,
  document: Served,
): McpServer {
  const { id, organisationId, workspaceId = '', slug = '', status, createdAt, updatedAt, body } = document;
  const integration = mcp.integration(organisationId, body.integrationId);
  const workspace = directory.workspace(organisationId, workspaceId);
  const readable =
    caller !== undefined &&
    integration !== undefined &&
    mayOnLevel(directory, caller, integration.body.level, 'read');
  return create(McpServerSchema, {
    id,
    organisationId,
    name: body.name,
    ...(body.description === undefined ? {} : { description: body.description }),
    status,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    ownerId: body.ownerId,
    slug,
    workspaceId,
    mcpIntegrationId: body.integrationId,
    ...(integration?.slug === undefined ? {} : { mcpIntegrationSlug: integration.slug }),
    ...(readable ? { mcpIntegrationUrl: integration.body.url } : {}),
    ...(integration === undefined ? {} : { authType: integration.body.authType }),
    ...(workspace === undefined ? {} : { workspaceName: workspace.body.name }),
    ...(workspace?.slug === undefined ? {} : { workspaceSlug: workspace.slug }),
    url: serverUrl(publicUrl(), slug),
    metadata: metadataRecord(mcp.catalogue(organisationId, body.integrationId)?.body),
    object: 'mcp-server',
    configurations: shownRules(body.rules) as JsonObject as Record<string, never>,
  });
}

/** Where MCP clients reach a server. */
export function serverUrl(base: string, slug: string): string {
  return `${base.replace(/\/+$/, '')}/${slug}/mcp`;
}
