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
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { authorOf, callerOf, found, organisationOf, ownWorkspace, targetScope } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst, statusOf } from '../kit/lists.ts';
import { defined } from '../kit/patch.ts';
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

/** The methods of ConfigsService. */
export function configsService(deps: ConfigsDeps) {
  const { documents, changes, directory, now, rules } = deps;

  const find = async (
    call: Call,
    request: { readonly slug: string; readonly workspaceId?: string | undefined },
  ): Promise<Document<ConfigBody>> => {
    const scope = targetScope(directory, callerOf(call), request.workspaceId);
    return found(await documents.get(scope, configs, request.slug), 'config');
  };

  /** The operation that ends the default before, for another's sake. */
  const instead = async (scope: TenantScope, id: string, updatedAt: number): Promise<WriteOperation[]> => {
    const filter: Condition[] = [{ field: 'isDefault', op: 'eq', value: 1 }];
    const page = await documents.page(scope, configs, { filter, pageSize: 1 });
    return page.documents
      .filter((other) => other.id !== id)
      .map((other) => {
        const { isDefault: _, ...body } = other.body;
        return updateOperation(configs, other.id, other.version, { body, updatedAt });
      });
  };

  const archive = async (call: Call, before: Document<ConfigBody>): Promise<void> => {
    await refuseUsed(deps, before);
    const order = { version: before.version, updatedAt: now() };
    await changes.commit(
      call,
      organisationOf(callerOf(call)),
      [archiveOperation(configs, before.id, order)],
      {
        ...targetOf(before),
        before: configShown(before),
      },
    );
  };

  return {
    async createConfig(request: CreateConfigRequest, call: Call): Promise<CreateConfigResponse> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const workspaceId = ownWorkspace(directory, caller, request.workspaceId);
      const scope = { organisationId, workspaceId };
      const [id, versionId] = [randomUUID(), randomUUID()];
      const owner = { tenant: scope, id, slug: '', before: undefined };
      const config = await checkedContent(documents, rules, owner, request.config!);
      const isDefault = defaultOf(request) === true ? true : undefined;
      const at = now();
      const author = authorOf(caller);
      const body = defined<ConfigBody>({
        name: request.name,
        config,
        versionId,
        isDefault,
        ownerId: author,
        updatedBy: author,
      });
      return retryUntilFree(CHOSEN, async () => {
        const slug = slugOf('pc', request.name, 6);
        const document = { id, slug, workspaceId, createdAt: at, body };
        const after = configShown({
          ...document,
          organisationId,
          updatedAt: at,
          version: 1,
          status: 'active',
          schemaVersion: 1,
        });
        const operations = [
          ...(isDefault ? await instead(scope, id, at) : []),
          insertOperation(configs, document),
          versionOperation(document, at),
        ];
        await changes.commit(call, scope, operations, { ...targetOf(document), after });
        return create(CreateConfigResponseSchema, { id, slug, versionId, object: 'config' });
      });
    },

    async listConfigs(request: ListConfigsRequest, call: Call): Promise<ConfigList> {
      const scope = targetScope(directory, callerOf(call), request.workspaceId);
      const filter: Condition[] =
        request.name === undefined ? [] : [{ field: 'name', op: 'contains', value: request.name }];
      const page = await documents.page(scope, configs, {
        ...newestFirst(request),
        filter,
        status: statusOf(request.status),
      });
      return create(ConfigListSchema, { ...listHead(page), data: page.documents.map(configSummary) });
    },

    async getConfig(request: GetConfigRequest, call: Call): Promise<Config> {
      return configRecord(await find(call, request));
    },

    async updateConfig(request: UpdateConfigRequest, call: Call): Promise<UpdateConfigResponse> {
      return retryUntilFree(CHOSEN, async () => {
        const before = await find(call, request);
        const { organisationId, workspaceId = '' } = before;
        const scope = { organisationId, workspaceId };
        const at = now();
        const { baseVersionId } = request;
        if (baseVersionId !== undefined && baseVersionId !== before.body.versionId)
          throw fail('conflict', 'the config was saved by another since: read it and make the change again', {
            param: 'base_version_id',
          });
        const owner = { tenant: scope, id: before.id, slug: before.slug ?? '', before: before.body.config };
        const config =
          request.config === undefined
            ? before.body.config
            : await checkedContent(documents, rules, owner, request.config);
        const isNew = JSON.stringify(config) !== JSON.stringify(before.body.config);
        const asked = defaultOf(request) ?? before.body.isDefault;
        const body = defined<ConfigBody>({
          ...before.body,
          name: request.name ?? before.body.name,
          config,
          versionId: isNew ? randomUUID() : before.body.versionId,
          isDefault: asked ? true : undefined,
          updatedBy: authorOf(callerOf(call)),
        });
        const after = { ...before, body, updatedAt: at };
        if (request.status === 'archived') await archive(call, before);
        else {
          const operations = [
            ...(asked && !before.body.isDefault ? await instead(scope, before.id, at) : []),
            updateOperation(configs, before.id, before.version, { body, updatedAt: at }),
            ...(isNew ? [versionOperation(after, at)] : []),
          ];
          await changes.commit(call, scope, operations, {
            ...targetOf(after),
            before: configShown(before),
            after: configShown(after),
          });
        }
        const { versionId } = request.status === 'archived' ? before.body : body;
        return create(UpdateConfigResponseSchema, { versionId, object: 'config' });
      });
    },

    async deleteConfig(request: DeleteConfigRequest, call: Call): Promise<DeleteConfigResponse> {
      return retryOnConflict(async () => {
        await archive(call, await find(call, request));
        return create(DeleteConfigResponseSchema);
      });
    },

    async listConfigVersions(request: ListConfigVersionsRequest, call: Call): Promise<ConfigList> {
      const config = await find(call, request);
      const { organisationId, workspaceId } = config;
      const page = await documents.page({ organisationId, workspaceId }, configVersions, {
        ...newestFirst(request),
        filter: [{ field: 'configId', op: 'eq', value: config.id }],
      });
      const data = page.documents.map((version) => configVersionRecord(config, version));
      return create(ConfigListSchema, { ...listHead(page), data });
    },

    async getConfigUsage(request: GetConfigUsageRequest, call: Call): Promise<ConfigUsage> {
      const { total, users } = await configUsage(deps, await find(call, request));
      return create(ConfigUsageSchema, { object: 'config-usage', total: BigInt(total), data: [...users] });
    },
  };
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

function targetOf({ id, workspaceId, body }: Pick<Document<ConfigBody>, 'id' | 'workspaceId' | 'body'>) {
  return { id, name: body.name, workspaceId };
}
