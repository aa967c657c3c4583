// MCP integrations: made, listed, changed, archived, shared with workspaces, read and switched.
import { create } from '@bufbuild/protobuf';
import type { McpCapabilityList, McpMetadata } from '../../../gen/gateway/admin/v2/mcp_capabilities_pb.ts';
import {
  type CreateMcpIntegrationRequest,
  CreateMcpIntegrationResponseSchema,
  type DeleteMcpIntegrationRequest,
  DeleteMcpIntegrationResponseSchema,
  type GetMcpIntegrationMetadataRequest,
  type GetMcpIntegrationRequest,
  type ListMcpIntegrationCapabilitiesRequest,
  type ListMcpIntegrationsRequest,
  type ListMcpIntegrationWorkspacesRequest,
  type McpIntegration,
  McpIntegrationListSchema,
  McpIntegrationSchema,
  type McpIntegrationWorkspaceList,
  McpIntegrationWorkspaceListSchema,
  type SyncMcpIntegrationRequest,
  SyncMcpIntegrationResponseSchema,
  type TestMcpIntegrationRequest,
  TestMcpIntegrationResponseSchema,
  type UpdateMcpIntegrationCapabilitiesRequest,
  UpdateMcpIntegrationCapabilitiesResponseSchema,
  type UpdateMcpIntegrationRequest,
  UpdateMcpIntegrationResponseSchema,
  type UpdateMcpIntegrationWorkspacesRequest,
  UpdateMcpIntegrationWorkspacesResponseSchema,
} from '../../../gen/gateway/admin/v2/mcp_integrations_pb.ts';
import { switchMap } from '../../access/mcp/capability-switches.ts';
import {
  type McpCatalogueBody,
  type McpIntegrationBody,
  mcpCatalogues,
  mcpIntegrations,
  mcpOpenApi,
  mcpServers,
} from '../../access/mcp/mcp-collections.ts';
import type { Call } from '../../call/call.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { authorOf, callerOf, organisationOf, targetWorkspace } from '../kit/caller.ts';
import { insertOf, newDocument, type Resource, resource, shownAs } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { newSlug } from '../kit/slug.ts';
import { findMcpIntegration, requireMcpLevel } from './access.ts';
import { changedMcpBody, newMcpBody } from './body.ts';
import { capabilityList, means, shownSwitches, switched } from './capabilities.ts';
import { accepted, describedOf, newCatalogue } from './catalogue.ts';
import type { McpDeps } from './deps.ts';
import { listMcpIntegrations } from './list.ts';
import { checkMcpMappings } from './mappings.ts';
import { infoOf, mcpIntegrationRecord, metadataRecord } from './record.ts';
import { keep, type SyncOutcome, syncServer, testServer } from './sync.ts';
import { mcpShared, mcpWorkspaceList } from './workspaces.ts';

type Integrated = Document<McpIntegrationBody>;

const OBJECT = 'mcp-integration';

/** The service's own parts. */
interface IntegrationsRoom {
  readonly deps: McpDeps;
  readonly stored: Resource<McpIntegrationBody>;
  readonly catalogueOf: (integration: Integrated) => McpCatalogueBody | undefined;
  /** Reads, works out and writes a body; `told` is what the audit log shows of it. */
  readonly update: (
    call: Call,
    id: string,
    told: (document: Integrated) => JsonObject,
    change: (before: Integrated, at: number) => McpIntegrationBody | Promise<McpIntegrationBody>,
  ) => Promise<void>;
}

/** The methods of McpIntegrationsService but for those of OpenAPI documents. */
export function mcpIntegrationMethods(deps: McpDeps) {
  const { directory, mcp, now } = deps;
  const stored = resource(deps, {
    collection: mcpIntegrations,
    noun: 'MCP integration',
    shown: shownAs(McpIntegrationSchema, (document: Integrated) =>
      mcpIntegrationRecord(directory, document, undefined),
    ),
    writesElsewhere: true,
  });
  const room: IntegrationsRoom = {
    deps,
    stored,
    catalogueOf: ({ organisationId, id }) => mcp.catalogue(organisationId, id)?.body,
    update: (call, id, told, change) =>
      retryOnConflict(async () => {
        const before = await findMcpIntegration(deps, callerOf(call), id, 'update');
        const after = stored.changed(before, await change(before, now()));
        await stored.update(call, before, after, { before: told(before), after: told(after) });
      }),
  };
  return { ...integrationRecords(room), ...integrationWorkspaces(room), ...integrationCapabilities(room) };
}

