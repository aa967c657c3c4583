// Model aliases: made, listed, changed, archived.
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
import type { Document } from '../../store/documents.ts';
import { callerOf, ownWorkspace, targetScope } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { recordHead } from '../kit/record.ts';
import { resource, shownAs, tenantOf } from '../kit/resource.ts';
import { tellingTaken } from '../kit/taken.ts';

type Alias = Document<ModelAliasBody>;

const TAKEN = { field: 'name', message: 'is the name of another model alias of the workspace' };

/** The methods of ModelAliasesService. */
export function modelAliasesService(deps: IdentityDeps) {
  const { documents, directory } = deps;
  const aliases = resource(deps, {
    collection: modelAliases,
    noun: 'model alias',
    shown: shownAs(ModelAliasSchema, aliasRecord),
  });
  const find = (
    call: Call,
    { aliasId, workspaceId }: { readonly aliasId: string; readonly workspaceId?: string | undefined },
  ): Promise<Alias> => aliases.find(targetScope(directory, callerOf(call), workspaceId), aliasId);
  /** The names of aliases are unique in a workspace. */
  const named = (write: () => Promise<Alias>): Promise<Alias> => tellingTaken(write, () => TAKEN);

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
      const { name: slug, description } = request;
      const config = await configNamed(scope, request.config);
      const made = aliases.draft(scope, defined<ModelAliasBody>({ name: slug, ...config, description }), {
        slug,
      });
      return aliasRecord(await named(() => aliases.create(call, made)));
    },

    async listModelAliases(request: ListModelAliasesRequest, call: Call): Promise<ModelAliasList> {
      const page = await aliases.page(targetScope(directory, callerOf(call), request.workspaceId), request);
      return create(ModelAliasListSchema, { ...listHead(page), data: page.documents.map(aliasRecord) });
    },

    async getModelAlias(request: GetModelAliasRequest, call: Call): Promise<ModelAlias> {
      return aliasRecord(await find(call, request));
    },

    async updateModelAlias(request: UpdateModelAliasRequest, call: Call): Promise<ModelAlias> {
      const before = await find(call, request);
      const fields = patch(request.clear, ['description']);
      const { configId, configSlug, description } = before.body;
      const { name = before.body.name, config } = request;
      const body = defined<ModelAliasBody>({
        name,
        ...(config === undefined ? { configId, configSlug } : await configNamed(tenantOf(before), config)),
        description: fields.optional('description', request.description, description),
      });
      const after = aliases.changed(before, body, name);
      return aliasRecord(await named(() => aliases.update(call, before, after)));
    },

    async deleteModelAlias(request: DeleteModelAliasRequest, call: Call): Promise<DeleteModelAliasResponse> {
      await aliases.archive(call, await find(call, request));
      return create(DeleteModelAliasResponseSchema);
    },
  });
}

function aliasRecord(document: Alias): ModelAlias {
  const { organisationId, workspaceId = '', body } = document;
  const { name, configId, configSlug, description } = body;
  return create(ModelAliasSchema, {
    ...recordHead(document),
    name,
    config: configSlug,
    configId,
    description,
    organisationId,
    workspaceId,
    object: 'model-alias',
  });
}
