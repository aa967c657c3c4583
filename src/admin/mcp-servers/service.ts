// MCP servers: made, listed, changed, archived, read, switched, and opened to users.
import { create } from '@bufbuild/protobuf';
import type { McpCapabilityList, McpMetadata } from '../../../gen/gateway/admin/v2/mcp_capabilities_pb.ts';
import {
  type CheckMcpServerUserAccessRequest,
  CheckMcpServerUserAccessResponseSchema,
  type CreateMcpServerRequest,
  CreateMcpServerResponseSchema,
  type DeleteMcpServerConnectionsRequest,
  DeleteMcpServerConnectionsResponseSchema,
  type DeleteMcpServerRequest,
  DeleteMcpServerResponseSchema,
  type DeleteMcpServerTokensRequest,
  DeleteMcpServerTokensResponseSchema,
  type GetMcpServerClientInfoRequest,
  type GetMcpServerMetadataRequest,
  type GetMcpServerRequest,
  type GetMcpServerTokensRequest,
  type ListMcpServerCapabilitiesRequest,
  type ListMcpServerConnectionsRequest,
  type ListMcpServersRequest,
  type ListMcpServerUserAccessRequest,
  type McpServer,
  McpServerClientInfoSchema,
  McpServerSchema,
  type SetMcpServerTokensRequest,
  SetMcpServerTokensResponseSchema,
  type SyncMcpServerCapabilitiesRequest,
  SyncMcpServerCapabilitiesResponseSchema,
  type SyncMcpServerMetadataRequest,
  SyncMcpServerMetadataResponseSchema,
  type TestMcpServerRequest,
  TestMcpServerResponseSchema,
  type UpdateMcpServerCapabilitiesRequest,
  UpdateMcpServerCapabilitiesResponseSchema,
  type UpdateMcpServerRequest,
  UpdateMcpServerResponseSchema,
  type UpdateMcpServerUserAccessRequest,
  UpdateMcpServerUserAccessResponseSchema,
} from '../../../gen/gateway/admin/v2/mcp_servers_pb.ts';
import { switchMap } from '../../access/mcp/capability-switches.ts';
import { allowsUser } from '../../access/mcp/mcp-access.ts';
import {
  type McpIntegrationBody,
  type McpServerBody,
  mcpConnections,
  mcpServers,
} from '../../access/mcp/mcp-collections.ts';
import type { Call } from '../../call/call.ts';
import { fail } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { authorOf, callerOf, targetWorkspace } from '../kit/caller.ts';
import { type Resource, resource, shownAs } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { capabilityList, shownSwitches, switched } from '../mcp-integrations/capabilities.ts';
import { newCatalogue } from '../mcp-integrations/catalogue.ts';
import type { McpDeps } from '../mcp-integrations/deps.ts';
import { metadataRecord } from '../mcp-integrations/record.ts';
import { outcomeMembers } from '../mcp-integrations/service.ts';
import { testServer } from '../mcp-integrations/sync.ts';
import { changedServerBody, newServerBody, serverSlug } from './body.ts';
import { connectionList, endConnection, forgetTokens, keepTokens, tokensOf } from './connections.ts';
import { findMcpServer, type Served } from './find.ts';
import { listMcpServers } from './list.ts';
import { mcpServerRecord, serverUrl } from './record.ts';
import { syncCapabilities, syncMetadata } from './sync.ts';
import { shownUserAccess, userAccessList, withUserAccess } from './users.ts';

/** The service's own parts. */
interface ServersRoom {
  readonly deps: McpDeps;
  readonly stored: Resource<McpServerBody>;
  readonly named: (call: Call, id: string) => Promise<Served>;
  readonly integrationOf: (server: Served) => Document<McpIntegrationBody>;
  /** Reads, works out and writes a body; `told` is what the audit log shows of it. */
  readonly update: (
    call: Call,
    id: string,
    told: (document: Served) => JsonObject,
    change: (before: Served, at: number) => McpServerBody | Promise<McpServerBody>,
  ) => Promise<void>;
}

