// An MCP integration as callers are shown it: never its secrets.
import { create } from '@bufbuild/protobuf';
import {
  type McpMetadata,
  McpMetadataSchema,
  type McpServerInfo as McpServerInfoMessage,
} from '../../../gen/gateway/admin/v2/mcp_capabilities_pb.ts';
import {
  type McpIntegration,
  McpIntegrationSchema,
} from '../../../gen/gateway/admin/v2/mcp_integrations_pb.ts';
import type { Directory } from '../../access/directory.ts';
import { isShared } from '../../access/mcp/mcp-access.ts';
import type {
  McpCatalogueBody,
  McpIntegrationBody,
  McpServerInfo,
} from '../../access/mcp/mcp-collections.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { defined } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';
import { shownMappings } from '../secret-references/mappings.ts';
import { shownConfigurations } from './configurations.ts';

type Struct = Record<string, never>;

/** As a get and lists show it. */
export function mcpIntegrationRecord(
  directory: Directory,
  document: Document<McpIntegrationBody>,
  catalogue: McpCatalogueBody | undefined,
): McpIntegration {
  const { id, organisationId, workspaceId, slug, status, createdAt, updatedAt, body } = document;
  const workspaces = directory.workspaceIds(organisationId);
  return create(McpIntegrationSchema, {
    id,
    organisationId,
    name: body.name,
    ...(body.description === undefined ? {} : { description: body.description }),
    ownerId: body.ownerId,
    status,
    type: body.level,
    url: body.url,
    authType: body.authType,
    transport: body.transport,
    configurations: shownConfigurations(body) as Struct,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    slug: slug ?? '',
    ...(workspaceId === undefined ? {} : { workspaceId }),
    workspacesCount: workspaces.filter((one) => isShared(document, one)).length,
    secretMappings: shownMappings(body.secretMappings),
    object: 'mcp-integration',
    metadata: metadataRecord(catalogue),
    ...(body.globalAccess === undefined
      ? {}
      : { globalWorkspaceAccess: { enabled: body.globalAccess.enabled } }),
  });
}

/** What a server says of itself, and how its last reading went. */
export function metadataRecord(catalogue: McpCatalogueBody | undefined): McpMetadata {
  const { info = {}, syncStatus = 'pending', lastSyncedAt, syncError } = catalogue ?? {};
  const { icons, capabilityFlags, ...texts } = info as McpServerInfo;
  return create(McpMetadataSchema, {
    ...texts,
    icons: (icons ?? []) as unknown as Struct[],
    ...(capabilityFlags === undefined ? {} : { capabilityFlags: capabilityFlags as Struct }),
    syncStatus,
    ...(lastSyncedAt === undefined ? {} : { lastSyncedAt: timeText(lastSyncedAt) }),
    ...(syncError === undefined ? {} : { syncError }),
    object: 'metadata',
  });
}

/** What a caller says of a server, as it is kept. */
export function infoOf(given: McpServerInfoMessage): McpServerInfo {
  return defined<McpServerInfo>({
    serverName: given.name,
    serverVersion: given.version,
    title: given.title,
    description: given.description,
    websiteUrl: given.websiteUrl,
    icons: given.icons.length === 0 ? undefined : (given.icons as unknown as JsonObject[]),
    protocolVersion: given.protocolVersion,
    capabilityFlags: given.capabilities as JsonObject | undefined,
    instructions: given.instructions,
  });
}
