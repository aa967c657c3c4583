// Text completions (OpenAI API reference, "Completions", legacy): POST /completions.
import {
  type Completion,
  CompletionSchema,
  type CreateCompletionRequest,
  CreateCompletionRequestSchema,
} from '../../../../gen/gateway/inference/v2/completions_pb.ts';
import type { MessageJson, StreamingOperation } from '../../dialect.ts';
import { completionAsChunks } from '../../whole-as-chunks.ts';
import { streamedCall, wholeCall } from './request.ts';
import { readWhole } from './response.ts';
import { OpenAiStream } from './stream.ts';

const PATH = '/completions';

/** The operation over the given JSON. */
export function completions(
  json: MessageJson,
): StreamingOperation<CreateCompletionRequest, Completion, Completion> {
  return {
    request: (request, { target }) =>
      wholeCall(PATH, json, CreateCompletionRequestSchema, request, target.provider),
    response: (body, _request, context) => readWhole(json, CompletionSchema, body, context),
    streamRequest: (request, { target: { provider } }) =>
      streamedCall(PATH, json, CreateCompletionRequestSchema, request, provider),
    stream: (request, { target: { provider, strict } }) =>
      new OpenAiStream({
        json,
        schema: CompletionSchema,
        provider,
        strict,
        hideUsage: provider.streamUsage === 'stream_options' && request.streamOptions?.includeUsage !== true,
      }),
    wholeAsChunks: (answer, request) =>
      completionAsChunks(answer, request.streamOptions?.includeUsage === true),
  };
}
