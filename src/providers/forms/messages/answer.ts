// A whole chat completion as a message.

import type { JsonObject } from '@bufbuild/protobuf';
import type {
  AssistantMessage,
  ChatCompletion,
  ContentBlock,
  ToolCall,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { type Message, MessageSchema } from '../../../../gen/gateway/inference/v2/messages_pb.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson } from '../../dialect.ts';
import { objectOf, parsedObject, textOf } from '../../json-object.ts';
import { imagesIn, imageText } from '../images-in.ts';
import { ReasoningDetails } from '../reasoning-details.ts';
import { thoughtIn } from '../thought-in.ts';
import { citationsIn, keptDetails, keptSignature } from './kept.ts';
import { callId, messageId, messageUsage, stopReason } from './words.ts';

/** The message, with its JSON attached. */
export function messageOf(
  json: MessageJson,
  completion: ChatCompletion,
  usage: Usage | undefined,
  model: string,
  provider: string,
): Message {
  return written(json, messageJson(completion, usage, model, provider));
}

/** A message with its JSON attached. */
export function written(json: MessageJson, message: JsonObject): Message {
  return attachRawJson(
    lazyMessage(MessageSchema, () => json.decode(MessageSchema, message)),
    JSON.stringify(message),
  );
}

/** @param model that was asked for, where the answer names none @param provider that answered */
export function messageJson(
  completion: ChatCompletion,
  usage: Usage | undefined,
  model: string,
  provider: string,
): JsonObject {
  const [choice] = completion.choices;
  const content = choice?.message === undefined ? [] : blocksOf(choice.message, completion.id, provider);
  const hasCalls = content.some(({ type }) => type === 'tool_use');
  return {
    id: messageId(completion.id),
    type: 'message',
    role: 'assistant',
    model: completion.model || model,
    content,
    stop_reason: stopReason(choice?.finishReason, hasCalls, Boolean(choice?.message?.refusal)),
    stop_sequence: textOf(choice?.extra?.stop_sequence) ?? null,
    usage: messageUsage(usage),
  };
}

function blocksOf(message: AssistantMessage, id: string, provider: string): JsonObject[] {
  const { contentBlocks, reasoningContent, content, refusal, toolCalls, extra } = message;
  const calls = toolCalls.flatMap((call, i) => callBlocks(call, id, i));
  const has = (type: string): boolean => contentBlocks.some((block) => block.type === type);
  const thought = has('thinking') ? '' : reasoningContent || thoughtIn(extra) || '';
  const details = new ReasoningDetails();
  details.push(extra?.reasoning_details);
  const proof = keptDetails(details.take(), provider);
  const own = objectOf(extra?.extra_content);
  const images = imagesIn(extra);
  const citations = has('text') ? [] : citationsIn(extra);
  const text = has('text') ? '' : content || refusal || textOf(extra?.tool_plan) || '';
  return [
    ...contentBlocks.map(blockJson),
    ...(thought === '' && proof === undefined ? [] : [thinkingBlock(thought, proof)]),
    ...(text === '' ? [] : [{ type: 'text', text, ...(citations.length === 0 ? {} : { citations }) }]),
    ...calls,
    ...(images.length === 0 ? [] : [{ type: 'text', text: images.map(imageText).join('\n') }]),
    ...(text !== '' || citations.length === 0 ? [] : [{ type: 'text', text: sourcesText(citations) }]),
    // Proof of what the text was thought with: the provider wants it back with the text.
    ...(own === undefined ? [] : [thinkingBlock('', { extra_content: own })]),
  ];
}

/** Sources that stand with no text. */
export function sourcesText(citations: readonly JsonObject[]): string {
  return citations.map(({ title, url }) => `[${textOf(title) ?? url}](${url})`).join('\n');
}

/** A thinking block that another wire made. */
export function thinkingBlock(thinking: string, own?: JsonObject): JsonObject {
  return { type: 'thinking', thinking, signature: keptSignature(own) };
}

/** One of Anthropic's own blocks, as it came. */
export function blockJson({ type, text, thinking, signature, data, extra }: ContentBlock): JsonObject {
  const { index: _, ...own } = extra ?? {};
  return {
    type,
    ...(text === undefined ? {} : { text }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(type === 'thinking' ? { signature: signature ?? keptSignature() } : {}),
    ...(type !== 'thinking' && signature !== undefined ? { signature } : {}),
    ...(data === undefined ? {} : { data }),
    ...own,
  };
}

function callBlocks({ id, function: called, extra }: ToolCall, answer: string, at: number): JsonObject[] {
  const own = objectOf(extra?.extra_content);
  const input = parsedObject(called?.arguments || '{}') ?? {};
  const block = { type: 'tool_use', id: callId(id, answer, at), name: called?.name ?? '', input };
  return own === undefined ? [block] : [thinkingBlock('', { extra_content: own }), block];
}
