// Logarithms of tokens' probabilities ("Logprobs"): lists side by side.
import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type ChoiceLogprobs,
  ChoiceLogprobsSchema,
  TokenLogprobSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { arrayOf, objectOf, textOf } from '../../json-object.ts';

/** Of a choice; empty when it has none. */
export function logprobsIn(choice: JsonObject): { readonly logprobs?: ChoiceLogprobs } {
  const { tokens, tokenLogprobs, topLogprobs } = objectOf(choice.logprobs) ?? {};
  const [values, tops] = [arrayOf(tokenLogprobs), arrayOf(topLogprobs)];
  const content = arrayOf(tokens).map((token, i) =>
    create(TokenLogprobSchema, {
      ...one(textOf(token) ?? '', values[i]),
      // Its values are texts ("list[dict(str, str)]").
      topLogprobs: Object.entries(objectOf(tops[i]) ?? {}).map(([name, value]) => one(name, value)),
    }),
  );
  return content.length === 0 ? {} : { logprobs: create(ChoiceLogprobsSchema, { content }) };
}

function one(token: string, value: unknown) {
  const logprob = Number(value);
  return { token, logprob: Number.isFinite(logprob) ? logprob : 0, bytes: [...Buffer.from(token)] };
}
