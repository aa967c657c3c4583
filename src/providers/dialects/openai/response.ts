// Whole responses: read once, and the original bytes are kept with the message.
import type { DescMessage, JsonObject, MessageShape } from '@bufbuild/protobuf';
import { ChatCompletionSchema } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionSchema } from '../../../../gen/gateway/inference/v2/completions_pb.ts';
import { EmbeddingsSchema } from '../../../../gen/gateway/inference/v2/embeddings_pb.ts';
import { fail, type GatewayError } from '../../../lib/errors.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson, Translated, TranslationContext } from '../../dialect.ts';
import { isObject, textOf } from '../../json-object.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { readErrorObject } from '../../provider-error.ts';
import type { UsageReport } from '../../usage/report.ts';
import { chatSearches, withSearches } from '../../usage/searches.ts';
import { readUsage, usageIn } from '../../usage/tap.ts';
import { errorInside, faultOf, isBareError, speaksOfError } from './error.ts';
import { mendAnswer } from './oddities.ts';

/** The answer's object. @throws GatewayError `upstream_garbage`, or the error inside a good status. */
export function readObject(body: Uint8Array, context: TranslationContext): JsonObject {
  const json = readAnyObject(body, context);
  if (speaksOfError(json)) throw errorInside(json, context.target.provider.id);
  return json;
}

/** The same, an error or not. @throws GatewayError upstream_garbage */
export function readAnyObject(body: Uint8Array, { target }: TranslationContext): JsonObject {
  const json = parseAnswer(body, target.provider.id);
  if (!isObject(json)) {
    throw fail('upstream_garbage', 'the provider answered with JSON that is not an object', {
      provider: target.provider.id,
    });
  }
  return json;
}

/** Messages that are nothing without their choices. */
const WITH_CHOICES: ReadonlySet<string> = new Set([ChatCompletionSchema.typeName, CompletionSchema.typeName]);

/** What an answer without choices says: an error in the provider's own form, or nothing that can be read. */
function noChoices(
  object: JsonObject,
  { target }: TranslationContext,
  what: 'choices' | 'embeddings' = 'choices',
): GatewayError {
  const provider = target.provider.id;
  if (isBareError(object)) return errorInside(object, provider);
  const words = readErrorObject(object)?.message;
  const said = words === undefined ? '' : `: ${words}`;
  return fail('upstream_garbage', `the provider answered without ${what}${said}`, { provider });
}

/** An answer whose choices are an empty list passes as it is, unless it says what went wrong. */
function isRefusal(object: JsonObject): boolean {
  const isEmpty = Array.isArray(object.choices) && object.choices.length === 0;
  return isEmpty && usageIn(object) === undefined && readErrorObject(object)?.message !== undefined;
}

/** The answer as a message with the provider's own bytes attached. */
export function readWhole<D extends DescMessage>(
  json: MessageJson,
  schema: D,
  body: Uint8Array,
  context: TranslationContext,
): Translated<MessageShape<D>> {
  const object = readObject(body, context);
  if (WITH_CHOICES.has(schema.typeName)) {
    if (!Array.isArray(object.choices) || isRefusal(object)) throw noChoices(object, context);
    const fault = faultOf(object);
    if (fault !== undefined) throw errorInside(fault, context.target.provider.id);
  }
  if (schema.typeName === EmbeddingsSchema.typeName && !Array.isArray(object.data))
    throw noChoices(object, context, 'embeddings');
  const isChat = schema.typeName === ChatCompletionSchema.typeName;
  const mended = mendAnswer(object, context.target.strict, isChat);
  const answer = attachRawJson(
    lazyMessage(schema, () => json.decode(schema, object)),
    mended ? JSON.stringify(object) : body,
  );
  const { model, service_tier: tier } = object;
  const usage = usageFrom(json, object, context);
  return { answer, usage, model: textOf(model), tier: textOf(tier) };
}

function usageFrom(json: MessageJson, object: JsonObject, { target }: TranslationContext): UsageReport {
  const counts = usageIn(object);
  const report = counts && readUsage(json, counts, target.provider.reasoning);
  return withSearches(report, chatSearches(counts, textOf(object.model)));
}
