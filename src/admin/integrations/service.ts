// Integrations: made, listed, changed, archived, and shared with workspaces.
import { randomUUID } from 'node:crypto';
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
import {
  archiveOperation,
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { INTEGRATION_RULES } from '../kit/bound-rules.ts';
import { bounded } from '../kit/bounds.ts';
import { callerOf, organisationOf, targetWorkspace } from '../kit/caller.ts';
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

/** The methods of IntegrationsService. */
export function integrationsService(deps: ProviderDeps) {
  const { documents, changes, directory, now } = deps;
  const shown = (document: Integrated): JsonObject =>
    codec.encode(IntegrationSchema, integrationRecord(directory, document)) as JsonObject;
  const shownModels = ({ body }: Integrated): JsonObject =>
    codec.encode(IntegrationModelListSchema, modelList(body)) as JsonObject;
  const shownWorkspaces = (document: Integrated): JsonObject =>
    codec.encode(IntegrationWorkspaceListSchema, workspaceList(directory, document)) as JsonObject;

  /** Reads, works out and writes a body; `told` is what the audit log shows of it. */
  async function update(
    call: Call,
    idOrSlug: string,
    told: (document: Integrated) => JsonObject,
    change: (
      before: Integrated,
      at: number,
    ) => { readonly body: IntegrationBody; readonly also?: readonly WriteOperation[] },
  ): Promise<void> {
    const caller = callerOf(call);
    await retryOnConflict(async () => {
      const before = await findIntegration(deps, caller, idOrSlug, 'update');
      const updatedAt = now();
      const { body: given, also = [] } = change(before, updatedAt);
      const body = bounded(deps, caller, INTEGRATION_RULES, before.body, given, 'workspace');
      const operations = [
        updateOperation(integrations, before.id, before.version, { body, updatedAt }),
        ...also,
      ];
      await changes.commit(call, organisationOf(caller), operations, {
        ...targetOf(before),
        name: body.name,
        before: told(before),
        after: told({ ...before, body, updatedAt }),
      });
    });
  }

  return {
    async createIntegration(
      request: CreateIntegrationRequest,
      call: Call,
    ): Promise<CreateIntegrationResponse> {
      const caller = callerOf(call);
      const workspaceId = targetWorkspace(directory, caller, request.workspaceId);
      const level = workspaceId === undefined ? 'organisation' : 'workspace';
      requireLevel(directory, caller, level, 'create');
      const entry = entryOf(deps, request.aiProviderId, 'ai_provider_id');
      if (request.defaultProviderSlug !== undefined && workspaceId === undefined)
        throw invalidField('default_provider_slug', 'is for integrations of a workspace');
      const createdAt = now();
      const { organisationId, userId: ownerId = caller.keyId } = caller;
      const made = newIntegrationBody(deps, entry, level, { organisationId, workspaceId }, ownerId, request);
      const granted = grantedMappings(deps, caller, entry, undefined, made, optionField);
      const body = bounded(deps, caller, INTEGRATION_RULES, undefined, granted);
      const slug = request.slug ?? slugOf('', request.name, 40);
      const place = workspaceId === undefined ? {} : { workspaceId };
      const document = { id: randomUUID(), ...place, slug, createdAt, body };
      const operations = [insertOperation(integrations, document)];
      if (workspaceId !== undefined && (request.createDefaultProvider ?? true))
        operations.push(
          defaultProvider(document, workspaceId, request.defaultProviderSlug ?? slug, createdAt),
        );
      const after = shown({
        ...document,
        organisationId,
        updatedAt: createdAt,
        version: 1,
        status: 'active',
        schemaVersion: integrations.schemaVersion,
      });
      await changes.commit(call, organisationOf(caller), operations, { ...targetOf(document), after });
      return create(CreateIntegrationResponseSchema, { id: document.id, slug, object: 'integration' });
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
      await update(call, request.slug, shown, (before) => {
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
      const order = { version: before.version, updatedAt: now() };
      await changes.commit(call, organisationOf(caller), [archiveOperation(integrations, before.id, order)], {
        ...targetOf(before),
        before: shown(before),
      });
      return create(DeleteIntegrationResponseSchema);
    },

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

function targetOf({ id, workspaceId, body }: Pick<Integrated, 'id' | 'workspaceId' | 'body'>) {
  return { id, name: body.name, workspaceId };
}
