// Prompts: made, listed, changed, published, archived, rendered, with their versions.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type ComparePromptVersionsRequest,
  type CreatePromptRequest,
  type CreatePromptResponse,
  CreatePromptResponseSchema,
  type DeletePromptRequest,
  type DeletePromptResponse,
  DeletePromptResponseSchema,
  type GetPromptRequest,
  type GetPromptVersionRequest,
  type ListPromptsRequest,
  type ListPromptVersionsRequest,
  type Prompt,
  type PromptComparison,
  PromptComparisonSchema,
  type PromptList,
  PromptListSchema,
  type PromptVersionList,
  PromptVersionListSchema,
  type PublishPromptRequest,
  type PublishPromptResponse,
  PublishPromptResponseSchema,
  RenderedRequestSchema,
  type RenderPromptRequest,
  type RenderPromptResponse,
  RenderPromptResponseSchema,
  type UpdatePromptRequest,
  type UpdatePromptResponse,
  UpdatePromptResponseSchema,
  type UpdatePromptVersionRequest,
  type UpdatePromptVersionResponse,
  UpdatePromptVersionResponseSchema,
} from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import {
  type PromptBody,
  type PromptVersionBody,
  prompts,
  promptVersions,
  versionSlug,
} from '../../prompts/prompt-collections.ts';
import { extraParameters, requestMessage } from '../../prompts/request-message.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
} from '../../store/documents.ts';
import { CREATED_MEANWHILE, collectionNamed, firstCollection, keepDefault } from '../collections/default.ts';
import { callerOf, found, ownWorkspace, scopeOf, targetScope } from '../kit/caller.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { slugOf } from '../kit/slug.ts';
import { changedPrompt, insertVersion, metadataOf, newVersion, tenantOf } from './change.ts';
import { changedPlaces } from './comparison.ts';
import { checkContent, checkMetadata, contentOf, providerSlug } from './content.ts';
import type { PromptsDeps } from './deps.ts';
import { promptRecord, promptShown, promptSummary, promptVersionRecord } from './record.ts';

interface Named {
  readonly promptId: string;
  readonly workspaceId?: string | undefined;
}

