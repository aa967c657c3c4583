// Stored configs: made, listed, changed, archived, with their versions.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type Config,
  type ConfigList,
  ConfigListSchema,
  type ConfigUsage,
  ConfigUsageSchema,
  type CreateConfigRequest,
  type CreateConfigResponse,
  CreateConfigResponseSchema,
  type DeleteConfigRequest,
  type DeleteConfigResponse,
  DeleteConfigResponseSchema,
  type GetConfigRequest,
  type GetConfigUsageRequest,
  type ListConfigsRequest,
  type ListConfigVersionsRequest,
  type UpdateConfigRequest,
  type UpdateConfigResponse,
  UpdateConfigResponseSchema,
} from '../../../gen/gateway/admin/v2/configs_pb.ts';
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import type { ConfigCatalogue } from '../../configs/config-catalogue.ts';
import { type ConfigBody, configs, configVersions } from '../../configs/config-collections.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { mapInSlices, nextSlice } from '../../lib/time-slices.ts';
import {
  type Condition,
  type Document,
  type DocumentStore,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { authorOf, callerOf, ownWorkspace, targetScope } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst, statusOf } from '../kit/lists.ts';
import { defined } from '../kit/patch.ts';
import { type Resource, resource, tenantOf } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { retryUntilFree } from '../kit/retry-until-free.ts';
import { slugOf } from '../kit/slug.ts';
import { type ConfigRules, checkedContent } from './content.ts';
import { configRecord, configShown, configSummary, configVersionRecord } from './record.ts';
import { configUsage, refuseUsed } from './usage.ts';

/** Generated values of a config that may collide. */
const CHOSEN = ['slug', 'isDefault'];

/** What the service needs. */
export interface ConfigsDeps extends IdentityDeps {
  readonly rules: ConfigRules;
  /** Tells which configs refer to which. */
  readonly savedConfigs: ConfigCatalogue;
}

/** The service's own parts. */
interface ConfigsRoom extends ConfigsDeps {
  readonly stored: Resource<ConfigBody>;
  readonly find: (
    call: Call,
    request: { readonly slug: string; readonly workspaceId?: string | undefined },
  ) => Promise<Document<ConfigBody>>;
}

/** The methods of ConfigsService. */
export function configsService(deps: ConfigsDeps) {
  const stored = resource(deps, { collection: configs, noun: 'config', shown: configShown });
  const room: ConfigsRoom = {
    ...deps,
    stored,
    find: (call, { slug, workspaceId }) =>
      stored.find(targetScope(deps.directory, callerOf(call), workspaceId), slug),
  };
  return { ...configChanges(room), ...configReads(room) };
}

function configChanges(room: ConfigsRoom) {
  const { documents, directory, now, rules, stored, find } = room;
  const archive = async (call: Call, before: Document<ConfigBody>): Promise<void> => {
    await refuseUsed(room, before);
    await stored.archive(call, before);
  };

  return {
    async createConfig(request: CreateConfigRequest, call: Call): Promise<CreateConfigResponse> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const scope = { organisationId, workspaceId: ownWorkspace(directory, caller, request.workspaceId) };
      const [id, versionId, at] = [randomUUID(), randomUUID(), now()];
      const owner = { tenant: scope, id, slug: '', before: undefined };
      const config = await checkedContent(documents, rules, owner, request.config!);
      const isDefault = defaultOf(request) === true ? true : undefined;
      const [ownerId, { name }] = [authorOf(caller), request];
      const body = defined<ConfigBody>({ name, config, versionId, isDefault, ownerId, updatedBy: ownerId });
      return retryUntilFree(CHOSEN, async () => {
        const slug = slugOf('pc', name, 6);
        const made = stored.draft(scope, body, { id, slug, at });
        await stored.create(call, made, {
          first: isDefault ? await instead(documents, scope, id, at) : [],
          also: [versionOperation(made, at)],
        });
        return create(CreateConfigResponseSchema, { id, slug, versionId, object: 'config' });
      });
    },

    async updateConfig(request: UpdateConfigRequest, call: Call): Promise<UpdateConfigResponse> {
      return retryUntilFree(CHOSEN, async () => {
        const before = await find(call, request);
        const after = await changedConfig(room, before, request, authorOf(callerOf(call)));
        const isArchived = request.status === 'archived';
        if (isArchived) await archive(call, before);
        else {
          const isNew = after.body.versionId !== before.body.versionId;
          const takesDefault = after.body.isDefault && !before.body.isDefault;
          await stored.update(call, before, after, {
            first: takesDefault ? await instead(documents, tenantOf(before), before.id, after.updatedAt) : [],
            also: isNew ? [versionOperation(after, after.updatedAt)] : [],
          });
        }
        const { versionId } = isArchived ? before.body : after.body;
        return create(UpdateConfigResponseSchema, { versionId, object: 'config' });
      });
    },

    async deleteConfig(request: DeleteConfigRequest, call: Call): Promise<DeleteConfigResponse> {
      return retryOnConflict(async () => {
        await archive(call, await find(call, request));
        return create(DeleteConfigResponseSchema);
      });
    },
  };
}

