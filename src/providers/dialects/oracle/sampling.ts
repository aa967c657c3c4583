// Members that both of Oracle's formats have under the same names.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { given } from '../../json-object.ts';

/** OpenAI's members as Oracle names them, and `top_k`. @param stop the name of the stop sequences */
export function sampling(request: CreateChatCompletionRequest, stop: 'stop' | 'stopSequences'): JsonObject {
  const kind = request.stop?.kind;
  const stops = kind?.case === 'text' ? [kind.value] : kind?.case === 'texts' ? kind.value.values : undefined;
  const topK = given(request.extra)?.top_k;
  const members: Readonly<Record<string, JsonValue | undefined>> = {
    maxTokens: numberOf(request.maxCompletionTokens ?? request.maxTokens),
    temperature: request.temperature,
    topP: request.topP,
    topK,
    frequencyPenalty: request.frequencyPenalty,
    presencePenalty: request.presencePenalty,
    seed: request.seed,
    [stop]: stops && [...stops],
  };
  return Object.fromEntries(
    Object.entries(members).filter((pair): pair is [string, JsonValue] => pair[1] !== undefined),
  );
}

function numberOf(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
