// Chat completions over the Messages API: POST /messages.
import type {
  ChatCompletion,
  ChatCompletionChunk,
  CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { MessageJson, Outbound, StreamingOperation, TranslationContext } from '../../dialect.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import { tellLeftOut } from '../left-out.ts';
import { LEFT_OUT } from './refusals.ts';
import { messagesCall } from './request.ts';
import { readMessage } from './response.ts';
import { AnthropicStream } from './stream.ts';

/** The operation over the given JSON. */
export function chat(
  json: MessageJson,
): StreamingOperation<CreateChatCompletionRequest, ChatCompletion, ChatCompletionChunk> {
  return {
    request: (request, context) => called(request, context, false),
    response: (body, _request, context) => readMessage(json, body, context),
    streamRequest: (request, context) => called(request, context, true),
    stream: (request, context) =>
      new AnthropicStream(json, context, request.streamOptions?.includeUsage === true),
    wholeAsChunks: (answer, request) => chatAsChunks(answer, request.streamOptions?.includeUsage === true),
  };
}

function called(
  request: CreateChatCompletionRequest,
  context: TranslationContext,
  stream: boolean,
): Outbound {
  tellLeftOut(context, request, LEFT_OUT, ['strict']);
  return messagesCall(request, context.target, stream);
}
