// Chat completions over Converse and ConverseStream.
import type {
  ChatCompletion,
  ChatCompletionChunk,
  CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { MessageJson, Outbound, StreamingOperation, TranslationContext } from '../../dialect.ts';
import { chatAsChunks } from '../../whole-as-chunks.ts';
import { tellLeftOut } from '../left-out.ts';
import { LEFT_OUT } from './refusals.ts';
import { converseCall } from './request.ts';
import { readCompletion } from './response.ts';
import { BedrockStream } from './stream.ts';

/** The operation over the given JSON. */
export function chat(
  json: MessageJson,
): StreamingOperation<CreateChatCompletionRequest, ChatCompletion, ChatCompletionChunk> {
  return {
    request: (request, context) => called(request, context, false),
    response: (body, request, context) => readCompletion(json, body, request, context),
    streamRequest: (request, context) => called(request, context, true),
    stream: (request, context) => new BedrockStream(json, context, request),
    wholeAsChunks: (answer, request) => chatAsChunks(answer, request.streamOptions?.includeUsage === true),
  };
}

function called(
  request: CreateChatCompletionRequest,
  context: TranslationContext,
  stream: boolean,
): Outbound {
  tellLeftOut(context, request, LEFT_OUT, ['strict']);
  return converseCall(request, stream);
}