function integrationRecords({ deps, stored, catalogueOf, update }: IntegrationsRoom) {
  const { directory, documents } = deps;
  return {
    async createMcpIntegration(request: CreateMcpIntegrationRequest, call: Call) {
      const caller = callerOf(call);
      const { organisationId } = caller;
      if ((request.organisationId ?? organisationId) !== organisationId)
        throw invalidField('organisation_id', "must be the caller's organisation");
      const workspaceId = targetWorkspace(directory, caller, request.workspaceId);
      const level = workspaceId === undefined ? 'organisation' : 'workspace';
      requireMcpLevel(directory, caller, level, 'create');
      const slug = newSlug(request.slug, '', request.name, 40);
      const scope = { organisationId, workspaceId };
      const body = await newMcpBody(deps, level, scope, authorOf(caller), slug, request);
      checkMcpMappings(deps, caller, undefined, body);
      const made = stored.draft(scope, body, { slug });
      const { id, createdAt: at } = made;
      const catalogue = newDocument(mcpCatalogues, scope, newCatalogue(id), at, { id });
      await stored.create(call, made, { also: [insertOf(mcpCatalogues, catalogue)] });
      return create(CreateMcpIntegrationResponseSchema, { id, slug, object: OBJECT });
    },

    async listMcpIntegrations(request: ListMcpIntegrationsRequest, call: Call) {
      return create(McpIntegrationListSchema, await listMcpIntegrations(deps, callerOf(call), request));
    },

    async getMcpIntegration(request: GetMcpIntegrationRequest, call: Call): Promise<McpIntegration> {
      const found = await findMcpIntegration(deps, callerOf(call), request.id, 'read');
      return mcpIntegrationRecord(directory, found, catalogueOf(found));
    },

    async updateMcpIntegration(request: UpdateMcpIntegrationRequest, call: Call) {
      await update(call, request.id, stored.shown, async (before) => {
        const body = await changedMcpBody(deps, before, request);
        checkMcpMappings(deps, callerOf(call), before.body, body);
        return body;
      });
      return create(UpdateMcpIntegrationResponseSchema);
    },

    async deleteMcpIntegration(request: DeleteMcpIntegrationRequest, call: Call) {
      const caller = callerOf(call);
      const scope = organisationOf(caller);
      const before = await findMcpIntegration(deps, caller, request.id, 'delete');
      const used = await documents.page(scope, mcpServers, {
        filter: [{ field: 'integrationId', op: 'eq', value: before.id }],
        pageSize: 1,
      });
      if (used.total > 0)
        throw fail('conflict', `the MCP integration has MCP servers (${used.total}): delete them first`);
      const filter = [{ field: 'id', op: 'eq' as const, value: before.id }];
      const dependents = [mcpCatalogues, mcpOpenApi].map((collection) => ({ collection, filter }));
      await stored.archive(call, before, { dependents });
      return create(DeleteMcpIntegrationResponseSchema);
    },
  };
}

function integrationWorkspaces({ deps, update }: IntegrationsRoom) {
  const { directory } = deps;
  return {
    async listMcpIntegrationWorkspaces(
      request: ListMcpIntegrationWorkspacesRequest,
      call: Call,
    ): Promise<McpIntegrationWorkspaceList> {
      const caller = callerOf(call);
      const found = await findMcpIntegration(deps, caller, request.id, 'read');
      return mcpWorkspaceList(directory, caller, found, request.version !== undefined);
    },

    async updateMcpIntegrationWorkspaces(request: UpdateMcpIntegrationWorkspacesRequest, call: Call) {
      const told = (document: Integrated): JsonObject =>
        codec.encode(
          McpIntegrationWorkspaceListSchema,
          mcpWorkspaceList(directory, undefined, document),
        ) as JsonObject;
      await update(call, request.id, told, (before, at) => mcpShared(directory, before, request, at));
      return create(UpdateMcpIntegrationWorkspacesResponseSchema);
    },
  };
}

function integrationCapabilities({ deps, catalogueOf, update }: IntegrationsRoom) {
  return {
    async listMcpIntegrationCapabilities(
      request: ListMcpIntegrationCapabilitiesRequest,
      call: Call,
    ): Promise<McpCapabilityList> {
      const found = await findMcpIntegration(deps, callerOf(call), request.id, 'read');
      const known = catalogueOf(found) ?? newCatalogue(found.id);
      return capabilityList(known, { own: switchMap(found.body.switches) }, request);
    },

    async updateMcpIntegrationCapabilities(request: UpdateMcpIntegrationCapabilitiesRequest, call: Call) {
      const { capabilities } = request;
      await update(
        call,
        request.id,
        ({ body }) => shownSwitches(body.switches),
        ({ body }, at) => ({ ...body, switches: switched(body.switches, capabilities, at) }),
      );
      const accepts = capabilities.filter(({ accept }) => accept === true);
      if (accepts.length > 0) {
        const found = await findMcpIntegration(deps, callerOf(call), request.id, 'update');
        await keep(deps, call, found, (before) =>
          accepted(before, (one) => accepts.some((change) => means(change, one))),
        );
      }
      return create(UpdateMcpIntegrationCapabilitiesResponseSchema, { success: true });
    },

    async getMcpIntegrationMetadata(
      request: GetMcpIntegrationMetadataRequest,
      call: Call,
    ): Promise<McpMetadata> {
      const found = await findMcpIntegration(deps, callerOf(call), request.id, 'read');
      return metadataRecord(catalogueOf(found));
    },

    async syncMcpIntegration(request: SyncMcpIntegrationRequest, call: Call) {
      const found = await findMcpIntegration(deps, callerOf(call), request.id, 'update');
      const { serverInfo, capabilities, clear } = request;
      const told = capabilities.length > 0 || clear.includes('capabilities');
      const outcome = await syncServer(deps, call, found, {
        info: serverInfo && infoOf(serverInfo),
        capabilities: told ? describedOf(capabilities as unknown as JsonObject[]) : undefined,
      });
      return create(SyncMcpIntegrationResponseSchema, outcomeMembers(outcome));
    },

    async testMcpIntegration(request: TestMcpIntegrationRequest, call: Call) {
      const found = await findMcpIntegration(deps, callerOf(call), request.id, 'read');
      return create(TestMcpIntegrationResponseSchema, outcomeMembers(await testServer(deps, call, found)));
    },
  };
}

/** The members that every answer of a reading has. */
export function outcomeMembers({ success, message, details }: SyncOutcome) {
  return {
    success,
    ...(message === undefined ? {} : { message }),
    ...(details === undefined ? {} : { details: details as Record<string, never> }),
  };
}