function configReads({ documents, directory, stored, find, ...deps }: ConfigsRoom) {
  return {
    async listConfigs(request: ListConfigsRequest, call: Call): Promise<ConfigList> {
      const scope = targetScope(directory, callerOf(call), request.workspaceId);
      const filter: Condition[] =
        request.name === undefined ? [] : [{ field: 'name', op: 'contains', value: request.name }];
      const page = await stored.page(scope, request, { filter, status: statusOf(request.status) });
      return create(ConfigListSchema, { ...listHead(page), data: page.documents.map(configSummary) });
    },

    async getConfig(request: GetConfigRequest, call: Call): Promise<Config> {
      return configRecord(await find(call, request));
    },

    async listConfigVersions(request: ListConfigVersionsRequest, call: Call): Promise<ConfigList> {
      const config = await find(call, request);
      const page = await documents.page(tenantOf(config), configVersions, {
        ...newestFirst(request),
        filter: [{ field: 'configId', op: 'eq', value: config.id }],
      });
      const data = await mapInSlices(page.documents, (version) => configVersionRecord(config, version));
      return create(ConfigListSchema, { ...listHead(page), data });
    },

    async getConfigUsage(request: GetConfigUsageRequest, call: Call): Promise<ConfigUsage> {
      const usage = { documents, directory, savedConfigs: deps.savedConfigs };
      const { total, users } = await configUsage(usage, await find(call, request));
      return create(ConfigUsageSchema, { object: 'config-usage', total: BigInt(total), data: [...users] });
    },
  };
}

/** The config as a request changes it. @throws GatewayError conflict, validation_failed */
async function changedConfig(
  { documents, rules, stored }: ConfigsRoom,
  before: Document<ConfigBody>,
  request: UpdateConfigRequest,
  updatedBy: string,
): Promise<Document<ConfigBody>> {
  const { id, slug = '', body: was } = before;
  if (request.baseVersionId !== undefined && request.baseVersionId !== was.versionId)
    throw fail('conflict', 'the config was saved by another since: read it and make the change again', {
      param: 'base_version_id',
    });
  const owner = { tenant: tenantOf(before), id, slug, before: was.config };
  const config =
    request.config === undefined ? was.config : await checkedContent(documents, rules, owner, request.config);
  await nextSlice();
  const isNew = JSON.stringify(config) !== JSON.stringify(was.config);
  const body = defined<ConfigBody>({
    ...was,
    name: request.name ?? was.name,
    config,
    versionId: isNew ? randomUUID() : was.versionId,
    isDefault: (defaultOf(request) ?? was.isDefault) ? true : undefined,
    updatedBy,
  });
  return stored.changed(before, body);
}

/** The operation that ends the default before, where another becomes it. */
async function instead(
  documents: DocumentStore,
  scope: TenantScope,
  id: string,
  updatedAt: number,
): Promise<WriteOperation[]> {
  const filter: Condition[] = [{ field: 'isDefault', op: 'eq', value: 1 }];
  const page = await documents.page(scope, configs, { filter, pageSize: 1 });
  return page.documents
    .filter((other) => other.id !== id)
    .map((other) => {
      const { isDefault: _, ...body } = other.body;
      return updateOperation(configs, other.id, other.version, { body, updatedAt });
    });
}

function versionOperation(
  { id, workspaceId, body }: Pick<Document<ConfigBody>, 'id' | 'workspaceId' | 'body'>,
  createdAt: number,
): WriteOperation {
  const { name, config, versionId, updatedBy } = body;
  return insertOperation(configVersions, {
    id: versionId,
    createdAt,
    body: { configId: id, name, config, updatedBy },
    ...(workspaceId === undefined ? {} : { workspaceId }),
  });
}

/** Either spelling. @throws GatewayError validation_failed when they differ. */
function defaultOf({
  isDefault,
  isDefaultAlias,
}: Pick<CreateConfigRequest, 'isDefault' | 'isDefaultAlias'>): boolean | undefined {
  if (isDefault !== undefined && isDefaultAlias !== undefined && isDefault !== isDefaultAlias)
    throw invalidField('isDefault', 'says something else than is_default');
  const given = isDefault ?? isDefaultAlias;
  return given === undefined ? undefined : given === 1;
}
