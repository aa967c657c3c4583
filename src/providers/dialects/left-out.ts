// Members of a chat completion that a wire has no place for and that change nothing of the answer: they are left out, and
// told, so that the caller can know (x-gateway-explain) or refuse it (x-gateway-strict-translation).
import type { ChatMessage, CreateChatCompletionRequest } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import type { TranslationContext } from '../dialect.ts';

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

/**
 * Tells what is left out: the named members where they are given, speakers' names and how closely to look at images.
 * @param detail whether the wire has images' `detail`
 * @throws GatewayError `validation_failed` where the caller wants nothing left out
 */
export function tellLeftOut(
  { lost }: TranslationContext,
  request: CreateChatCompletionRequest,
  members: LeftOut,
  detail = false,
): void {
  if (lost === undefined) return;
  const fields = members.filter((name) => GIVEN[name]!(request));
  for (const [i, message] of request.messages.entries()) fieldsOf(message, i, detail, fields);
  lost(fields);
}

function fieldsOf({ name, content }: ChatMessage, i: number, detail: boolean, fields: string[]): void {
  if (name !== undefined && name !== '') fields.push(`messages[${i}].name`);
  if (detail || content?.kind.case !== 'parts') return;
  for (const [k, { imageUrl }] of content.kind.value.values.entries())
    if (imageUrl?.detail !== undefined && imageUrl.detail !== 'auto')
      fields.push(`messages[${i}].content[${k}].image_url.detail`);
}