/** The methods of PromptsService. */
export function promptsService(deps: PromptsDeps) {
  const { documents, changes, directory, now, book, messageRules } = deps;
  const { replica } = book;

  const find = async (call: Call, request: Named): Promise<Document<PromptBody>> => {
    const scope = targetScope(directory, callerOf(call), request.workspaceId);
    return found(await documents.get(scope, prompts, request.promptId), 'prompt');
  };

  const versionOf = async (
    prompt: Document<PromptBody>,
    asked: string | number | undefined,
  ): Promise<Document<PromptVersionBody>> => {
    const { latest, published } = prompt.body;
    const number =
      asked === undefined || asked === 'default' ? published : asked === 'latest' ? latest : asked;
    const slug = versionSlug(prompt.id, Number(number));
    return found(await documents.get(tenantOf(prompt), promptVersions, slug), 'version');
  };

  const versionNamed = async (
    prompt: Document<PromptBody>,
    id: string,
  ): Promise<Document<PromptVersionBody>> => {
    const version = await documents.get(tenantOf(prompt), promptVersions, id);
    return found(version?.body.promptId === prompt.id ? version : undefined, 'version');
  };

  /** Writes what changed of the prompt's own document. */
  const commit = async (
    call: Call,
    before: Document<PromptBody>,
    body: PromptBody,
    [was, is]: readonly [Document<PromptVersionBody>, Document<PromptVersionBody>],
  ): Promise<void> => {
    const updatedAt = now();
    const after = { ...before, body, updatedAt };
    await changes.commit(
      call,
      tenantOf(before),
      [updateOperation(prompts, before.id, before.version, { body, updatedAt })],
      {
        ...targetOf(after),
        before: promptShown(before, was, replica),
        after: promptShown(after, is, replica),
      },
    );
  };

  return {
    async createPrompt(request: CreatePromptRequest, call: Call): Promise<CreatePromptResponse> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const scope = { organisationId, workspaceId: ownWorkspace(directory, caller, request.workspaceId) };
      const content = contentOf(request, request.string, providerSlug(request.virtualKey));
      const metadata = metadataOf(request);
      checkMetadata(metadata);
      await checkContent(deps, scope, content);
      const collectionId =
        request.collectionId === undefined
          ? firstCollection(deps, scope).id
          : await collectionNamed(deps, scope, request.collectionId);
      const [id, slug, createdAt] = [randomUUID(), slugOf('pp', request.name, 10), now()];
      const body = defined<PromptBody>({
        name: request.name,
        collectionId,
        latest: 1,
        published: 1,
        model: content.model,
        metadata,
        labels: undefined,
        provider: undefined,
      });
      const made: Document<PromptBody> = {
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
      const version = newVersion(made, 1, content, request.versionDescription, createdAt);
      await retryOnConflict(
        async () =>
          changes.commit(
            call,
            scope,
            [
              ...(await keepDefault(deps, scope)),
              insertOperation(prompts, { id, slug, createdAt, body }),
              insertVersion(version),
            ],
            { ...targetOf(made), after: promptShown(made, version, replica) },
          ),
        CREATED_MEANWHILE,
      );
      return create(CreatePromptResponseSchema, { id, slug, versionId: version.id, object: 'prompt' });
    },

    async listPrompts(request: ListPromptsRequest, call: Call): Promise<PromptList> {
      const scope = targetScope(directory, callerOf(call), request.workspaceId);
      const filter: Condition[] = [];
      if (request.search !== undefined) filter.push({ field: 'name', op: 'contains', value: request.search });
      if (request.collectionId !== undefined) {
        const value = await collectionNamed(deps, scope, request.collectionId);
        filter.push({ field: 'collectionId', op: 'eq', value });
      }
      const page = await documents.page(scope, prompts, { ...newestFirst(request), filter });
      return create(PromptListSchema, { ...listHead(page), data: page.documents.map(promptSummary) });
    },

    async getPrompt(request: GetPromptRequest, call: Call): Promise<Prompt> {
      const prompt = await find(call, request);
      return promptRecord(prompt, await versionOf(prompt, request.version), replica);
    },

    async updatePrompt(request: UpdatePromptRequest, call: Call): Promise<UpdatePromptResponse> {
      return retryOnConflict(async () => {
        const before = await find(call, request);
        const latest = await versionOf(before, 'latest');
        const change = await changedPrompt(deps, request, before, latest, now());
        const { after, version, operations, isNew } = change;
        await changes.commit(call, tenantOf(before), operations, {
          ...targetOf(after),
          before: promptShown(before, latest, replica),
          after: promptShown(after, version, replica),
        });
        const { id, slug = '' } = before;
        return create(UpdatePromptResponseSchema, isNew ? { id, slug, promptVersionId: version.id } : {});
      });
    },

    async deletePrompt(request: DeletePromptRequest, call: Call): Promise<DeletePromptResponse> {
      return retryOnConflict(async () => {
        const before = await find(call, request);
        const shown = promptShown(before, await versionOf(before, 'default'), replica);
        const order = { version: before.version, updatedAt: now() };
        await changes.commit(call, tenantOf(before), [archiveOperation(prompts, before.id, order)], {
          ...targetOf(before),
          before: shown,
        });
        return create(DeletePromptResponseSchema);
      });
    },

    async listPromptVersions(request: ListPromptVersionsRequest, call: Call): Promise<PromptVersionList> {
      const prompt = await find(call, request);
      const page = await documents.page(tenantOf(prompt), promptVersions, {
        ...newestFirst(request),
        filter: [{ field: 'promptId', op: 'eq', value: prompt.id }],
      });
      const data = page.documents.map((version) => promptVersionRecord(prompt, version, replica));
      return create(PromptVersionListSchema, { ...listHead(page), data });
    },

    async comparePromptVersions(
      request: ComparePromptVersionsRequest,
      call: Call,
    ): Promise<PromptComparison> {
      const prompt = await find(call, request);
      const [from, to] = await Promise.all([
        versionOf(prompt, request.from ?? 'default'),
        versionOf(prompt, request.to ?? 'latest'),
      ]);
      return create(PromptComparisonSchema, {
        object: 'prompt-comparison',
        from: promptVersionRecord(prompt, from, replica),
        to: promptVersionRecord(prompt, to, replica),
        changed: [...changedPlaces(from.body.content, to.body.content)],
      });
    },

    async getPromptVersion(request: GetPromptVersionRequest, call: Call): Promise<Prompt> {
      const prompt = await find(call, request);
      return promptRecord(prompt, await versionNamed(prompt, request.versionId), replica);
    },

    async updatePromptVersion(
      request: UpdatePromptVersionRequest,
      call: Call,
    ): Promise<UpdatePromptVersionResponse> {
      return retryOnConflict(async () => {
        const before = await find(call, request);
        const version = await versionNamed(before, request.versionId);
        const { labelId } = request;
        if (labelId === undefined && !patch(request.clear, ['label_id']).cleared('label_id'))
          throw invalidField('label_id', 'is needed: a label, or null for none', 'required');
        if (labelId !== undefined && replica.labelName(tenantOf(before), labelId) === undefined)
          throw invalidField('label_id', 'names no label of the workspace');
        const { number } = version.body;
        const others = Object.entries(before.body.labels ?? {}).filter(([, other]) => other !== number);
        const labels = {
          ...Object.fromEntries(others),
          ...(labelId === undefined ? {} : { [labelId]: number }),
        };
        await commit(call, before, { ...before.body, labels }, [version, version]);
        return create(UpdatePromptVersionResponseSchema);
      });
    },

    async publishPrompt(request: PublishPromptRequest, call: Call): Promise<PublishPromptResponse> {
      return retryOnConflict(async () => {
        const before = await find(call, request);
        const version = await versionOf(before, request.version);
        const was = await versionOf(before, 'default');
        const body = defined<PromptBody>({
          ...before.body,
          published: request.version,
          model: version.body.content.model,
        });
        await commit(call, before, body, [was, version]);
        return create(PublishPromptResponseSchema);
      });
    },

    async renderPrompt(request: RenderPromptRequest, call: Call): Promise<RenderPromptResponse> {
      const caller = callerOf(call);
      if (caller.workspaceId === undefined) throw fail('forbidden', "a workspace's key is needed");
      const stream: JsonObject = request.stream === undefined ? {} : { stream: request.stream };
      const filled = await book.fill(scopeOf(caller), request.promptId, {
        variables: request.variables,
        parameters: { ...extraParameters(request.extra), ...stream },
      });
      const { operation, message } = requestMessage(filled, messageRules);
      const kind =
        operation === 'chat'
          ? ({ case: 'chat', value: message } as const)
          : ({ case: 'text', value: message } as const);
      const data = create(RenderedRequestSchema, { kind });
      return create(RenderPromptResponseSchema, { success: true, data });
    },
  };
}

function targetOf({ id, workspaceId, body }: Document<PromptBody>) {
  return { id, name: body.name, workspaceId };
}
