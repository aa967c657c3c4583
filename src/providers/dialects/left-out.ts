// Members of a chat completion that a wire has no place for and that change nothing of the answer: they are left out, and
// told, so that the caller can know (x-gateway-explain) or refuse it (x-gateway-strict-translation).
import type { ChatMessage, CreateChatCompletionRequest } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../lib/errors.ts';
import type { TranslationContext } from '../dialect.ts';
import { arrayOf, isObject } from '../json-object.ts';

/** Whether a request has a member, by its name in JSON. */
const GIVEN: Readonly<Record<string, (request: CreateChatCompletionRequest) => boolean>> = {
  seed: ({ seed }) => seed !== undefined,
  store: ({ store }) => store === true,
  metadata: ({ metadata = {} }) => Object.keys(metadata).some((name) => name !== 'user_id'),
  user: ({ user }) => user !== undefined,
  prediction: ({ prediction }) => prediction !== undefined,
  prompt_cache_key: ({ promptCacheKey }) => promptCacheKey !== undefined,
  safety_identifier: ({ safetyIdentifier }) => safetyIdentifier !== undefined,
  reasoning_effort: ({ reasoningEffort }) => reasoningEffort !== undefined,
  thinking: ({ thinking }) => thinking !== undefined,
  service_tier: ({ serviceTier }) => serviceTier !== undefined && serviceTier !== 'auto',
};

/** Names of members that may be left out. */
export type LeftOut = readonly (keyof typeof GIVEN)[];

/** What some wires have a place for: how closely to look at an image, images that the model made, a tool's `strict`. */
export type Carried = 'detail' | 'images' | 'strict';

/**
 * Tells what is left out: the named members where they are given, speakers' names, and what is not carried.
 * @param carried what the wire has
 * @throws GatewayError `validation_failed` where the caller wants nothing left out, and for a turn that is nothing but
 * sound of another answer, which only the provider that made it has
 */
export function tellLeftOut(
  { lost }: TranslationContext,
  request: CreateChatCompletionRequest,
  members: LeftOut,
  carried: readonly Carried[] = [],
): void {
  for (const [i, { role, extra, content }] of request.messages.entries())
    if (role === 'assistant' && isObject(extra?.audio) && content === undefined)
      throw invalidField(`messages[${i}].audio`, 'is sound of an answer of another provider: send its text');
  if (lost === undefined) return;
  const fields: string[] = members.filter((name) => GIVEN[name]!(request));
  for (const [i, message] of request.messages.entries()) fieldsOf(message, i, carried, fields);
  if (!carried.includes('strict'))
    for (const [i, tool] of request.tools.entries())
      if (tool.function?.strict === true) fields.push(`tools[${i}].function.strict`);
  lost(fields);
}

function fieldsOf(
  { name, content, extra }: ChatMessage,
  i: number,
  carried: readonly Carried[],
  fields: string[],
): void {
  if (name !== undefined && name !== '') fields.push(`messages[${i}].name`);
  if (!carried.includes('images') && arrayOf(extra?.images).length > 0) fields.push(`messages[${i}].images`);
  if (carried.includes('detail') || content?.kind.case !== 'parts') return;
  for (const [k, { imageUrl }] of content.kind.value.values.entries())
    if (imageUrl?.detail !== undefined && imageUrl.detail !== 'auto')
      fields.push(`messages[${i}].content[${k}].image_url.detail`);
}
