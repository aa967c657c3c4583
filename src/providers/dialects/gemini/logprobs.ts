// Logarithms of tokens' probabilities (Gemini API reference, "LogprobsResult").
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  type ChoiceLogprobs,
  ChoiceLogprobsSchema,
  type TokenLogprob,
  TokenLogprobSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';

/** Undefined when the candidate has none. */
export function logprobs(candidate: JsonObject): ChoiceLogprobs | undefined {
  const result = objectOf(candidate.logprobsResult);
  if (result === undefined) return undefined;
  const top = arrayOf(result.topCandidates);
  return create(ChoiceLogprobsSchema, {
    content: arrayOf(result.chosenCandidates).map((chosen, i) => {
      const others = objectOf(top[i]);
      return token(
        chosen,
        arrayOf(others?.candidates).map((other) => token(other)),
      );
    }),
  });
}

function token(value: JsonValue, topLogprobs: TokenLogprob[] = []): TokenLogprob {
  const { token: text, logProbability } = isObject(value) ? value : {};
  const word = typeof text === 'string' ? text : '';
  return create(TokenLogprobSchema, {
    token: word,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(word)],
    topLogprobs,
  });
}