/** The methods of McpServersService. */
export function mcpServersService(deps: McpDeps) {
  const { mcp, now } = deps;
  const stored = resource(deps, {
    collection: mcpServers,
    noun: 'MCP server',
    shown: shownAs(McpServerSchema, (document: Served) => mcpServerRecord(deps, undefined, document)),
    writesElsewhere: true,
  });
  const named = (call: Call, id: string): Promise<Served> => findMcpServer(deps, callerOf(call), id);
  const room: ServersRoom = {
    deps,
    stored,
    named,
    integrationOf({ organisationId, body }) {
      const found = mcp.integration(organisationId, body.integrationId);
      if (found === undefined) throw fail('conflict', 'the MCP integration of this server is archived');
      return found;
    },
    update: (call, id, told, change) =>
      retryOnConflict(async () => {
        const before = await named(call, id);
        const after = stored.changed(before, await change(before, now()));
        await stored.update(call, before, after, { before: told(before), after: told(after) });
      }),
  };
  return { ...serverRecords(room), ...serverCapabilities(room), ...serverUsers(room) };
}

function serverRecords({ deps, stored, named, integrationOf, update }: ServersRoom) {
  const { directory, publicUrl } = deps;
  return {
    async createMcpServer(request: CreateMcpServerRequest, call: Call) {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const workspaceId = targetWorkspace(directory, caller, request.workspaceId, { required: true }) ?? '';
      const slug = serverSlug(request.slug, request.name);
      const scope = { organisationId, workspaceId };
      const body = await newServerBody(deps, caller, scope, authorOf(caller), slug, request);
      const { id } = await stored.create(call, stored.draft(scope, body, { slug }));
      return create(CreateMcpServerResponseSchema, { id, slug, object: 'mcp-server' });
    },

    listMcpServers: (request: ListMcpServersRequest, call: Call) =>
      listMcpServers(deps, callerOf(call), request),

    async getMcpServer({ id }: GetMcpServerRequest, call: Call): Promise<McpServer> {
      return mcpServerRecord(deps, callerOf(call), await named(call, id));
    },

    async updateMcpServer(request: UpdateMcpServerRequest, call: Call) {
      await update(call, request.id, stored.shown, (before) => changedServerBody(deps, before, request));
      return create(UpdateMcpServerResponseSchema);
    },

    async deleteMcpServer({ id }: DeleteMcpServerRequest, call: Call) {
      const before = await named(call, id);
      const filter = [{ field: 'serverId', op: 'eq' as const, value: before.id }];
      await stored.archive(call, before, { dependents: [{ collection: mcpConnections, filter }] });
      return create(DeleteMcpServerResponseSchema);
    },

    async testMcpServer({ id }: TestMcpServerRequest, call: Call) {
      const server = await named(call, id);
      const { success, message, ms, status } = await testServer(deps, call, integrationOf(server), server.id);
      return create(TestMcpServerResponseSchema, {
        success,
        ...(status === undefined ? {} : { statusCode: status }),
        ...(ms === undefined ? {} : { responseTimeMs: ms }),
        url: serverUrl(publicUrl(), server.slug ?? ''),
        serverName: server.body.name,
        ...(message === undefined ? {} : { error: message }),
        object: 'mcp-server',
      });
    },
  };
}

