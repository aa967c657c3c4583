// Prompts: made, listed, changed, published, archived, rendered, with their versions.
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
import { mapInSlices } from '../../lib/time-slices.ts';
import {
  type PromptBody,
  type PromptVersionBody,
  prompts,
  promptVersions,
} from '../../prompts/prompt-collections.ts';
import type { PromptReplica } from '../../prompts/prompt-replica.ts';
import { extraParameters, requestMessage } from '../../prompts/request-message.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { callerOf, found, scopeOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import { listHead } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { tenantOf } from '../kit/resource.ts';
import { changedPrompt, metadataOf, type VersionedPrompts } from './change.ts';
import { changedPlaces } from './comparison.ts';
import { checkContent, checkMetadata, contentOf, providerSlug } from './content.ts';
import type { PromptsDeps } from './deps.ts';
import { promptRecord, promptShown, promptSummary, promptVersionRecord } from './record.ts';
import { versionedOperations } from './versioned.ts';

interface Named {
  readonly promptId: string;
  readonly workspaceId?: string | undefined;
}

/** The service's own parts. */
interface PromptsRoom {
  readonly deps: PromptsDeps;
  readonly replica: PromptReplica;
  readonly versioned: VersionedPrompts;
  readonly find: (call: Call, request: Named) => Promise<Document<PromptBody>>;
  /** @throws GatewayError not_found for a version of another prompt */
  readonly versionNamed: (prompt: Document<PromptBody>, id: string) => Promise<Document<PromptVersionBody>>;
}

/** The methods of PromptsService. */
export function promptsService(deps: PromptsDeps) {
  const { replica } = deps.book;
  const versioned = versionedOperations(deps, {
    collection: prompts,
    versions: promptVersions,
    noun: 'prompt',
    owner: 'promptId',
    shown: (document, version) => promptShown(document, version, replica),
  });
  const room: PromptsRoom = {
    deps,
    replica,
    versioned,
    find: (call, { promptId, workspaceId }) => versioned.find(call, promptId, workspaceId),
    async versionNamed(prompt, id) {
      const version = await deps.documents.get(tenantOf(prompt), promptVersions, id);
      return found(version?.body.promptId === prompt.id ? version : undefined, 'version');
    },
  };
  return {
    createPrompt: (request: CreatePromptRequest, call: Call) => newPrompt(room, request, call),
    renderPrompt: (request: RenderPromptRequest, call: Call) => rendered(deps, request, call),
    ...promptChanges(room),
    ...promptReads(room),
  };
}

async function newPrompt(
  { deps, versioned }: PromptsRoom,
  request: CreatePromptRequest,
  call: Call,
): Promise<CreatePromptResponse> {
  const scope = versioned.scopeFor(call, request.workspaceId);
  const content = contentOf(request, request.string, providerSlug(request.virtualKey));
  const metadata = metadataOf(request);
  checkMetadata(metadata);
  await checkContent(deps, scope, content);
  const { name, versionDescription: description } = request;
  const { made, version } = await versioned.create(
    call,
    scope,
    request,
    (collectionId) =>
      defined<PromptBody>({
        name,
        collectionId,
        latest: 1,
        published: 1,
        model: content.model,
        metadata,
        labels: undefined,
        provider: undefined,
      }),
    (promptId) => defined<PromptVersionBody>({ promptId, number: 1, description, content }),
  );
  const { id, slug } = made;
  return create(CreatePromptResponseSchema, { id, slug, versionId: version.id, object: 'prompt' });
}

function promptChanges({ deps, replica, versioned, find, versionNamed }: PromptsRoom) {
  return withConflictRetries({
    async updatePrompt(request: UpdatePromptRequest, call: Call): Promise<UpdatePromptResponse> {
      const before = await find(call, request);
      const latest = await versioned.versionOf(before, 'latest');
      const change = await changedPrompt(deps, versioned, request, before, latest);
      const { after, version, also, isNew } = change;
      await versioned.update(call, before, after, [latest, version], also);
      const { id, slug } = before;
      return create(UpdatePromptResponseSchema, isNew ? { id, slug, promptVersionId: version.id } : {});
    },

    async deletePrompt(request: DeletePromptRequest, call: Call): Promise<DeletePromptResponse> {
      await versioned.archive(call, await find(call, request));
      return create(DeletePromptResponseSchema);
    },

    async updatePromptVersion(
      request: UpdatePromptVersionRequest,
      call: Call,
    ): Promise<UpdatePromptVersionResponse> {
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
      const after = versioned.changed(before, { ...before.body, labels });
      await versioned.update(call, before, after, [version, version]);
      return create(UpdatePromptVersionResponseSchema);
    },

    async publishPrompt(request: PublishPromptRequest, call: Call): Promise<PublishPromptResponse> {
      const before = await find(call, request);
      const version = await versioned.versionOf(before, request.version);
      const was = await versioned.versionOf(before, 'default');
      const { model } = version.body.content;
      const body = defined<PromptBody>({ ...before.body, published: request.version, model });
      await versioned.update(call, before, versioned.changed(before, body), [was, version]);
      return create(PublishPromptResponseSchema);
    },
  });
}

function promptReads({ replica, versioned, find, versionNamed }: PromptsRoom) {
  return {
    async listPrompts(request: ListPromptsRequest, call: Call): Promise<PromptList> {
      const page = await versioned.page(call, request);
      return create(PromptListSchema, { ...listHead(page), data: page.documents.map(promptSummary) });
    },

    async getPrompt(request: GetPromptRequest, call: Call): Promise<Prompt> {
      const prompt = await find(call, request);
      return promptRecord(prompt, await versioned.versionOf(prompt, request.version), replica);
    },

    async listPromptVersions(request: ListPromptVersionsRequest, call: Call): Promise<PromptVersionList> {
      const prompt = await find(call, request);
      const page = await versioned.versionPage(prompt, request);
      const data = await mapInSlices(page.documents, (version) =>
        promptVersionRecord(prompt, version, replica),
      );
      return create(PromptVersionListSchema, { ...listHead(page), data });
    },

    async comparePromptVersions(
      request: ComparePromptVersionsRequest,
      call: Call,
    ): Promise<PromptComparison> {
      const prompt = await find(call, request);
      const [from, to] = await Promise.all([
        versioned.versionOf(prompt, request.from ?? 'default'),
        versioned.versionOf(prompt, request.to ?? 'latest'),
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
  };
}

async function rendered(
  { book, messageRules }: PromptsDeps,
  request: RenderPromptRequest,
  call: Call,
): Promise<RenderPromptResponse> {
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
}
