// Words and counts of chat answers in Google's.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChoiceLogprobs, TokenLogprob } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { stopReason } from '../messages/words.ts';

const REASONS: Readonly<Record<string, string>> = Object.freeze({
  max_tokens: 'MAX_TOKENS',
  model_context_window_exceeded: 'MAX_TOKENS',
  refusal: 'SAFETY',
});
/** Google's own, which its models say on other wires of its too. */
const OWN =
  /^(?:STOP|MAX_TOKENS|SAFETY|RECITATION|LANGUAGE|OTHER|BLOCKLIST|PROHIBITED_CONTENT|SPII|MALFORMED_FUNCTION_CALL|IMAGE_[A-Z_]+|NO_IMAGE|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MODEL_ARMOR)$/;

/** Calls end a turn with STOP, too. */
export function finishReason(finish: string | undefined, hasCalls: boolean): string {
  if (finish !== undefined && OWN.test(finish)) return finish;
  const word = stopReason(finish, hasCalls);
  return Object.hasOwn(REASONS, word) ? REASONS[word]! : 'STOP';
}

/** The counts: thoughts are apart from the candidates' tokens. */
export function usageMetadata(usage: Usage | undefined): JsonObject {
  if (usage === undefined) return {};
  const { promptTokens, completionTokens = 0n, totalTokens } = usage;
  const thoughts = usage.completionTokensDetails?.reasoningTokens;
  const cached = usage.promptTokensDetails?.cachedTokens;
  const said = completionTokens - (thoughts ?? 0n);
  return {
    promptTokenCount: Number(promptTokens),
    candidatesTokenCount: Number(said < 0n ? 0n : said),
    totalTokenCount: Number(totalTokens),
    ...(cached === undefined || cached === 0n ? {} : { cachedContentTokenCount: Number(cached) }),
    ...(thoughts === undefined || thoughts === 0n ? {} : { thoughtsTokenCount: Number(thoughts) }),
  };
}

/** Google's `logprobsResult`. */
export function logprobsResult(logprobs: ChoiceLogprobs | undefined): JsonObject {
  if (logprobs === undefined || logprobs.content.length === 0) return {};
  const one = ({ token, logprob }: TokenLogprob): JsonObject => ({ token, logProbability: logprob });
  return {
    logprobsResult: {
      chosenCandidates: logprobs.content.map(one),
      topCandidates: logprobs.content.map(({ topLogprobs }) => ({ candidates: topLogprobs.map(one) })),
    },
  };
}
