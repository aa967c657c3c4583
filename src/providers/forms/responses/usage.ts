// Usage and the end of an answer in the words of Responses.
import type { JsonObject } from '@bufbuild/protobuf';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';

/** The counts as Responses names them; null when the provider told none. */
export function responseUsage(usage: Usage | undefined): JsonObject | null {
  if (usage === undefined) return null;
  const { promptTokens, completionTokens, totalTokens, promptTokensDetails: read } = usage;
  const written = read?.cacheCreationTokens;
  return {
    input_tokens: Number(promptTokens),
    input_tokens_details: {
      cached_tokens: Number(read?.cachedTokens ?? 0n),
      ...(written === undefined ? {} : { cache_write_tokens: Number(written) }),
    },
    output_tokens: Number(completionTokens ?? 0n),
    output_tokens_details: { reasoning_tokens: Number(usage.completionTokensDetails?.reasoningTokens ?? 0n) },
    total_tokens: Number(totalTokens),
  };
}

const LENGTH = /^(?:length|max_tokens|model_length|model_context_window_exceeded|error_limit)$/i;
const FILTER =
  /^(?:content_filter(?:ed)?|refusal|safety|recitation|language|blocklist|prohibited_content|spii|model_armor|image_.*|guardrail_intervened|error_toxic)$/i;

/** Why an answer is incomplete, from the finish reason in any wire's words; undefined: it is complete. */
export function incompleteReason(finish: string | undefined): string | undefined {
  if (finish === undefined) return undefined;
  if (LENGTH.test(finish)) return 'max_output_tokens';
  return FILTER.test(finish) ? 'content_filter' : undefined;
}
