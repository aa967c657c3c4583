// Oracle's counts under OpenAI's names.
import type { JsonObject } from '@bufbuild/protobuf';
import { objectOf } from '../../json-object.ts';

/** Its reasoning is among the completion's tokens, what was read from a cache among the prompt's ("Usage"). */
export function namedUsage(counts: JsonObject | undefined): JsonObject | undefined {
  if (counts === undefined) return undefined;
  const { promptTokens = null, completionTokens = null, totalTokens = null } = counts;
  const cached = objectOf(counts.promptTokensDetails)?.cachedTokens;
  const thought = objectOf(counts.completionTokensDetails)?.reasoningTokens;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: totalTokens,
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
    ...(thought === undefined ? {} : { completion_tokens_details: { reasoning_tokens: thought } }),
  };
}
