// Chat completions (OpenAI API reference, "Chat"): POST /chat/completions.
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  type CreateChatCompletionRequest,
  CreateChatCompletionRequestSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { MessageJson, StreamingOperation } from '../../dialect.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import { streamedCall, wholeCall } from './request.ts';
import { readWhole } from './response.ts';
import { OpenAiStream } from './stream.ts';

const PATH = '/chat/completions';

/** The operation over the given JSON. */
export function chat(
  json: MessageJson,
): StreamingOperation<CreateChatCompletionRequest, ChatCompletion, ChatCompletionChunk> {
  return {
    request: (request, { target }) =>
      wholeCall(PATH, json, CreateChatCompletionRequestSchema, request, target.provider),
    response: (body, _request, context) => readWhole(json, ChatCompletionSchema, body, context),
    streamRequest: (request, { target: { provider } }) =>
      streamedCall(PATH, json, CreateChatCompletionRequestSchema, request, provider),
    stream: (request, { target: { provider, strict } }) =>
      new OpenAiStream({
        json,
        schema: ChatCompletionChunkSchema,
        provider,
        strict,
        hideUsage: provider.streamUsage === 'stream_options' && request.streamOptions?.includeUsage !== true,
      }),
    wholeAsChunks: (answer, request) => chatAsChunks(answer, request.streamOptions?.includeUsage === true),
  };
}
