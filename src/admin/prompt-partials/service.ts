// Prompt partials: made, listed, changed, published, archived, with their versions.
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
import { mapInSlices } from '../../lib/time-slices.ts';
import {
  type PartialBody,
  type PartialVersionBody,
  partials,
  partialVersions,
} from '../../prompts/prompt-collections.ts';
import { parseTemplate } from '../../prompts/template/parse.ts';
import { type Document, updateOperation, type WriteOperation } from '../../store/documents.ts';
import { listHead } from '../kit/lists.ts';
import { defined } from '../kit/patch.ts';
import { insertOf, tenantOf } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { aboutTemplate } from '../prompts/content.ts';
import type { PromptsDeps } from '../prompts/deps.ts';
import { type VersionedKind, versionedOperations } from '../prompts/versioned.ts';
import { partialRecord, partialShown, partialSummary, partialVersionRecord } from './record.ts';

const KIND: VersionedKind<PartialBody, PartialVersionBody> = {
  collection: partials,
  versions: partialVersions,
  noun: 'partial',
  owner: 'partialId',
  shown: partialShown,
};

type Versioned = ReturnType<typeof versionedOperations<PartialBody, PartialVersionBody>>;
type Check = (scope: TenantScope, string: string, id?: string) => Promise<void>;

/** The methods of PromptPartialsService. */
export function promptPartialsService(deps: PromptsDeps) {
  const versioned = versionedOperations(deps, KIND);
  /** @param id of a partial that has the template from now on. @throws GatewayError validation_failed */
  const check: Check = async (scope, string, id = '') => {
    const template = parseTemplate(string, 'string');
    await aboutTemplate(deps.book.partialsOf(scope, template, { id, template }));
  };
  return { ...partialChanges(versioned, check), ...partialReads(versioned) };
}

function partialChanges(versioned: Versioned, check: Check) {
  return {
    async createPromptPartial(
      request: CreatePromptPartialRequest,
      call: Call,
    ): Promise<CreatePromptPartialResponse> {
      const scope = versioned.scopeFor(call, request.workspaceId);
      const { name, string, versionDescription: description } = request;
      await check(scope, string);
      const { made, version } = await versioned.create(
        call,
        scope,
        request,
        (collectionId) => ({ name, collectionId, latest: 1, published: 1 }),
        (partialId) => defined<PartialVersionBody>({ partialId, number: 1, description, string }),
      );
      const { id, slug } = made;
      return create(CreatePromptPartialResponseSchema, { id, slug, versionId: version.id });
    },

    async updatePromptPartial(
      request: UpdatePromptPartialRequest,
      call: Call,
    ): Promise<UpdatePromptPartialResponse> {
      return retryOnConflict(async () => {
        const before = await versioned.find(call, request.partialId, request.workspaceId);
        if (request.status === 'archived') {
          await versioned.archive(call, before);
          return create(UpdatePromptPartialResponseSchema);
        }
        const { id, slug } = before;
        if (request.string !== undefined) await check(tenantOf(before), request.string, id);
        const latest = await versioned.versionOf(before, 'latest');
        const { name = before.body.name, string = latest.body.string } = request;
        const isNew = string !== latest.body.string;
        const number = before.body.latest + (isNew ? 1 : 0);
        const after = versioned.changed(before, { ...before.body, name, latest: number });
        const { version, also } = versionAfter(versioned, after, latest, string, descriptionOf(request));
        await versioned.update(call, before, after, [latest, version], also);
        const made = { id, slug, promptPartialVersionId: version.id };
        return create(UpdatePromptPartialResponseSchema, request.string === undefined ? {} : made);
      });
    },

    async deletePromptPartial(
      { partialId, workspaceId }: DeletePromptPartialRequest,
      call: Call,
    ): Promise<DeletePromptPartialResponse> {
      return retryOnConflict(async () => {
        await versioned.archive(call, await versioned.find(call, partialId, workspaceId));
        return create(DeletePromptPartialResponseSchema);
      });
    },

    async publishPromptPartial(
      { partialId, workspaceId, version: published }: PublishPromptPartialRequest,
      call: Call,
    ): Promise<PublishPromptPartialResponse> {
      return retryOnConflict(async () => {
        const before = await versioned.find(call, partialId, workspaceId);
        const version = await versioned.versionOf(before, published);
        await check(tenantOf(before), version.body.string, before.id);
        const was = await versioned.versionOf(before, 'default');
        const after = versioned.changed(before, { ...before.body, published });
        await versioned.update(call, before, after, [was, version]);
        return create(PublishPromptPartialResponseSchema);
      });
    },
  };
}

function partialReads(versioned: Versioned) {
  return {
    async listPromptPartials(request: ListPromptPartialsRequest, call: Call): Promise<PromptPartialList> {
      const page = await versioned.page(call, request);
      const data = page.documents.map(partialSummary);
      return create(PromptPartialListSchema, { ...listHead(page), data });
    },

    async getPromptPartial(request: GetPromptPartialRequest, call: Call): Promise<PromptPartial> {
      const partial = await versioned.find(call, request.partialId, request.workspaceId);
      return partialRecord(partial, await versioned.versionOf(partial, request.version));
    },

    async listPromptPartialVersions(
      request: ListPromptPartialVersionsRequest,
      call: Call,
    ): Promise<PromptPartialVersionList> {
      const partial = await versioned.find(call, request.partialId, request.workspaceId);
      const page = await versioned.versionPage(partial, request);
      const data = await mapInSlices(page.documents, (version) => partialVersionRecord(partial, version));
      return create(PromptPartialVersionListSchema, { ...listHead(page), data });
    },
  };
}

/** The latest version after an update, and its write: another template makes a new one. */
function versionAfter(
  versioned: Versioned,
  after: Document<PartialBody>,
  latest: Document<PartialVersionBody>,
  string: string,
  description: string | undefined,
): { readonly version: Document<PartialVersionBody>; readonly also: readonly WriteOperation[] } {
  const at = after.updatedAt;
  if (string !== latest.body.string) {
    const own = { partialId: after.id, number: after.body.latest, description, string };
    const version = versioned.newVersion(after, defined<PartialVersionBody>(own), at);
    return { version, also: [insertOf(partialVersions, version)] };
  }
  if (description === undefined) return { version: latest, also: [] };
  const body = { ...latest.body, description };
  const write = updateOperation(partialVersions, latest.id, latest.version, { body, updatedAt: at });
  return { version: { ...latest, body }, also: [write] };
}

/** Either spelling. @throws GatewayError validation_failed when they differ. */
function descriptionOf({ description, versionDescription }: UpdatePromptPartialRequest): string | undefined {
  if (description !== undefined && versionDescription !== undefined && description !== versionDescription)
    throw invalidField('version_description', 'says something else than description');
  return description ?? versionDescription;
}
