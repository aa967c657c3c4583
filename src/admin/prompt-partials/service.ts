// Prompt partials: made, listed, changed, published, archived, with their versions.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CreatePromptPartialRequest,
  type CreatePromptPartialResponse,
  CreatePromptPartialResponseSchema,
  type DeletePromptPartialRequest,
  type DeletePromptPartialResponse,
  DeletePromptPartialResponseSchema,
  type GetPromptPartialRequest,
  type ListPromptPartialsRequest,
  type ListPromptPartialVersionsRequest,
  type PromptPartial,
  type PromptPartialList,
  PromptPartialListSchema,
  type PromptPartialVersionList,
  PromptPartialVersionListSchema,
  type PublishPromptPartialRequest,
  type PublishPromptPartialResponse,
  PublishPromptPartialResponseSchema,
  type UpdatePromptPartialRequest,
  type UpdatePromptPartialResponse,
  UpdatePromptPartialResponseSchema,
} from '../../../gen/gateway/admin/v2/prompt_partials_pb.ts';
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { invalidField } from '../../lib/errors.ts';
import {
  type PartialBody,
  type PartialVersionBody,
  partials,
  partialVersions,
  versionSlug,
} from '../../prompts/prompt-collections.ts';
import { parseTemplate } from '../../prompts/template/parse.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { CREATED_MEANWHILE, collectionNamed, firstCollection, keepDefault } from '../collections/default.ts';
import { callerOf, found, ownWorkspace, targetScope } from '../kit/caller.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { defined } from '../kit/patch.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { slugOf } from '../kit/slug.ts';
import { aboutTemplate } from '../prompts/content.ts';
import type { PromptsDeps } from '../prompts/deps.ts';
import { partialRecord, partialShown, partialSummary, partialVersionRecord } from './record.ts';

interface Named {
  readonly partialId: string;
  readonly workspaceId?: string | undefined;
}

