// A prompt as callers are shown it.
import { create, type JsonObject as StructJson } from '@bufbuild/protobuf';
import {
  type Prompt,
  PromptSchema,
  type PromptVersion,
  PromptVersionSchema,
  VariableComponentsSchema,
} from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import { ToolChoiceSchema } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { providerOf } from '../../prompts/prompt-catalogue.ts';
import type { PromptBody, PromptContent, PromptVersionBody } from '../../prompts/prompt-collections.ts';
import type { PromptReplica } from '../../prompts/prompt-replica.ts';
import { componentsOf } from '../../prompts/template/components.ts';
import { parseTemplate } from '../../prompts/template/parse.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { defined } from '../kit/patch.ts';
import { recordHead } from '../kit/record.ts';
import { timeText } from '../kit/time.ts';

/** What lists show of a prompt. */
export function promptSummary(document: Document<PromptBody>): Prompt {
  return create(PromptSchema, { ...summaryOf(document), model: document.body.model });
}

function summaryOf(document: Document<PromptBody>) {
  const { slug = '', workspaceId = '', body } = document;
  return {
    ...recordHead(document),
    slug,
    name: body.name,
    collectionId: body.collectionId,
    object: 'prompt',
    accessLevel: 'workspace',
    promptOwningWorkspaceId: workspaceId,
  };
}

/** A prompt with the content of a version. */
export function promptRecord(
  document: Document<PromptBody>,
  { id, body }: Document<PromptVersionBody>,
  replica: PromptReplica,
): Prompt {
  const { content, number, description } = body;
  const label = labelOf(document, number, replica);
  const provider = providerOf(document.body, number, content.virtualKey);
  return create(PromptSchema, {
    ...summaryOf(document),
    model: content.model,
    promptVersionId: id,
    promptVersion: number,
    promptVersionDescription: description ?? '',
    promptVersionStatus: statusOf(document, number),
    string: content.string,
    variableComponents: componentsRecord(content.string),
    parameters: structOf(parametersOf(content)),
    functions: (content.functions ?? []).map(structOf),
    tools: (content.tools ?? []).map(structOf),
    ...(content.toolChoice === undefined
      ? {}
      : { toolChoice: codec.decodeRequest(ToolChoiceSchema, content.toolChoice) }),
    ...(document.body.metadata === undefined ? {} : { templateMetadata: structOf(document.body.metadata) }),
    promptVersionLabelId: label?.id,
    promptVersionLabelName: label?.name,
    promptVersionLabels: label === undefined ? [] : [label],
    isRawTemplate: content.isRawTemplate ? 1 : 0,
    virtualKey: provider,
  });
}

/** A version of a prompt. */
export function promptVersionRecord(
  prompt: Document<PromptBody>,
  { id, createdAt, body }: Document<PromptVersionBody>,
  replica: PromptReplica,
): PromptVersion {
  const { content, number, description } = body;
  const label = labelOf(prompt, number, replica);
  return create(PromptVersionSchema, {
    id,
    promptId: prompt.id,
    promptTemplate: structOf(
      defined<JsonObject>({
        string: content.string,
        parameters: parametersOf(content),
        model: content.model,
        functions: content.functions,
        tools: content.tools,
        tool_choice: content.toolChoice,
        virtual_key: providerOf(prompt.body, number, content.virtualKey),
        is_raw_template: content.isRawTemplate ? 1 : 0,
      }),
    ),
    promptVersion: number,
    promptDescription: description,
    labelId: label?.id,
    createdAt: timeText(createdAt),
    status: statusOf(prompt, number),
    object: 'prompt',
  });
}

/** What the audit log is told. */
export function promptShown(
  document: Document<PromptBody>,
  version: Document<PromptVersionBody>,
  replica: PromptReplica,
): JsonObject {
  return codec.encode(PromptSchema, promptRecord(document, version, replica)) as JsonObject;
}

function parametersOf({ parameters, model }: PromptContent): JsonObject {
  return { ...parameters, ...(model === undefined ? {} : { model }) };
}

function componentsRecord(string: string) {
  const { sectionVariables, ...lists } = componentsOf(parseTemplate(string, 'string'));
  return create(VariableComponentsSchema, {
    partials: [...lists.partials],
    sections: [...lists.sections],
    variables: [...lists.variables],
    variablesBySection: Object.fromEntries([...sectionVariables].map(([name, own]) => [name, [...own]])),
  });
}

/** An archived label counts as none. */
function labelOf(
  { organisationId, workspaceId, body }: Document<PromptBody>,
  number: number,
  replica: PromptReplica,
) {
  for (const [id, version] of Object.entries(body.labels ?? {})) {
    if (version !== number) continue;
    const name = replica.labelName({ organisationId, workspaceId }, id);
    if (name !== undefined) return { id, name };
  }
  return undefined;
}

function statusOf({ body }: Document<PromptBody>, number: number): string {
  return body.published === number ? 'active' : 'archived';
}

/** What was read is never changed; the messages' types cannot express that. */
function structOf(json: JsonObject): StructJson {
  return json as StructJson;
}
