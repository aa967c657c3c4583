// Chat completions over the Messages API: POST /messages.
import type {
  ChatCompletion,
  ChatCompletionChunk,
  CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { MessageJson, StreamingOperation } from '../../dialect.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import { messagesCall } from './request.ts';
import { readMessage } from './response.ts';
import { AnthropicStream } from './stream.ts';

/** The operation over the given JSON. */
export function chat(
  json: MessageJson,
): StreamingOperation<CreateChatCompletionRequest, ChatCompletion, ChatCompletionChunk> {
  return {
    request: (request, { target }) => messagesCall(request, target, false),
    response: (body, _request, context) => readMessage(json, body, context),
    streamRequest: (request, { target }) => messagesCall(request, target, true),
    stream: (request, context) =>
      new AnthropicStream(json, context, request.streamOptions?.includeUsage === true),
    wholeAsChunks: (answer, request) => chatAsChunks(answer, request.streamOptions?.includeUsage === true),
  };
}
