// A whole chat completion as generateContent answers.

import type { JsonObject } from '@bufbuild/protobuf';
import type {
  AssistantMessage,
  ChatCompletion,
  ContentBlock,
  ToolCall,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import {
  type GenerateContentResponse,
  GenerateContentResponseSchema,
} from '../../../../gen/gateway/inference/v2/gemini_pb.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, parsedObject, textOf } from '../../json-object.ts';
import { blockJson } from '../messages/answer.ts';
import { thoughtIn } from '../thought-in.ts';
import { keptSignature } from './kept.ts';
import { finishReason, logprobsResult, usageMetadata } from './words.ts';

/** A response with its JSON attached. */
export function written(json: MessageJson, response: JsonObject): GenerateContentResponse {
  return attachRawJson(
    lazyMessage(GenerateContentResponseSchema, () => json.decode(GenerateContentResponseSchema, response)),
    JSON.stringify(response),
  );
}

/** @param thoughts whether the caller wants to see what the model thinks @param model that was asked for */
export function responseJson(
  completion: ChatCompletion,
  usage: Usage | undefined,
  model: string,
  thoughts: boolean,
): JsonObject {
  return {
    candidates: completion.choices.map(({ index, message, finishReason: finish, logprobs }) => {
      const parts = message === undefined ? [] : partsOf(message, thoughts);
      const hasCalls = parts.some(({ functionCall }) => functionCall !== undefined);
      return {
        content: { parts, role: 'model' },
        finishReason: finishReason(finish, hasCalls),
        index,
        ...logprobsResult(logprobs),
      };
    }),
    usageMetadata: usageMetadata(usage),
    modelVersion: completion.model || model,
    responseId: completion.id,
  };
}

function partsOf(message: AssistantMessage, thoughts: boolean): JsonObject[] {
  const { contentBlocks, reasoningContent, content, refusal, toolCalls, extra } = message;
  const kept = contentBlocks.filter(isThinking).map(blockJson);
  const thinking = kept.map(({ thinking: text }) => textOf(text) ?? '').join('');
  const thought = thinking || reasoningContent || thoughtIn(extra) || '';
  const said =
    content ||
    contentBlocks.map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join('') ||
    refusal ||
    textOf(extra?.tool_plan) ||
    '';
  const parts: JsonObject[] = [
    ...(said === '' ? [] : [signedBy({ text: said }, extra)]),
    ...arrayOf(extra?.images).flatMap(imagePart),
    ...toolCalls.map((call) => callPart(call, parsedObject)),
  ];
  // The proof goes with the first part that is no thought: clients send those back.
  const [first, ...rest] = parts;
  const proven =
    kept.length === 0
      ? parts
      : [{ ...(first ?? { text: '' }), thoughtSignature: keptSignature(kept) }, ...rest];
  return [...(thoughts && thought !== '' ? [{ text: thought, thought: true }] : []), ...proven];
}

/** Blocks whose proof another wire wants back. */
export function isThinking({ type }: ContentBlock): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** The part with Google's own signature, where there is one. */
export function signedBy(part: JsonObject, extra: JsonObject | undefined): JsonObject {
  const signature = textOf(objectOf(objectOf(extra?.extra_content)?.google)?.thought_signature);
  return signature === undefined ? part : { ...part, thoughtSignature: signature };
}

/** A call, whole. @param read reads its arguments */
export function callPart(
  { id, function: called, extra }: Pick<ToolCall, 'id' | 'function' | 'extra'>,
  read: (text: string) => JsonObject | undefined,
): JsonObject {
  const args = read(called?.arguments || '{}') ?? {};
  const call = { ...(id === undefined || id === '' ? {} : { id }), name: called?.name ?? '', args };
  return signedBy({ functionCall: call }, extra);
}

/** An image of a data URL. */
export function imagePart(image: unknown): JsonObject[] {
  const url = isObject(image) ? textOf(objectOf(image.image_url)?.url) : undefined;
  const found = /^data:([^;,]+);base64,(.*)$/s.exec(url ?? '');
  return found === null ? [] : [{ inlineData: { mimeType: found[1]!, data: found[2]! } }];
}
