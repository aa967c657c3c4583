// Model aliases: made, listed, changed, archived.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CreateModelAliasRequest,
  type DeleteModelAliasRequest,
  type DeleteModelAliasResponse,
  DeleteModelAliasResponseSchema,
  type GetModelAliasRequest,
  type ListModelAliasesRequest,
  type ModelAlias,
  type ModelAliasList,
  ModelAliasListSchema,
  ModelAliasSchema,
  type UpdateModelAliasRequest,
} from '../../../gen/gateway/admin/v2/model_aliases_pb.ts';
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { configs, type ModelAliasBody, modelAliases } from '../../configs/config-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import { archiveOperation, type Document, insertOperation, updateOperation } from '../../store/documents.ts';
import { callerOf, found, ownWorkspace, targetScope } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { tellingTaken } from '../kit/taken.ts';
import { timeText } from '../kit/time.ts';

type Alias = Document<ModelAliasBody>;

/** The methods of ModelAliasesService. */
export function modelAliasesService({ documents, changes, directory, now }: IdentityDeps) {
  const find = async (
    call: Call,
    { aliasId, workspaceId }: { readonly aliasId: string; readonly workspaceId?: string | undefined },
  ): Promise<Alias> =>
    found(
      await documents.get(targetScope(directory, callerOf(call), workspaceId), modelAliases, aliasId),
      'model alias',
    );

  /** @throws GatewayError validation_failed for a config that the workspace does not have */
  const configNamed = async (scope: TenantScope, idOrSlug: string) => {
    const config = await documents.get(scope, configs, idOrSlug);
    if (config === undefined) throw invalidField('config', 'names no saved config of the workspace');
    return { configId: config.id, configSlug: config.slug ?? config.id };
  };

  return withConflictRetries({
    async createModelAlias(request: CreateModelAliasRequest, call: Call): Promise<ModelAlias> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const scope = { organisationId, workspaceId: ownWorkspace(directory, caller, request.workspaceId) };
      const body = defined<ModelAliasBody>({
        name: request.name,
        ...(await configNamed(scope, request.config)),
        description: request.description,
      });
      const [id, createdAt] = [randomUUID(), now()];
      const made: Alias = {
        id,
        ...scope,
        slug: body.name,
        version: 1,
        status: 'active',
        schemaVersion: modelAliases.schemaVersion,
        createdAt,
        updatedAt: createdAt,
        body,
      };
      const operation = insertOperation(modelAliases, { id, slug: body.name, createdAt, body });
      const target = { ...targetOf(made), after: shown(made) };
      await tellingTaken(
        () => changes.commit(call, scope, [operation], target),
        () => TAKEN,
      );
      return aliasRecord(made);
    },

    async listModelAliases(request: ListModelAliasesRequest, call: Call): Promise<ModelAliasList> {
      const scope = targetScope(directory, callerOf(call), request.workspaceId);
      const page = await documents.page(scope, modelAliases, newestFirst(request));
      return create(ModelAliasListSchema, { ...listHead(page), data: page.documents.map(aliasRecord) });
    },

    async getModelAlias(request: GetModelAliasRequest, call: Call): Promise<ModelAlias> {
      return aliasRecord(await find(call, request));
    },

    async updateModelAlias(request: UpdateModelAliasRequest, call: Call): Promise<ModelAlias> {
      const before = await find(call, request);
      const { id, version, organisationId, workspaceId } = before;
      const scope = { organisationId, workspaceId };
      const fields = patch(request.clear, ['description']);
      const { configId, configSlug } = before.body;
      const body = defined<ModelAliasBody>({
        name: request.name ?? before.body.name,
        ...(request.config === undefined
          ? { configId, configSlug }
          : await configNamed(scope, request.config)),
        description: fields.optional('description', request.description, before.body.description),
      });
      const after = { ...before, slug: body.name, body, updatedAt: now() };
      const change = { body, slug: body.name, updatedAt: after.updatedAt };
      await tellingTaken(
        () =>
          changes.commit(call, scope, [updateOperation(modelAliases, id, version, change)], {
            ...targetOf(after),
            before: shown(before),
            after: shown(after),
          }),
        () => TAKEN,
      );
      return aliasRecord(after);
    },

    async deleteModelAlias(request: DeleteModelAliasRequest, call: Call): Promise<DeleteModelAliasResponse> {
      const before = await find(call, request);
      const { id, version, organisationId, workspaceId } = before;
      await changes.commit(
        call,
        { organisationId, workspaceId },
        [archiveOperation(modelAliases, id, { version, updatedAt: now() })],
        { ...targetOf(before), before: shown(before) },
      );
      return create(DeleteModelAliasResponseSchema);
    },
  });
}

const TAKEN = { field: 'name', message: 'is the name of another model alias of the workspace' };

function aliasRecord(document: Alias): ModelAlias {
  const { id, organisationId, workspaceId = '', status, createdAt, updatedAt, body } = document;
  const { name, configId, configSlug, description } = body;
  return create(ModelAliasSchema, {
    id,
    name,
    config: configSlug,
    configId,
    ...(description === undefined ? {} : { description }),
    organisationId,
    workspaceId,
    status,
    object: 'model-alias',
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  });
}

function shown(document: Alias): JsonObject {
  return codec.encode(ModelAliasSchema, aliasRecord(document)) as JsonObject;
}

function targetOf({ id, workspaceId, body }: Alias) {
  return { id, name: body.name, workspaceId };
}
