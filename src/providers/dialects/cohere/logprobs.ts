// Logarithms of tokens' probabilities (Cohere API reference, "Chat", `logprobs`): texts of one or more tokens.
import { create, type JsonValue } from '@bufbuild/protobuf';
import {
  type ChoiceLogprobs,
  ChoiceLogprobsSchema,
  TokenLogprobSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { arrayOf, isObject, textOf } from '../../json-object.ts';

/** Undefined when the answer has none. */
export function logprobs(list: JsonValue | undefined): ChoiceLogprobs | undefined {
  const items = arrayOf(list).filter(isObject);
  if (items.length === 0) return undefined;
  return create(ChoiceLogprobsSchema, {
    content: items.map(({ text, logprobs: values }) => {
      const token = textOf(text) ?? '';
      const sum = arrayOf(values).reduce<number>(
        (total, one) => total + (typeof one === 'number' ? one : 0),
        0,
      );
      return create(TokenLogprobSchema, { token, logprob: sum, bytes: [...Buffer.from(token)] });
    }),
  });
}
