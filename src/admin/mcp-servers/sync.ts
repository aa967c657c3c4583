// What a server's upstream offers and says of itself belongs to the integration: who stores it through a server needs
// the right to change that, too.
import type {
  SyncMcpServerCapabilitiesRequest,
  SyncMcpServerMetadataRequest,
} from '../../../gen/gateway/admin/v2/mcp_servers_pb.ts';
import type { McpIntegrationBody, McpServerInfo } from '../../access/mcp/mcp-collections.ts';
import type { Call } from '../../call/call.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { callerOf } from '../kit/caller.ts';
import { defined } from '../kit/patch.ts';
import { requireMcpLevel } from '../mcp-integrations/access.ts';
import { describedOf } from '../mcp-integrations/catalogue.ts';
import type { McpDeps } from '../mcp-integrations/deps.ts';
import { type SyncOutcome, syncServer } from '../mcp-integrations/sync.ts';
import type { Served } from './find.ts';

type Integration = Document<McpIntegrationBody>;

/** @throws GatewayError validation_failed, forbidden. */
export function syncCapabilities(
  deps: McpDeps,
  call: Call,
  server: Served,
  integration: Integration,
  { capabilities, clear }: SyncMcpServerCapabilitiesRequest,
): Promise<SyncOutcome> {
  requireMcpLevel(deps.directory, callerOf(call), integration.body.level, 'update');
  const told = capabilities.length > 0 || clear.includes('capabilities');
  const described = told ? describedOf(capabilities as unknown as JsonObject[]) : undefined;
  return syncServer(deps, call, integration, { capabilities: described }, server.id);
}

/** @throws GatewayError forbidden. */
export function syncMetadata(
  deps: McpDeps,
  call: Call,
  server: Served,
  integration: Integration,
  request: SyncMcpServerMetadataRequest,
): Promise<SyncOutcome> {
  requireMcpLevel(deps.directory, callerOf(call), integration.body.level, 'update');
  const info = defined<McpServerInfo>({
    serverName: request.serverName,
    serverVersion: request.serverVersion,
    title: request.title,
    description: request.description,
    websiteUrl: request.websiteUrl,
    icons: request.icons.length === 0 ? undefined : (request.icons as unknown as JsonObject[]),
    protocolVersion: request.protocolVersion,
    capabilityFlags: request.capabilityFlags as JsonObject | undefined,
    instructions: request.instructions,
  });
  const told = Object.keys(info).length > 0 || request.clear.length > 0;
  return syncServer(deps, call, integration, told ? { info } : {}, server.id);
}
