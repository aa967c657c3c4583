// Chat completions of a wire that has another form: what is the same for all of them.
import type {
  ChatCompletion,
  ChatCompletionChunk,
  CreateChatCompletionRequest,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Outbound, StreamingOperation, TranslationContext } from '../dialect.ts';
import { chatAsChunks } from '../whole-as-chunks.ts';
import { type Carried, type LeftOut, tellLeftOut } from './left-out.ts';

/** The operation of chat completions. */
export type Chat = StreamingOperation<CreateChatCompletionRequest, ChatCompletion, ChatCompletionChunk>;

/** What is the wire's own. */
export interface ChatWire extends Pick<Chat, 'response' | 'stream'> {
  /** @throws GatewayError `validation_failed` for what the wire cannot express */
  call(request: CreateChatCompletionRequest, context: TranslationContext, stream: boolean): Outbound;
  /** What is left out of requests, and told. */
  readonly leftOut: LeftOut;
  readonly carried: readonly Carried[];
}

/** Whether the caller asked for a last event with the usage. */
export function wantsUsage({ streamOptions }: CreateChatCompletionRequest): boolean {
  return streamOptions?.includeUsage === true;
}

export function translatedChat({ call, response, stream, leftOut, carried }: ChatWire): Chat {
  const called = (
    request: CreateChatCompletionRequest,
    context: TranslationContext,
    streamed: boolean,
  ): Outbound => {
    tellLeftOut(context, request, leftOut, carried);
    return call(request, context, streamed);
  };
  return {
    request: (request, context) => called(request, context, false),
    response,
    streamRequest: (request, context) => called(request, context, true),
    stream,
    wholeAsChunks: (answer, request) => chatAsChunks(answer, wantsUsage(request)),
  };
}
