// generateContent over the chat form.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type GenerateContentRequest,
  GenerateContentRequestSchema,
  type GenerateContentResponse,
} from '../../../../gen/gateway/inference/v2/gemini_pb.ts';
import type { MessageJson } from '../../dialect.ts';
import { objectOf } from '../../json-object.ts';
import type { Form } from '../form.ts';
import { responseJson, written } from './answer.ts';
import { GeminiPieces } from './pieces.ts';
import { chatRequest } from './request.ts';

/** The form over the given JSON. */
export function geminiForm(
  json: MessageJson,
): Form<GenerateContentRequest, GenerateContentResponse, GenerateContentResponse> {
  return {
    toChat: (request, carries, stream) =>
      chatRequest(json.encode(GenerateContentRequestSchema, request) as JsonObject, carries, stream),
    answer(completion, request, _context, usage) {
      const counts = typeof usage === 'object' ? usage : completion.usage;
      return written(json, responseJson(completion, counts, request.model ?? '', wantsThoughts(request)));
    },
    pieces: (request) => new GeminiPieces(json, request.model ?? '', wantsThoughts(request)),
    wholeAsChunks: (answer) => [answer],
  };
}

function wantsThoughts({ generationConfig }: GenerateContentRequest): boolean {
  const config = objectOf(generationConfig?.thinkingConfig);
  return (config?.includeThoughts ?? config?.include_thoughts) === true;
}
