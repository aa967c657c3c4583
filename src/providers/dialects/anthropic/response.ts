// A whole answer (Anthropic API reference, Messages, "Returns") as a chat completion.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type AssistantMessageSchema,
  type ChatCompletion,
  ChatCompletionSchema,
  type ContentBlock,
  ContentBlockSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { MessageJson, Translated, TranslationContext } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { annotations } from './citations.ts';
import { errorInside, speaksOfError } from './error.ts';
import { finishReason } from './finish-reason.ts';
import { readUsage, usageIn } from './usage.ts';

/** The answer's object. @throws GatewayError `upstream_garbage`, or the error inside a good status. */
export function readObject(body: Uint8Array, { target }: TranslationContext): JsonObject {
  const provider = target.provider.id;
  const json = parseAnswer(body, provider);
  if (!isObject(json)) {
    throw fail('upstream_garbage', 'the provider answered with JSON that is not an object', { provider });
  }
  if (speaksOfError(json)) throw errorInside(json, provider);
  return json;
}

/**
 * The answer as a chat completion. Strict: OpenAI's members and words. Else also the model's
 * thinking (`reasoning_content`) and the provider's own blocks with their signatures
 * (`content_blocks`, all but tool calls), stop reason and stop sequence.
 */
export function readMessage(
  json: MessageJson,
  body: Uint8Array,
  context: TranslationContext,
): Translated<ChatCompletion> {
  const message = readObject(body, context);
  const provider = context.target.provider.id;
  if (!Array.isArray(message.content)) {
    throw fail('upstream_garbage', 'the provider answered without content', { provider });
  }
  const { strict } = context.target;
  const model = textOf(message.model);
  const counts = usageIn(message);
  const merged = counts && mergeUsage(undefined, counts);
  const told = merged && readUsage(merged, strict);
  const stopSequence = textOf(message.stop_sequence);
  const answer = create(ChatCompletionSchema, {
    id: textOf(message.id) ?? '',
    object: 'chat.completion',
    created: BigInt(Math.floor(context.now() / 1000)),
    model: model ?? '',
    choices: [
      {
        index: 0,
        message: assistantMessage(
          json,
          arrayOf(message.content).filter(isObject),
          refusalIn(message),
          strict,
        ),
        finishReason: finishReason(textOf(message.stop_reason), strict),
        ...(strict || stopSequence === undefined ? {} : { extra: { stop_sequence: stopSequence } }),
      },
    ],
    ...(told === undefined || told === 'refused' ? {} : { usage: told }),
  });
  return { answer, usage: merged && readUsage(merged, false), model, tier: textOf(counts?.service_tier) };
}

function assistantMessage(
  json: MessageJson,
  blocks: readonly JsonObject[],
  refusal: string | undefined,
  strict: boolean,
): MessageInitShape<typeof AssistantMessageSchema> {
  const texts = blocks.filter((block) => block.type === 'text');
  const thoughts = blocks.filter((block) => block.type === 'thinking');
  const calls = blocks.filter((block) => block.type === 'tool_use');
  const cited = citedIn(texts);
  return {
    role: 'assistant',
    ...(texts.length === 0 ? {} : { content: texts.map((block) => textOf(block.text) ?? '').join('') }),
    ...(refusal === undefined ? {} : { refusal }),
    ...(cited.length === 0 ? {} : { extra: { annotations: cited } }),
    toolCalls: calls.map((block) => ({
      id: textOf(block.id) ?? '',
      type: 'function',
      function: { name: textOf(block.name) ?? '', arguments: argumentsText(block.input) },
    })),
    ...(strict
      ? {}
      : {
          ...(thoughts.length === 0
            ? {}
            : { reasoningContent: thoughts.map((block) => textOf(block.thinking) ?? '').join('') }),
          contentBlocks: blocks
            .filter((block) => block.type !== 'tool_use')
            .map((block) => ownBlock(json, block)),
        }),
  };
}

/** Why the model refused, where it says so (Anthropic, "Stop reasons", `stop_details`). */
export function refusalIn({ stop_details: details }: JsonObject): string | undefined {
  const said = objectOf(details);
  return said?.type === 'refusal' ? textOf(said.explanation) : undefined;
}

function citedIn(texts: readonly JsonObject[]): JsonObject[] {
  let start = 0;
  return texts.flatMap(({ text, citations }) => {
    const end = start + (textOf(text)?.length ?? 0);
    const found = annotations(citations, start, end);
    start = end;
    return found;
  });
}

/** One of the provider's own blocks. */
export function ownBlock(json: MessageJson, block: JsonObject): ContentBlock {
  return json.decode(ContentBlockSchema, block);
}

/** A tool call's input as JSON text; "{}" for none. */
export function argumentsText(input: unknown): string {
  return JSON.stringify(input ?? {});
}
