// Chat completions over generateContent and streamGenerateContent.
import type {
  ChatCompletion,
  ChatCompletionChunk,
  CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { MessageJson, StreamingOperation } from '../../dialect.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import { generateCall } from './request.ts';
import { readCompletion } from './response.ts';
import { GeminiStream } from './stream.ts';

/** The operation over the given JSON. */
export function chat(
  json: MessageJson,
): StreamingOperation<CreateChatCompletionRequest, ChatCompletion, ChatCompletionChunk> {
  return {
    request: (request) => generateCall(request, false),
    response: (body, _request, context) => readCompletion(json, body, context),
    streamRequest: (request) => generateCall(request, true),
    stream: (request, context) =>
      new GeminiStream(json, context, request.streamOptions?.includeUsage === true),
    wholeAsChunks: (answer, request) => chatAsChunks(answer, request.streamOptions?.includeUsage === true),
  };
}
