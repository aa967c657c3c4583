// A whole answer as a chat completion.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type AssistantMessageSchema,
  type ChatChoiceSchema,
  type ChatCompletion,
  ChatCompletionSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { MessageJson, Translated, TranslationContext } from '../../dialect.ts';
import { FailedAnswer } from '../../failed-answer.ts';
import { arrayOf, isObject } from '../../json-object.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { type ChoiceEvent, GeminiAnswer } from './answer.ts';
import { deltaOf } from './delta.ts';
import { errorInside, speaksOfError } from './error.ts';

type Choice = MessageInitShape<typeof ChatChoiceSchema>;
type Assistant = MessageInitShape<typeof AssistantMessageSchema>;

/** The answer's objects: one, or the list that a stream without `alt=sse` is. @throws GatewayError `upstream_garbage`, or the error inside a good status. */
export function readObjects(body: Uint8Array, { target }: TranslationContext): JsonObject[] {
  const provider = target.provider.id;
  const value = parseAnswer(body, provider);
  const objects = (Array.isArray(value) ? value : [value]).filter(isObject);
  if (objects.length === 0)
    throw fail('upstream_garbage', 'the provider answered with JSON that is not an object', { provider });
  const fault = objects.find(speaksOfError);
  if (fault !== undefined) throw errorInside(fault, provider);
  return objects;
}

/**
 * The answer as a chat completion. Strict: OpenAI's members and words. Else also the model's thoughts
 * (`reasoning_content`), Gemini's own parts (`content_blocks`) and members of the candidate.
 */
export function readCompletion(
  json: MessageJson,
  body: Uint8Array,
  context: TranslationContext,
): Translated<ChatCompletion> {
  const { strict, provider } = context.target;
  const answer = new GeminiAnswer(context);
  const choices = new Map<number, Choice>();
  try {
    for (const object of readObjects(body, context))
      for (const event of answer.read(object)) take(json, choices, event, strict);
  } catch (thrown) {
    if (!(thrown instanceof FailedAnswer)) throw thrown;
    const { message, details } = thrown;
    throw new FailedAnswer(message, details, answer.usage(json), answer.model);
  }
  if (choices.size === 0)
    throw fail('upstream_garbage', 'the provider answered without candidates', { provider: provider.id });
  const usage = answer.told(json);
  const completion = create(ChatCompletionSchema, {
    id: answer.id,
    object: 'chat.completion',
    created: BigInt(Math.floor(context.now() / 1000)),
    model: answer.model ?? '',
    choices: [...choices.values()].sort((one, other) => (one.index ?? 0) - (other.index ?? 0)),
    ...(usage === undefined ? {} : { usage }),
  });
  return { answer: completion, usage: answer.usage(json), model: answer.model };
}

function take(json: MessageJson, choices: Map<number, Choice>, event: ChoiceEvent, strict: boolean): void {
  const choice = choices.get(event.index) ?? { index: event.index, message: { role: 'assistant' } };
  choices.set(event.index, choice);
  const message = choice.message as Assistant;
  for (const piece of event.pieces) {
    const delta = deltaOf(json, piece, strict);
    if (delta === undefined) continue;
    if (delta.content !== undefined) message.content = (message.content ?? '') + delta.content;
    if (delta.reasoningContent !== undefined)
      message.reasoningContent = (message.reasoningContent ?? '') + delta.reasoningContent;
    if (delta.toolCalls !== undefined)
      message.toolCalls = [
        ...(message.toolCalls ?? []),
        ...delta.toolCalls.map(({ index: _, ...call }) => call as object),
      ];
    if (delta.contentBlocks !== undefined)
      message.contentBlocks = [...(message.contentBlocks ?? []), ...delta.contentBlocks];
    if (delta.extra !== undefined) message.extra = withMedia(message.extra, delta.extra);
  }
  if (event.logprobs !== undefined) choice.logprobs = event.logprobs;
  if (event.finish === undefined) return;
  const { reason, refusal, annotations, own } = event.finish;
  choice.finishReason = reason;
  if (refusal !== undefined) message.refusal = refusal;
  if (annotations.length > 0) message.extra = { ...message.extra, annotations };
  if (!strict && Object.keys(own).length > 0) choice.extra = own;
}

/** Several images stand in one list. */
function withMedia(before: JsonObject | undefined, extra: JsonObject): JsonObject {
  const images = [...arrayOf(before?.images), ...arrayOf(extra.images)];
  return { ...before, ...extra, ...(images.length > 0 ? { images } : {}) };
}
