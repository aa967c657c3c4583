// The update of a prompt, computed: what is written, and whether it makes a version.
import type { CreatePromptRequest, UpdatePromptRequest } from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import { invalidField, validationFailed } from '../../lib/errors.ts';
import { providerOf } from '../../prompts/prompt-catalogue.ts';
import {
  type PromptBody,
  type PromptContent,
  type PromptVersionBody,
  promptVersions,
} from '../../prompts/prompt-collections.ts';
import type { JsonObject } from '../../store/collection.ts';
import { type Document, updateOperation, type WriteOperation } from '../../store/documents.ts';
import { collectionNamed } from '../collections/default.ts';
import { defined, type Patch, patch } from '../kit/patch.ts';
import { insertOf, tenantOf } from '../kit/resource.ts';
import { checkContent, checkMetadata, checkProvider, contentOf, providerSlug } from './content.ts';
import type { PromptsDeps } from './deps.ts';
import type { versionedOperations } from './versioned.ts';

/** What becomes of a prompt. */
export interface PromptChange {
  readonly after: Document<PromptBody>;
  /** The latest version from now on. */
  readonly version: Document<PromptVersionBody>;
  readonly isNew: boolean;
  /** The version's write. */
  readonly also: readonly WriteOperation[];
}

/** The operations of prompts. */
export type VersionedPrompts = ReturnType<typeof versionedOperations<PromptBody, PromptVersionBody>>;

const CONTENT = ['model', 'parameters', 'functions', 'tools', 'tool_choice'];
const CLEARABLE = [...CONTENT, 'virtual_key', 'template_metadata', 'prompt_metadata', 'version_description'];

/** @throws GatewayError validation_failed */
export async function changedPrompt(
  deps: PromptsDeps,
  versioned: VersionedPrompts,
  request: UpdatePromptRequest,
  before: Document<PromptBody>,
  latest: Document<PromptVersionBody>,
): Promise<PromptChange> {
  const scope = tenantOf(before);
  const fields = patch(request.clear, CLEARABLE);
  const own = await ownMembers(deps, request, before, fields);
  const clearsProvider = fields.cleared('virtual_key') || request.virtualKey === '';
  const provider = providerSlug(request.virtualKey);
  if (!givesContent(request)) {
    const body = describedBody(latest.body, request.versionDescription, fields);
    await checkProvider(deps, scope, provider);
    const changesProvider = provider !== undefined || clearsProvider;
    const after = versioned.changed(before, {
      ...own,
      ...(changesProvider
        ? { provider: defined({ slug: provider, through: own.latest }) as PromptBody['provider'] }
        : {}),
    });
    const { updatedAt } = after;
    const write = updateOperation(promptVersions, latest.id, latest.version, { body, updatedAt });
    const also = body.description === latest.body.description ? [] : [write];
    return { after, version: { ...latest, body }, isNew: false, also };
  }
  const inherited = providerOf(before.body, latest.body.number, latest.body.content.virtualKey);
  const content = contentAfter(
    request,
    latest.body.content,
    fields,
    provider ?? (clearsProvider ? undefined : inherited),
  );
  await checkContent(deps, scope, content);
  const after = versioned.changed(before, { ...own, latest: before.body.latest + 1 });
  const { latest: number } = after.body;
  const body = { promptId: before.id, number, description: request.versionDescription, content };
  const version = versioned.newVersion(before, defined<PromptVersionBody>(body), after.updatedAt);
  return { after, version, isNew: true, also: [insertOf(promptVersions, version)] };
}

/** The prompt's document with its members that make no version. */
async function ownMembers(
  deps: PromptsDeps,
  request: UpdatePromptRequest,
  before: Document<PromptBody>,
  fields: Patch,
): Promise<PromptBody> {
  const given = metadataOf(request);
  checkMetadata(given);
  const gone = fields.cleared('template_metadata') || fields.cleared('prompt_metadata');
  const collectionId =
    request.collectionId === undefined
      ? before.body.collectionId
      : await collectionNamed(deps, tenantOf(before), request.collectionId);
  return defined<PromptBody>({
    ...before.body,
    name: request.name ?? before.body.name,
    collectionId,
    metadata: given ?? (gone ? undefined : before.body.metadata),
  });
}

function givesContent(request: UpdatePromptRequest): boolean {
  const { string, parameters, model, functions, tools, toolChoice, isRawTemplate, clear } = request;
  return (
    [string, parameters, model, toolChoice, isRawTemplate].some((value) => value !== undefined) ||
    functions.length > 0 ||
    tools.length > 0 ||
    clear.some((name) => CONTENT.includes(name))
  );
}

/** @throws GatewayError validation_failed naming what else is needed */
function contentAfter(
  request: UpdatePromptRequest,
  was: PromptContent,
  fields: Patch,
  virtualKey: string | undefined,
): PromptContent {
  if (request.patch !== true) {
    const model = request.model ?? request.parameters?.model;
    const missing = Object.entries({ string: request.string, parameters: request.parameters, model })
      .filter(([, value]) => value === undefined)
      .map(([field]) => ({
        field,
        rule: 'required',
        message: 'is needed with a new version; or give patch: true',
      }));
    if (missing.length > 0) throw validationFailed(missing);
    return contentOf(request, request.string ?? '', virtualKey);
  }
  const given = contentOf(request, request.string ?? was.string, virtualKey);
  return defined<PromptContent>({
    string: given.string,
    parameters: fields.optional('parameters', given.parameters, was.parameters),
    model: fields.optional('model', given.model, was.model),
    virtualKey,
    functions: fields.optional('functions', given.functions, was.functions),
    tools: fields.optional('tools', given.tools, was.tools),
    toolChoice: fields.optional('tool_choice', given.toolChoice, was.toolChoice),
    isRawTemplate: request.isRawTemplate === undefined ? was.isRawTemplate : given.isRawTemplate,
  });
}

function describedBody(body: PromptVersionBody, given: string | undefined, fields: Patch): PromptVersionBody {
  const description = fields.optional('version_description', given, body.description);
  return defined<PromptVersionBody>({ ...body, description });
}

/** Either spelling. @throws GatewayError validation_failed for both */
export function metadataOf({
  templateMetadata,
  promptMetadata,
}: Pick<CreatePromptRequest, 'templateMetadata' | 'promptMetadata'>): JsonObject | undefined {
  if (templateMetadata !== undefined && promptMetadata !== undefined)
    throw invalidField('prompt_metadata', 'is the same as template_metadata: give one of them');
  return templateMetadata ?? promptMetadata;
}