/** The methods of PromptPartialsService. */
export function promptPartialsService(deps: PromptsDeps) {
  const { documents, changes, directory, now, book } = deps;

  const find = async (call: Call, request: Named): Promise<Document<PartialBody>> => {
    const scope = targetScope(directory, callerOf(call), request.workspaceId);
    return found(await documents.get(scope, partials, request.partialId), 'partial');
  };

  const versionOf = async (
    { id, body, ...scope }: Document<PartialBody>,
    asked: string | number | undefined,
  ): Promise<Document<PartialVersionBody>> => {
    const number =
      asked === undefined || asked === 'default' ? body.published : asked === 'latest' ? body.latest : asked;
    return found(
      await documents.get(tenantOf(scope), partialVersions, versionSlug(id, Number(number))),
      'version',
    );
  };

  /** @param id of a partial that has the template from now on. @throws GatewayError validation_failed */
  const check = async (scope: TenantScope, string: string, id = ''): Promise<void> => {
    const template = parseTemplate(string, 'string');
    await aboutTemplate(book.partialsOf(scope, template, { id, template }));
  };

  const archive = async (call: Call, before: Document<PartialBody>): Promise<void> => {
    const order = { version: before.version, updatedAt: now() };
    const shown = partialShown(before, await versionOf(before, 'default'));
    await changes.commit(call, tenantOf(before), [archiveOperation(partials, before.id, order)], {
      ...targetOf(before),
      before: shown,
    });
  };

  return {
    async createPromptPartial(
      request: CreatePromptPartialRequest,
      call: Call,
    ): Promise<CreatePromptPartialResponse> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const scope = { organisationId, workspaceId: ownWorkspace(directory, caller, request.workspaceId) };
      await check(scope, request.string);
      const collectionId =
        request.collectionId === undefined
          ? firstCollection(deps, scope).id
          : await collectionNamed(deps, scope, request.collectionId);
      const [id, slug, createdAt] = [randomUUID(), slugOf('pp', request.name, 10), now()];
      const body: PartialBody = { name: request.name, collectionId, latest: 1, published: 1 };
      const made: Document<PartialBody> = {
        id,
        ...scope,
        slug,
        version: 1,
        status: 'active',
        schemaVersion: 1,
        createdAt,
        updatedAt: createdAt,
        body,
      };
      const version = newVersion(made, 1, request.string, request.versionDescription, createdAt);
      await retryOnConflict(
        async () =>
          changes.commit(
            call,
            scope,
            [
              ...(await keepDefault(deps, scope)),
              insertOperation(partials, { id, slug, createdAt, body }),
              insertOf(version),
            ],
            { ...targetOf(made), after: partialShown(made, version) },
          ),
        CREATED_MEANWHILE,
      );
      return create(CreatePromptPartialResponseSchema, { id, slug, versionId: version.id });
    },

    async listPromptPartials(request: ListPromptPartialsRequest, call: Call): Promise<PromptPartialList> {
      const scope = targetScope(directory, callerOf(call), request.workspaceId);
      const filter: Condition[] = [];
      if (request.search !== undefined) filter.push({ field: 'name', op: 'contains', value: request.search });
      if (request.collectionId !== undefined) {
        const value = await collectionNamed(deps, scope, request.collectionId);
        filter.push({ field: 'collectionId', op: 'eq', value });
      }
      const page = await documents.page(scope, partials, { ...newestFirst(request), filter });
      const data = page.documents.map(partialSummary);
      return create(PromptPartialListSchema, { ...listHead(page), data });
    },

    async getPromptPartial(request: GetPromptPartialRequest, call: Call): Promise<PromptPartial> {
      const partial = await find(call, request);
      return partialRecord(partial, await versionOf(partial, request.version));
    },

    async updatePromptPartial(
      request: UpdatePromptPartialRequest,
      call: Call,
    ): Promise<UpdatePromptPartialResponse> {
      return retryOnConflict(async () => {
        const before = await find(call, request);
        if (request.status === 'archived') {
          await archive(call, before);
          return create(UpdatePromptPartialResponseSchema);
        }
        const { id, slug = '' } = before;
        const scope = tenantOf(before);
        if (request.string !== undefined) await check(scope, request.string, id);
        const latest = await versionOf(before, 'latest');
        const description = descriptionOf(request);
        const at = now();
        const isNew = request.string !== undefined && request.string !== latest.body.string;
        const number = before.body.latest + (isNew ? 1 : 0);
        const body = { ...before.body, name: request.name ?? before.body.name, latest: number };
        const version = isNew
          ? newVersion(before, number, request.string ?? '', description, at)
          : described(latest, description);
        const writes: WriteOperation[] = [
          updateOperation(partials, id, before.version, { body, updatedAt: at }),
        ];
        if (isNew) writes.push(insertOf(version));
        else if (description !== undefined)
          writes.push(
            updateOperation(partialVersions, latest.id, latest.version, {
              body: version.body,
              updatedAt: at,
            }),
          );
        const after = { ...before, body, updatedAt: at };
        await changes.commit(call, scope, writes, {
          ...targetOf(after),
          before: partialShown(before, latest),
          after: partialShown(after, version),
        });
        const made = { id, slug, promptPartialVersionId: version.id };
        return create(UpdatePromptPartialResponseSchema, request.string === undefined ? {} : made);
      });
    },

    async deletePromptPartial(
      request: DeletePromptPartialRequest,
      call: Call,
    ): Promise<DeletePromptPartialResponse> {
      return retryOnConflict(async () => {
        await archive(call, await find(call, request));
        return create(DeletePromptPartialResponseSchema);
      });
    },

    async listPromptPartialVersions(
      request: ListPromptPartialVersionsRequest,
      call: Call,
    ): Promise<PromptPartialVersionList> {
      const partial = await find(call, request);
      const page = await documents.page(tenantOf(partial), partialVersions, {
        ...newestFirst(request),
        filter: [{ field: 'partialId', op: 'eq', value: partial.id }],
      });
      const data = page.documents.map((version) => partialVersionRecord(partial, version));
      return create(PromptPartialVersionListSchema, { ...listHead(page), data });
    },

    async publishPromptPartial(
      request: PublishPromptPartialRequest,
      call: Call,
    ): Promise<PublishPromptPartialResponse> {
      return retryOnConflict(async () => {
        const before = await find(call, request);
        const version = await versionOf(before, request.version);
        const template = parseTemplate(version.body.string, 'string');
        await aboutTemplate(book.partialsOf(tenantOf(before), template, { id: before.id, template }));
        const body = { ...before.body, published: request.version };
        const after = { ...before, body, updatedAt: now() };
        await changes.commit(
          call,
          tenantOf(before),
          [updateOperation(partials, before.id, before.version, { body, updatedAt: after.updatedAt })],
          {
            ...targetOf(after),
            before: partialShown(before, await versionOf(before, 'default')),
            after: partialShown(after, version),
          },
        );
        return create(PublishPromptPartialResponseSchema);
      });
    },
  };
}

function newVersion(
  owner: Document<PartialBody>,
  number: number,
  string: string,
  description: string | undefined,
  at: number,
): Document<PartialVersionBody> {
  return {
    id: randomUUID(),
    ...tenantOf(owner),
    slug: versionSlug(owner.id, number),
    version: 1,
    status: 'active',
    schemaVersion: 1,
    createdAt: at,
    updatedAt: at,
    body: defined<PartialVersionBody>({ partialId: owner.id, number, description, string }),
  } as Document<PartialVersionBody>;
}

function described(
  version: Document<PartialVersionBody>,
  description: string | undefined,
): Document<PartialVersionBody> {
  return description === undefined ? version : { ...version, body: { ...version.body, description } };
}

function insertOf({ id, slug = '', createdAt, body }: Document<PartialVersionBody>): WriteOperation {
  return insertOperation(partialVersions, { id, slug, createdAt, body });
}

/** Either spelling. @throws GatewayError validation_failed when they differ. */
function descriptionOf({ description, versionDescription }: UpdatePromptPartialRequest): string | undefined {
  if (description !== undefined && versionDescription !== undefined && description !== versionDescription)
    throw invalidField('version_description', 'says something else than description');
  return description ?? versionDescription;
}

function tenantOf({
  organisationId,
  workspaceId,
}: {
  readonly organisationId: string;
  readonly workspaceId?: string;
}): TenantScope {
  return { organisationId, workspaceId };
}

function targetOf({ id, workspaceId, body }: Document<PartialBody>) {
  return { id, name: body.name, workspaceId };
}
