// generationConfig: sampling, bounds, the answer's form and how much the model thinks (Gemini API, "GenerationConfig").
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { isOpenApiSubset } from './schema.ts';
import { thinkingConfig } from './thinking.ts';

/** The request's members as generationConfig; empty when it sets none of them. */
export function generationConfig(request: CreateChatCompletionRequest): JsonObject {
  const tokens = request.maxCompletionTokens ?? request.maxTokens;
  const stop = request.stop?.kind;
  const members: Record<string, JsonValue | undefined> = {
    temperature: request.temperature,
    topP: request.topP,
    topK: request.extra?.top_k ?? request.extra?.topK,
    maxOutputTokens: tokens === undefined ? undefined : Number(tokens),
    stopSequences:
      stop?.case === 'text' ? [stop.value] : stop?.case === 'texts' ? stop.value.values : undefined,
    candidateCount: request.n,
    seed: request.seed,
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    responseLogprobs: request.logprobs,
    logprobs: request.topLogprobs,
    responseModalities:
      request.modalities.length > 0 ? request.modalities.map((kind) => kind.toUpperCase()) : undefined,
    speechConfig: speechConfig(request),
    thinkingConfig: thinkingConfig(request),
    ...responseForm(request),
  };
  const config: JsonObject = {};
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined && value !== null) config[name] = value;
  }
  return config;
}

/** A schema that is in Gemini's subset of OpenAPI goes as `responseSchema`, any other JSON Schema as `responseJsonSchema`. */
function responseForm({ responseFormat }: CreateChatCompletionRequest): JsonObject {
  switch (responseFormat?.type) {
    case undefined:
    case 'text':
      return {};
    case 'json_object':
      return { responseMimeType: 'application/json' };
    case 'json_schema': {
      const schema = responseFormat?.jsonSchema?.schema;
      if (!isObject(schema)) throw invalidField('response_format.json_schema.schema', 'is required');
      const member = isOpenApiSubset(schema) ? 'responseSchema' : 'responseJsonSchema';
      return { responseMimeType: 'application/json', [member]: schema };
    }
    default:
      throw invalidField('response_format.type', 'must be "text", "json_object" or "json_schema"');
  }
}

/** OpenAI's `audio: {voice}` names one of Gemini's prebuilt voices. */
function speechConfig({ audio }: CreateChatCompletionRequest): JsonObject | undefined {
  const voice = audio && (textOf(audio.voice) ?? textOf(objectOf(audio.voice)?.id));
  return voice === undefined ? undefined : { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } };
}
