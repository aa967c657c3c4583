// Chat completions over Converse and ConverseStream.
import type {
  ChatCompletion,
  ChatCompletionChunk,
  CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { MessageJson, StreamingOperation } from '../../dialect.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import { converseCall } from './request.ts';
import { readCompletion } from './response.ts';
import { BedrockStream } from './stream.ts';

/** The operation over the given JSON. */
export function chat(
  json: MessageJson,
): StreamingOperation<CreateChatCompletionRequest, ChatCompletion, ChatCompletionChunk> {
  return {
    request: (request) => converseCall(request, false),
    response: (body, request, context) => readCompletion(json, body, request, context),
    streamRequest: (request) => converseCall(request, true),
    stream: (request, context) => new BedrockStream(json, context, request),
    wholeAsChunks: (answer, request) => chatAsChunks(answer, request.streamOptions?.includeUsage === true),
  };
}
