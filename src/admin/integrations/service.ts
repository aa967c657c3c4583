// Integrations: made, listed, changed, archived, and shared with workspaces.
import { create } from '@bufbuild/protobuf';
import {
  type CreateIntegrationRequest,
  type CreateIntegrationResponse,
  CreateIntegrationResponseSchema,
  type DeleteIntegrationModelsRequest,
  type DeleteIntegrationModelsResponse,
  DeleteIntegrationModelsResponseSchema,
  type DeleteIntegrationRequest,
  type DeleteIntegrationResponse,
  DeleteIntegrationResponseSchema,
  type GetIntegrationRequest,
  type Integration,
  type IntegrationList,
  IntegrationListSchema,
  type IntegrationModelList,
  IntegrationModelListSchema,
  IntegrationSchema,
  type IntegrationWorkspaceList,
  IntegrationWorkspaceListSchema,
  type ListIntegrationModelsRequest,
  type ListIntegrationsRequest,
  type ListIntegrationWorkspacesRequest,
  type UpdateIntegrationModelsRequest,
  type UpdateIntegrationModelsResponse,
  UpdateIntegrationModelsResponseSchema,
  type UpdateIntegrationRequest,
  type UpdateIntegrationResponse,
  UpdateIntegrationResponseSchema,
  type UpdateIntegrationWorkspacesRequest,
  type UpdateIntegrationWorkspacesResponse,
  UpdateIntegrationWorkspacesResponseSchema,
} from '../../../gen/gateway/admin/v2/integrations_pb.ts';
import {
  type IntegrationBody,
  integrations,
  storedProviders,
} from '../../access/providers/provider-collections.ts';
import { governs } from '../../access/roles.ts';
import type { Call } from '../../call/call.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, WriteOperation } from '../../store/documents.ts';
import { INTEGRATION_RULES } from '../kit/bound-rules.ts';
import { bounded } from '../kit/bounds.ts';
import { authorOf, callerOf, organisationOf, targetScope } from '../kit/caller.ts';
import { type Resource, resource, shownAs } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { slugOf } from '../kit/slug.ts';
import { entryOf, type ProviderDeps } from '../providers/deps.ts';
import { grantedMappings } from '../secret-references/mapping-rights.ts';
import { findIntegration, requireLevel } from './access.ts';
import { changedIntegrationBody, newIntegrationBody, optionField } from './body.ts';
import { defaultProvider } from './default-provider.ts';
import { listIntegrations } from './list.ts';
import { checkModelHosts, modelList, withModels, withoutModels } from './models.ts';
import { integrationRecord } from './record.ts';
import { workspaceUsages } from './usage.ts';
import { shared, workspaceList } from './workspaces.ts';

type Integrated = Document<IntegrationBody>;

/** Reads, works out and writes a body; `told` is what the audit log shows of it. */
type Update = (
  call: Call,
  idOrSlug: string,
  told: (document: Integrated) => JsonObject,
  change: (
    before: Integrated,
    at: number,
  ) => { readonly body: IntegrationBody; readonly also?: readonly WriteOperation[] },
) => Promise<void>;

/** The service's own parts. */
interface IntegrationsRoom {
  readonly deps: ProviderDeps;
  readonly stored: Resource<IntegrationBody>;
  readonly update: Update;
}

/** The methods of IntegrationsService. */
export function integrationsService(deps: ProviderDeps) {
  const stored = resource(deps, {
    collection: integrations,
    noun: 'integration',
    shown: shownAs(IntegrationSchema, (document) => integrationRecord(deps.directory, document)),
    // Stored providers of the workspaces that it is shared with.
    writesElsewhere: true,
  });
  const update: Update = (call, idOrSlug, told, change) =>
    retryOnConflict(async () => {
      const caller = callerOf(call);
      const before = await findIntegration(deps, caller, idOrSlug, 'update');
      const { body: given, also = [] } = change(before, deps.now());
      const body = bounded(deps, caller, INTEGRATION_RULES, before.body, given, 'workspace');
      const after = stored.changed(before, body);
      await stored.update(call, before, after, { also, before: told(before), after: told(after) });
    });
  const room: IntegrationsRoom = { deps, stored, update };
  return { ...ownMethods(room), ...modelMethods(room), ...workspaceMethods(room) };
}

