// A whole answer as a chat completion ("ChatResult").
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type AssistantMessageSchema,
  type ChatChoiceSchema,
  type ChatCompletion,
  ChatCompletionSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { MessageJson, Translated, TranslationContext } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { readErrorObject } from '../../provider-error.ts';
import { readUsage } from '../../usage/tap.ts';
import { calledTools } from './cohere-tools.ts';
import { finishReason } from './finish-reason.ts';
import { logprobsIn } from './logprobs.ts';
import { namedUsage } from './usage.ts';

/** @throws GatewayError `upstream_garbage`, or the error inside a good status. */
export function readCompletion(
  json: MessageJson,
  body: Uint8Array,
  { target, now }: TranslationContext,
  model: string,
): Translated<ChatCompletion> {
  const provider = target.provider.id;
  const whole = parseAnswer(body, provider);
  const said = isObject(whole) ? objectOf(whole.chatResponse) : undefined;
  if (!isObject(whole) || said === undefined) {
    const error = isObject(whole) ? readErrorObject(whole) : undefined;
    throw fail('upstream_garbage', error?.message ?? 'the provider answered without a chat response', {
      provider,
    });
  }
  const counts = namedUsage(objectOf(said.usage));
  const usage = counts && readUsage(json, counts);
  const created = Date.parse(textOf(said.timeCreated) ?? '');
  const answered = textOf(whole.modelId);
  const answer = create(ChatCompletionSchema, {
    id: `oracle-${now().toString(36)}`,
    object: 'chat.completion',
    created: BigInt(Math.floor((Number.isNaN(created) ? now() : created) / 1000)),
    model: answered ?? model,
    choices: choicesOf(said, target.strict, `oracle-${now().toString(36)}`),
    ...(usage === undefined || usage === 'refused' ? {} : { usage }),
  });
  if (answer.choices.length === 0)
    throw fail('upstream_garbage', 'the provider answered without choices', { provider });
  return { answer, usage, model: answered };
}

function choicesOf(
  said: JsonObject,
  strict: boolean,
  id: string,
): MessageInitShape<typeof ChatChoiceSchema>[] {
  if (said.apiFormat === 'COHERE' || (typeof said.text === 'string' && said.choices === undefined)) {
    const toolCalls = calledTools(said.toolCalls, id);
    const reason = finishReason(textOf(said.finishReason), toolCalls.length > 0, strict);
    const content = textIn(said);
    const message = {
      role: 'assistant',
      ...(toolCalls.length > 0 && content === '' ? {} : { content }),
      toolCalls,
    };
    return [{ index: 0, message, finishReason: reason }];
  }
  return arrayOf(said.choices)
    .filter(isObject)
    .map((choice, i) => {
      const message = messageOf(objectOf(choice.message) ?? {}, strict);
      const called = (message.toolCalls?.length ?? 0) > 0;
      return {
        index: typeof choice.index === 'number' ? choice.index : i,
        message,
        ...logprobsIn(choice),
        finishReason: finishReason(textOf(choice.finishReason), called, strict),
      };
    });
}

function textIn({ text }: JsonObject): string {
  return typeof text === 'string' ? text : '';
}

function messageOf(message: JsonObject, strict: boolean): MessageInitShape<typeof AssistantMessageSchema> {
  const texts = arrayOf(message.content).filter(isObject).map(textIn);
  const thoughts = textOf(message.reasoningContent);
  const refusal = textOf(message.refusal);
  return {
    role: 'assistant',
    ...(texts.length === 0 ? {} : { content: texts.join('') }),
    ...(refusal === undefined ? {} : { refusal }),
    ...(strict || thoughts === undefined ? {} : { reasoningContent: thoughts }),
    toolCalls: arrayOf(message.toolCalls)
      .filter(isObject)
      .map((call) => ({
        id: textOf(call.id) ?? '',
        type: 'function',
        function: { name: textOf(call.name) ?? '', arguments: textOf(call.arguments) ?? '{}' },
      })),
  };
}
