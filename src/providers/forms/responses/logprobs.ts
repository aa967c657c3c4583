// Log probabilities of the answer's tokens.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChoiceLogprobs } from '../../../../gen/gateway/inference/v2/chat_pb.ts';

const NONE: readonly JsonObject[] = Object.freeze([]);

/** Of the text's tokens, as Responses writes them. */
export function logprobsOf(logprobs: ChoiceLogprobs | undefined): readonly JsonObject[] {
  if (logprobs === undefined) return NONE;
  return logprobs.content.map(({ token, logprob, bytes, topLogprobs }) => ({
    token,
    logprob,
    bytes: [...bytes],
    top_logprobs: topLogprobs.map((top) => ({
      token: top.token,
      logprob: top.logprob,
      bytes: [...top.bytes],
    })),
  }));
}