function serverCapabilities({ deps, named, integrationOf, update }: ServersRoom) {
  const { mcp } = deps;
  return {
    async listMcpServerCapabilities(
      request: ListMcpServerCapabilitiesRequest,
      call: Call,
    ): Promise<McpCapabilityList> {
      const { organisationId, body } = await named(call, request.id);
      const known =
        mcp.catalogue(organisationId, body.integrationId)?.body ?? newCatalogue(body.integrationId);
      const integration = mcp.integration(organisationId, body.integrationId);
      const switches = { own: switchMap(body.switches), integration: switchMap(integration?.body.switches) };
      return capabilityList(known, switches, request);
    },

    async updateMcpServerCapabilities(request: UpdateMcpServerCapabilitiesRequest, call: Call) {
      const told = ({ body }: Served): JsonObject => shownSwitches(body.switches);
      await update(call, request.id, told, ({ body }, at) => ({
        ...body,
        switches: switched(body.switches, request.capabilities, at),
      }));
      return create(UpdateMcpServerCapabilitiesResponseSchema, { success: true });
    },

    async syncMcpServerCapabilities(request: SyncMcpServerCapabilitiesRequest, call: Call) {
      const server = await named(call, request.id);
      const outcome = await syncCapabilities(deps, call, server, integrationOf(server), request);
      return create(SyncMcpServerCapabilitiesResponseSchema, outcomeMembers(outcome));
    },

    async getMcpServerMetadata({ id }: GetMcpServerMetadataRequest, call: Call): Promise<McpMetadata> {
      const { organisationId, body } = await named(call, id);
      return metadataRecord(mcp.catalogue(organisationId, body.integrationId)?.body);
    },

    async syncMcpServerMetadata(request: SyncMcpServerMetadataRequest, call: Call) {
      const server = await named(call, request.id);
      const outcome = await syncMetadata(deps, call, server, integrationOf(server), request);
      const { details: _, ...members } = outcomeMembers(outcome);
      return create(SyncMcpServerMetadataResponseSchema, members);
    },
  };
}

function serverUsers({ deps, named, integrationOf, update }: ServersRoom) {
  return {
    async listMcpServerUserAccess(request: ListMcpServerUserAccessRequest, call: Call) {
      return userAccessList(deps, await named(call, request.id), request);
    },

    async updateMcpServerUserAccess(request: UpdateMcpServerUserAccessRequest, call: Call) {
      const told = ({ body }: Served): JsonObject => shownUserAccess(body);
      await update(call, request.id, told, (before) => withUserAccess(deps, before, request));
      return create(UpdateMcpServerUserAccessResponseSchema, { success: true });
    },

    async checkMcpServerUserAccess({ id }: CheckMcpServerUserAccessRequest, call: Call) {
      const { body } = await named(call, id);
      const hasAccess = allowsUser(body, callerOf(call).userId);
      return create(CheckMcpServerUserAccessResponseSchema, { hasAccess });
    },

    listMcpServerConnections: (request: ListMcpServerConnectionsRequest, call: Call) =>
      connectionList(deps, callerOf(call), request),

    async deleteMcpServerConnections(request: DeleteMcpServerConnectionsRequest, call: Call) {
      await endConnection(deps, call, request);
      return create(DeleteMcpServerConnectionsResponseSchema, { success: true });
    },

    getMcpServerTokens: ({ id }: GetMcpServerTokensRequest, call: Call) => tokensOf(deps, callerOf(call), id),

    async setMcpServerTokens(request: SetMcpServerTokensRequest, call: Call) {
      await keepTokens(deps, call, request);
      return create(SetMcpServerTokensResponseSchema, { success: true });
    },

    async deleteMcpServerTokens({ id }: DeleteMcpServerTokensRequest, call: Call) {
      await forgetTokens(deps, call, id);
      return create(DeleteMcpServerTokensResponseSchema, { success: true });
    },

    async getMcpServerClientInfo({ id }: GetMcpServerClientInfoRequest, call: Call) {
      const { oauth, clientSecretMask } = integrationOf(await named(call, id)).body;
      return create(McpServerClientInfoSchema, {
        ...(oauth?.clientId === undefined ? {} : { clientId: oauth.clientId }),
        ...(clientSecretMask === undefined ? {} : { clientSecret: clientSecretMask }),
      });
    },
  };
}
