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
} from '../../gen/gateway/admin/v2/integrations_pb.ts';
import type { Call } from '../access/call.ts';
import { type IntegrationBody, integrations, storedProviders } from '../access/providers/collections.ts';
import { governs } from '../access/roles.ts';
import { fail, invalidField } from '../lib/errors.ts';
import { codec } from '../rest/codec.ts';
import type { JsonObject } from '../store/collection.ts';
import {
  archiveOperation,
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../store/documents.ts';
import { INTEGRATION_RULES } from './bound-rules.ts';
import { bounded } from './bounds.ts';
import { callerOf, organisationOf, targetWorkspace } from './caller.ts';
import { defaultProvider } from './default-provider.ts';
import { changedIntegrationBody, newIntegrationBody, optionField } from './integration-body.ts';
import { listIntegrations } from './integration-list.ts';
import { checkModelHosts, modelList, withModels, withoutModels } from './integration-models.ts';
import { integrationRecord } from './integration-record.ts';
import { workspaceUsages } from './integration-usage.ts';
import { shared, workspaceList } from './integration-workspaces.ts';
import { findIntegration, requireLevel } from './integrations-access.ts';
import { untilWon } from './lost-race.ts';
import { grantedMappings } from './mapping-rights.ts';
import { entryOf, type ProviderFacts } from './provider-facts.ts';
import { slugOf } from './slug.ts';

type Integrated = Document<IntegrationBody>;

/** The methods of IntegrationsService. */
export function integrationsService(facts: ProviderFacts) {
  const { documents, changes, directory, now } = facts;
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
    await untilWon(async () => {
      const before = await findIntegration(facts, caller, idOrSlug, 'update');
      const updatedAt = now();
      const { body: given, also = [] } = change(before, updatedAt);
      const body = bounded(facts, caller, INTEGRATION_RULES, before.body, given, 'workspace');
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
      const entry = entryOf(facts, request.aiProviderId, 'ai_provider_id');
      if (request.defaultProviderSlug !== undefined && workspaceId === undefined)
        throw invalidField('default_provider_slug', 'is for integrations of a workspace');
      const createdAt = now();
      const { organisationId, userId: ownerId = caller.keyId } = caller;
      const made = newIntegrationBody(facts, entry, level, { organisationId, workspaceId }, ownerId, request);
      const granted = grantedMappings(facts, caller, entry, undefined, made, optionField);
      const body = bounded(facts, caller, INTEGRATION_RULES, undefined, granted);
      const slug = request.slug ?? slugOf('', request.name, 40);
      const place = workspaceId === undefined ? {} : { workspaceId };
      const document = { id: randomUUID(), ...place, slug, createdAt, body };
      const operations = [insertOperation(integrations, document)];
      if (workspaceId !== undefined && (request.createDefaultProvider ?? true))
        operations.push(
          defaultProvider(document, workspaceId, request.defaultProviderSlug ?? slug, createdAt),
        );
      const after = shown({
        ...{ ...document, organisationId, updatedAt: createdAt, version: 1, status: 'active' },
        schemaVersion: integrations.schemaVersion,
      });
      await changes.commit(call, organisationOf(caller), operations, { ...targetOf(document), after });
      return create(CreateIntegrationResponseSchema, { id: document.id, slug, object: 'integration' });
    },

    async listIntegrations(request: ListIntegrationsRequest, call: Call): Promise<IntegrationList> {
      return create(IntegrationListSchema, await listIntegrations(facts, callerOf(call), request));
    },

    async getIntegration(request: GetIntegrationRequest, call: Call): Promise<Integration> {
      return integrationRecord(directory, await findIntegration(facts, callerOf(call), request.slug, 'read'));
    },

    async updateIntegration(
      request: UpdateIntegrationRequest,
      call: Call,
    ): Promise<UpdateIntegrationResponse> {
      await update(call, request.slug, shown, (before) => {
        const entry = entryOf(facts, before.body.aiProviderId, 'ai_provider_id');
        const made = changedIntegrationBody(facts, entry, before, request);
        return { body: grantedMappings(facts, callerOf(call), entry, before.body, made, optionField) };
      });
      return create(UpdateIntegrationResponseSchema);
    },

    async deleteIntegration(
      request: DeleteIntegrationRequest,
      call: Call,
    ): Promise<DeleteIntegrationResponse> {
      const caller = callerOf(call);
      const before = await findIntegration(facts, caller, request.slug, 'delete');
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
      return modelList((await findIntegration(facts, callerOf(call), request.slug, 'read')).body);
    },

    async updateIntegrationModels(
      request: UpdateIntegrationModelsRequest,
      call: Call,
    ): Promise<UpdateIntegrationModelsResponse> {
      await update(call, request.slug, shownModels, ({ body }, at) => {
        const entry = entryOf(facts, body.aiProviderId, 'ai_provider_id');
        const made = withModels(facts, body, request, at);
        if (!governs(directory, callerOf(call))) checkModelHosts(body, made);
        return { body: grantedMappings(facts, callerOf(call), entry, body, made, optionField) };
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
      const found = await findIntegration(facts, callerOf(call), request.slug, 'read');
      return workspaceList(directory, found, await workspaceUsages(facts.usage, found));
    },

    async updateIntegrationWorkspaces(
      request: UpdateIntegrationWorkspacesRequest,
      call: Call,
    ): Promise<UpdateIntegrationWorkspacesResponse> {
      await update(call, request.slug, shownWorkspaces, (before, at) => {
        const { body, providers } = shared(facts, before, request, at);
        return { body, also: providers };
      });
      return create(UpdateIntegrationWorkspacesResponseSchema);
    },
  };
}

function targetOf({ id, workspaceId, body }: Pick<Integrated, 'id' | 'workspaceId' | 'body'>) {
  return { id, name: body.name, workspaceId };
}
