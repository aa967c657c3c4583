// A whole answer (Cohere API reference, "Chat", response) as a chat completion.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type AssistantMessageSchema,
  type ChatCompletion,
  ChatCompletionSchema,
  ContentBlockSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { MessageJson, Translated, TranslationContext } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { readUsage } from '../../usage/tap.ts';
import { annotations } from './citations.ts';
import { failed } from './error.ts';
import { finishReason, isFailure } from './finish-reason.ts';
import { logprobs } from './logprobs.ts';

/** The answer's object. @throws GatewayError `upstream_garbage`. */
export function readObject(body: Uint8Array, { target }: TranslationContext): JsonObject {
  const provider = target.provider.id;
  const json = parseAnswer(body, provider);
  if (isObject(json)) return json;
  throw fail('upstream_garbage', 'the provider answered with JSON that is not an object', { provider });
}

/**
 * The answer as a chat completion; Cohere does not name the model: the one that was asked for stands in it. Strict: OpenAI's members and words, sources with an address as annotations. Else also
 * thoughts (`reasoning_content`, `content_blocks`), the plan before tool calls (`tool_plan`) and `citations`.
 */
export function readCompletion(
  json: MessageJson,
  body: Uint8Array,
  context: TranslationContext,
  model: string,
): Translated<ChatCompletion> {
  const { strict, provider } = context.target;
  const whole = readObject(body, context);
  const reason = textOf(whole.finish_reason);
  const message = objectOf(whole.message);
  if (reason !== undefined && isFailure(reason)) throw failed(reason, textOf(whole.error), provider.id);
  if (message === undefined)
    throw fail('upstream_garbage', textOf(whole.message) ?? 'the provider answered without a message', {
      provider: provider.id,
    });
  const counts = objectOf(whole.usage);
  const usage = counts && readUsage(json, counts);
  const answer = create(ChatCompletionSchema, {
    id: textOf(whole.id) ?? '',
    object: 'chat.completion',
    created: BigInt(Math.floor(context.now() / 1000)),
    model,
    choices: [
      {
        index: 0,
        message: assistantMessage(json, message, strict),
        finishReason: finishReason(reason, strict),
        logprobs: logprobs(whole.logprobs),
      },
    ],
    ...(usage === undefined || usage === 'refused' ? {} : { usage }),
  });
  return { answer, usage, model: undefined };
}

function assistantMessage(
  json: MessageJson,
  message: JsonObject,
  strict: boolean,
): MessageInitShape<typeof AssistantMessageSchema> {
  const { content } = message;
  const parts: readonly JsonObject[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : arrayOf(content).filter(isObject);
  const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => textOf(text) ?? '');
  const thoughts = parts.filter(({ type }) => type === 'thinking');
  const plan = textOf(message.tool_plan);
  const citations = arrayOf(message.citations).filter(isObject);
  const cited = annotations(citations);
  const extra: JsonObject = {
    ...(cited.length === 0 ? {} : { annotations: cited }),
    ...(strict || citations.length === 0 ? {} : { citations }),
    ...(strict || plan === undefined ? {} : { tool_plan: plan }),
  };
  return {
    role: 'assistant',
    ...(texts.length === 0 ? {} : { content: texts.join('') }),
    toolCalls: arrayOf(message.tool_calls).filter(isObject).map(toolCall),
    ...(strict || thoughts.length === 0
      ? {}
      : {
          reasoningContent: thoughts.map(({ thinking }) => textOf(thinking) ?? '').join(''),
          contentBlocks: parts.map((block) => json.decode(ContentBlockSchema, block)),
        }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function toolCall(call: JsonObject) {
  const called = objectOf(call.function);
  return {
    id: textOf(call.id) ?? '',
    type: 'function',
    function: { name: textOf(called?.name) ?? '', arguments: argumentsText(called?.arguments) },
  };
}

/** Arguments are text; null stands for none. */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '{}' : value;
  return JSON.stringify(value ?? {});
}
