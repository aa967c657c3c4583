// Collections of prompts: made, listed, changed, archived.
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
import type { Condition, Document, DocumentStore } from '../../store/documents.ts';
import { callerOf, found, ownWorkspace, targetScope, targetWorkspace } from '../kit/caller.ts';
import { listHead } from '../kit/lists.ts';
import { defined } from '../kit/patch.ts';
import { recordHead } from '../kit/record.ts';
import { type Resource, resource, shownAs, tenantOf } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { slugOf } from '../kit/slug.ts';
import { optionalTimeText, timeText } from '../kit/time.ts';
import type { PromptsDeps } from '../prompts/deps.ts';
import { CREATED_MEANWHILE, findCollection, firstCollection, keepDefault, parentFor } from './default.ts';

/** The methods of CollectionsService. */
export function collectionsService(deps: PromptsDeps) {
  const { documents, directory, book } = deps;
  const { replica } = book;
  const stored = resource(deps, {
    collection: promptCollections,
    noun: 'collection',
    shown: shownAs(CollectionSchema, collectionRecord),
  });

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
      const { name, parentCollectionId } = request;
      const parentId = parentCollectionId && (await parentFor(deps, scope, parentCollectionId));
      const body = defined<CollectionBody>({ name, parentId, isDefault: undefined });
      const made = stored.draft(scope, body, { slug: slugOf('co', name, 6) });
      await retryOnConflict(
        async () => stored.create(call, made, { first: await keepDefault(deps, scope) }),
        CREATED_MEANWHILE,
      );
      return create(CreateCollectionResponseSchema, { id: made.id, slug: made.slug });
    },

    listCollections: (request: ListCollectionsRequest, call: Call) =>
      listCollections(deps, stored, request, call),

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
        const after = stored.changed(before, { ...before.body, name: request.name });
        // The default collection is computed until something changes it.
        if (before.version === 0) await stored.create(call, after, { before: stored.shown(before) });
        else await stored.update(call, before, after);
        return create(UpdateCollectionResponseSchema);
      }, CREATED_MEANWHILE);
    },

    async deleteCollection(request: DeleteCollectionRequest, call: Call): Promise<DeleteCollectionResponse> {
      const before = await find(call, request);
      if (before.body.isDefault) throw fail('not_found', 'the default collection of a workspace stays');
      await refuseFull(documents, before);
      await stored.archive(call, before);
      return create(DeleteCollectionResponseSchema);
    },
  };
}

/** The stored ones; a workspace without any has its default collection alone. */
async function listCollections(
  deps: PromptsDeps,
  stored: Resource<CollectionBody>,
  request: ListCollectionsRequest,
  call: Call,
): Promise<CollectionList> {
  const { documents, directory, book } = deps;
  const caller = callerOf(call);
  const given = { required: true };
  const workspaceId = targetWorkspace(directory, caller, request.workspaceId, given) ?? '';
  const scope = { organisationId: caller.organisationId, workspaceId };
  const { search } = request;
  const filter: Condition[] = search === undefined ? [] : [{ field: 'name', op: 'contains', value: search }];
  const page = await stored.page(scope, request, { filter });
  const first = firstCollection(deps, scope);
  const alone =
    page.total === 0 &&
    first.body.name.includes(search ?? '') &&
    (await documents.get(scope, promptCollections, first.id)) === undefined;
  const some = alone && (request.currentPage ?? 0) === 0 ? [first] : page.documents;
  const data = some.map((one) => detailed(one, book.replica));
  return create(CollectionListSchema, { ...listHead(page), ...(alone ? { total: 1n } : {}), data });
}

/** @throws GatewayError conflict for a collection that something is in */
async function refuseFull(documents: DocumentStore, before: Document<CollectionBody>): Promise<void> {
  for (const [collection, field, name] of [
    [prompts, 'collectionId', 'prompts'],
    [partials, 'collectionId', 'partials'],
    [promptCollections, 'parentId', 'collections'],
  ] as const) {
    const filter: Condition[] = [{ field, op: 'eq', value: before.id }];
    const page = await documents.page(tenantOf(before), collection, { filter, pageSize: 1 });
    if (page.total > 0) throw fail('conflict', `there are still ${name} in the collection`);
  }
}

function collectionRecord(document: Document<CollectionBody>): Collection {
  const { workspaceId = '', slug = '', body } = document;
  return create(CollectionSchema, {
    ...recordHead(document),
    name: body.name,
    workspaceId,
    slug,
    parentCollectionId: body.parentId,
    isDefault: body.isDefault ? 1 : 0,
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
    childCollectionsLastUpdatedAt: optionalTimeText(children.lastUpdatedAt),
    promptsLastUpdatedAt: optionalTimeText(own.lastUpdatedAt),
  });
}
