// Usage and the end of an answer in the words of Responses.
import type { JsonObject } from '@bufbuild/protobuf';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { finishWord } from '../../finish-words.ts';

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

/** Why an answer is incomplete, from the finish reason in any wire's words; undefined: it is complete. */
export function incompleteReason(finish: string | undefined): string | undefined {
  if (finish === undefined) return undefined;
  const word = finishWord(finish);
  if (word === 'length') return 'max_output_tokens';
  return word === 'content_filter' ? 'content_filter' : undefined;
}
