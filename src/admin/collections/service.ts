// Collections of prompts: made, listed, changed, archived.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  ChildCollectionSchema,
  type Collection,
  type CollectionDetails,
  CollectionDetailsSchema,
  type CollectionList,
  CollectionListSchema,
  CollectionSchema,
  type CreateCollectionRequest,
  type CreateCollectionResponse,
  CreateCollectionResponseSchema,
  type DeleteCollectionRequest,
  type DeleteCollectionResponse,
  DeleteCollectionResponseSchema,
  type GetCollectionRequest,
  type ListCollectionsRequest,
  type UpdateCollectionRequest,
  type UpdateCollectionResponse,
  UpdateCollectionResponseSchema,
} from '../../../gen/gateway/admin/v2/collections_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail } from '../../lib/errors.ts';
import {
  type CollectionBody,
  partials,
  promptCollections,
  prompts,
} from '../../prompts/prompt-collections.ts';
import type { PromptReplica } from '../../prompts/prompt-replica.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
} from '../../store/documents.ts';
import { callerOf, found, ownWorkspace, targetScope, targetWorkspace } from '../kit/caller.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { defined } from '../kit/patch.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { slugOf } from '../kit/slug.ts';
import { timeText } from '../kit/time.ts';
import type { PromptsDeps } from '../prompts/deps.ts';
import {
  CREATED_MEANWHILE,
  findCollection,
  firstCollection,
  keepDefault,
  keepOperation,
  parentFor,
} from './default.ts';

/** The methods of CollectionsService. */
export function collectionsService(deps: PromptsDeps) {
  const { documents, changes, directory, now, book } = deps;
  const { replica } = book;

  const find = async (
    call: Call,
    request: { readonly collectionId: string; readonly workspaceId?: string | undefined },
  ): Promise<Document<CollectionBody>> => {
    const scope = targetScope(directory, callerOf(call), request.workspaceId);
    return found(await findCollection(deps, scope, request.collectionId), 'collection');
  };

  return {
    async createCollection(request: CreateCollectionRequest, call: Call): Promise<CreateCollectionResponse> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const scope = { organisationId, workspaceId: ownWorkspace(directory, caller, request.workspaceId) };
      const { parentCollectionId } = request;
      const parentId = parentCollectionId && (await parentFor(deps, scope, parentCollectionId));
      const [id, slug, createdAt] = [randomUUID(), slugOf('co', request.name, 6), now()];
      const body = defined<CollectionBody>({ name: request.name, parentId, isDefault: undefined });
      const made: Document<CollectionBody> = {
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
      await retryOnConflict(
        async () =>
          changes.commit(
            call,
            scope,
            [
              ...(await keepDefault(deps, scope)),
              insertOperation(promptCollections, { id, slug, createdAt, body }),
            ],
            { ...targetOf(made), after: shown(made) },
          ),
        CREATED_MEANWHILE,
      );
      return create(CreateCollectionResponseSchema, { id, slug });
    },

    async listCollections(request: ListCollectionsRequest, call: Call): Promise<CollectionList> {
      const caller = callerOf(call);
      const given = { required: true };
      const workspaceId = targetWorkspace(directory, caller, request.workspaceId, given) ?? '';
      const scope = { organisationId: caller.organisationId, workspaceId };
      const { search } = request;
      const filter: Condition[] =
        search === undefined ? [] : [{ field: 'name', op: 'contains', value: search }];
      const page = await documents.page(scope, promptCollections, { ...newestFirst(request), filter });
      const first = firstCollection(deps, scope);
      const alone =
        page.total === 0 &&
        first.body.name.includes(search ?? '') &&
        (await documents.get(scope, promptCollections, first.id)) === undefined;
      const some = alone && (request.currentPage ?? 0) === 0 ? [first] : page.documents;
      const data = some.map((one) => detailed(one, replica));
      return create(CollectionListSchema, { ...listHead(page), ...(alone ? { total: 1n } : {}), data });
    },

    async getCollection(request: GetCollectionRequest, call: Call): Promise<Collection> {
      const document = await find(call, request);
      const childCollections = replica.children(document.id).map(({ id, body, updatedAt }) =>
        create(ChildCollectionSchema, {
          id,
          name: body.name,
          lastUpdatedAt: timeText(updatedAt),
          collectionDetails: detailsOf(id, replica),
        }),
      );
      return Object.assign(detailed(document, replica), { childCollections });
    },

    async updateCollection(request: UpdateCollectionRequest, call: Call): Promise<UpdateCollectionResponse> {
      return retryOnConflict(async () => {
        const before = await find(call, request);
        const { id, version, organisationId, workspaceId } = before;
        const body = { ...before.body, name: request.name };
        const after = { ...before, body, updatedAt: now() };
        const write =
          version === 0
            ? keepOperation(before, body)
            : updateOperation(promptCollections, id, version, { body, updatedAt: after.updatedAt });
        await changes.commit(call, { organisationId, workspaceId }, [write], {
          ...targetOf(after),
          before: shown(before),
          after: shown(after),
        });
        return create(UpdateCollectionResponseSchema);
      }, CREATED_MEANWHILE);
    },

    async deleteCollection(request: DeleteCollectionRequest, call: Call): Promise<DeleteCollectionResponse> {
      const before = await find(call, request);
      const { id, version, organisationId, workspaceId } = before;
      if (before.body.isDefault) throw fail('not_found', 'the default collection of a workspace stays');
      const scope = { organisationId, workspaceId };
      for (const [collection, field, name] of [
        [prompts, 'collectionId', 'prompts'],
        [partials, 'collectionId', 'partials'],
        [promptCollections, 'parentId', 'collections'],
      ] as const) {
        const filter: Condition[] = [{ field, op: 'eq', value: id }];
        const page = await documents.page(scope, collection, { filter, pageSize: 1 });
        if (page.total > 0) throw fail('conflict', `there are still ${name} in the collection`);
      }
      const order = { version, updatedAt: now() };
      await changes.commit(call, scope, [archiveOperation(promptCollections, id, order)], {
        ...targetOf(before),
        before: shown(before),
      });
      return create(DeleteCollectionResponseSchema);
    },
  };
}

function collectionRecord(document: Document<CollectionBody>): Collection {
  const { id, workspaceId = '', slug = '', status, createdAt, updatedAt, body } = document;
  return create(CollectionSchema, {
    id,
    name: body.name,
    workspaceId,
    slug,
    ...(body.parentId === undefined ? {} : { parentCollectionId: body.parentId }),
    isDefault: body.isDefault ? 1 : 0,
    status,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    object: 'collection',
  });
}

function detailed(document: Document<CollectionBody>, replica: PromptReplica): Collection {
  return Object.assign(collectionRecord(document), { collectionDetails: detailsOf(document.id, replica) });
}

function detailsOf(id: string, replica: PromptReplica): CollectionDetails {
  const [children, own] = [replica.collectionsIn(id), replica.promptsIn(id)];
  return create(CollectionDetailsSchema, {
    childCollectionsCount: BigInt(children.count),
    promptsCount: BigInt(own.count),
    ...(children.lastUpdatedAt === undefined
      ? {}
      : { childCollectionsLastUpdatedAt: timeText(children.lastUpdatedAt) }),
    ...(own.lastUpdatedAt === undefined ? {} : { promptsLastUpdatedAt: timeText(own.lastUpdatedAt) }),
  });
}

function shown(document: Document<CollectionBody>): JsonObject {
  return codec.encode(CollectionSchema, collectionRecord(document)) as JsonObject;
}

function targetOf({ id, workspaceId, body }: Document<CollectionBody>) {
  return { id, name: body.name, workspaceId };
}
