// What callers of Google's own OpenAI-compatible API put under `extra_body.google` or `google`.
import type { JsonObject } from '@bufbuild/protobuf';
import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { objectOf, textOf } from '../../json-object.ts';

/** Gemini's options in addition to OpenAI's members. */
export interface GoogleOptions {
  /** In Gemini's own names. */
  readonly thinkingConfig: JsonObject | undefined;
  readonly cachedContent: string | undefined;
}

/** Reads them; camelCase and snake_case are both taken, as Google takes them. */
export function googleOptions({ extra }: CreateChatCompletionRequest): GoogleOptions {
  const options = objectOf(objectOf(extra?.extra_body)?.google) ?? objectOf(extra?.google) ?? {};
  const thinking = objectOf(options.thinking_config) ?? objectOf(options.thinkingConfig);
  return {
    thinkingConfig: thinking && camelCased(thinking),
    cachedContent: textOf(options.cached_content) ?? textOf(options.cachedContent),
  };
}

function camelCased(json: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