function ownMethods({ deps, stored, update }: IntegrationsRoom) {
  const { documents, directory } = deps;
  return {
    async createIntegration(
      request: CreateIntegrationRequest,
      call: Call,
    ): Promise<CreateIntegrationResponse> {
      const caller = callerOf(call);
      const scope = targetScope(directory, caller, request.workspaceId);
      const { workspaceId } = scope;
      const level = workspaceId === undefined ? 'organisation' : 'workspace';
      requireLevel(directory, caller, level, 'create');
      const entry = entryOf(deps, request.aiProviderId, 'ai_provider_id');
      if (request.defaultProviderSlug !== undefined && workspaceId === undefined)
        throw invalidField('default_provider_slug', 'is for integrations of a workspace');
      const given = newIntegrationBody(deps, entry, level, scope, authorOf(caller), request);
      const granted = grantedMappings(deps, caller, entry, undefined, given, optionField);
      const body = bounded(deps, caller, INTEGRATION_RULES, undefined, granted);
      const slug = request.slug ?? slugOf('', request.name, 40);
      const made = stored.draft(scope, body, { slug });
      const { id, createdAt } = made;
      const also =
        workspaceId !== undefined && (request.createDefaultProvider ?? true)
          ? [defaultProvider(made, workspaceId, request.defaultProviderSlug ?? slug, createdAt)]
          : [];
      await stored.create(call, made, { also });
      return create(CreateIntegrationResponseSchema, { id, slug, object: 'integration' });
    },

    async listIntegrations(request: ListIntegrationsRequest, call: Call): Promise<IntegrationList> {
      return create(IntegrationListSchema, await listIntegrations(deps, callerOf(call), request));
    },

    async getIntegration(request: GetIntegrationRequest, call: Call): Promise<Integration> {
      return integrationRecord(directory, await findIntegration(deps, callerOf(call), request.slug, 'read'));
    },

    async updateIntegration(
      request: UpdateIntegrationRequest,
      call: Call,
    ): Promise<UpdateIntegrationResponse> {
      await update(call, request.slug, stored.shown, (before) => {
        const entry = entryOf(deps, before.body.aiProviderId, 'ai_provider_id');
        const made = changedIntegrationBody(deps, entry, before, request);
        return { body: grantedMappings(deps, callerOf(call), entry, before.body, made, optionField) };
      });
      return create(UpdateIntegrationResponseSchema);
    },

    async deleteIntegration(
      request: DeleteIntegrationRequest,
      call: Call,
    ): Promise<DeleteIntegrationResponse> {
      const caller = callerOf(call);
      const before = await findIntegration(deps, caller, request.slug, 'delete');
      const used = await documents.page(organisationOf(caller), storedProviders, {
        filter: [{ field: 'integrationId', op: 'eq', value: before.id }],
        pageSize: 1,
      });
      if (used.total > 0)
        throw fail('conflict', `the integration has stored providers (${used.total}): delete them first`);
      await stored.archive(call, before);
      return create(DeleteIntegrationResponseSchema);
    },
  };
}

function modelMethods({ deps, update }: IntegrationsRoom) {
  const { directory } = deps;
  const shownModels = ({ body }: Integrated): JsonObject =>
    codec.encode(IntegrationModelListSchema, modelList(body)) as JsonObject;

  return {
    async listIntegrationModels(
      request: ListIntegrationModelsRequest,
      call: Call,
    ): Promise<IntegrationModelList> {
      return modelList((await findIntegration(deps, callerOf(call), request.slug, 'read')).body);
    },

    async updateIntegrationModels(
      request: UpdateIntegrationModelsRequest,
      call: Call,
    ): Promise<UpdateIntegrationModelsResponse> {
      await update(call, request.slug, shownModels, ({ body }, at) => {
        const entry = entryOf(deps, body.aiProviderId, 'ai_provider_id');
        const made = withModels(deps, entry, body, request, at);
        if (!governs(directory, callerOf(call))) checkModelHosts(body, made);
        return { body: grantedMappings(deps, callerOf(call), entry, body, made, optionField) };
      });
      return create(UpdateIntegrationModelsResponseSchema);
    },

    async deleteIntegrationModels(
      request: DeleteIntegrationModelsRequest,
      call: Call,
    ): Promise<DeleteIntegrationModelsResponse> {
      await update(call, request.slug, shownModels, ({ body }, at) => ({
        body: withoutModels(body, request, at),
      }));
      return create(DeleteIntegrationModelsResponseSchema);
    },
  };
}

function workspaceMethods({ deps, update }: IntegrationsRoom) {
  const { directory } = deps;
  const shownWorkspaces = (document: Integrated): JsonObject =>
    codec.encode(IntegrationWorkspaceListSchema, workspaceList(directory, document)) as JsonObject;

  return {
    async listIntegrationWorkspaces(
      request: ListIntegrationWorkspacesRequest,
      call: Call,
    ): Promise<IntegrationWorkspaceList> {
      const found = await findIntegration(deps, callerOf(call), request.slug, 'read');
      return workspaceList(directory, found, await workspaceUsages(deps.usage, found));
    },

    async updateIntegrationWorkspaces(
      request: UpdateIntegrationWorkspacesRequest,
      call: Call,
    ): Promise<UpdateIntegrationWorkspacesResponse> {
      await update(call, request.slug, shownWorkspaces, (before, at) => {
        const { body, providers } = shared(deps, before, request, at);
        return { body, also: providers };
      });
      return create(UpdateIntegrationWorkspacesResponseSchema);
    },
  };
}
