// A whole answer (Bedrock Runtime API reference, "Converse", response) as a chat completion.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type AssistantMessageSchema,
  type ChatCompletion,
  ChatCompletionSchema,
  type CreateChatCompletionRequest,
  type ToolCallSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { MessageJson, Translated, TranslationContext } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { readErrorObject } from '../../provider-error.ts';
import { readUsage } from '../../usage/tap.ts';
import { annotation, imagesOf, isServerTool, ownBlock, serverToolResult, serverToolUse } from './blocks.ts';
import { finishReason } from './finish-reason.ts';

/** Converse's members of an answer that are passed on to callers that are not strict. */
const OWN = ['additionalModelResponseFields', 'trace', 'metrics', 'performanceConfig'];

/** The answer's object. @throws GatewayError `upstream_garbage` */
export function readObject(body: Uint8Array, { target }: TranslationContext): JsonObject {
  const provider = target.provider.id;
  const json = parseAnswer(body, provider);
  if (!isObject(json))
    throw fail('upstream_garbage', 'the provider answered with JSON that is not an object', { provider });
  return json;
}

/** Bedrock gives its answers no id. */
export function madeId({ now }: TranslationContext): string {
  return `bedrock-${now().toString(36)}`;
}

/** The members of Converse's own. */
export function ownMembers(json: JsonObject): JsonObject {
  return Object.fromEntries(
    OWN.flatMap((name) => (isObject(json[name]) ? [[name, json[name]] as const] : [])),
  );
}

/**
 * The answer as a chat completion. Strict: OpenAI's members and words. Else also the model's reasoning
 * (`reasoning_content`), the provider's own blocks with their signatures (`content_blocks`) and Converse's members.
 */
export function readCompletion(
  json: MessageJson,
  body: Uint8Array,
  request: CreateChatCompletionRequest,
  context: TranslationContext,
): Translated<ChatCompletion> {
  const object = readObject(body, context);
  const { strict, provider } = context.target;
  const blocks = objectOf(objectOf(object.output)?.message)?.content;
  if (!Array.isArray(blocks) && textOf(object.stopReason) === undefined) {
    const error = readErrorObject(object);
    if (error !== undefined) {
      const { message, ...rest } = error;
      throw fail('upstream_status', message, { provider: provider.id, status: 502, ...rest });
    }
    throw fail('upstream_garbage', 'the provider answered without content', { provider: provider.id });
  }
  const message = assistantMessage(json, arrayOf(blocks).filter(isObject), strict);
  const counts = objectOf(object.usage);
  const usage = counts && readUsage(json, counts);
  const tier = textOf(objectOf(object.serviceTier)?.type);
  const own = strict ? {} : ownMembers(object);
  const answer = create(ChatCompletionSchema, {
    id: madeId(context),
    object: 'chat.completion',
    created: BigInt(Math.floor(context.now() / 1000)),
    model: request.model ?? '',
    choices: [
      {
        index: 0,
        message,
        finishReason: finishReason(textOf(object.stopReason), (message.toolCalls?.length ?? 0) > 0, strict),
      },
    ],
    ...(tier === undefined ? {} : { serviceTier: tier }),
    ...(Object.keys(own).length === 0 ? {} : { extra: own }),
    ...(usage === undefined || usage === 'refused' ? {} : { usage }),
  });
  return { answer, usage, model: undefined, tier };
}

function assistantMessage(
  json: MessageJson,
  blocks: readonly JsonObject[],
  strict: boolean,
): MessageInitShape<typeof AssistantMessageSchema> {
  let text: string | undefined;
  let reasoning: string | undefined;
  const toolCalls: MessageInitShape<typeof ToolCallSchema>[] = [];
  const own: JsonObject[] = [];
  const images: JsonObject[] = [];
  const annotations: JsonObject[] = [];
  for (const block of blocks) {
    const [kind = ''] = Object.keys(block);
    const value = block[kind];
    if (typeof block.text === 'string') text = (text ?? '') + block.text;
    else if (!isObject(value)) continue;
    else if (kind === 'toolUse' && !isServerTool(value)) toolCalls.push(toolCall(value));
    else if (kind === 'toolUse') own.push(serverToolUse(value));
    else if (kind === 'toolResult') own.push(serverToolResult(value));
    else if (kind === 'reasoningContent') {
      const thought = objectOf(value.reasoningText);
      if (thought !== undefined) reasoning = (reasoning ?? '') + (textOf(thought.text) ?? '');
      own.push(thoughtBlock(value));
    } else if (kind === 'citationsContent') {
      const cited = arrayOf(value.content)
        .map((part) => (isObject(part) ? (textOf(part.text) ?? '') : ''))
        .join('');
      const start = text?.length ?? 0;
      text = (text ?? '') + cited;
      for (const citation of arrayOf(value.citations).filter(isObject)) {
        const found = annotation(citation, start, start + cited.length);
        if (found !== undefined) annotations.push(found);
      }
      own.push({ type: 'citations', ...value });
    } else if (kind === 'image') images.push(...imagesOf(value));
    else own.push({ type: kind, ...block });
  }
  const extra: JsonObject = {
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(images.length === 0 ? {} : { images }),
  };
  return {
    role: 'assistant',
    toolCalls,
    ...(text === undefined ? {} : { content: text }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    ...(strict || reasoning === undefined ? {} : { reasoningContent: reasoning }),
    ...(strict ? {} : { contentBlocks: own.map((block) => ownBlock(json, block)) }),
  };
}

function toolCall({ toolUseId, name, input }: JsonObject): MessageInitShape<typeof ToolCallSchema> {
  return {
    id: textOf(toolUseId) ?? '',
    type: 'function',
    function: { name: textOf(name) ?? '', arguments: textOf(input) ?? JSON.stringify(input || {}) },
  };
}

function thoughtBlock(value: JsonObject): JsonObject {
  const thought = objectOf(value.reasoningText);
  if (thought === undefined) return { type: 'redacted_thinking', data: textOf(value.redactedContent) ?? '' };
  const signature = textOf(thought.signature);
  return {
    type: 'thinking',
    thinking: textOf(thought.text) ?? '',
    ...(signature === undefined ? {} : { signature }),
  };
}
